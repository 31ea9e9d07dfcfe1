import { recheckAfter, unanswered } from "../decisions/steps.ts";
import { type Clock, clockToleranceMs } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, hour, laterBy, minute, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { WatchedClock } from "../kernel/watched-clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { changePayment } from "../operations/payment-change.ts";
import { commitDecision } from "../operations/commit.ts";
import { longestDelayMs } from "../notification/backoff.ts";
import { deliveryChange } from "../delivery/delivery.ts";
import type { Delivery } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import type { Store } from "../stores/store.ts";

export interface ClockSetBackParts {
  readonly store: Store;
  readonly clock: Clock & Pick<WatchedClock, "highest">;
  readonly scheduler: Scheduler;
  /** The latest time noted by any earlier process. */
  readonly seenAt: Instant | undefined;
  /**
   * Called when the clock was set back and the affected records were made due again. Never throws.
   */
  readonly report: (found: ClockSetBack) => void;
  /** Called after each of its reads of the store. */
  readonly reads?: ReadReport;
}

export interface ClockSetBack {
  /** The latest time of the clock minus its current time. */
  readonly byMs: number;
  readonly payments: number;
  readonly deliveries: number;
}

const checkMs = second;
/** The second sweep finds what was being written while the clock was set back. */
const sweepsAfterMs: readonly number[] = [0, 10 * second, 5 * minute];
const laterSweepsMs = hour;
/**
 * A due time that is later than possible by this much came from another clock setting. Covers the
 * time that an acquirer has to answer.
 */
const slackMs = 5 * minute;
/** Maximum of the acquirer timeout setting. */
const longestAnswerMs = 10 * minute;
const maxInFlight = 10_000;
const pageSize = 200;
/** Deliveries per change. */
const maxDeliveriesPerChange = 50;

/**
 * Finds records that wait for a time that the clock showed by mistake. A clock that was ahead and
 * was set back leaves due times that are hours or years away: of attempts without an answer, and of
 * deliveries, which block later ones of the same payment. They become due again as if their last
 * attempt had been now.
 *
 * The merchant's slot does not matter: only due times are written, and the node that holds the slot
 * finds them. Owns one timer.
 */
