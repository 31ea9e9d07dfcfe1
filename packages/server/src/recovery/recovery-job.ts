import { checksPerHour } from "../decisions/steps.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Instant } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { RateLimit } from "../kernel/rate-limit.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { slotOf } from "../kernel/slot.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { AccountDirectory } from "../operations/account-directory.ts";
import type { OperationContext } from "../operations/operation.ts";
import type { Runner } from "../operations/runner.ts";
import { connectorNameOf, type Payment } from "../payment/payment.ts";
import type { Store } from "../stores/store.ts";
import { doDueWork } from "./due-work.ts";
import { recoverPayment } from "./recover-payment.ts";

export interface RecoveryParts {
  readonly store: Store;
  readonly runner: Runner;
  readonly accounts: AccountDirectory;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The slots of the merchants whose payments this process handles. */
  readonly slotAssignment: SlotAssignment;
  /**
   * Called with every payment that recovery settled, and with every payment or refund that it could
   * not settle for more than an hour.
   */
  readonly report: (progress: RecoveryProgress) => void;
  /** Called with the reads of the store that find due payments. */
  readonly reads?: ReadReport;
  /** Without it all begin at once: the clock of a world waits until its jobs have done what is due. */
  readonly rateLimits?: RecoveryRateLimits | undefined;
}

/**
 * Limits when payments begin and when pages are read. Pages have their own, because a round reads
 * many pages of payments whose acquirers are busy: one after the other they would delay requests.
 */
export interface RecoveryRateLimits {
  readonly payments: RateLimit;
  readonly pages: RateLimit;
}

export interface RecoveryProgress {
  readonly kind: "settled" | "overdue";
  readonly merchantId: string;
  readonly paymentId: string;
  readonly state: string;
  readonly checks: number;
}

const pollMs = 1_000;
/** The embedded store reads a page without yielding: 50 payments block requests for 0.5 ms. */
const pageSize = 50;
/** Maximum per round; the next round continues from there. */
const pagesPerRound = 40;
/** Maximum per refill of a queue that has room again; the next refill continues from there. */
const pagesPerRefill = 2;
/** Per acquirer, so that a slow or dead acquirer does not delay payments of others. */
const concurrency = 16;
/**
 * Per acquirer, including those under way. Further payments are skipped: they are read again
 * when half of these are done, and by later rounds, after all others.
 */
const maxInProgress = 64;
/** Per acquirer and round: single payments that always fail do not delay others. */
const maxFailures = concurrency;
/**
 * After this many checks (over an hour) a payment that is still in flight raises an alarm, at each
 * further check.
 */
const overdueChecks = checksPerHour;
/**
 * Maximum number of payments enqueued immediately at start; the others follow when they are due.
 */
const maxAtStart = 10_000;

/** The work on one acquirer's payments, in order. */
interface AcquirerQueue {
  readonly waiting: (() => Promise<void>)[];
  running: number;
  /**
   * Where reading continues when the queue has room again: after this payment, or at the beginning.
   * undefined: no payment was skipped.
   */
  skipped: { readonly after: Payment | undefined } | undefined;
  isRefilling: boolean;
  /**
   * Failures since the last round began. After `maxFailures`, skipped payments wait for the
   * next round, so that a store that is down is not queried continuously.
   */
  failures: number;
}

/**
 * Performs the due work of payments: resolves attempts without an answer, expires authorizations,
 * sends refunds. Owns one timer, a queue for each acquirer, and the payments in progress, each only
 * once.
 */
