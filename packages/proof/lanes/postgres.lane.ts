import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { freePort } from "../../server/test/free-port.ts";
import { postgresBinaries, startCluster } from "../../server/test/postgres/cluster.ts";
import * as given from "../../server/test/contract/store-fixtures.ts";
import { openStoreOn, query, TestDatabases } from "../../server/test/postgres/databases.ts";
import { directBody, integrationKey } from "../../server/test/server.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";

const tests = join(serverRoot, "test");

/**
 * The suites that have more tests with a PostgreSQL server, all on one server: their files read its
 * address.
 */
const suites = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => join(tests, name))
  .filter((file) => readFileSync(file, "utf8").includes("testUrl"));

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

test(
  "the PostgreSQL store keeps the contract and gives the memory store's answers, on Debian's server",
  { skip },
  async () => {
    await using cluster = await startCluster({ log_parameter_max_length: "0" });
    const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
    const env = { ...inherited, COFRE_TEST_POSTGRES_URL: cluster.url };
    const run = spawn(process.execPath, ["--test", "--test-reporter=spec", ...suites], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    run.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const [code] = (await once(run, "close")) as [number | null];
    // Passed tests fill a thousand lines, and a failure report shows only a few.
    assert.equal(code, 0, output.slice(Math.max(output.lastIndexOf("failing tests"), 0)));
    assert.match(output, /the PostgreSQL store keeps the store contract/);
    assert.match(output, /an installation is moved to PostgreSQL/);
    assert.match(output, /cofre audit on PostgreSQL reads beside a node/);
    assert.doesNotMatch(output, /skipped [1-9]/, "nothing was skipped");
    // No stored value is in the server's log, although the statements failed in every possible way.
    for (const word of ["jose@example.com", "Maracana", "411111xxxxxx1111", "order-1"])
      assert.ok(!cluster.log().includes(word), word);
    assert.ok(
      cluster.log().includes("database system is ready"),
      "control: the log is the server's",
    );
  },
);

test(
  "a port for a server is free where the server listens, below those of outgoing connections, and no other lane is given it",
  { skip },
  async () => {
    const port = await freePort();
    const lowest = Number(
      readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "latin1").split("\t")[0],
    );
    assert.ok(port < lowest, `${port} is below ${lowest}`);
    const listens = async (address: string): Promise<boolean> => {
      const server = createServer().listen(port, address);
      const outcome = await once(server, "listening").then(
        () => true,
        () => false,
      );
      server.close();
      return outcome;
    };
    assert.equal(await listens("127.0.0.1"), true);
    assert.equal(await listens("127.0.0.2"), false, "it is held");
  },
);

