import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "../../../server/test/free-port.ts";
import {
  type Identity,
  postgresBinaries,
  postgresIdentity,
} from "../../../server/test/postgres/cluster.ts";
import { query } from "../../../server/test/postgres/databases.ts";
import { until } from "./faulty-run.ts";

const run = promisify(execFile);

const longestMs = 240_000;

/** One of the two servers; it keeps its port and its folder in both roles. */
interface Server {
  readonly name: string;
  readonly port: number;
  readonly data: string;
  readonly log: string;
  process: ChildProcess | undefined;
}

export interface PairOptions {
  /** false: replication is asynchronous, and commits do not wait for the standby. */
  readonly synchronous: boolean;
}

/**
 * Two PostgreSQL servers on loopback, a primary and a standby, with an operator's durability
 * settings, and an operator's actions: a crash, a restart in place, a promotion, and rebuilding the
 * old primary as the new one's standby. Their folder is removed at the end.
 */
export class PostgresPair implements AsyncDisposable {
  readonly #folder: string;
  readonly #binaries: string;
  readonly #identity: Identity;
  #primary: Server;
  #standby: Server;

  private constructor(
    folder: string,
    binaries: string,
    identity: Identity,
    servers: readonly [Server, Server],
  ) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.#identity = identity;
    [this.#primary, this.#standby] = servers;
  }

