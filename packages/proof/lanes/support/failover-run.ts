import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAcquirer } from "../../../server/test/acquirer/start-acquirer.ts";
import { query } from "../../../server/test/postgres/databases.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import { booksOf, brokenPromises } from "./check-promises.ts";
import { CofreProcess } from "../../../server/test/support/cofre-process.ts";
import { until } from "./faulty-run.ts";
import { tokenDigestsOf } from "../../../server/test/row-macs.ts";
import { KillJudge } from "./kill-judge.ts";
import { KillLoad } from "./kill-load.ts";
import { Promises } from "./kill-promises.ts";
import type { KillReport } from "./kill-run.ts";
import { PostgresAddress } from "../../../server/test/support/postgres-address.ts";
import { factsOfDatabase } from "./postgres-facts.ts";
import { PostgresPair } from "./postgres-pair.ts";
import { WireClient } from "../../../server/test/support/wire-client.ts";

export interface FailoverOptions {
  /** packages/server or a copy of it, for each serving node. */
  readonly roots: readonly string[];
  readonly seed: number;
  /** Default true. */
  readonly synchronous?: boolean;
  /** Whether nodes accept a missing synchronous standby. Default false. */
  readonly waived?: boolean;
  /** Time limit for recovery at the end. Default three minutes. */
  readonly settleMs?: number;
  /**
   * Acquirer timeout of a node. Default two seconds: after a late answer recovery would take
   * minutes instead of one.
   */
  readonly answerMs?: number;
}

const integrationKey = "test_ik_failoverfailoverfailover";
const clients = 24;
const lateArrivalMs = 300;
const longestMs = 240_000;
const database = "cofre";

/**
 * Settings of the acquirer, with faults in thousandths. It books each request once, however often
 * it arrives, and loses none: recovery repeats an unanswered inquiry only minutes later, which the
 * kill lane tests.
 */
const acquirer = { latencyMs: 3, doubleRequest: 30 };

/**
 * Cofre processes under load on two PostgreSQL servers, behind an address that forwards to the
 * primary. `script` injects the failures; afterwards all payments must settle, and the database,
 * the answers that clients received and the acquirer's books are judged.
 */
export async function runFailover(
  options: FailoverOptions,
  script: (run: FailoverRun) => Promise<void>,
): Promise<KillReport> {
  await using parts = new AsyncDisposableStack();
  const scratch = mkdtempSync(join(tmpdir(), "cofre-failover-"));
  parts.defer(() => rmSync(scratch, { recursive: true, force: true }));
  const acquirer = await startAcquirer([
    "--remembered-references",
    "1000000",
    "--late-arrival-ms",
    String(lateArrivalMs),
  ]);
  parts.defer(() => acquirer.stop());
  const pair = parts.use(await PostgresPair.start({ synchronous: options.synchronous ?? true }));
  await query(pair.urlOf("postgres"), `CREATE DATABASE ${database}`);
  const address = parts.use(await PostgresAddress.start(pair.port));
  const run = parts.use(
    new FailoverRun({ ...options, scratch, acquirerAddress: acquirer.address, pair, address }),
  );
  await run.start();
  await script(run);
  await run.settle();
  return { violations: [...run.violations], figures: run.figures() };
}

export interface Failover {
  /**
   * Kill: its processes die. Stop: its administrator stops it. Vanish: its machine disappears
   * without closing connections.
   */
  readonly how: "kill" | "stop" | "vanish";
  readonly alone: boolean;
}

interface RunParts extends FailoverOptions {
  readonly scratch: string;
  readonly acquirerAddress: string;
  readonly pair: PostgresPair;
  readonly address: PostgresAddress;
}

