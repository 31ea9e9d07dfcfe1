import { hour } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { DatabaseFigures } from "../stores/store.ts";

export interface FiguresParts {
  readonly figures: () => Promise<DatabaseFigures>;
  readonly scheduler: Scheduler;
  /** Called each hour, first at once. Never throws. */
  readonly report: (figures: DatabaseFigures) => void;
  /** Called after `report` when an age is above its bound. Never throws. */
  readonly warn: (ages: Pick<DatabaseFigures, "frozenAge" | "snapshotAge">) => void;
}

const readMs = hour;
/**
 * PostgreSQL refuses transactions at about 2,100 million. A vacuum against wraparound begins at 200
 * million by default.
 */
const mostFrozenAge = 1_500_000_000;
/**
 * So many transactions leave rows that no vacuum removes: an hour and a half of 800 batches a
 * second, each with two.
 */
const mostSnapshotAge = 10_000_000;

/**
 * Reads the database's figures each hour. A database that does not answer is asked an hour later.
 * Owns one timer, which what this returns cancels.
 */
export function watchFigures({ figures, scheduler, report, warn }: FiguresParts): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const read = async (): Promise<void> => {
    const found = await figures();
    if (isOver) return;
    report(found);
    const { frozenAge, snapshotAge } = found;
    if (frozenAge > mostFrozenAge || snapshotAge > mostSnapshotAge)
      warn({ frozenAge, snapshotAge });
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
