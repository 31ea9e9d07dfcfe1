import type { Instant } from "../kernel/instant.ts";
import type { Change } from "./change.ts";
import type { Store } from "./store.ts";

/**
 * The store of a sandbox world: in memory, so that it can be inspected as a whole, copied, and
 * discarded.
 */
export interface WorldStore extends Store {
  /** Returns a store with the same content. Later writes to one are not visible in the other. */
  copy(options: WorldStoreOptions): WorldStore;
  /** The first moment after `now` at which a payment or a delivery is due; undefined if none is. */
  nextDue(now: Instant): Instant | undefined;
  /**
   * Time of last use of the stored card that has been unused for longest; undefined if there is
   * none.
   */
  readonly leastRecentUse: Instant | undefined;
  readonly payments: number;
  /**
   * Number of records of all kinds that a client can add without limit: payments, cards,
   * notifications or their deliveries, and named requests; changes of payments where there are more
   * than ten of each; and one for each 250 characters of an account's settings beyond 2,000.
   */
  readonly size: number;
}

export interface WorldStoreOptions {
  /** Called before a change is applied: true refuses it with `overloaded`. */
  readonly isFull?: (change: Change) => boolean;
  /** Called after each applied change. Must not throw. */
  readonly onApplied?: (change: Change) => void;
}
