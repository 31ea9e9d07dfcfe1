import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../free-port.ts";

const run = promisify(execFile);

/** Debian's binaries, which `postgresql-15` brings; undefined where there are none. */
export function postgresBinaries(): string | undefined {
  return [15, 16, 17, 18]
    .map((version) => `/usr/lib/postgresql/${version}/bin`)
    .find((path) => existsSync(join(path, "initdb")));
}

export interface Cluster extends AsyncDisposable {
  /** Of the database `postgres`, as the superuser. */
  readonly url: string;
  /** Where its files are. */
  readonly folder: string;
  /** Of the process that all its others are children of. */
  readonly pid: string;
  /** What the server has written to its log. */
  log(): string;
}

/**
 * A PostgreSQL server of its own, on a free loopback port, in a temporary folder that goes with it.
 * Durable like a real one: a test of what is refused weakens its own. As root the server runs as
 * the user `postgres`, because it does not run as root.
 */
export async function startCluster(
  settings: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const binaries = postgresBinaries();
  assert.ok(binaries !== undefined, "PostgreSQL is installed");
  const folder = mkdtempSync(join(tmpdir(), "cofre-postgres-"));
  const identity = await postgresIdentity();
  const call = (program: string, args: readonly string[]) =>
    run(join(binaries, program), [...args], { cwd: folder, ...identity });
  if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
  const data = join(folder, "data");
  const log = join(folder, "log");
  const port = await freePort();
  const set = Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: folder,
    ...settings,
  });
  try {
    await call("initdb", [
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
    const options = set.map(([name, value]) => `-c ${name}='${value}'`).join(" ");
    await call("pg_ctl", ["-D", data, "-l", log, "-w", "-o", options, "start"]);
  } catch (error) {
    // One that did not start in time may still be starting.
    await call("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"]).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    pid: readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0] ?? "",
    log: () => readFileSync(log, "utf8"),
    async [Symbol.asyncDispose]() {
      await call("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Identity =
  | { readonly uid: number; readonly gid: number }
  | { readonly uid?: undefined };

/** Who a server runs as: the user `postgres` when this is root, because it does not run as root. */
export async function postgresIdentity(): Promise<Identity> {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = (
    await Promise.all(["-u", "-g"].map((flag) => run("id", [flag, "postgres"])))
  ).map(({ stdout }) => Number(stdout));
  assert.ok(uid !== undefined && gid !== undefined);
  return { uid, gid };
}
