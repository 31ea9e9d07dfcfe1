import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { inspect } from "node:util";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { fakeTransit } from "../key-services/fake-transit.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import {
  newFolder,
  newRecoveryKey,
  recovery,
  type RecoveryKeyOfTest,
} from "../support/recovery.ts";
import { until } from "../until.ts";
import { earlier, earlierFolder } from "./earlier-installation.ts";

const stored = ["4111111111111111", "5555555555554444", "4111111111111111", "378282246310005"];

async function storeCards(server: TestServer): Promise<string[]> {
  const tokens: string[] = [];
  for (const number of stored) {
    const { body } = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      creditcard: {
        ...testCard,
        card_number: number,
        card_cvv: number.length === 15 ? "1234" : "123",
      },
    });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    tokens.push(String(body["token"]));
  }
  return tokens;
}

/** Charges each card; how many of them opened. */
async function openedCards(
  server: TestServer,
  tokens: readonly string[],
  key = integrationKey,
): Promise<number> {
  let opened = 0;
  for (const [at, token] of tokens.entries()) {
    const body = directBody(`after ${at}`, { creditcard: { token } });
    const answer = await server.postJson("/ws/direct", { ...body, integration_key: key });
    if (answer.body["status"] === "SUCCESS") opened += 1;
  }
  return opened;
}

/** The bytes of the key files of a directory, and the key records of its database. */
function storedKeys(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory).filter((name) => /^root\.key$|^keys\.|\.sealed$/.test(name));
  const database = new DatabaseSync(join(directory, "cofre.db"), { readOnly: true });
  const records = database.prepare("SELECT * FROM key_record ORDER BY merchant, purpose").all();
  database.close();
  const files = names
    .toSorted()
    .map((name): [string, string] => [name, readFileSync(join(directory, name), "hex")]);
  const whole = { depth: null, maxStringLength: null, maxArrayLength: null };
  return { ...Object.fromEntries(files), records: inspect(records, whole) };
}

function newest(directory: string): string {
  const names = readdirSync(directory).filter((name) => /^keys\.\d+\.json$/.test(name));
  return join(
    directory,
    names.toSorted((one, other) => one.localeCompare(other, "en", { numeric: true })).at(-1) ?? "",
  );
}

function recoveryEvents(server: TestServer): unknown[] {
  return server.events.filter(({ event }) => event.startsWith("recovery_"));
}