/** The current run, for its script. */
export class FailoverRun implements AsyncDisposable {
  readonly violations = new Set<string>();
  readonly promises = new Promises();
  readonly chance: Chance;
  readonly pair: PostgresPair;
  readonly address: PostgresAddress;
  readonly load: KillLoad;
  readonly #parts: RunParts;
  readonly #client = new WireClient(clients);
  readonly #nodes: CofreProcess[] = [];
  /** Ports of the serving nodes. */
  #ports: number[] = [];
  /** Ports of all nodes that were started. */
  readonly #portOf: number[] = [];
  #turn = 0;
  #phaseAt = Date.now();
  #acknowledgedBefore = 0;
  readonly #figures: Record<string, number> = {};
  readonly #noted: Record<string, number[]> = {};

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.pair = parts.pair;
    this.address = parts.address;
    this.chance = new Chance(parts.seed);
    this.load = new KillLoad({
      client: this.#client,
      chance: new Chance(parts.seed + 1),
      promises: this.promises,
      integrationKey,
      name: `failover-${parts.seed}`,
      port: () => this.#nextPort(),
    });
  }

  /** Current address of the nodes' database. */
  get databaseUrl(): string {
    return this.pair.urlOf(database);
  }

  async start(): Promise<void> {
    const { roots } = this.#parts;
    const [first, ...others] = roots;
    if (first === undefined) throw new Error("a run has a node");
    // The first node makes the tables, the account and the keys; the account settings are changed
    // before other nodes cache them.
    await this.#startNode(first);
    const answer = await this.ask("/__cofre/settings", { settings: { simulator: acquirer } });
    if (answer?.["status"] !== "SUCCESS")
      throw new Error("the account's settings were not changed");
    for (const root of others) await this.#startNode(root);
    this.load.start(clients);
    await this.untilAcknowledged(200);
  }

  /**
   * The primary dies or is stopped, the standby takes over, and the old primary is rebuilt as its
   * standby. With `alone` the new primary commits without a standby until then, which nodes accept
   * only with the waiver; otherwise commits wait for the standby.
   */
  async failOver({ how, alone }: Failover): Promise<void> {
    if (how === "vanish") this.address.vanish();
    if (how === "stop") await this.pair.stopImmediately();
    else {
      // Commits of these moments never reach the standby.
      this.pair.freezeReplication();
      await sleep(this.chance.between(0, 100));
      await this.pair.kill();
    }
    await this.pair.promote();
    const promotedAt = Date.now();
    // Settings belong to the server: the standby has those that the primary had when it was copied.
    await this.pair.waitForStandby(!alone);
    this.address.turnTo(this.pair.port);
    const acknowledged = this.promises.acknowledged;
    // A direct commit, past the address: once it returns, the server is not what the nodes wait
    // for.
    const committed = query(
      this.pair.urlOf("postgres"),
      "SELECT pg_logical_emit_message(true, 'probe', '')",
    ).then(() => Date.now());
    const rebuilt = this.pair.rebuild().then(() => Date.now());
    await until(
      "a write is acknowledged after the promotion",
      async () => this.promises.acknowledged > acknowledged,
      longestMs,
    );
    const acknowledgedAt = Date.now();
    const [committedAt, rebuiltAt] = await Promise.all([committed, rebuilt]);
    const gone = how === "vanish" ? ", sessions silent" : "";
    this.note(
      `ms from the database's first commit to the first acknowledged write${gone}`,
      Math.max(acknowledgedAt - committedAt, 0),
    );
    if (alone) {
      this.note(
        `ms from promotion to the first acknowledged write${gone}`,
        acknowledgedAt - promotedAt,
      );
      await this.pair.waitForStandby(true);
    }
    this.note("ms from promotion to a standby that follows", rebuiltAt - promotedAt);
  }

  /** Kills the primary and restarts it on its data. */
  async killInPlace(): Promise<void> {
    await this.pair.kill();
    await this.pair.startAgain();
    const startedAt = Date.now();
    await this.untilAcknowledged(1);
    this.note("ms from the server's start to the first acknowledged write", Date.now() - startedAt);
  }

  /** Adds a serving node. */
  async addNode(root: string): Promise<void> {
    await this.#startNode(root);
  }

  /** Shuts the node down cleanly after the shops have switched to the others. */
  async endNode(index: number): Promise<void> {
    const [node, port] = [this.#nodes[index], this.#portOf[index]];
    this.#ports = this.#ports.filter((each) => each !== port);
    await this.untilAcknowledged(100);
    await node?.end("SIGTERM");
  }

  /** Events with this name in the logs of all nodes. */
  events(name: string): ReturnType<CofreProcess["events"]> {
    return this.#nodes.flatMap((node) => node.events(name));
  }

  /** Resolves when `more` further writes were acknowledged. */
  async untilAcknowledged(more: number): Promise<void> {
    const goal = this.promises.acknowledged + more;
    await until(
      `${more} writes are acknowledged`,
      async () => this.promises.acknowledged >= goal,
      longestMs,
    );
  }

  /** Records the duration of the previous phase and the writes acknowledged in it. */
  phase(name: string): void {
    this.#figures[`ms, ${name}`] = Date.now() - this.#phaseAt;
    this.#figures[`acknowledged writes, ${name}`] =
      this.promises.acknowledged - this.#acknowledgedBefore;
    this.#phaseAt = Date.now();
    this.#acknowledgedBefore = this.promises.acknowledged;
  }

  /** Number of payments of this kind in the database. */
  async countPayments(where = "true"): Promise<number> {
    const [row] = await query<{ readonly count: number }>(
      this.databaseUrl,
      `SELECT count(*)::integer AS count FROM payment WHERE ${where}`,
    );
    return row?.count ?? 0;
  }

  async countMigrations(): Promise<number> {
    const [row] = await query<{ readonly count: number }>(
      this.databaseUrl,
      "SELECT count(*)::integer AS count FROM migration",
    );
    return row?.count ?? 0;
  }

  /** Adds a figure; the report shows its median and maximum. */
  note(name: string, figure: number): void {
    (this.#noted[name] ??= []).push(figure);
  }

  /**
   * Ends the load and all faults; then every payment must settle, and every acknowledged answer
   * must be true.
   */
  async settle(): Promise<void> {
    const { settleMs = 180_000, seed, acquirerAddress } = this.#parts;
    this.address.cutOf = () => undefined;
    this.address.faultOf = () => "none";
    await this.load.stop();
    const sessions = await query<{ readonly count: number }>(
      this.pair.urlOf("postgres"),
      `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = '${database}' AND application_name LIKE 'cofre %'`,
    );
    const begin = Date.now();
    const inFlight = () => this.countPayments("attempt IS NOT NULL");
    this.#figures["attempts in flight at the end of the load"] = await inFlight();
    while ((await inFlight()) > 0 && Date.now() - begin < settleMs) await sleep(100);
    this.#figures["ms until all was settled"] = Date.now() - begin;
    const broken = await brokenPromises(this.promises, `failover-${seed}`, (path, fields) =>
      this.ask(path, fields),
    );
    for (const problem of broken) this.violations.add(problem);
    for (const node of this.#nodes) await node.end("SIGTERM");
    for (const { what, where } of this.events("alarm"))
      this.violations.add(`an alarm: ${String(what)}, ${String(where)}`);
    const facts = await factsOfDatabase(this.databaseUrl);
    const judge = new KillJudge(facts);
    judge.checkSettled(await booksOf(this.#client, acquirerAddress));
    const data = join(this.#parts.scratch, "data");
    judge.checkAcknowledged(this.promises, await tokenDigestsOf(data, this.databaseUrl));
    for (const violation of judge.violations) this.violations.add(violation);
    this.#figures["payments"] = judge.payments;
    this.#figures["sessions of all nodes at the end of the load"] = sessions[0]?.count ?? 0;
  }

  figures(): Readonly<Record<string, number>> {
    const noted = Object.entries(this.#noted).flatMap(([name, figures]): [string, number][] => {
      const sorted = figures.toSorted((a, b) => a - b);
      return [
        [`${name}, median`, sorted[sorted.length >> 1] ?? 0],
        [`${name}, most`, sorted.at(-1) ?? 0],
      ];
    });
    const { counts } = this.address;
    return {
      "acknowledged writes": this.promises.acknowledged,
      "answers that never came": this.load.unanswered,
      "payments of which nothing was done, it was said": this.promises.undone.length,
      ...Object.fromEntries(
        [...this.load.refusals].map(([code, count]): [string, number] => [
          `answers ${code}`,
          count,
        ]),
      ),
      "attempts that recovery was seen to settle": this.events("recovery_settled").length,
      "commits whose answer was dropped": counts.drop_answer,
      "batches that were done and never committed": counts.never_commit,
      "connections cut": counts.cut,
      tokens: this.promises.tokens.size,
      ...this.#figures,
      ...Object.fromEntries(noted),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ports = [];
    // Their connections end with them, so no client waits for an answer.
    for (const node of this.#nodes) await node.end("SIGKILL");
    await this.load.stop();
    this.#client.close();
  }

  async #startNode(root: string): Promise<void> {
    const { scratch, acquirerAddress, waived = false, answerMs = 2_000 } = this.#parts;
    const node = CofreProcess.spawn({
      root,
      dataDirectory: join(scratch, "data"),
      logDirectory: scratch,
      name: `node-${this.#nodes.length + 1}`,
      environment: {
        COFRE_DATABASE_URL: `postgres://postgres@127.0.0.1:${this.address.port}/${database}`,
        COFRE_DATABASE_ALLOW_NO_STANDBY: waived ? "true" : "false",
        COFRE_ACQUIRER_URL: acquirerAddress,
        COFRE_ACQUIRER_TIMEOUT_MS: String(answerMs),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      },
    });
    this.#nodes.push(node);
    const port = await node.listening();
    if (port === undefined)
      throw new Error(`Cofre ended before it listened: ${readFileSync(node.stderrFile, "utf8")}`);
    this.#ports.push(port);
    this.#portOf.push(port);
  }

  #nextPort(): number | undefined {
    this.#turn += 1;
    return this.#ports[this.#turn % Math.max(this.#ports.length, 1)];
  }

  /** Sends a request to the first serving node. */
  ask(path: string, fields: object): ReturnType<WireClient["ask"]> {
    return this.#client.ask(this.#ports[0] ?? 0, path, {
      integration_key: integrationKey,
      ...fields,
    });
  }
}
