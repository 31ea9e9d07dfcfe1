import type { Clock } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { hour, type Instant, laterBy, minute } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { SteadyClock } from "../kernel/steady-clock.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";

/** How long records are kept. */
export interface RetentionPeriods {
  /** Answered Idempotency-Keys, from their claim. */
  readonly requestsMs: number;
  /** Deliveries that succeeded or failed, from that time. */
  readonly deliveriesMs: number;
}

export interface RetentionParts {
  readonly store: Pick<Store, "answeredRequests" | "endedDeliveries" | "commit">;
  readonly periods: RetentionPeriods;
  readonly clock: Clock;
  readonly elapsedMs: ElapsedMs;
  readonly scheduler: Scheduler;
  /** The holder of its first slot deletes, for all merchants. */
  readonly slotAssignment: SlotAssignment;
  /** Called after a round that deleted something. Never throws. */
  readonly report: (deleted: Deleted) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
}

export interface Deleted {
  readonly requests: number;
  readonly deliveries: number;
}

const jobSlot = 0;
const checkMs = minute;
const roundMs = hour;
/** Records per read, and the pause after it, in which other changes are written. */
const defaultBatches = { size: 200, pauseMs: 20 };
const unlimitedBatch: typeof defaultBatches = { size: Number.MAX_SAFE_INTEGER, pauseMs: 0 };
/** Maximum number of records per change, and of concurrent changes. */
const maxRecordsPerChange = 100;
const maxConcurrentChanges = 8;

/**
 * Deletes Idempotency-Keys and deliveries that are older than their period. One process does it,
 * the holder of the first slot, with a round each hour. A node whose clock differs from other
 * nodes' clocks holds no slot (decisions/0017). A single node has no other clock to compare with,
 * so a round also needs a clock that has agreed with monotonic time for an hour.
 *
 * The store checks again what it deletes: a record that has changed since it was read stays. Owns
 * one timer, and one round at a time.
 */
export class RetentionJob {
  readonly #parts: RetentionParts;
  readonly #steady: SteadyClock;
  #last: { readonly lease: SlotLease; readonly at: Instant } | undefined;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#steady = new SteadyClock(parts.clock, parts.elapsedMs);
  }

  start(): void {
    this.#schedule();
  }

  /**
   * Deletes everything that is old now, whether the clock is steady or not: for a world, whose
   * clock is moved on purpose.
   */
  runDue(): Promise<void> {
    return this.#deleteOld(() => true, unlimitedBatch);
  }

  /** Resolves when the current round has ended; no other follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      // A round that failed is repeated an hour later.
      this.#round = this.#runIfDue().catch(() => undefined);
      void this.#round.then(() => this.#schedule());
    });
  }

  async #runIfDue(): Promise<void> {
    // Each minute, to distinguish a step of the clock from its drift.
    const isSteady = this.#steady.isSteady();
    const now = this.#parts.clock.now();
    const lease = this.#parts.slotAssignment.leases().get(jobSlot);
    if (!isSteady || lease === undefined) return;
    const sinceMs = this.#last?.lease === lease ? now - this.#last.at : roundMs;
    // If the clock was set back, the time since the last round is unknown.
    if (0 <= sinceMs && sinceMs < roundMs) return;
    this.#last = { lease, at: now };
    await this.#deleteOld(() => this.#steady.isSteady(), defaultBatches);
  }

  async #deleteOld(mayDelete: () => boolean, batches: typeof defaultBatches): Promise<void> {
    const { report, periods, clock } = this.#parts;
    const now = clock.now();
    const [claimedBefore, endedBefore] = [
      olderThan(now, periods.requestsMs),
      olderThan(now, periods.deliveriesMs),
    ];
    const [requests, deliveries] = [{ count: 0 }, { count: 0 }];
    try {
      await this.#inBatches(mayDelete, batches, requests, (limit) =>
        this.#deleteRequests(claimedBefore, limit),
      );
      await this.#inBatches(mayDelete, batches, deliveries, (limit) =>
        this.#deleteDeliveries(endedBefore, limit),
      );
    } finally {
      if (requests.count + deliveries.count > 0)
        report({ requests: requests.count, deliveries: deliveries.count });
    }
  }

  /**
   * `deleteBatch` resolves with the number of records that it read; fewer than the limit means the
   * end.
   */
  async #inBatches(
    mayDelete: () => boolean,
    { size, pauseMs }: typeof defaultBatches,
    deleted: { count: number },
    deleteBatch: (limit: number) => Promise<number>,
  ): Promise<void> {
    const { scheduler, slotAssignment } = this.#parts;
    const lease = slotAssignment.leases().get(jobSlot);
    while (!this.#stopped && mayDelete()) {
      const end = lease?.begin();
      // Another process holds the slot now.
      if (end === undefined) return;
      try {
        const count = await deleteBatch(size);
        deleted.count += count;
        if (count < size) return;
      } finally {
        end();
      }
      await scheduler.sleep(pauseMs);
    }
  }

  async #deleteRequests(claimedBefore: Instant, limit: number): Promise<number> {
    const { store, reads } = this.#parts;
    const found = await reportRead(
      reads,
      "answeredRequests",
      store.answeredRequests(claimedBefore, limit),
    );
    await this.#commitEach(found, (merchantId, records) => ({
      merchantId,
      requestDeletion: { keys: records.map(({ key }) => key), claimedBefore },
    }));
    return found.length;
  }

  async #deleteDeliveries(endedBefore: Instant, limit: number): Promise<number> {
    const { store, reads } = this.#parts;
    const found = await reportRead(
      reads,
      "endedDeliveries",
      store.endedDeliveries(endedBefore, limit),
    );
    await this.#commitEach(found, (merchantId, records) => ({
      merchantId,
      deliveryDeletion: { deliveries: records, endedBefore },
    }));
    return found.length;
  }

  /** One change per merchant, several if it has more than `maxRecordsPerChange` records. */
  async #commitEach<T extends { readonly merchantId: MerchantId }>(
    found: readonly T[],
    deletion: (
      merchantId: MerchantId,
      records: readonly T[],
    ) => Pick<Change, "merchantId" | "requestDeletion" | "deliveryDeletion">,
  ): Promise<void> {
    const { store, clock } = this.#parts;
    const changes: Change[] = [];
    for (const [merchantId, all] of Map.groupBy(found, (each) => each.merchantId)) {
      for (let at = 0; at < all.length; at += maxRecordsPerChange)
        changes.push({
          ...deletion(merchantId, all.slice(at, at + maxRecordsPerChange)),
          at: clock.now(),
          facts: [],
          entries: [],
          notifications: [],
        });
    }
    for (let at = 0; at < changes.length; at += maxConcurrentChanges)
      await Promise.all(
        changes.slice(at, at + maxConcurrentChanges).map((change) => store.commit(change)),
      );
  }
}

/** Records before this moment have an age of at least the period. */
function olderThan(now: Instant, periodMs: number): Instant {
  return laterBy(now, 1 - periodMs);
}
