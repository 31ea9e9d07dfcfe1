import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { arnOf, fakeKms } from "../key-services/fake-kms.ts";
import { fakeTransit } from "../key-services/fake-transit.ts";
import { awsCredentials } from "../key-services/open.ts";
import { fakeService } from "../key-services/service.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

interface Place {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Makes the service unavailable, or available again. */
  readonly seal: (isSealed: boolean) => void;
}

const places: Readonly<Record<string, (context: TestContext) => Promise<Place>>> = {
  async transit(context) {
    const { service, state } = await fakeTransit();
    context.after(() => service.close());
    return {
      ...placeFor(context, `transit:${service.url.origin}/v1/transit/cofre`, "s.root\n"),
      seal: (isSealed) => void (state.isSealed = isSealed),
    };
  },
  async "AWS KMS"(context) {
    const { service, state } = await fakeKms();
    context.after(() => service.close());
    const place = placeFor(
      context,
      `aws-kms:${arnOf("1")}`,
      awsCredentials("AKIAIOSFODNN7EXAMPLE"),
    );
    const throttled = { status: 400, body: { __type: "ThrottlingException" } };
    return {
      directory: place.directory,
      environment: { ...place.environment, COFRE_ROOT_KEY_ENDPOINT: service.url.origin },
      seal: (isSealed) => void (state.answer = isSealed ? throttled : undefined),
    };
  },
};

function placeFor(context: TestContext, rootKey: string, credentials: string) {
  const base = mkdtempSync(join(tmpdir(), "cofre-service-"));
  context.after(() => rmSync(base, { recursive: true }));
  const file = join(base, "credentials");
  writeFileSync(file, credentials, { mode: 0o600 });
  const directory = join(base, "data");
  return {
    directory,
    environment: {
      COFRE_DATA_DIR: directory,
      COFRE_ROOT_KEY: rootKey,
      COFRE_ROOT_KEY_SECRET_FILE: file,
    },
  };
}

async function token(server: TestServer): Promise<string> {
  const { body } = await server.postJson("/ws/token", {
    integration_key: integrationKey,
    payment_type_code: "creditcard",
    creditcard: testCard,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return String(body["token"]);
}

async function charge(server: TestServer, code: string, stored: string): Promise<void> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { token: stored, card_cvv: "123" } }),
  );
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

for (const [name, placeOf] of Object.entries(places)) {
  describe(`an installation whose root key is in ${name}`, () => {
    test("opens its cards after a restart, and has no root key of its own", async (context) => {
      const { directory, environment } = await placeOf(context);
      const first = await startTestServer({ environment });
      const stored = await token(first);
      await first[Symbol.asyncDispose]();
      const files = readdirSync(directory);
      assert.ok(!files.some((name) => /root|keys|sealed/.test(name)), files.join());

      await using second = await startTestServer({ environment });
      await charge(second, "after", stored);
    });

    test("charges and stores cards while the service is unavailable, and is not started then", async (context) => {
      const { environment, seal } = await placeOf(context);
      const server = await startTestServer({ environment });
      const stored = await token(server);
      seal(true);
      await charge(server, "during", stored);
      await charge(server, "new card", await token(server));
      await server[Symbol.asyncDispose]();

      await assert.rejects(startTestServer({ environment }), { failure: "unavailable" });
      seal(false);
      await using again = await startTestServer({ environment });
      await charge(again, "after", stored);
    });

    test("is not begun again beside the note of its database when the database is missing", async (context) => {
      const { directory, environment } = await placeOf(context);
      const first = await startTestServer({ environment });
      const stored = await token(first);
      await first[Symbol.asyncDispose]();
      renameSync(join(directory, "cofre.db"), join(directory, "kept"));
      const before = readdirSync(directory);
      await assert.rejects(startTestServer({ environment }), { code: "missing" });
      assert.deepEqual(readdirSync(directory), before);
      renameSync(join(directory, "kept"), join(directory, "cofre.db"));
      await using second = await startTestServer({ environment });
      await charge(second, "after", stored);
    });

    test("is not started with a root key in a file, nor the other way round", async (context) => {
      const { directory, environment } = await placeOf(context);
      const file = { COFRE_DATA_DIR: directory };
      await (await startTestServer({ environment }))[Symbol.asyncDispose]();
      await assert.rejects(startTestServer({ environment: file }), {
        name: "KeyringError",
        message: /root\.key is missing.* or set COFRE_ROOT_KEY/,
      });

      const other = { COFRE_DATA_DIR: `${directory}-other` };
      await (await startTestServer({ environment: other }))[Symbol.asyncDispose]();
      await assert.rejects(startTestServer({ environment: { ...environment, ...other } }), {
        name: "KeyringError",
        message: /wrapped by the root key [0-9a-f]{16}, this one is (?:transit|aws-kms):/,
      });
    });
  });
}

test("a Cofre in a container of AWS uses the container's credentials, and without any says what is missing", async (context) => {
  const { service } = await fakeKms();
  context.after(() => service.close());
  const { environment, directory } = placeFor(context, `aws-kms:${arnOf("1")}`, "");
  const own = {
    ...environment,
    COFRE_DATA_DIR: directory,
    COFRE_ROOT_KEY_SECRET_FILE: "",
    COFRE_ROOT_KEY_ENDPOINT: service.url.origin,
  };
  process.env["AWS_EC2_METADATA_DISABLED"] = "true";
  context.after(() => delete process.env["AWS_EC2_METADATA_DISABLED"]);
  await assert.rejects(startTestServer({ environment: own }), {
    failure: "unauthorized",
    message: /there are no credentials for AWS KMS: set COFRE_ROOT_KEY_SECRET_FILE/,
  });
  const platform = await fakeService(() => ({
    status: 200,
    body: {
      AccessKeyId: "AKIAIOSFODNN7EXAMPLE",
      SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    },
  }));
  context.after(() => platform.close());
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${platform.url.origin}/credentials`;
  context.after(() => delete process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"]);
  await using server = await startTestServer({ environment: own });
  await charge(server, "container", await token(server));
  assert.ok(platform.requests.includes("GET /credentials"));
});
