import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import {
  describeKeyProvider,
  failsAs,
} from "../../../server/test/contract/key-provider.contract.ts";
import { directBody } from "../../../server/test/server.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../../server/test/support/planted-copy.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";
import { until } from "../../../server/test/until.ts";
import { provenWrap, type RootKeyFailure } from "../../../server/src/vault/key-provider.ts";
import { type Fault, fileOf, foundInMemory, helperPids, pin, Token, tokenSkips } from "./tokens.ts";

const label = "sandbox/epoch/1";
const skip = tokenSkips.softHsm;
const skipFaulty = skip === false ? tokenSkips.compiler : skip;

function tokenFor(context: TestContext, faulty?: readonly Fault[]): Token {
  const token = new Token(faulty);
  context.after(() => token.end());
  return token;
}

const faults: readonly (readonly [Fault, RootKeyFailure, string])[] = [
  ["hang", "unavailable", "the module does not return"],
  ["crash", "unavailable", "the module crashes"],
  ["device_error", "unavailable", "the device has an error"],
  ["deleted", "denied", "the key was deleted"],
  ["not_permitted", "denied", "the key may not be used"],
];

/** Two keys of one token, which has these limits; undefined: SoftHSM itself, which has no faults. */
function describeToken(name: string, limits: readonly Fault[] | undefined): void {
  describe(name, { skip: limits === undefined ? skip : skipFaulty }, () => {
    let token: Token | undefined;
    after(() => token?.end());
    let keys: readonly [string, string] | undefined;
    describeKeyProvider(name, async () => {
      const made = (token ??= new Token(limits));
      const [own, other] = (keys ??= [
        made.newKey("cofre-root-1", "01"),
        made.newKey("cofre-root-2", "02"),
      ]);
      return {
        open: async () => made.open(own),
        openOther: async () => made.open(other),
        facts: {
          kind: "pkcs11",
          protection: "software",
          isExtractable: false,
          maker: "SoftHSM project",
          model: "SoftHSM v2",
        },
        faults: (limits === undefined ? [] : faults).map(([fault, failure, what]) => ({
          name: what,
          failure,
          begin: () => made.fault(...(limits ?? []), fault),
          end: () => made.fault(...(limits ?? [])),
        })),
      };
    });
  });
}

