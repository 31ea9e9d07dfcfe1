import { hour } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { DatabaseFigures } from "../stores/store.ts";

export interface FiguresParts {
  readonly figures: () => Promise<DatabaseFigures>;
  readonly scheduler: Scheduler;
  /** Called at once, then each hour. Never throws. */
  readonly report: (figures: DatabaseFigures) => void;
  /** Called after `report` if an age is above its limit. Never throws. */
  readonly warn: (ages: Pick<DatabaseFigures, "frozenAge" | "snapshotAge">) => void;
}

const readMs = hour;
/**
 * In transactions. PostgreSQL refuses transactions at about 2,100 million; by default it vacuums
 * against wraparound at 200 million.
 */
const maxFrozenAge = 1_500_000_000;
/**
 * In transactions whose rows no vacuum can remove: about 1.7 hours of 800 batches a second with two
 * transactions each.
 */
const maxSnapshotAge = 10_000_000;

/**
 * Reads the database's figures each hour; after a failure again an hour later. Owns one timer,
 * which the returned function cancels.
 */
export function watchFigures({ figures, scheduler, report, warn }: FiguresParts): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const read = async (): Promise<void> => {
    const found = await figures();
    if (isOver) return;
    report(found);
    const { frozenAge, snapshotAge } = found;
    if (frozenAge > maxFrozenAge || snapshotAge > maxSnapshotAge) warn({ frozenAge, snapshotAge });
  };
  const next = (waitMs: number): void => {
    cancel = scheduler.after(waitMs, () => {
      void read().catch(() => undefined);
      if (!isOver) next(readMs);
    });
  };
  next(0);
  return () => {
    isOver = true;
    cancel();
  };
}
