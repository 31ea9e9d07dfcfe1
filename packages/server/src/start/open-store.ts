import type { Config } from "../config/settings.ts";
import { join } from "node:path";
import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log, LogEvent } from "../logging/log-event.ts";
import { hasDatabase, modeOpenToOthers, sizeOf } from "../stores/embedded/data-folder.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import type { Upgrading } from "../stores/embedded/open-database.ts";
import { readIncarnation } from "../stores/embedded/incarnation-file.ts";
import { StoreOpenError } from "../stores/embedded/open-error.ts";
import type { MigrationReport } from "../stores/postgres/migrate.ts";
import type { MoveTargetOptions } from "../stores/postgres/move-target.ts";
import type { StartConditions } from "../stores/postgres/origin.ts";
import type { RunningStore } from "../stores/store.ts";
import { hasKeyFiles } from "../vault/root-key-file.ts";
import type { Ports } from "./ports.ts";

/** Interval between checks whether writing works again after a failed write, in milliseconds. */
const tryWritingMs = 1_000;

/**
 * Interval between checks whether to checkpoint the write-ahead log, in milliseconds, and the most
 * checks without a checkpoint.
 */
const checkpointCheckMs = 1_000;

const maxChecksBetweenCheckpoints = 60;

export async function openStore(
  config: Config,
  log: Log,
  { clock, scheduler }: Ports,
  parts: AsyncDisposableStack,
): Promise<RunningStore> {
  let isOver = false;
  let cancelTry = (): void => undefined;
  // A server that is not ready receives no requests whose writes would show that writing works
  // again.
  const tryLater = (): void => {
    cancelTry();
    cancelTry = scheduler.after(tryWritingMs, () => {
      void store.testWrite().then((works) => {
        if (!works && !isOver) tryLater();
      });
    });
  };
  const onWriting = (works: boolean): void => {
    log.write({ event: works ? "store_recovered" : "store_unavailable" });
    if (!works && !isOver) tryLater();
  };
  const database = databaseOf(config, clock);
  const store =
    database === undefined
      ? await openEmbedded(config, onWriting, log, scheduler)
      : // The driver is loaded only for this store.
        await (
          await import("../stores/postgres/postgres-store.ts")
        ).openPostgresStore({
          ...database,
          migrates: mayMigrate(config),
          beginning: await beginningOf(config),
          onWriting,
          onRefused: (code) => log.write({ event: "database_rejected", code }),
          onMigration: (report) => log.write(migrationEvent(report)),
        });
  parts.defer(() => store.close());
  parts.defer(() => {
    isOver = true;
    cancelTry();
  });
  parts.defer(keepFileCurrent(store, scheduler));
  const { dataDirectory } = config;
  const mode = dataDirectory === ":memory:" ? undefined : modeOpenToOthers(dataDirectory);
  if (mode !== undefined) log.write({ event: "data_directory_permissions", dataDirectory, mode });
  return store;
}

/**
 * Checkpoints the write-ahead log into the file soon after the last commit, and once a minute
 * during continuous commits, so that a manual copy of the file is almost complete. Returns a
 * function that stops it.
 */
function keepFileCurrent(store: RunningStore, scheduler: Scheduler): () => void {
  if (store.checkpoint === undefined) return () => undefined;
  let [seen, copied, checks] = [0, 0, 0];
  let cancel = (): void => undefined;
  const check = (): void => {
    const { commits } = store.stats();
    checks += 1;
    if (commits !== copied && (commits === seen || checks >= maxChecksBetweenCheckpoints)) {
      store.checkpoint?.();
      [copied, checks] = [commits, 0];
    }
    seen = commits;
    cancel = scheduler.after(checkpointCheckMs, check);
  };
  cancel = scheduler.after(checkpointCheckMs, check);
  return () => cancel();
}

function migrationEvent(report: MigrationReport): LogEvent {
  const { kind, no } = report;
  if (kind === "began") return { event: "migration_began", migration: no };
  if (kind === "waits") return { event: "migration_waits", migration: no, tries: report.tries };
  return {
    event: "migration_elsewhere",
    migration: no,
    session: report.session ?? 0,
    waitedMs: report.waitedMs,
  };
}

/** Servers in production have a login that may not. */
function mayMigrate({ environment, databaseOwnerUrl }: Config): boolean {
  return environment === "sandbox" || databaseOwnerUrl !== undefined;
}

export function databaseOf(
  { databaseUrl, databaseOwnerUrl, databaseAllowNoStandby }: Config,
  clock: Clock,
): MoveTargetOptions | undefined {
  const url = databaseOwnerUrl ?? databaseUrl;
  return url === undefined
    ? undefined
    : { url, clock, waiveStandby: databaseAllowNoStandby === "true" };
}

/**
 * Whether the directory shows that its installation has been started before. With a key service it
 * has no keys, only the note about its database.
 */
async function wasStarted({ dataDirectory, rootKey }: Config): Promise<boolean> {
  if (await hasKeyFiles(dataDirectory)) return true;
  return rootKey.kind !== "file" && readIncarnation(dataDirectory) !== undefined;
}

async function beginningOf(config: Config): Promise<StartConditions> {
  const { databaseAllowEmpty } = config;
  return { hasKeys: await wasStarted(config), allowEmpty: databaseAllowEmpty === "true" };
}

async function openEmbedded(
  config: Config,
  onWriting: (works: boolean) => void,
  log: Log,
  scheduler: Scheduler,
): Promise<RunningStore> {
  const { dataDirectory } = config;
  if (dataDirectory === ":memory:") return openEmbeddedStore({ file: dataDirectory, onWriting });
  const file = databaseFileOf(dataDirectory);
  // A new database with old keys would silently be a new installation, although the old database is
  // missing.
  const expectTables = await wasStarted(config);
  if (expectTables && !hasDatabase(file)) throw new StoreOpenError("missing", file);
  let cancel = (): void => undefined;
  const onUpgrading = (upgrading: Upgrading): void => {
    cancel();
    if (upgrading.kind === "migrating") {
      const { from, to } = upgrading;
      log.write({ event: "database_migrating", from, to, bytes: sizeOf(file) });
      return;
    }
    const { copy, bytes } = upgrading;
    const report = (): void => {
      log.write({ event: "database_rewriting", bytes, written: sizeOf(copy) });
      cancel = scheduler.after(reportRewritingMs, report);
    };
    report();
  };
  try {
    return await openEmbeddedStore({ file, expectTables, onWriting, onUpgrading });
  } finally {
    cancel();
  }
}

/** A gigabyte takes up to half a minute. */
const reportRewritingMs = 5_000;

export function databaseFileOf(dataDirectory: string): string {
  return join(dataDirectory, "cofre.db");
}
