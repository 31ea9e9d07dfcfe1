import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { migrations } from "../../server/src/stores/postgres/migrations/index.ts";
import { postgresBinaries, startCluster } from "../../server/test/postgres/cluster.ts";
import { query, TestDatabases } from "../../server/test/postgres/databases.ts";
import { dueTables } from "../../server/test/postgres/due-tables.ts";
import { until } from "../../server/test/until.ts";
import { directBody, integrationKey } from "../../server/test/server.ts";
import { amount } from "./support/amount.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { earlierCopy, earlierMigrations } from "../../server/test/support/earlier-version.ts";
import { fillWithPayments } from "./support/many-rows.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";

/** Set COFRE_UPGRADE_PAYMENTS for another number: 5000000 needs about 20 GB. */
const payments = Number(
  process.env["COFRE_UPGRADE_PAYMENTS"] ?? amount({ quick: 20_000, ci: 100_000, night: 2_000_000 }),
);
/** Time limit for steps whose duration grows with the number of rows. */
const longest = { maxMs: 120_000 + payments };
const shops = 4;

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

/** Shops that charge one payment after the other until the test ends them. */
class Load {
  readonly #client = new WireClient(shops);
  readonly #begun: Promise<void>[] = [];
  #isStopped = false;
  #phase = "before the upgrade";
  /** The ports of the next charges. */
  ports: readonly number[];
  readonly refused: unknown[] = [];
  readonly waitedMs = new Map<string, number[]>();
  charges = 0;

  readonly #receiver: string;

  constructor(port: number, receiver: string) {
    this.ports = [port];
    this.#receiver = receiver;
    for (let shop = 0; shop < shops; shop += 1) this.#begun.push(this.#run());
  }

