import type { Instant } from "../kernel/instant.ts";
import type { Change } from "./change.ts";
import type { Store } from "./store.ts";

/**
 * What a world of the sandbox is kept in: in memory, so that it can be looked at whole, taken
 * along, and thrown away.
 */
export interface WorldStore extends Store {
  /** A store with the same content. Neither sees what is written to the other from then on. */
  copy(options: WorldStoreOptions): WorldStore;
  /**
   * The first moment after `now` at which a payment or a delivery is due; undefined when none is.
   */
  nextDue(now: Instant): Instant | undefined;
  /**
   * When the stored card that was left unused for longest was used last; undefined when there is
   * none.
   */
  readonly leastRecentUse: Instant | undefined;
  readonly payments: number;
  /**
   * How many records there are of all kinds that somebody can add to without an end: payments,
   * cards, notifications or the deliveries of them, named requests; changes of payments where they
   * are more than ten of each; and one for each 250 characters of an account's settings beyond
   * 2,000.
   */
  readonly size: number;
}

export interface WorldStoreOptions {
  /** Asked before a change is applied: true refuses it with `overloaded`. */
  readonly isFull?: (change: Change) => boolean;
  /** Told of every change when it was applied. Never throws. */
  readonly onApplied?: (change: Change) => void;
}