export class ClockSetBackJob {
  readonly #parts: ClockSetBackParts;
  /** Set while the clock counts as set back. */
  #sweeps: { readonly from: Instant; count: number } | undefined;
  /**
   * Merchants whose deliveries were stamped ahead of the clock since the last round, or could not
   * be read.
   */
  #withFutureTimestamps = new Set<MerchantId>();
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: ClockSetBackParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#round = this.#check();
    void this.#round.then(() => this.#schedule());
  }

  /**
   * Called when a change of this merchant is stamped later than now, because its payment has times
   * that the clock showed by mistake and nothing ends before it began. Its notifications are due
   * now nevertheless.
   */
  onFutureTimestamp(merchantId: MerchantId): void {
    this.#withFutureTimestamps.add(merchantId);
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      this.#round = this.#check();
      void this.#round.then(() => this.#schedule());
    });
  }

  /** Never rejects: the next round repeats what failed. */
  async #check(): Promise<void> {
    const merchantIds = this.#withFutureTimestamps;
    this.#withFutureTimestamps = new Set();
    for (const merchantId of merchantIds) await this.#readableDeliveriesOf(merchantId);
    try {
      await this.#sweepIfSetBack();
    } catch {
      // The sweep is not counted and is repeated.
    }
  }

  async #sweepIfSetBack(): Promise<void> {
    const { clock, seenAt = 0 } = this.#parts;
    const now = clock.now();
    const highest = Math.max(clock.highest, seenAt);
    if (highest - now <= clockToleranceMs) {
      this.#sweeps = undefined;
      return;
    }
    // Set back again: what was stamped since then must be checked as well.
    if (this.#sweeps === undefined || now < this.#sweeps.from)
      this.#sweeps = { from: now, count: 0 };
    const sweeps = this.#sweeps;
    const dueMs =
      sweepsAfterMs[sweeps.count] ?? (sweeps.count - sweepsAfterMs.length + 1) * laterSweepsMs;
    if (now - sweeps.from < dueMs) return;
    const found = {
      byMs: highest - now,
      payments: await this.#payments(),
      deliveries: await this.#deliveries(),
    };
    if (sweeps.count === 0 || found.payments + found.deliveries > 0) this.#parts.report(found);
    sweeps.count += 1;
  }

  async #payments(): Promise<number> {
    const { store, clock } = this.#parts;
    let count = 0;
    for (const payment of await this.#read(
      "paymentsInFlight",
      store.paymentsInFlight(maxInFlight),
    )) {
      if (this.#stopped) break;
      if (!isRecheckTooLate(payment, clock.now())) continue;
      await changePayment(
        { store, change: (decide) => commitDecision(store, decide) },
        payment,
        (current) => {
          const now = clock.now();
          if (current.attempt === undefined || !isRecheckTooLate(current, now)) return undefined;
          // No attempt under way is sent later than this, so recovery does not wait for the time
          // that the clock showed when the attempt began.
          const { answerBy } = current.attempt;
          const latest = laterBy(now, longestAnswerMs);
          return unanswered(
            current,
            { ...current.attempt, answerBy: answerBy > latest ? latest : answerBy },
            now,
            "clock",
          );
        },
      );
      count += 1;
    }
    return count;
  }

  async #deliveries(): Promise<number> {
    let count = 0;
    for (const { id } of await this.#read("accounts", this.#parts.store.accounts()))
      count += await this.#readableDeliveriesOf(id);
    return count;
  }

  /**
   * Never rejects: deliveries of a merchant that cannot be read do not delay those of others, and
   * are left to the next round.
   */
  async #readableDeliveriesOf(merchantId: MerchantId): Promise<number> {
    try {
      return await this.#deliveriesOf(merchantId);
    } catch {
      this.#withFutureTimestamps.add(merchantId);
      return 0;
    }
  }

  #read<T>(read: string, reading: Promise<T>): Promise<T> {
    return reportRead(this.#parts.reads, read, reading);
  }

  async #deliveriesOf(merchantId: MerchantId): Promise<number> {
    const { store, clock, scheduler } = this.#parts;
    let count = 0;
    for (let from = 0; !this.#stopped;) {
      const page = await this.#read(
        "deliveriesOf",
        store.deliveriesOf(merchantId, from, pageSize, "waiting", "job"),
      );
      const late = page.filter((delivery) => isDeliveryTooLate(delivery, clock.now()));
      for (let at = 0; at < late.length; at += maxDeliveriesPerChange)
        count += await this.#dueNow(late.slice(at, at + maxDeliveriesPerChange));
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) break;
      // Several endpoints share a number: those of the last one may continue on the next page.
      from = last.number === from ? from + 1 : last.number;
      await scheduler.sleep(0);
    }
    return count;
  }

  async #dueNow(late: readonly Delivery[]): Promise<number> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const [first, ...others] = late.map((delivery) => ({
      ...delivery,
      version: delivery.version + 1,
      dueAt: now,
    }));
    if (first === undefined) return 0;
    const { outcome } = await store.commit(deliveryChange(now, first, ...others));
    if (outcome === "committed") return late.length;
    if (late.length === 1) return 0;
    // One of them has changed since it was read.
    let count = 0;
    for (const each of late) count += await this.#dueNow([each]);
    return count;
  }
}

/** Later than any check could have scheduled it. */
function isRecheckTooLate({ attempt, needsReview }: Payment, now: Instant): boolean {
  if (attempt === undefined || needsReview) return false;
  return (
    attempt.recheckAt > laterBy(recheckAfter(now, attempt.checks), slackMs) ||
    attempt.answerBy > laterBy(now, longestAnswerMs)
  );
}

function isDeliveryTooLate({ attempts, dueAt }: Delivery, now: Instant): boolean {
  return dueAt > laterBy(now, longestDelayMs(attempts) + minute);
}