describe("an installation with a recovery key", () => {
  test("whose root key was destroyed: three shares open every card, two none", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = join(newFolder(context), "data");
    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    const first = await startTestServer({ environment });
    const tokens = await storeCards(first);
    await first[Symbol.asyncDispose]();
    const root = readFileSync(join(directory, "root.key"));
    rmSync(join(directory, "root.key"));
    await assert.rejects(startTestServer({ environment }), { message: /root\.key is missing/ });

    const before = storedKeys(directory);
    const [one = "", two = "", three = "", four = "", five = ""] = key.shares;
    const open = (shares: readonly string[]) =>
      recovery(["open", "--data-dir", directory, "--json"], { shares });
    const refused = await open([one, four]);
    assert.deepEqual([refused.code, refused.output], [1, ""]);
    assert.deepEqual(storedKeys(directory), before);
    await assert.rejects(startTestServer({ environment }), { message: /root\.key is missing/ });

    const opened = await open([five, two, three]);
    assert.deepEqual([opened.code, opened.problems], [0, ""]);
    const { shares, root_key: rootKey } = JSON.parse(opened.output) as Record<string, unknown>;
    assert.deepEqual(shares, [2, 3, 5]);
    assert.match(String(rootKey), /^[0-9a-f]{16}$/);

    const second = await startTestServer({ environment });
    assert.equal(await openedCards(second, tokens), stored.length);
    assert.deepEqual(recoveryEvents(second), [
      { event: "recovery_key", recoveryKey: key.fingerprint, made: 0 },
    ]);
    await second[Symbol.asyncDispose]();

    // The lost root key is found again: it wraps nothing any more.
    writeFileSync(join(directory, "root.key"), root, { mode: 0o600 });
    await assert.rejects(startTestServer({ environment }), {
      message: /wrapped by the root key .*, this one is/,
    });
  });

  test("that had none before seals its keys at the next start, and once", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = join(newFolder(context), "data");
    const without = await startTestServer({ environment: { COFRE_DATA_DIR: directory } });
    const tokens = await storeCards(without);
    assert.deepEqual(recoveryEvents(without), []);
    await without[Symbol.asyncDispose]();
    const drill = () =>
      recovery(["drill", "--recovery-key", key.publicFile, "--data-dir", directory], {
        shares: key.shares,
      });
    const early = await drill();
    assert.equal(early.code, 1);
    assert.match(early.problems, /was not sealed for a recovery key/);

    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    const second = await startTestServer({ environment });
    assert.deepEqual(recoveryEvents(second), [
      { event: "recovery_key", recoveryKey: key.fingerprint, made: 1 },
    ]);
    await second[Symbol.asyncDispose]();
    const sealed = storedKeys(directory);
    const { code, output } = await drill();
    assert.equal(code, 0);
    assert.match(
      output,
      /shares 1, 2, 3 opened the canary, 5 keys and 0 secrets of the recovery key/,
    );
    const third = await startTestServer({ environment });
    assert.deepEqual(recoveryEvents(third), [
      { event: "recovery_key", recoveryKey: key.fingerprint, made: 0 },
    ]);
    await third[Symbol.asyncDispose]();
    assert.deepEqual(storedKeys(directory), sealed);

    // Without the setting it opens what has the wraps.
    const last = await startTestServer({ environment: { COFRE_DATA_DIR: directory } });
    assert.equal(await openedCards(last, tokens), stored.length);
    await last[Symbol.asyncDispose]();
  });

  test("seals no key for a file whose fingerprint is not the setting", async (context) => {
    const [key, intruder] = [await newRecoveryKey(context), await newRecoveryKey(context)];
    const directory = join(newFolder(context), "data");
    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    await (await startTestServer({ environment }))[Symbol.asyncDispose]();
    const before = storedKeys(directory);
    cpSync(intruder.publicFile, key.publicFile);
    await assert.rejects(startTestServer({ environment }), {
      name: "KeyringError",
      message: /has the recovery key sha256:\w+, but COFRE_RECOVERY_KEY is sha256:\w+/,
    });
    const fingerprint = `"fingerprint": "${key.fingerprint}"`;
    const file = readFileSync(key.publicFile, "utf8");
    writeFileSync(key.publicFile, file.replace(/"fingerprint": "[^"]+"/, fingerprint));
    await assert.rejects(startTestServer({ environment }), {
      message: /not a recovery key, or was altered/,
    });
    rmSync(key.publicFile);
    await assert.rejects(startTestServer({ environment }), {
      message: /cannot be read \(ENOENT\)/,
    });
    assert.deepEqual(storedKeys(directory), before);
  });

  test("does not start with a wrap that another program altered: its record does not fit", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = join(newFolder(context), "data");
    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    await (await startTestServer({ environment }))[Symbol.asyncDispose]();
    const database = new DatabaseSync(join(directory, "cofre.db"));
    // The last byte of an epoch key's wraps belongs to the one for the recovery key.
    database.exec(`UPDATE key_record SET sequence = 2, wraps = substr(wraps, 1, length(wraps) - 4) ||
      iif(substr(wraps, -4, 1) = '0', '1', '0') || substr(wraps, -3) WHERE purpose = 'epoch'`);
    database.close();
    await assert.rejects(startTestServer({ environment }), {
      name: "KeyringError",
      message: /key record epoch 1 does not fit/,
    });
  });

  test("finds an altered wrap in a file at the start, reports it and replaces it", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = earlierFolder(context);
    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    const upgrading = await startTestServer({ environment });
    await until("all rows are upgraded", () =>
      upgrading.events.some(({ event }) => event === "rows_upgraded"),
    );
    await upgrading[Symbol.asyncDispose]();
    const file = newest(directory);
    // The last byte of a key's wraps belongs to the one for the recovery key.
    const altered = readFileSync(file, "utf8").replace(
      /([0-9a-f])("\n\s*\})/,
      (_, digit: string, end: string) => `${digit === "0" ? "1" : "0"}${end}`,
    );
    writeFileSync(file, altered);
    const drill = () =>
      recovery(["drill", "--recovery-key", key.publicFile, "--data-dir", directory], {
        shares: key.shares,
      });
    assert.match(
      (await drill()).problems,
      /does not open: what was sealed for the recovery key was altered/,
    );

    const server = await startTestServer({ environment });
    assert.deepEqual(recoveryEvents(server), [
      { event: "recovery_key", recoveryKey: key.fingerprint, made: 0 },
      { event: "recovery_wraps_altered", recoveryKey: key.fingerprint, altered: 1 },
    ]);
    await server[Symbol.asyncDispose]();
    assert.equal((await drill()).code, 0);
  });

  test("whose recovery key was renewed is opened by the new shares alone", async (context) => {
    const [old, renewed] = [await newRecoveryKey(context), await newRecoveryKey(context)];
    const directory = join(newFolder(context), "data");
    const environment = { COFRE_DATA_DIR: directory, ...old.environment };
    const first = await startTestServer({ environment });
    const tokens = await storeCards(first);
    await first[Symbol.asyncDispose]();
    const second = await startTestServer({
      environment: { ...environment, ...renewed.environment },
    });
    assert.deepEqual(recoveryEvents(second), [
      { event: "recovery_key", recoveryKey: renewed.fingerprint, made: 1 },
    ]);
    await second[Symbol.asyncDispose]();
    rmSync(join(directory, "root.key"));
    const open = ({ shares }: RecoveryKeyOfTest) =>
      recovery(["open", "--data-dir", directory], { shares });
    const refused = await open(old);
    assert.equal(refused.code, 1);
    assert.match(
      refused.problems,
      /was sealed for the recovery key sha256:\w+, and the shares are of sha256:/,
    );
    const opened = await open(renewed);
    assert.equal(opened.code, 0, opened.problems);
    await using third = await startTestServer({
      environment: { ...environment, ...renewed.environment },
    });
    assert.equal(await openedCards(third, tokens), stored.length);
  });

  test("is opened into a key service when its root key in a file was lost", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = join(newFolder(context), "data");
    const first = await startTestServer({
      environment: { COFRE_DATA_DIR: directory, ...key.environment },
    });
    const tokens = await storeCards(first);
    await first[Symbol.asyncDispose]();
    rmSync(join(directory, "root.key"));
    const { service } = await fakeTransit();
    context.after(() => service.close());
    const credentials = join(newFolder(context), "token");
    writeFileSync(credentials, "s.root\n", { mode: 0o600 });
    const environment = {
      COFRE_DATA_DIR: directory,
      COFRE_ROOT_KEY: `transit:${service.url.origin}/v1/transit/cofre`,
      COFRE_ROOT_KEY_SECRET_FILE: credentials,
      ...key.environment,
    };
    const { code, output, problems } = await recovery(["open"], {
      shares: key.shares,
      environment,
    });
    assert.equal(code, 0, problems);
    assert.match(output, /are wrapped by the root key transit:/);
    assert.equal(readdirSync(directory).includes("root.key"), false);
    await using second = await startTestServer({ environment });
    assert.equal(await openedCards(second, tokens), stored.length);
  });
});

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

