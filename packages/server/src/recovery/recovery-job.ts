import { type Instant, instant } from "../kernel/instant.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { AccountDirectory } from "../operations/account-directory.ts";
import type { Runner } from "../operations/runner.ts";
import type { Payment } from "../payment/payment.ts";
import type { Store } from "../stores/store.ts";
import { recoverPayment } from "./recover-payment.ts";

export interface RecoveryParts {
  readonly store: Store;
  readonly runner: Runner;
  readonly accounts: AccountDirectory;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Told of every payment that recovery settled or failed to settle for more than an hour. */
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
 * Looks after payments whose attempt to the acquirer has no known outcome. Owns one timer and at most one round at a time.
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
    const left = await this.#due(instant(Number.MAX_SAFE_INTEGER), maximumAtStart);
    this.#round = this.#recoverAll(left);
    void this.#round.then(() => this.#schedule());
  }

  /** Recovers what is due now; resolves when that is done. */
  async runDue(): Promise<void> {
    await this.#recoverAll(await this.#due(this.#parts.clock.now(), batchSize));
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

  async #due(until: Instant, limit: number): Promise<readonly Payment[]> {
    try {
      return await this.#parts.store.paymentsToRecover(until, limit);
    } catch {
      // The store is down: it says so itself, and the next poll asks again.
      return [];
    }
  }

  async #recoverAll(due: readonly Payment[]): Promise<void> {
    const queue = due.values();
    await Promise.all(Array.from({ length: Math.min(concurrency, due.length) }, () => this.#work(queue)));
  }

  async #work(queue: Iterable<Payment>): Promise<void> {
    for (const payment of queue) {
      if (this.#stopped) return;
      await this.#recover(payment);
    }
  }

  async #recover(payment: Payment): Promise<void> {
    const { accounts, runner, report } = this.#parts;
    try {
      const account = await accounts.byId(payment.merchantId);
      if (account === undefined) return;
      const context = runner.contextOf(account);
      const after = await recoverPayment(context, payment);
      const checks = after.attempt?.checks ?? payment.attempt?.checks ?? 0;
      const progress = { merchantId: payment.merchantId, paymentId: payment.id, state: after.state, checks };
      if (after.attempt === undefined) report({ kind: "settled", ...progress });
      else if (checks >= overdueChecks) report({ kind: "overdue", ...progress });
    } catch (error) {
      // A store failure leaves the payment as it was, due again at the next poll.
      if (!(error instanceof ServiceError)) await runner.raise(error, payment);
    }
  }
}
