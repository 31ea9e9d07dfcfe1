import type { Clock } from "../../kernel/clock.ts";
import type { Instant } from "../../kernel/instant.ts";
import { type ClockReadings, freshReadingMs } from "../store.ts";

interface Row {
  readonly aheadMs: number;
  readonly at: Instant;
  readonly isRight: boolean;
}

/**
 * The clock readings of all nodes: the same steps as the PostgreSQL store's functions
 * (postgres/migrations/016-node-clocks.ts).
 */
export class ClockTable {
  readonly #clock: Clock;
  /** In the order of the readings, latest last. */
  readonly #rows = new Map<string, Row>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(node: string, aheadMs: number | undefined): void {
    const known = this.#rows.get(node);
    if (aheadMs === undefined) {
      if (known !== undefined) this.#rows.set(node, { ...known, isRight: false });
      return;
    }
    this.#rows.delete(node);
    this.#rows.set(node, { aheadMs, at: this.#clock.now(), isRight: true });
  }

  readings(node: string): ClockReadings {
    const now = this.#clock.now();
    // A reading later than now was taken before the clock was set back, by a node that may be gone.
    const isFresh = ({ at, isRight }: Row): boolean =>
      isRight && at <= now && now - at < freshReadingMs;
    const others = [...this.#rows]
      .filter(([id, row]) => id !== node && isFresh(row))
      .map(([, { aheadMs }]) => aheadMs);
    return {
      others: others.toSorted((left, right) => left - right),
      last: [...this.#rows.values()].at(-1)?.aheadMs,
    };
  }
}