  /** Charges that begin from now on belong to this phase. */
  phase(name: string): void {
    this.#phase = name;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.charges += 1;
      const [number, phase, begin] = [this.charges, this.#phase, performance.now()];
      const port = this.ports[number % this.ports.length] ?? 0;
      const answer = await this.#client.ask(
        port,
        "/ws/direct",
        directBody(`charge-${number}`, { notification_url: this.#receiver }),
      );
      const waited = this.waitedMs.get(phase) ?? [];
      waited.push(performance.now() - begin);
      this.waitedMs.set(phase, waited);
      if (answer?.["status"] !== "SUCCESS") this.refused.push(answer ?? "no answer");
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#begun);
    this.#client.close();
  }
}

/** A report that locks a table which a migration changes. */
const readsDeliveries = "BEGIN; LOCK TABLE delivery IN ACCESS SHARE MODE";

/** A transaction that stays open after the statements in `text`. */
async function openTransaction(url: string, text: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  return client;
}

/**
 * An autovacuum of the deliveries that takes minutes. It yields to a session that has waited for a
 * second, and restarts.
 */
const slowVacuum = `ALTER TABLE delivery SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10)`;
const vacuums = "SELECT 1 FROM pg_stat_progress_vacuum WHERE relid = 'delivery'::regclass";

interface Installation {
  readonly url: string;
  /** Port of the node of the earlier version. */
  readonly port: number;
  readonly before: CofreProcess;
  readonly load: Load;
  readonly spawn: (name: string, root: string) => CofreProcess;
}

/** A node of the earlier version, which charges, on its own database with `count` payments. */
async function installationWith(
  count: number,
  context: TestContext,
  parts: AsyncDisposableStack,
): Promise<Installation> {
  const cluster = parts.use(
    await startCluster({
      log_parameter_max_length: "0",
      max_wal_size: "4GB",
      autovacuum_naptime: "1s",
    }),
  );
  const url = await new TestDatabases(cluster.url).create();
  const scratch = mkdtempSync(join(tmpdir(), "cofre-upgrade-"));
  parts.defer(() => rmSync(scratch, { recursive: true, force: true }));
  const receiver = createServer(
    (request, response) => void request.resume().on("end", () => response.end()),
  ).listen(0, "127.0.0.1");
  parts.defer(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  await once(receiver, "listening");
  const earlier = earlierCopy();
  parts.defer(() => rmSync(earlier, { recursive: true, force: true }));
  const spawn = (name: string, root: string): CofreProcess => {
    const environment = {
      COFRE_DATABASE_URL: url,
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
    };
    const node = CofreProcess.spawn({
      root,
      dataDirectory: join(scratch, "data"),
      logDirectory: scratch,
      name,
      environment,
    });
    parts.defer(() => node.end("SIGKILL"));
    return node;
  };
  const before = spawn("before", earlier);
  const port = await portOf(before);
  const client = new WireClient(1);
  assert.equal((await client.ask(port, "/ws/direct", directBody("first")))?.["status"], "SUCCESS");
  client.close();
  assert.equal(
    (await query(url, "SELECT 1 FROM migration")).length,
    earlierMigrations,
    "control: it is the version before",
  );
  const begin = performance.now();
  await query(url, slowVacuum);
  await fillWithPayments(url, count);
  context.diagnostic(`s to fill: ${((performance.now() - begin) / 1_000).toFixed(1)}`);
  const load = new Load(port, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`);
  parts.defer(() => load.stop());
  return { url, port, before, load, spawn };
}

async function portOf(node: CofreProcess): Promise<number> {
  const port = await node.listening();
  return port ?? assert.fail(readFileSync(node.stderrFile, "utf8"));
}

test(
  `a new version brings ${payments} payments up to date while the version before charges: no request is refused, and a killed start is resumed`,
  { skip, timeout: 600_000 + 2 * payments },
  async (context) => {
    await using parts = new AsyncDisposableStack();
    const { url, port, before, load, spawn } = await installationWith(payments, context, parts);
    await sleep(3_000);
    await until(
      "the deliveries are vacuumed",
      async () => (await query(url, vacuums)).length > 0,
      longest,
    );
    load.phase("during the upgrade");
    const begin = performance.now();
    const report = await openTransaction(url, readsDeliveries);
    parts.defer(() => report.end());
    const killed = spawn("killed", serverRoot);
    await until(
      "a migration waits for the report",
      () => killed.events("migration_waits").length > 0,
      longest,
    );
    // Another transaction has read something, and no index becomes ready before it ends.
    const dump = await openTransaction(
      url,
      "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM migration",
    );
    parts.defer(() => dump.end());
    await report.end();
    const building = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'`;
    const waits = `${building} AND wait_event = 'virtualxid'`;
    await until(
      "an index waits for the dump",
      async () => (await query(url, waits)).length > 0,
      longest,
    );
    await killed.end("SIGKILL");
    const heldMs = await until(
      "the server has ended what it did for the killed start",
      async () => (await query(url, building)).length === 0,
    );
    await dump.end();
    const after = spawn("after", serverRoot);
    const afterPort = await portOf(after);
    context.diagnostic(
      `s of the upgrade, with both starts: ${((performance.now() - begin) / 1_000).toFixed(1)}`,
    );
    context.diagnostic(`ms that the killed start's session remained: ${Math.round(heldMs)}`);
    load.phase("after the upgrade, both versions");
    load.ports = [port, afterPort];
    await sleep(3_000);
    await load.stop();
    for (const node of [before, after]) await node.end("SIGTERM");

    for (const [phase, waited] of load.waitedMs) {
      const sorted = waited.toSorted((a, b) => a - b);
      const at = (share: number): string =>
        (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
      context.diagnostic(
        `${phase}: ${sorted.length} charges, ms: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`,
      );
    }
    assert.deepEqual(load.refused, []);
    assert.ok(
      (load.waitedMs.get("during the upgrade")?.length ?? 0) > 50,
      "charges were made all the while",
    );
    const [count] = await query<{ readonly count: number }>(
      url,
      "SELECT count(*)::integer AS count FROM payment",
    );
    assert.equal(count?.count, payments + 1 + load.charges);
    assert.equal((await query(url, "SELECT 1 FROM migration")).length, migrations.length);
    const unfinished = `SELECT conname AS name FROM pg_constraint WHERE NOT convalidated
      UNION ALL SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`;
    assert.deepEqual(await query(url, unfinished), []);
    const due = await dueTables(url);
    assert.deepEqual(due.held, due.expected);
    assert.ok(due.held.length > 0, "control: deliveries wait");
  },
);

test(
  "control: a migration that waits longer for the table of a report has requests refused",
  { skip },
  async (context) => {
    await using parts = new AsyncDisposableStack();
    const root = plantedCopy({
      name: "a step waits for a lock as long as it takes",
      file: "stores/postgres/migrate.ts",
      find: "const stepLockMs = 300;",
      replace: "const stepLockMs = 60_000;",
    });
    parts.defer(() => rmSync(root, { recursive: true, force: true }));
    const { url, load, spawn } = await installationWith(100, context, parts);
    const report = await openTransaction(url, readsDeliveries);
    parts.defer(() => report.end());
    spawn("waits", root);
    await until("a request is refused", () => load.refused.length > 0);
  },
);
