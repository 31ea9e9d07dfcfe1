import type { Clock } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import { day, hour, type Instant, laterBy, minute } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { SteadyClock } from "../kernel/steady-clock.ts";
import type { CardAge, Store } from "../stores/store.ts";
import { tokenExpiresAt } from "../vault/token.ts";

export interface CardExpiryParts {
  readonly store: Pick<Store, "cardsAfter" | "commit" | "eraseRemains">;
  /** Security codes in memory; expired ones are deleted each minute. */
  readonly cvvCache?: { readonly deleteExpired: (now: Instant) => void };
  readonly clock: Clock;
  /** Rounds need a clock that has agreed with it for an hour; without it every clock is trusted. */
  readonly elapsedMs?: ElapsedMs;
  readonly scheduler: Scheduler;
  /** The holder of the first slot deletes the expired cards of all merchants. */
  readonly slotAssignment: SlotAssignment;
  /** Called after a round that deleted cards. */
  readonly report: (progress: { readonly deleted: number; readonly seen: number }) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
}

const jobSlot = 0;
const checkMs = minute;
const roundMs = day;
/**
 * Time between expiry and deletion: a request from before the expiry may be under way, and its use
 * is not recorded yet.
 */
const graceMs = hour;
/**
 * Cards per read, and the pause after it: a million cards take a few seconds a day, a few
 * milliseconds at a time.
 */
const defaultBatches = { size: 1_000, pauseMs: 20 };
const unlimitedBatch: typeof defaultBatches = { size: Number.MAX_SAFE_INTEGER, pauseMs: 0 };

/**
 * Deletes stored cards that were not used for 14 calendar months (interface 2.1; PCI DSS 3.2.1:
 * data is not stored longer than needed), one hour after they expire. Operations refuse an expired
 * token at once, whether or not this job has run. One of several processes does this, once a day,
 * first when it takes over and its clock has been steady for an hour. Owns one timer, and one round
 * at a time.
 */
export class CardExpiryJob {
  readonly #parts: CardExpiryParts;
  readonly #steady: SteadyClock | undefined;
  #last: { readonly lease: SlotLease; readonly at: Instant } | undefined;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: CardExpiryParts) {
    this.#parts = parts;
    const { clock, elapsedMs } = parts;
    this.#steady = elapsedMs === undefined ? undefined : new SteadyClock(clock, elapsedMs);
  }

  start(): void {
    this.#schedule();
  }

  /**
   * Checks every card once, if this process is responsible. A store failure ends the round; the
   * next one starts from the beginning.
   */
  runOnce(): Promise<void> {
    return this.#runRound(() => true, defaultBatches);
  }

  /**
   * The same without pauses, for a world whose clock is advanced to the expiry of each card; the
   * caller lets other requests run in between.
   */
  runDue(): Promise<void> {
    return this.#runRound(() => true, unlimitedBatch);
  }

  async #runRound(
    mayDelete: () => boolean,
    { size, pauseMs }: typeof defaultBatches,
  ): Promise<void> {
    const { store, scheduler, slotAssignment, report, cvvCache, clock } = this.#parts;
    cvvCache?.deleteExpired(clock.now());
    const lease = slotAssignment.leases().get(jobSlot);
    let [position, seen, deleted] = [0, 0, 0];
    let isComplete = false;
    /**
     * Earliest last use of a card that stays: cards used at that time or later stay too, without
     * counting months.
     */
    let keptFrom = Number.POSITIVE_INFINITY;
    while (!this.#stopped) {
      const end = lease?.begin();
      // Another process has taken over and starts at the first card.
      if (end === undefined) break;
      try {
        const batch = await reportRead(
          this.#parts.reads,
          "cardsAfter",
          store.cardsAfter(position, size),
        );
        for (const card of batch) {
          if (card.lastUsedAt >= keptFrom) continue;
          if (this.#stopped || !mayDelete()) break;
          if (!(await this.#deleteIfExpired(card))) keptFrom = card.lastUsedAt;
          // The memory store never yields to the event loop, so other requests run here.
          else if ((deleted += 1) % defaultBatches.size === 0) await scheduler.sleep(0);
        }
        seen += batch.length;
        const last = batch.at(-1);
        if (last === undefined || batch.length < size) {
          isComplete = true;
          break;
        }
        position = last.position;
      } finally {
        end();
      }
      await scheduler.sleep(pauseMs);
    }
    // After each round, because sessions and keys are deleted too.
    if (isComplete || deleted > 0) await store.eraseRemains();
    if (deleted > 0) report({ deleted, seen });
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
      // A failed round is repeated a day later.
      this.#round = this.#runIfDue().catch(() => undefined);
      void this.#round.then(() => this.#schedule());
    });
  }

  async #runIfDue(): Promise<void> {
    // Each minute, to distinguish a step of the clock from its drift.
    const isSteady = this.#isSteady();
    const now = this.#parts.clock.now();
    this.#parts.cvvCache?.deleteExpired(now);
    const lease = this.#parts.slotAssignment.leases().get(jobSlot);
    if (!isSteady || lease === undefined) return;
    const sinceMs = this.#last?.lease === lease ? now - this.#last.at : roundMs;
    // If the clock was set back, the time since the last round is unknown.
    if (0 <= sinceMs && sinceMs < roundMs) return;
    this.#last = { lease, at: now };
    await this.#runRound(() => this.#isSteady(), defaultBatches);
  }

  #isSteady(): boolean {
    return this.#steady?.isSteady() !== false;
  }

  async #deleteIfExpired({ merchantId, tokenDigest, lastUsedAt }: CardAge): Promise<boolean> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    if (laterBy(tokenExpiresAt(lastUsedAt), graceMs) > now) return false;
    // If the card is used at this moment, it stays: the store checks the last use again.
    const cardErasure = { tokenDigest, unusedSince: laterBy(lastUsedAt, 1) };
    await store.commit({
      merchantId,
      at: now,
      cardErasure,
      facts: [],
      entries: [],
      notifications: [],
    });
    return true;
  }
}
