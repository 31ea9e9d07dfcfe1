import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { Command, temporaryFolder } from "../command.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { earlierFolder } from "./earlier-installation.ts";

async function status(
  context: TestContext,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Command> {
  const command = Command.cofre(context, ["keys", "status", ...args], environment);
  await command.exited;
  return command;
}

async function start(
  context: TestContext,
  environment: Readonly<Record<string, string>>,
): Promise<Command> {
  const server = Command.cofre(context, ["start"], {
    COFRE_PORT: "0",
    COFRE_LOG_FORMAT: "json",
    ...environment,
  });
  await server.event("listening");
  return server;
}

interface Status {
  readonly installation: string;
  readonly root_keys: { readonly version: number; readonly fingerprint: string };
  readonly keys: readonly {
    readonly key: string;
    readonly state: string;
    readonly age_days: number;
    readonly wrapped_by: readonly string[];
    readonly check: string;
  }[];
}

describe("cofre keys status", () => {
  test("lists the keys beside a running server, without the root key and without a secret", async (context) => {
    const folder = join(temporaryFolder(context), "data");
    const environment = { COFRE_DATA_DIR: folder };
    const server = await start(context, environment);
    const table = await status(context, environment);
    assert.equal(table.child.exitCode, 0, table.stderr);
    const [installation, set, head, ...rows] = table.stdout.trimEnd().split("\n");
    assert.match(installation ?? "", /^installation [0-9a-f]{32}$/);
    assert.match(set ?? "", /^set 1 of root keys, fingerprint [0-9a-f]{64}$/);
    assert.match(head ?? "", /^key +state +made +days +wrapped by +check$/);
    assert.equal(rows.length, 5);
    for (const row of rows)
      assert.match(row, /^[a-z_]+ 1 +current +\d{4}-\d\d-\d\d +0 +\S+ +[0-9A-F]{6}$/);

    const json = await status(context, environment, "--json");
    const { keys, root_keys: roots } = JSON.parse(json.stdout) as Status;
    assert.match(set ?? "", new RegExp(`${roots.fingerprint}$`));
    assert.match(
      server.stdout,
      new RegExp(`"event":"root_keys","fingerprint":"${roots.fingerprint}"`),
    );
    assert.deepEqual(keys.map(({ key }) => key).toSorted(), [
      "epoch 1",
      "notifications 1",
      "records 1",
      "sign_in 1",
      "tokens 1",
    ]);
    for (const { key, wrapped_by: by } of keys)
      assert.match(by.join(), key === "epoch 1" ? /^[^,:]+:?[^,]*$/ : /^epoch:1$/, key);
    assert.doesNotMatch(
      json.stdout.replace(roots.fingerprint, ""),
      /[0-9a-f]{64}/i,
      "no key, wrap or whole check value",
    );
  });

  test("says what is missing where there are no key records", async (context) => {
    const empty = join(temporaryFolder(context), "empty");
    mkdirSync(empty);
    for (const folder of [empty, earlierFolder(context)]) {
      const { child, stdout, stderr } = await status(context, { COFRE_DATA_DIR: folder });
      assert.equal(child.exitCode, 1, stderr);
      assert.equal(stdout, "");
      assert.notEqual(stderr, "");
    }
    const memory = await status(context, { COFRE_DATA_DIR: ":memory:" });
    assert.equal(memory.child.exitCode, 2);
    assert.match(memory.stderr, /^COFRE_DATA_DIR is :memory:/);
  });

  test(
    "reads PostgreSQL",
    { skip: testUrl === undefined && "COFRE_TEST_POSTGRES_URL names no server" },
    async (context) => {
      const databases = new TestDatabases(testUrl ?? "");
      context.after(() => databases.drop());
      const url = await databases.create();
      const environment = {
        COFRE_DATABASE_URL: url,
        COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
        COFRE_DATA_DIR: temporaryFolder(context),
      };
      await start(context, environment);
      const json = await status(context, environment, "--json");
      assert.equal((JSON.parse(json.stdout) as Status).keys.length, 5, json.stderr);
    },
  );
});
