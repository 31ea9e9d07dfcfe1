import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cofre, startCofre } from "../../src/app.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { Initialized } from "../../src/cli/command.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import type { LogEvent } from "../../src/logging/log-event.ts";
import { initialize } from "../../src/start/initialize.ts";
import { type Ports, systemPorts } from "../../src/start/ports.ts";
import { printRecoveryKeyFile, recoveryKeyOf } from "../../src/vault/recovery/recovery-key.ts";
import { fakeTransit } from "../key-services/fake-transit.ts";
import { type Cluster, postgresBinaries, startCluster } from "../postgres/cluster.ts";
import { query } from "../postgres/databases.ts";
import { integrationKey, startTestServer, type TestServer } from "../server.ts";

/** Roles of a server of PostgreSQL that a login in production has. */
export const roles = ["cofre_gateway", "cofre_vault", "cofre_jobs", "cofre_people"] as const;

/** A PostgreSQL server with a synchronous standby: a receiver of its write-ahead log. */
export async function startDurableCluster(): Promise<Cluster> {
  const cluster = await startCluster({
    synchronous_standby_names: "*",
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
  });
  const folder = mkdtempSync(join(tmpdir(), "cofre-standby-"));
  const { port } = new URL(cluster.url);
  const receiver: ChildProcess = spawn(
    join(postgresBinaries() ?? "", "pg_receivewal"),
    ["--synchronous", "-D", folder, "-h", "127.0.0.1", "-p", port, "-U", "postgres"],
    { stdio: "ignore" },
  );
  return {
    ...cluster,
    log: () => cluster.log(),
    async [Symbol.asyncDispose]() {
      receiver.kill("SIGKILL");
      await cluster[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Everything that an installation in production uses, on this machine. */
export interface Place extends AsyncDisposable {
  /** Variables of a server, without the installation id. */
  readonly environment: Readonly<Record<string, string>>;
  /** The variable of `cofre init` alone. */
  readonly owner: Readonly<Record<string, string>>;
  /** Address of the database as the superuser. */
  readonly database: string;
  readonly folder: string;
  readonly acquirer: TestServer;
  /** Writes a file with a secret and returns its path. */
  readonly secret: (name: string, text: string) => string;
}

let placesMade = 0;

export async function makePlace(cluster: Cluster): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-production-"));
  const secret = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const name = `installation_${(placesMade += 1)}`;
  await query(cluster.url, `CREATE DATABASE ${name}`);
  const address = new URL(cluster.url);
  address.pathname = `/${name}`;
  const login = `app_${name}`;
  await query(cluster.url, `CREATE ROLE ${login} LOGIN NOINHERIT`);
  const app = new URL(address);
  app.username = login;
  const { service } = await fakeTransit();
  const acquirer = await startTestServer();
  const seed = new SystemRandom().bytes(32);
  const recovery = recoveryKeyOf(seed).public;
  return {
    database: address.href,
    folder,
    acquirer,
    secret,
    environment: {
      COFRE_ENVIRONMENT: "production",
      COFRE_INSTALLATION_NAME: "acme-staging",
      COFRE_PORT: "0",
      COFRE_DATA_DIR: join(folder, "data"),
      COFRE_ROOT_KEY: `transit:${service.url.origin}/v1/transit/cofre`,
      COFRE_ROOT_KEY_SECRET_FILE: secret("token", "s.root\n"),
      COFRE_RECOVERY_KEY: recovery.fingerprint,
      COFRE_RECOVERY_PUBLIC_KEY: secret(
        "recovery.pub",
        printRecoveryKeyFile(recovery, new SystemRandom()),
      ),
      COFRE_DATABASE_URL_FILE: secret("database", app.href),
      COFRE_UPSTREAM_URL: acquirer.url,
      COFRE_UPSTREAM_INTEGRATION_KEY_FILE: secret("upstream", integrationKey),
      COFRE_CONSOLE: "login",
    },
    owner: { COFRE_DATABASE_OWNER_URL_FILE: secret("owner", address.href) },
    async [Symbol.asyncDispose]() {
      await acquirer[Symbol.asyncDispose]();
      service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The roles exist when the tables do: an operator grants them between two runs of `cofre init`. */
export async function grantRoles({ database, environment }: Place): Promise<void> {
  const login = new URL(readFileSync(environment["COFRE_DATABASE_URL_FILE"] ?? "", "utf8"))
    .username;
  await query(database, `GRANT ${roles.join(", ")} TO ${login}`);
}

/** The settings that `cofre init` prints. */
export function pinsOf({
  installationId,
  rootKeysFingerprint,
}: Pick<Initialized, "installationId" | "rootKeysFingerprint">): Record<string, string> {
  return {
    COFRE_INSTALLATION_ID: installationId,
    COFRE_ROOT_KEYS_FINGERPRINT: rootKeysFingerprint,
  };
}

export function readSettings(environment: Readonly<Record<string, string>>) {
  const reading = readConfig({
    environment,
    flags: new Map(),
    readFile: (path) => ({ value: readFileSync(path, "utf8") }),
  });
  assert.ok("config" in reading, JSON.stringify(reading));
  return reading;
}

/** Runs `cofre init` in this process. `shown`: called before the account is committed. */
export async function initializeAt(
  { environment, owner }: Place,
  {
    more = {},
    shown = async () => undefined,
  }: {
    readonly more?: Readonly<Record<string, string>>;
    readonly shown?: () => Promise<void>;
  } = {},
): Promise<Initialized> {
  const { config, secrets } = readSettings({ ...environment, ...owner, ...more });
  let made: Initialized | undefined;
  await initialize(config, { secrets, admins: ["ana", "bruno"] }, async (found) => {
    made = found;
    await shown();
  });
  assert.ok(made !== undefined);
  return made;
}

export interface RunningProduction extends AsyncDisposable {
  readonly url: string;
  readonly cofre: Cofre;
  readonly events: readonly LogEvent[];
  readonly call: (
    path: string,
    body?: unknown,
  ) => Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
}

export async function startAt(
  environment: Readonly<Record<string, string>>,
  ports: Partial<Ports> = {},
): Promise<RunningProduction> {
  const { config, secrets } = readSettings(environment);
  const events: LogEvent[] = [];
  const cofre = await startCofre(
    config,
    { write: (event) => void events.push(event) },
    { ...systemPorts, ...ports },
    undefined,
    secrets,
  );
  const url = `http://127.0.0.1:${cofre.address.port}`;
  return {
    url,
    cofre,
    events,
    async call(path, body) {
      const response = await fetch(
        url + path,
        body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
      );
      const text = await response.text();
      const isObject = text.startsWith("{");
      return {
        status: response.status,
        body: isObject ? (JSON.parse(text) as Record<string, unknown>) : {},
      };
    },
    [Symbol.asyncDispose]: async () => void (await cofre.close()),
  };
}
