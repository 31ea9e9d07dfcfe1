import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { arnOf, fakeKms } from "../key-services/fake-kms.ts";
import { fakeTransit } from "../key-services/fake-transit.ts";
import { awsCredentials } from "../key-services/open.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { newFolder } from "../support/recovery.ts";
import { earlierFolder } from "./earlier-installation.ts";

/** Two key services with one key each, and settings that name the first, the second or both. */
async function twoServices(context: TestContext) {
  const [transit, kms] = [await fakeTransit(), await fakeKms()];
  context.after(() => transit.service.close());
  context.after(() => kms.service.close());
  const folder = newFolder(context);
  const [token, credentials] = [join(folder, "token"), join(folder, "credentials")];
  writeFileSync(token, "s.root\n", { mode: 0o600 });
  writeFileSync(credentials, awsCredentials("AKIAIOSFODNN7EXAMPLE"), { mode: 0o600 });
  const directory = join(folder, "data");
  const base = { COFRE_DATA_DIR: directory, COFRE_ROOT_KEY_TIMEOUT_MS: "30000" };
  const address = `transit:${transit.service.url.origin}/v1/transit/cofre`;
  const first = { COFRE_ROOT_KEY: address, COFRE_ROOT_KEY_SECRET_FILE: token };
  const nextIsTransit = { COFRE_ROOT_KEY_NEXT: address, COFRE_ROOT_KEY_NEXT_SECRET_FILE: token };
  const next = {
    COFRE_ROOT_KEY_NEXT: `aws-kms:${arnOf("1")}`,
    COFRE_ROOT_KEY_NEXT_SECRET_FILE: credentials,
    COFRE_ROOT_KEY_NEXT_ENDPOINT: kms.service.url.origin,
  };
  return { transit, kms, directory, base, first, next, nextIsTransit };
}

async function tokenOf(server: TestServer): Promise<string> {
  const { body } = await server.postJson("/ws/token", {
    integration_key: integrationKey,
    payment_type_code: "creditcard",
    creditcard: testCard,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return String(body["token"]);
}

async function charge(server: TestServer, code: string, token: string): Promise<void> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { token, card_cvv: "123" } }),
  );
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

