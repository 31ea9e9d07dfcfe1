import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { AccountDirectory } from "../operations/account-directory.ts";
import type { OperationContext } from "../operations/operation.ts";
import type { Runner } from "../operations/runner.ts";
import type { Payment } from "../payment/payment.ts";
import type { Store } from "../stores/store.ts";
import { keepUp } from "./keep-up.ts";
import { recoverPayment } from "./recover-payment.ts";

export interface RecoveryParts {
  readonly store: Store;
  readonly runner: Runner;
  readonly accounts: AccountDirectory;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Told of every payment that recovery settled, and of every payment or refund that it failed to settle for more than an hour. */
  readonly report: (progress: RecoveryProgress) => void;
}

export interface RecoveryProgress {
  readonly kind: "settled" | "overdue";
  readonly merchantId: string;
  readonly paymentId: string;
  readonly state: string;
  readonly checks: number;
}

const pollMs = 1_000;
const batchSize = 200;
const concurrency = 16;
/** After this many checks (an hour and more) a payment that is still in flight is an alarm, at each further check. */
const overdueChecks = 5;
/** No more than this many payments are taken up at start at once; the rest follows when they are due. */
const maximumAtStart = 10_000;

/**
 * Does what the clock wants of payments: finds out about attempts without an answer, lets authorizations lapse, carries refunds
 * out. Owns one timer and at most one round at a time.
 */
export class RecoveryJob {
  readonly #parts: RecoveryParts;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /**
   * Takes up everything in flight at once, due or not: the embedded store has one process, so at its start whoever sent those
   * requests is gone. Resolves when it knows what that is; only then may requests be served. Polls from then on.
   */
  async start(): Promise<void> {
    const left = await this.#read((store) => store.paymentsInFlight(maximumAtStart));
    this.#round = this.#all(left, recoverPayment);
    void this.#round.then(() => this.#schedule());
  }

  /** Recovers what is due now; resolves when that is done. */
  async runDue(): Promise<void> {
    const now = this.#parts.clock.now();
    await this.#all(await this.#read((store) => store.paymentsDue(now, batchSize)), keepUp);
  }

  /** Resolves when the round under way has ended; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(pollMs, () => {
      this.#round = this.runDue();
      void this.#round.then(() => this.#schedule());
    });
  }

  async #read(reading: (store: Store) => Promise<readonly Payment[]>): Promise<readonly Payment[]> {
    try {
      return await reading(this.#parts.store);
    } catch {
      // The store is down: it says so itself, and the next poll asks again.
      return [];
    }
  }

  async #all(payments: readonly Payment[], work: Work): Promise<void> {
    const queue = payments.values();
    await Promise.all(Array.from({ length: Math.min(concurrency, payments.length) }, () => this.#take(queue, work)));
  }

  async #take(queue: Iterable<Payment>, work: Work): Promise<void> {
    for (const payment of queue) {
      if (this.#stopped) return;
      await this.#one(payment, work);
    }
  }

  async #one(payment: Payment, work: Work): Promise<void> {
    const { accounts, runner, report } = this.#parts;
    try {
      const account = await accounts.byId(payment.merchantId);
      if (account === undefined) return;
      const after = await work(runner.contextOf(account), payment);
      const checks = after.attempt?.checks ?? payment.attempt?.checks ?? 0;
      const openRefund = after.refunds.find((refund) => refund.state === "sending" && refund.checks >= overdueChecks);
      const progress = { merchantId: payment.merchantId, paymentId: payment.id, state: after.state, checks };
      if (payment.attempt !== undefined && after.attempt === undefined) report({ kind: "settled", ...progress });
      else if (after.attempt !== undefined && checks >= overdueChecks) report({ kind: "overdue", ...progress });
      else if (openRefund !== undefined) report({ kind: "overdue", ...progress, state: "refund_sending", checks: openRefund.checks });
    } catch (error) {
      // A store failure leaves the payment as it was, due again at the next poll.
      if (!(error instanceof ServiceError)) await runner.raise(error, payment);
    }
  }
}

type Work = (context: OperationContext, payment: Payment) => Promise<Payment>;