/** Root keys in tokens of PKCS#11: SoftHSM, and SoftHSM behind a module with faults and limits. */
export function describeTokens(): void {
  describeToken("SoftHSM", undefined);
  describeToken("a faulty token", []);
  describeToken("a token that makes its own nonces", ["own_iv"]);
  describeToken("a token without AES-GCM", ["no_gcm"]);

  describe("a root key in SoftHSM", { skip }, () => {
    test("is refused as long as another key has its label and id, or its attributes allow more", async (context) => {
      const token = tokenFor(context);
      const address = token.newKey("cofre-root-1", "01");
      const provider = token.open(address);
      const wrapped = await provenWrap(provider, randomBytes(32), label);

      const open = (text: string) => token.open(text).wrap(randomBytes(32), label);
      const refused = async (text: string, failure: "unavailable" | "denied", message: RegExp) =>
        await assert.rejects(open(text), { name: "KeyringError", failure, message });
      await refused(
        address.replace(/serial=[0-9a-f]+/, "serial=0"),
        "unavailable",
        /no token that is present/,
      );
      await refused(
        address.replace("token=cofre", "token=other"),
        "unavailable",
        /no token that is present/,
      );
      await refused(
        address.replace("id=%01", "id=%02"),
        "denied",
        /no secret key with the object and id/,
      );
      await refused(address.replace("cofre-root-1", "cofre-root"), "denied", /no secret key/);

      token.tool(
        "--keygen",
        "--key-type",
        "AES:32",
        "--label",
        "loose",
        "--id",
        "05",
        "--sensitive",
        "--usage-decrypt",
      );
      const loose = address.replace("cofre-root-1", "loose").replace("%01", "%05");
      await refused(loose, "unavailable", /CKA_WRAP must be 0/);
      token.tool(
        "--keygen",
        "--key-type",
        "AES:32",
        "--label",
        "cofre-root-1",
        "--id",
        "01",
        "--sensitive",
        "--usage-decrypt",
      );
      await refused(address, "unavailable", /more than one secret key with the object and id/);
      // A process that is logged in notices it too, and recovers.
      await failsAs("unavailable", provider.unwrap(wrapped, label));
      assert.equal(await provider.health(), "unavailable");
      token.tool("--delete-object", "--type", "secrkey", "--label", "loose", "--id", "05");
    });

    test("made as the example says is used, and not destroyed by the user that Cofre logs in as", async (context) => {
      const token = tokenFor(context);
      const address = token.newKey("cofre-root-1", "01");
      assert.throws(() =>
        token.tool("--delete-object", "--type", "secrkey", "--label", "cofre-root-1", "--id", "01"),
      );
      assert.equal(await token.open(address).health(), "ok");
      assert.throws(
        () => token.newKey("cofre-root-1", "01"),
        /the token has an object cofre-root-1/,
      );
      // Control: a key without that attribute is destroyed by this command, and then denied.
      const keyOf = ["--type", "secrkey", "--label", "other", "--id", "07"];
      token.tool("--keygen", "--key-type", "AES:32", "--sensitive", ...keyOf.slice(2));
      token.tool("--delete-object", ...keyOf);
    });

    test("leaves no key and no PIN in the memory of the process that calls the module", async (context) => {
      const token = tokenFor(context);
      const provider = token.open(token.newKey("cofre-root-1", "01"));
      const keys = Array.from({ length: 20 }, () => randomBytes(32));
      for (const key of keys)
        (await provider.unwrap(await provider.wrap(key, label), label)).fill(0);
      const [helper = 0] = helperPids();
      const control = Buffer.from("cofre-root-1");
      assert.deepEqual(foundInMemory(helper, [...keys, Buffer.from(pin), control]), [control]);
    });

    test("is logged in to once per process, and not with a PIN that was refused", async (context) => {
      const token = tokenFor(context);
      const address = token.newKey("cofre-root-1", "01");
      token.writePin("wrong-pin");
      const provider = token.open(address);
      await assert.rejects(provider.wrap(randomBytes(32), label), {
        failure: "unauthorized",
        message: /C_Login of the PKCS#11 module returned CKR_PIN_INCORRECT/,
      });
      await until("the pause is over", async () => {
        const error: unknown = await provider
          .wrap(randomBytes(32), label)
          .catch((reason: unknown) => reason);
        return error instanceof Error && error.message.includes("not tried again until the file");
      });
      assert.deepEqual(helperPids(), []);
      token.writePin(pin);
      await until("the corrected PIN is used", async () => (await provider.health()) === "ok");
    });
  });

  describe("a token with limits", { skip: skipFaulty }, () => {
    test("is left with two tries of the PIN, however often and from however many nodes it is opened", async (context) => {
      const token = tokenFor(context, []);
      const address = token.newKey("cofre-root-1", "01");
      token.writePin("wrong-pin");
      const first = token.open(address);
      for (let start = 0; start < 4; start += 1) {
        const provider = start === 0 ? first : token.open(address);
        await failsAs("unauthorized", provider.wrap(randomBytes(32), label));
        await failsAs("unauthorized", provider.wrap(randomBytes(32), label));
        assert.equal(token.wrongPins(), 1, `start ${start}`);
      }
      const refused = token.open(address);
      await assert.rejects(refused.wrap(randomBytes(32), label), {
        message: /has refused a PIN since the last login, so no login is tried/,
      });
      // The process whose PIN it was tries another one, once; the others wait for its login.
      token.writePin(pin);
      await failsAs("unauthorized", token.open(address).wrap(randomBytes(32), label));
      assert.equal(token.wrongPins(), 1);
      await until("the corrected PIN is used", async () => (await first.health()) === "ok");
      assert.equal(token.wrongPins(), 0);
      await until("the others log in", async () => (await refused.health()) === "ok");
    });

    test("whose last try is left is not logged in to, not even with a corrected PIN", async (context) => {
      const token = tokenFor(context, []);
      const provider = token.open(token.newKey("cofre-root-1", "01"));
      for (const wrong of ["wrong-1", "wrong-2"]) {
        token.writePin(wrong);
        const expected = wrong === "wrong-1" ? 1 : 2;
        await until("the PIN is refused", async () => {
          await failsAs("unauthorized", provider.wrap(randomBytes(32), label));
          return token.wrongPins() === expected;
        });
      }
      token.writePin(pin);
      await until("the pause is over", async () => {
        const error: unknown = await provider
          .wrap(randomBytes(32), label)
          .catch((reason: unknown) => reason);
        return (
          error instanceof Error && error.message.includes("one more wrong PIN locks the token")
        );
      });
      assert.equal(token.wrongPins(), 2);
    });

    test("that returns another key is wrong, and no wrap of it counts", async (context) => {
      const token = tokenFor(context, []);
      const provider = token.open(token.newKey("cofre-root-1", "01"));
      assert.equal(await provider.health(), "ok");
      token.fault("lie");
      await failsAs("wrong", provenWrap(provider, randomBytes(32), label));
      assert.equal(await provider.health(), "wrong");
      token.fault();
      assert.equal(await provider.health(), "ok");
    });

    test("that is slow is waited for, and one that hangs is logged in to after a pause that grows", async (context) => {
      const token = tokenFor(context, ["slow"]);
      const address = token.newKey("cofre-root-1", "01");
      // 20 calls of 0.3 s, each within a time limit of 10 s.
      const patient = token.open(address, { timeoutMs: 10_000 });
      await Promise.all(
        Array.from({ length: 20 }, () => provenWrap(patient, randomBytes(32), label)),
      );
      patient.close();

      token.fault();
      let nowMs = 0;
      const provider = token.open(address, { elapsedMs: () => nowMs });
      const wrapped = await provenWrap(provider, randomBytes(32), label);
      token.fault("hang");
      const failure = (): Promise<unknown> =>
        provider.unwrap(wrapped, label).catch((error: unknown) => error);
      let last = await failure();
      assert.match(String(last), /did not answer within/);
      for (let pauseMs = 5_000, failures = 0; failures < 8; failures += 1) {
        const failedAtMs = nowMs;
        // At random, a pause is up to a half shorter. Within it, the failure is repeated.
        nowMs = failedAtMs + pauseMs / 2 - 1;
        assert.equal(await failure(), last);
        nowMs = failedAtMs + pauseMs;
        const next = await failure();
        assert.notEqual(next, last);
        last = next;
        pauseMs = Math.min(pauseMs * 2, 300_000);
      }
      await until("no helper is left", () => helperPids().length === 0);
      nowMs += 300_000;
      token.fault();
      await provider.unwrap(wrapped, label);
    });
  });

  test(
    "a Cofre with its root key in SoftHSM charges while its helper is killed, restarts it, and shows the PIN nowhere",
    { skip, timeout: 400_000 },
    async (context) => {
      const token = tokenFor(context);
      const key = "custody_lane_key_1";
      const client = new WireClient(1);
      const nodes: CofreProcess[] = [];
      context.after(async () => {
        client.close();
        for (const node of nodes) await node.end("SIGTERM");
      });
      const environment = {
        ...token.variables,
        COFRE_SANDBOX_INTEGRATION_KEY: key,
        COFRE_ROOT_KEY: token.newKey("cofre-root-1", "01"),
        COFRE_ROOT_KEY_SECRET_FILE: token.pinFile,
        COFRE_PKCS11_MODULE: token.module,
      };
      const start = async (name: string) => {
        const dataDirectory = join(token.folder, "data");
        const place = { root: serverRoot, dataDirectory, logDirectory: token.folder };
        const node = CofreProcess.spawn({ ...place, name, environment });
        nodes.push(node);
        const port = await node.listening();
        assert.ok(port !== undefined, readFileSync(node.stderrFile, "utf8"));
        return { node, port };
      };
      const charge = async (port: number, code: string, changes = {}): Promise<string> => {
        const body = { ...directBody(code, changes), integration_key: key };
        const answer = await client.ask(port, "/ws/direct", body);
        assert.equal(answer?.["status"], "SUCCESS", JSON.stringify(answer));
        return String((answer["payment"] as Record<string, unknown>)["token"]);
      };

      const { node, port } = await start("first");
      const stored = {
        creditcard: { token: await charge(port, "0", { create_token: true }), card_cvv: "123" },
      };
      const [helper, ...others] = helperPids(node.pid);
      assert.ok(helper !== undefined && others.length === 0, "one helper");
      // Control: the settings are in the environment of the server, and the address in no helper's.
      assert.ok(fileOf(node.pid, "environ").includes("COFRE_ROOT_KEY=pkcs11:"));
      for (const name of ["environ", "cmdline"] as const) {
        assert.ok(fileOf(helper, name).length > 0, name);
        for (const text of [pin, key, "COFRE_ROOT_KEY"])
          assert.equal(fileOf(helper, name).includes(text), false, `${text} in ${name}`);
        assert.equal(fileOf(node.pid, name).includes(pin), false);
      }

      process.kill(helper, "SIGKILL");
      let charges = 0;
      // The root key is checked once a minute.
      await until("another helper has been started", async () => {
        await charge(port, `during ${(charges += 1)}`, charges % 2 === 0 ? stored : {});
        const [next] = helperPids(node.pid);
        return next !== undefined && next !== helper;
      });
      assert.ok(charges >= 50, `${charges} charges`);
      context.diagnostic(
        `${charges} charges while the helper was killed and replaced, none failed`,
      );

      // A killed server takes its helper along.
      const [last] = helperPids(node.pid);
      await node.end("SIGKILL");
      await until("the helper has ended", () => fileOf(last ?? 0, "cmdline").length === 0);
      const again = await start("again");
      await charge(again.port, "after", stored);
      const [ended] = helperPids(again.node.pid);
      await again.node.end("SIGTERM");
      await until("the helper has ended", () => fileOf(ended ?? 0, "cmdline").length === 0);
      for (const { stdoutFile, stderrFile } of nodes)
        for (const file of [stdoutFile, stderrFile])
          assert.equal(readFileSync(file).includes(pin), false, file);
      assert.ok(readFileSync(token.pinFile).includes(pin), "control");
    },
  );
}
