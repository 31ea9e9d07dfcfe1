import type { Config } from "../config/settings.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Log } from "../logging/log-event.ts";
import { IncarnationKeeper } from "../recovery/incarnation-keeper.ts";
import { placeOf, readIncarnation, writeIncarnation } from "../stores/embedded/incarnation-file.ts";
import type { RunningStore } from "../stores/store.ts";
import { databaseFileOf } from "./open-store.ts";
import type { Ports } from "./ports.ts";
import { noPayment } from "./log-events.ts";

export interface Incarnation {
  readonly keeper: IncarnationKeeper;
  /** The directory has the note of an earlier process that used its keys with a file store. */
  readonly isNoted: boolean;
  /** The latest time of the earlier processes that served it. */
  readonly notedAt: Instant | undefined;
}

/** Undefined when nothing is persisted, so that nothing can be restored. */
export function incarnationOf(
  config: Config,
  store: RunningStore,
  { clock, scheduler }: Ports,
  log: Log,
): Incarnation | undefined {
  const { dataDirectory, databaseUrl } = config;
  if (dataDirectory === ":memory:") return undefined;
  const isShared = databaseUrl !== undefined;
  const keeper = new IncarnationKeeper({
    identity: store.identity,
    note: {
      read: () => readIncarnation(dataDirectory),
      write: (note, durable) => writeIncarnation(dataDirectory, note, durable),
    },
    place: isShared ? undefined : placeOf(databaseFileOf(dataDirectory)),
    isShared,
    commits: () => store.stats().commits,
    clock,
    scheduler,
    report: (reason, epoch) =>
      log.write({
        event: "alarm",
        kind: "database_put_back",
        what: `${reason}, epoch ${epoch}`,
        where: undefined,
        ...noPayment,
      }),
  });
  const noted = readIncarnation(dataDirectory);
  return { keeper, isNoted: !isShared && noted !== undefined, notedAt: noted?.at };
}