test(
  "a node whose standby is gone does not take itself for one that writes",
  { skip },
  async () => {
    await using cluster = await startCluster({ log_parameter_max_length: "0" });
    const databases = new TestDatabases(cluster.url);
    const url = await databases.copy();
    const store = await openStoreOn(url);
    const standby = async (setting: string): Promise<void> => {
      await query(cluster.url, `ALTER SYSTEM ${setting}`);
      await query(cluster.url, "SELECT pg_reload_conf()");
    };
    try {
      assert.equal(
        await store.testWrite(),
        true,
        "control: without a standby to wait for it writes",
      );
      await standby("SET synchronous_standby_names = 'nobody'");
      for (let tries = 0; tries < 600 && (await store.testWrite()); tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(store.isWriting, false);
      await standby("RESET synchronous_standby_names");
      for (let tries = 0; tries < 600 && !(await store.testWrite()); tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(store.isWriting, true);
    } finally {
      await standby("RESET synchronous_standby_names");
      await store.close();
    }
  },
);

describe("a server that cannot be trusted with payments is refused", { skip }, () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let databases: TestDatabases;
  before(async () => {
    cluster = await startCluster({ log_parameter_max_length: "0" });
    databases = new TestDatabases(cluster.url);
  });
  after(() => cluster[Symbol.asyncDispose]());

  /** Settings of one database. */
  const refused: readonly (readonly [code: string, settings: Readonly<Record<string, string>>])[] =
    [
      ["synchronous_commit_off", { synchronous_commit: "off" }],
      ["synchronous_commit_off", { synchronous_commit: "local" }],
      ["synchronous_commit_off", { synchronous_commit: "remote_write" }],
      ["logs_parameters", { log_parameter_max_length: "-1", log_statement: "all" }],
      ["logs_parameters", { log_parameter_max_length: "10", log_statement: "mod" }],
      ["logs_parameters", { log_parameter_max_length: "-1", log_min_duration_statement: "1000" }],
      ["logs_parameters", { log_parameter_max_length: "-1", log_min_duration_sample: "0" }],
      ["logs_parameters", { log_parameter_max_length: "-1", log_transaction_sample_rate: "0.5" }],
      ["logs_parameters", { log_parameter_max_length: "-1", log_duration: "on" }],
      ["logs_parameters", { log_parameter_max_length_on_error: "-1" }],
      [
        "logs_parameters",
        { session_preload_libraries: "auto_explain", "auto_explain.log_min_duration": "0" },
      ],
    ];
  for (const [code, settings] of refused) {
    test(`${JSON.stringify(settings)}: ${code}`, async () => {
      const url = await databases.copy();
      const name = new URL(url).pathname.slice(1);
      for (const [setting, value] of Object.entries(settings)) {
        await query(cluster.url, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
      }
      await assert.rejects(openStoreOn(url), { name: "PostgresOpenError", code });
    });
  }

  /** Settings of the whole server. */
  for (const setting of ["fsync", "full_page_writes"]) {
    test(`${setting} = off: ${setting}_off`, async () => {
      const url = await databases.copy();
      const set = async (text: string, value: string): Promise<void> => {
        await query(cluster.url, text);
        await query(cluster.url, "SELECT pg_reload_conf()");
        for (let tries = 0; tries < 200; tries += 1) {
          const [row] = await query<Record<string, string>>(cluster.url, `SHOW ${setting}`);
          if (row?.[setting] === value) return;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      await set(`ALTER SYSTEM SET ${setting} = off`, "off");
      await assert.rejects(openStoreOn(url), { name: "PostgresOpenError", code: `${setting}_off` });
      await set(`ALTER SYSTEM RESET ${setting}`, "on");
    });
  }

  test("statements may be logged when their parameters are not, and then the log holds none", async () => {
    const url = await databases.copy();
    const name = new URL(url).pathname.slice(1);
    await query(cluster.url, `ALTER DATABASE ${name} SET log_statement = 'all'`);
    const store = await openStoreOn(url);
    await store.commit(given.paymentChange(given.newPayment(1)));
    await store.close();
    assert.match(
      cluster.log(),
      /SELECT write_batch_2\(\$1\) AS answer/,
      "control: the statement is there",
    );
    assert.doesNotMatch(cluster.log(), /jose@example\.com|order-1/);
  });

  test("no synchronous standby, unless that is waived", async () => {
    const url = await databases.copy();
    await assert.rejects(openStoreOn(url, { waiveStandby: false }), {
      name: "PostgresOpenError",
      code: "no_synchronous_standby",
    });
    await (await openStoreOn(url)).close();
  });

  test("an encoding that does not hold every name", async () => {
    const url = await databases.create("ENCODING 'LATIN1' TEMPLATE template0");
    await assert.rejects(openStoreOn(url), { name: "PostgresOpenError", code: "not_utf8" });
  });

  test("no server, or no such user: one fixed text, without the password", async () => {
    const wrong = new URL(cluster.url);
    wrong.username = "nobody";
    wrong.password = "hunter2";
    for (const url of ["postgres://postgres@127.0.0.1:1/postgres", wrong.href]) {
      await assert.rejects(openStoreOn(url), (error: Error) => {
        assert.equal(error.name, "PostgresOpenError");
        assert.doesNotMatch(
          `${error.message} ${error.stack ?? ""} ${JSON.stringify(error)}`,
          /hunter2|nobody|ECONNREFUSED/,
        );
        return true;
      });
    }
  });
});

test(
  "a server on PostgreSQL charges a card, and after a kill another process on the same database knows it",
  { skip },
  async () => {
    await using cluster = await startCluster({ log_parameter_max_length: "0" });
    const url = await new TestDatabases(cluster.url).create();
    const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
    const started: CofreProcess[] = [];
    const client = new WireClient(1);
    const start = async (
      name: string,
      over: Readonly<Record<string, string>> = {},
    ): Promise<[CofreProcess, number | undefined]> => {
      const cofre = CofreProcess.spawn({
        root: serverRoot,
        dataDirectory: join(folder, "data"),
        logDirectory: folder,
        name,
        environment: {
          COFRE_DATABASE_URL: url,
          COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
          COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
          ...over,
        },
      });
      started.push(cofre);
      return [cofre, await cofre.listening()];
    };
    try {
      const [, refusedPort] = await start("refused", { COFRE_DATABASE_ALLOW_NO_STANDBY: "false" });
      assert.equal(refusedPort, undefined);
      assert.match(readFileSync(join(folder, "refused.stderr"), "utf8"), /no synchronous standby/);

      const [first, port] = await start("first");
      assert.ok(port !== undefined, readFileSync(join(folder, "first.stderr"), "utf8"));
      const charged = await client.ask(port, "/ws/direct", directBody("order-1"));
      assert.equal(charged?.["status"], "SUCCESS", JSON.stringify(charged));
      await first.end("SIGKILL");

      const [second, secondPort] = await start("second");
      assert.ok(secondPort !== undefined);
      const found = await client.ask(secondPort, "/ws/query", {
        integration_key: integrationKey,
        merchant_payment_code: "order-1",
      });
      assert.deepEqual(found?.["payment"], charged["payment"]);
      const again = await client.ask(secondPort, "/ws/direct", directBody("order-1"));
      assert.notEqual(again?.["status"], "SUCCESS", "the code is taken");
      await second.end("SIGTERM");
      assert.doesNotMatch(
        cluster.log(),
        /4111111111111111|Maracan|ana\.lima@example/,
        "nothing of a request is in the server's log",
      );
    } finally {
      for (const cofre of started) await cofre.end("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