  static async start({ synchronous }: PairOptions): Promise<PostgresPair> {
    const binaries = postgresBinaries();
    assert.ok(binaries !== undefined, "PostgreSQL is installed");
    const folder = mkdtempSync(join(tmpdir(), "cofre-pair-"));
    const identity = await postgresIdentity();
    if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
    const server = async (name: string): Promise<Server> => ({
      name,
      port: await freePort(),
      data: join(folder, name),
      log: join(folder, `${name}.log`),
      process: undefined,
    });
    const pair = new PostgresPair(folder, binaries, identity, [
      await server("one"),
      await server("two"),
    ]);
    try {
      await pair.#make(synchronous);
      await pair.rebuild();
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
    return pair;
  }

  /** Port of the current primary, or of the one that died last. */
  get port(): number {
    return this.#primary.port;
  }

  /** Port of the standby. */
  get standbyPort(): number {
    return this.#standby.port;
  }

  /** Address of a database of the primary, as the superuser, without a proxy. */
  urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** The logs of both servers. */
  log(): string {
    return [this.#primary, this.#standby].map(({ log }) => readFileSync(log, "utf8")).join("");
  }

  /** Kills every process of the primary at once. */
  async kill(): Promise<void> {
    await killServer(this.#primary);
  }

  /**
   * Stops the primary without a shutdown, `pg_ctl stop -m immediate`: sessions are notified,
   * nothing is flushed.
   */
  async stopImmediately(): Promise<void> {
    const { process: server } = this.#primary;
    server?.kill("SIGQUIT");
    await ended(this.#primary);
  }

  /** The standby receives nothing more from the primary, until the primary dies. */
  freezeReplication(): void {
    const { pid } = this.#primary.process ?? {};
    if (pid === undefined) return;
    for (const child of childrenOf(pid))
      if (titleOf(child).includes("walsender")) signal(child, "SIGSTOP");
  }

  /** Starts the primary on the data of its crash; resolves when it accepts sessions. */
  async startAgain(): Promise<void> {
    await this.#start(this.#primary);
  }

  /** Promotes the standby; resolves when it is the primary. */
  async promote(): Promise<void> {
    const [row] = await query<{ readonly promoted: boolean }>(
      `postgres://postgres@127.0.0.1:${this.standbyPort}/postgres`,
      `SELECT pg_promote(true, ${longestMs / 1_000}) AS promoted`,
    );
    assert.equal(row?.promoted, true, "the standby was promoted");
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /**
   * Makes the other server a standby of the primary, from a copy; resolves when it is streaming.
   */
  async rebuild(): Promise<void> {
    const { data, process: old } = this.#standby;
    if (old !== undefined) await killServer(this.#standby);
    rmSync(data, { recursive: true, force: true });
    const copy = [
      "-h",
      "127.0.0.1",
      "-p",
      String(this.port),
      "-U",
      "postgres",
      "-D",
      data,
      "-R",
      "-X",
      "stream",
      "-c",
      "fast",
      "--no-sync",
    ];
    await this.#call("pg_basebackup", copy);
    await this.#start(this.#standby);
    await this.untilFollowed();
  }

  /**
   * Resolves when the standby is streaming from the primary, so that commits that wait for it are
   * answered.
   */
  async untilFollowed(): Promise<void> {
    await holds("the standby follows", async () => {
      const [row] = await query<{ readonly count: number }>(
        this.urlOf("postgres"),
        "SELECT count(*)::integer AS count FROM pg_stat_replication WHERE state = 'streaming'",
      );
      return row?.count === 1;
    });
  }

  /**
   * Sets whether the primary's commits wait for a standby. Resolves when that is in force: only the
   * server's checkpointer notifies the sessions, and it reloads the settings between two
   * checkpoints.
   */
  async waitForStandby(waits: boolean): Promise<void> {
    const url = this.urlOf("postgres");
    const names = waits ? "*" : "";
    await query(
      url,
      `ALTER SYSTEM SET synchronous_standby_names = '${names}'`,
      [],
      "SELECT pg_reload_conf()",
    );
    await holds("new sessions see the setting", async () => {
      const [row] = await query<{ readonly synchronous_standby_names: string }>(
        url,
        "SHOW synchronous_standby_names",
      );
      return row?.synchronous_standby_names === names;
    });
    if (waits) await query(url, "CHECKPOINT", [], "CHECKPOINT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#primary, this.#standby]) await killServer(server);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #make(synchronous: boolean): Promise<void> {
    const { data } = this.#primary;
    await this.#call("initdb", [
      "-D",
      data,
      "-U",
      "postgres",
      "-A",
      "trust",
      "-E",
      "UTF8",
      "--no-locale",
      "--no-sync",
    ]);
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.#folder,
      log_parameter_max_length: "0",
      // The standby reconnects this soon after the primary is back.
      wal_retrieve_retry_interval: "100ms",
      ...(synchronous ? { synchronous_standby_names: "*" } : {}),
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(data, "postgresql.conf"), lines.join(""));
    await this.#start(this.#primary);
  }

  #call(program: string, args: readonly string[]): Promise<unknown> {
    return run(join(this.#binaries, program), [...args], {
      cwd: this.#folder,
      ...this.#identity,
      timeout: longestMs,
    });
  }

  async #start(server: Server): Promise<void> {
    const log = openSync(server.log, "a");
    server.process = spawn(
      join(this.#binaries, "postgres"),
      ["-D", server.data, "-p", String(server.port)],
      {
        cwd: this.#folder,
        stdio: ["ignore", log, log],
        ...this.#identity,
      },
    );
    closeSync(log);
    await holds(`the server ${server.name} takes sessions`, async () => {
      if (server.process?.exitCode !== null)
        throw new Error(
          `a PostgreSQL server ended: ${readFileSync(server.log, "utf8").slice(-2_000)}`,
        );
      return query(`postgres://postgres@127.0.0.1:${server.port}/postgres`, "SELECT 1").then(
        () => true,
        () => false,
      );
    });
  }
}

/** Like `until`, with a limit for a busy machine. */
async function holds(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(what, isSo, longestMs);
}

/**
 * Stops its parent process first, so that it starts no new children and does not treat a child's
 * death as a crash to recover from.
 */
async function killServer(server: Server): Promise<void> {
  const { pid } = server.process ?? {};
  if (pid === undefined || server.process?.exitCode !== null || server.process.signalCode !== null)
    return;
  signal(pid, "SIGSTOP");
  const children = childrenOf(pid);
  for (const child of children) signal(child, "SIGKILL");
  signal(pid, "SIGKILL");
  await ended(server);
  // Their shared memory would prevent a start.
  for (let tries = 0; tries < 10_000 && children.some(isAlive); tries += 1) await sleep(10);
}

async function ended({ process: server }: Server): Promise<void> {
  if (server !== undefined && server.exitCode === null && server.signalCode === null)
    await once(server, "exit");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has just ended.
  }
}

interface ProcessState {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

function stateOf(pid: number): ProcessState | undefined {
  try {
    const [state = "", parent = ""] = (
      readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1) ?? ""
    ).split(" ");
    return { pid, parent: Number(parent), state };
  } catch {
    return undefined;
  }
}

/** The process title; undefined when the process has just ended. */
function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => stateOf(Number(name))?.parent === parent)
    .map(Number);
}

/** Zombies count as ended. */
function isAlive(pid: number): boolean {
  return !["Z", "X", undefined].includes(stateOf(pid)?.state);
}