describe("an installation with two root keys", () => {
  test("starts with either of them, whatever happens to the other, and not without both", async (context) => {
    const { transit, kms, base, first, next } = await twoServices(context);
    const environment = { ...base, ...first, ...next };
    const server = await startTestServer({ environment });
    const token = await tokenOf(server);
    await server[Symbol.asyncDispose]();

    let charged = 0;
    const starts = async (): Promise<void> => {
      charged += 1;
      await using started = await startTestServer({ environment, seed: `start ${charged}` });
      await charge(started, `start ${charged}`, token);
    };
    const faults: readonly (readonly [begin: () => void, end: () => void])[] = [
      [() => void (transit.state.isSealed = true), () => void (transit.state.isSealed = false)],
      [() => void (transit.service.mode = "silent"), () => void (transit.service.mode = "answers")],
      [() => void (kms.service.mode = "silent"), () => void (kms.service.mode = "answers")],
      [() => void (kms.service.mode = "refuses"), () => void (kms.service.mode = "answers")],
      [
        () => void (kms.state.answer = { status: 400, body: { __type: "DisabledException" } }),
        () => void (kms.state.answer = undefined),
      ],
      [() => void (kms.state.usedKey = arnOf("2")), () => void (kms.state.usedKey = undefined)],
    ];
    for (const [begin, end] of faults) {
      begin();
      await starts();
      end();
    }
    transit.state.isSealed = true;
    kms.state.answer = { status: 400, body: { __type: "DisabledException" } };
    await assert.rejects(starts(), {
      failure: "unavailable",
      message: /no root key opens the keys: .*sealed.*; AWS KMS states that .* is disabled/,
    });
    kms.state.answer = undefined;
    // The one that was lost for good.
    transit.keys.delete("cofre");
    await starts();
  });

  test("is begun only when both wrap its keys", async (context) => {
    const { transit, directory, base, first, next } = await twoServices(context);
    const environment = { ...base, ...first, ...next };
    transit.state.isSealed = true;
    await assert.rejects(startTestServer({ environment }), { failure: "unavailable" });
    transit.state.isSealed = false;
    await using server = await startTestServer({ environment });
    const [set] = server.events.filter((each) => each.event === "root_keys");
    assert.equal(set?.roots, `transit:transit/cofre, aws-kms:${arnOf("1")}`, directory);
  });

  test("one of which is a file starts without the file, and says so", async (context) => {
    const { directory, base, nextIsTransit } = await twoServices(context);
    const environment = { ...base, ...nextIsTransit };
    const server = await startTestServer({ environment });
    const token = await tokenOf(server);
    await server[Symbol.asyncDispose]();
    const file = join(directory, "root.key");
    renameSync(file, `${file}.gone`);
    {
      await using started = await startTestServer({ environment, seed: "without" });
      await charge(started, "without", token);
      const event = { event: "root_key_unusable", keyId: "file", failure: "unavailable" };
      assert.deepEqual(
        started.events.filter((each) => each.event === "root_key_unusable"),
        [event],
      );
    }
    await assert.rejects(startTestServer({ environment: base }), {
      message: /root\.key is missing/,
    });
    renameSync(`${file}.gone`, file);
    await using last = await startTestServer({ environment: base, seed: "alone" });
    await charge(last, "alone", token);
  });

  test("a start adds no root key by itself", async (context) => {
    const { transit, kms, base, first, next } = await twoServices(context);
    await (await startTestServer({ environment: { ...base, ...first } }))[Symbol.asyncDispose]();
    const environment = { ...base, ...first, ...next };
    const started = await startTestServer({ environment });
    const [set] = started.events.filter((each) => each.event === "root_keys");
    assert.equal(set?.roots, "transit:transit/cofre");
    await started[Symbol.asyncDispose]();
    transit.state.isSealed = true;
    await assert.rejects(startTestServer({ environment }), { failure: "unavailable" });
    // Nothing but the canary was sent to the other one.
    assert.doesNotMatch(kms.state.last.body, /"cofre:purpose":"epoch"/);
  });

  test("is made by an act, and made by another one into one with the second root key alone", async (context) => {
    const { transit, kms, base, first, next } = await twoServices(context);
    const both = { ...base, ...first, ...next };
    const started = await startTestServer({ environment: { ...base, ...first } });
    const token = await tokenOf(started);
    const root = `aws-kms:${arnOf("1")}`;
    const act = async (server: TestServer, name: string, more = {}) => {
      const fields = {
        integration_key: integrationKey,
        act: name,
        root,
        reason: "a test",
        ...more,
      };
      const { body } = await server.postJson("/__cofre/keys", fields);
      assert.equal(body["result"], "done", JSON.stringify(body));
      return body;
    };
    // This process does not have the second root key.
    assert.equal((await act(started, "add-root"))["state"], "refused");
    await started[Symbol.asyncDispose]();

    const server = await startTestServer({ environment: both, seed: "both" });
    kms.service.mode = "refuses";
    const refused = await act(server, "add-root");
    assert.equal(refused["state"], "refused");
    assert.match(String(refused["waits"]), /could not be reached|closed/);
    kms.service.mode = "answers";
    const added = await act(server, "add-root");
    assert.deepEqual(
      [added["state"], added["roots"]],
      ["changed", `transit:transit/cofre, ${root}`],
    );
    const [event] = server.events.filter((each) => each.event === "root_keys_changed");
    assert.equal(event?.fingerprint, added["fingerprint"]);
    await server[Symbol.asyncDispose]();

    transit.state.isSealed = true;
    const alone = await startTestServer({ environment: both, seed: "alone" });
    await charge(alone, "alone", token);
    const waits = await act(alone, "move-root");
    assert.deepEqual([waits["state"], waits["version"]], ["waiting", 2]);
    const moved = await act(alone, "move-root", { now: "true" });
    assert.deepEqual([moved["state"], moved["roots"]], ["changed", root]);
    await charge(alone, "moved", token);
    await alone[Symbol.asyncDispose]();

    transit.state.isSealed = false;
    await assert.rejects(startTestServer({ environment: { ...base, ...first } }), {
      message: /are wrapped by the root key aws-kms:/,
    });
    const now = Object.fromEntries(
      Object.entries(next).map(([name, value]) => [name.replace("_NEXT", ""), value]),
    );
    await using last = await startTestServer({ environment: { ...base, ...now }, seed: "last" });
    await charge(last, "last", token);
  });

  test("is not one that keeps its keys in files", async (context) => {
    const { base, nextIsTransit } = await twoServices(context);
    const environment = { ...base, ...nextIsTransit, COFRE_DATA_DIR: earlierFolder(context) };
    await assert.rejects(startTestServer({ environment }), {
      message: /COFRE_ROOT_KEY_NEXT needs an installation that keeps its keys in the database/,
    });
  });
});