export class RecoveryJob {
  readonly #parts: RecoveryParts;
  readonly #queues = new Map<string | undefined, AcquirerQueue>();
  /** By merchant and id; each resolves when its work is done. */
  readonly #inProgress = new Map<string, Promise<void>>();
  #cancelTimer: (() => void) | undefined;
  /**
   * The payment that was read last, in due order; undefined: the next round reads from the
   * beginning.
   */
  #position: Payment | undefined;
  #round: Promise<unknown> = Promise.resolve();
  /** Each resolves when the payments that it enqueued are done. */
  readonly #refills = new Set<Promise<unknown>>();
  /** The tasks that waited for the store, while they run. */
  #deferredTasks: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /**
   * If no other process uses the store, enqueues everything in flight at once, due or not: the
   * process that sent those requests has ended. With other processes, requests in flight may be
   * theirs and are enqueued when due. Resolves when those payments are known; only then may
   * requests be served. Polls from then on.
   */
  async start(): Promise<void> {
    const { slotAssignment } = this.#parts;
    if (slotAssignment.isAlone) {
      const leases = slotAssignment.leases();
      const left = await this.#read("paymentsInFlight", (store) =>
        store.paymentsInFlight(maxAtStart),
      );
      void this.#enqueue(left, recoverPayment, leases, maxAtStart);
    }
    this.#schedule();
  }

  /** Recovers what is due now; resolves when that is done. */
  async runDue(): Promise<void> {
    await Promise.all(await this.#enqueueDue());
    while (this.#refills.size > 0) await Promise.all(this.#refills);
  }

  /** Resolves when the running work has ended; no more begins. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
    await Promise.all([...this.#refills, ...this.#inProgress.values(), this.#deferredTasks]);
    this.#parts.runner.abandonDeferred();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(pollMs, () => {
      this.#deferredTasks ??= this.#parts.runner
        .runDeferred()
        .finally(() => (this.#deferredTasks = undefined));
      this.#round = this.#enqueueDue().then(() => this.#schedule());
    });
  }

  /**
   * Continues reading due payments where the last round ended, and starts over after the end. So
   * every payment is reached, however many belong to an acquirer whose queue is full.
   */
  async #enqueueDue(): Promise<readonly Promise<void>[]> {
    const { clock, slotAssignment } = this.#parts;
    const now = clock.now();
    const leases = slotAssignment.leases();
    const slots = new Set(leases.keys());
    const enqueued: Promise<void>[] = [];
    for (const queue of this.#queues.values()) queue.failures = 0;
    for (let page = 0; page < pagesPerRound && slots.size > 0; page += 1) {
      const after = this.#position;
      if (this.#rateLimits !== undefined) await this.#rateLimits.pages.acquire();
      const { due, fresh } = await this.#readDue(now, slots, after);
      enqueued.push(...this.#enqueue(fresh, doDueWork, leases, maxInProgress, after));
      this.#position = due.length < pageSize ? undefined : due.at(-1);
      if (this.#position !== undefined) continue;
      // The last round may have ended at the last due payment and have skipped earlier ones: an
      // empty page after it does not mean that all are done.
      if (after === undefined || enqueued.length > 0) break;
    }
    return enqueued;
  }

  async #read(
    read: string,
    reading: (store: Store) => Promise<readonly Payment[]>,
  ): Promise<readonly Payment[]> {
    try {
      return await reportRead(this.#parts.reads, read, reading(this.#parts.store));
    } catch {
      // The next poll reads again.
      return [];
    }
  }

  /**
   * Puts payments that are not in progress into their queues, as long as a queue has fewer than
   * `limit`. `after`: they were read after this payment. The returned promises never reject.
   */
  #enqueue(
    payments: readonly Payment[],
    work: Work,
    leases: ReadonlyMap<number, SlotLease>,
    limit: number,
    after?: Payment,
  ): readonly Promise<void>[] {
    return payments.flatMap((payment) => {
      const key = keyOf(payment);
      const known = this.#inProgress.get(key);
      if (known !== undefined) return [known];
      const lease = leases.get(slotOf(payment.merchantId));
      const queue = this.#queueOf(connectorNameOf(payment));
      if (lease === undefined) return [];
      if (inProgressOf(queue) >= limit) {
        queue.skipped ??= { after };
        return [];
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.waiting.push(async () => {
        const end = this.#stopped ? undefined : lease.begin();
        if (end !== undefined && !(await this.#process(payment, work).finally(end)))
          queue.failures += 1;
        this.#inProgress.delete(key);
        resolve();
      });
      this.#inProgress.set(key, promise);
      this.#startWork(queue);
      return [promise];
    });
  }

  #queueOf(connector: string | undefined): AcquirerQueue {
    const known = this.#queues.get(connector);
    if (known !== undefined) return known;
    const queue: AcquirerQueue = {
      waiting: [],
      running: 0,
      skipped: undefined,
      isRefilling: false,
      failures: 0,
    };
    this.#queues.set(connector, queue);
    return queue;
  }

  #startWork(queue: AcquirerQueue): void {
    while (queue.running < concurrency) {
      const task = queue.waiting.shift();
      if (task === undefined) return;
      queue.running += 1;
      const begin = (): void =>
        void task().then(() => {
          queue.running -= 1;
          this.#startWork(queue);
          if (queue.failures < maxFailures && inProgressOf(queue) <= maxInProgress / 2)
            this.#refill(queue);
        });
      if (this.#rateLimits === undefined) begin();
      else this.#rateLimits.payments.run(begin);
    }
  }

  /** After the job is stopped, the remaining tasks only end and need no pacing. */
  get #rateLimits(): RecoveryRateLimits | undefined {
    return this.#stopped ? undefined : this.#parts.rateLimits;
  }

  /**
   * Enqueues the skipped payments, starting at their position: earlier ones belong to other
   * acquirers, which may be dead.
   */
  #refill(queue: AcquirerQueue): void {
    const { skipped } = queue;
    if (skipped === undefined || queue.isRefilling || this.#stopped) return;
    queue.skipped = undefined;
    queue.isRefilling = true;
    const refill = this.#refillFrom(queue, skipped.after)
      .finally(() => (queue.isRefilling = false))
      .then((enqueued) => Promise.all(enqueued))
      .finally(() => this.#refills.delete(refill));
    this.#refills.add(refill);
  }

  /** Reads until the queue is full, and records the position in it. */
  async #refillFrom(
    queue: AcquirerQueue,
    from: Payment | undefined,
  ): Promise<readonly Promise<void>[]> {
    const { clock, slotAssignment } = this.#parts;
    const now = clock.now();
    const leases = slotAssignment.leases();
    const enqueued: Promise<void>[] = [];
    let after = from;
    for (let page = 0; page < pagesPerRefill && inProgressOf(queue) < maxInProgress; page += 1) {
      if (leases.size === 0) return enqueued;
      if (this.#rateLimits !== undefined) await this.#rateLimits.pages.acquire();
      const { due, fresh } = await this.#readDue(now, new Set(leases.keys()), after);
      enqueued.push(...this.#enqueue(fresh, doDueWork, leases, maxInProgress, after));
      if (inProgressOf(queue) >= maxInProgress) break;
      if (due.length < pageSize) return enqueued;
      after = due.at(-1);
    }
    queue.skipped = { after };
    return enqueued;
  }

  /**
   * A page of due payments, and those of them that were not in progress during the read: the page
   * may have an old state of the others.
   */
  async #readDue(now: Instant, slots: ReadonlySet<number>, after: Payment | undefined) {
    const busy = new Set(this.#inProgress.keys());
    const due = await this.#read("paymentsDue", (store) =>
      store.paymentsDue(now, pageSize, slots, after),
    );
    return {
      due,
      fresh: due.filter(
        (payment) => !busy.has(keyOf(payment)) || this.#inProgress.has(keyOf(payment)),
      ),
    };
  }

  /** Resolves with whether the work succeeded. Never rejects. */
  async #process(payment: Payment, work: Work): Promise<boolean> {
    const { accounts, runner, report } = this.#parts;
    try {
      const account = await accounts.byId(payment.merchantId);
      if (account === undefined) return false;
      const after = await work(runner.contextOf(account), payment);
      const checks = after.attempt?.checks ?? payment.attempt?.checks ?? 0;
      const openRefund = after.refunds.find(
        (refund) => refund.state === "sending" && refund.checks >= overdueChecks,
      );
      const progress = {
        merchantId: payment.merchantId,
        paymentId: payment.id,
        state: after.state,
        checks,
      };
      if (payment.attempt !== undefined && after.attempt === undefined)
        report({ kind: "settled", ...progress });
      else if (after.attempt !== undefined && checks >= overdueChecks)
        report({ kind: "overdue", ...progress });
      else if (openRefund !== undefined)
        report({
          kind: "overdue",
          ...progress,
          state: "refund_sending",
          checks: openRefund.checks,
        });
      return true;
    } catch (error) {
      // After a store failure the payment is unchanged and due again at the next poll.
      if (!(error instanceof ServiceError)) await runner.raise(error, payment);
      return false;
    }
  }
}

function inProgressOf(queue: AcquirerQueue): number {
  return queue.waiting.length + queue.running;
}

function keyOf({ merchantId, id }: Payment): string {
  return merchantId + id;
}

type Work = (context: OperationContext, payment: Payment) => Promise<Payment>;