describe("an installation on PostgreSQL", () => {
  test(
    "whose root key was destroyed: three shares open every card, two none",
    { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
    async (context) => {
      assert.ok(databases !== undefined);
      const key = await newRecoveryKey(context);
      const directory = join(newFolder(context), "data");
      const environment = {
        COFRE_DATA_DIR: directory,
        COFRE_DATABASE_URL: await databases.create(),
        COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
        ...key.environment,
      };
      // The server compares its clock with PostgreSQL's.
      const ports = { clock: systemClock };
      const first = await startTestServer({ environment, ports });
      const tokens = await storeCards(first);
      await first[Symbol.asyncDispose]();
      rmSync(join(directory, "root.key"));
      await assert.rejects(startTestServer({ environment, ports }), {
        message: /root\.key is missing/,
      });

      const drill = ["drill", "--recovery-key", key.publicFile, "--data-dir", directory];
      const drilled = await recovery(drill, { shares: key.shares, environment });
      assert.equal(drilled.code, 0, drilled.problems);
      assert.match(drilled.output, /opened the canary, \d keys/);
      const two = await recovery(["open"], { shares: key.shares.slice(0, 2), environment });
      assert.equal(two.code, 1, two.output);
      const three = await recovery(["open"], { shares: key.shares.slice(2), environment });
      assert.equal(three.code, 0, three.problems);
      await using second = await startTestServer({ environment, ports });
      assert.equal(await openedCards(second, tokens), stored.length);
    },
  );
});

describe("the installation of an earlier version", () => {
  test("whose root key was destroyed: three shares open every card", async (context) => {
    const key = await newRecoveryKey(context);
    const directory = earlierFolder(context);
    const environment = { COFRE_DATA_DIR: directory, ...key.environment };
    await (await startTestServer({ environment }))[Symbol.asyncDispose]();
    rmSync(join(directory, "root.key"));
    const { code, problems } = await recovery(["open", "--data-dir", directory], key);
    assert.equal(code, 0, problems);
    await using server = await startTestServer({ environment });
    const tokens = earlier.tokens.map(({ token }) => token);
    assert.equal(await openedCards(server, tokens, earlier.integrationKey), tokens.length);
  });
});
