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
  /** An installation was served with the keys of this directory, in a file. */
  readonly isNoted: boolean;
  /** The latest time of the processes that served it before. */
  readonly notedAt: Instant | undefined;
}

/** Undefined where nothing is kept, and so nothing can be put back. */
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
