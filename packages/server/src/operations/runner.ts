import type { Authenticator } from "../authentication/authenticator.ts";
import type { Connectors } from "../connectors/connector.ts";
import type { LateApproval } from "../decisions/late-approvals.ts";
import { decideMarkForReview } from "../decisions/payment-decisions.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { type PaymentId, type PaymentIds, paymentIds } from "../payment/payment-id.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import { KeyedMutex } from "../kernel/keyed-mutex.ts";
import type { Random } from "../kernel/random.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Account, SimulatorBehaviour } from "../merchant/account.ts";
import { errorFacts } from "../logging/error-facts.ts";
import type { EndpointId } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { CvvCache } from "../vault/cvv-cache.ts";
import type { Pan } from "../vault/pan.ts";
import type { Vault } from "../vault/vault.ts";
import { commitDecision } from "./commit.ts";
import type { Operation, OperationContext } from "./operation.ts";
import { changePayment, reread } from "./payment-change.ts";
import { requestQueue } from "./request-queue.ts";

/**
 * A broken invariant or another unexpected failure that needs investigation. Contains no data of a
 * request.
 */
export interface Alarm {
  readonly kind:
    | "broken_invariant"
    | "unexpected_failure"
    | "card_not_readable"
    | "approval_came_late";
  /** The property that did not hold, or the error's class name. */
  readonly what: string;
  /** Function, file and line that threw. */
  readonly where: string | undefined;
  readonly merchantId: string | undefined;
  readonly paymentId: string | undefined;
}

export interface RunnerParts {
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  readonly authenticator?: Authenticator | undefined;
  readonly cvvCache: CvvCache;
  readonly clock: Clock;
  readonly random: Random;
  /** By default, ids increase from the start of this runner only. */
  readonly paymentIds?: PaymentIds;
  /** Timeout of an acquirer request; after it the outcome is unknown. */
  readonly acquirerTimeoutMs: number;
  /** New attempts on existing payments get numbers above it. */
  readonly epoch?: () => number;
  readonly alarm: (alarm: Alarm) => void;
  /** Which card numbers may be stored and charged; all by default. */
  readonly acceptsPan?: ((pan: Pan) => boolean) | undefined;
  /** Endpoints that receive this payment's notifications. */
  readonly endpointsOf: (account: Account, payment: Payment) => readonly EndpointId[];
  /** Those endpoints that receive several payments in one message; none by default. */
  readonly batchFor?: (account: Account, endpoints: readonly EndpointId[]) => readonly EndpointId[];
  /**
   * Called after notifications were committed. Must be cheap and must not throw. In the sandbox the
   * client's answer may have to wait for the promise, which never rejects.
   */
  readonly onNotificationsCommitted: (
    account: Account,
    change: Change,
  ) => Promise<void> | undefined;
  /**
   * Called with each new version of a payment after its commit. Must be cheap and must not throw.
   */
  readonly onCommitted?: (payment: Payment) => void;
}

/** Provides operations with their context and maps their failures. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #paymentIds: PaymentIds;
  readonly #mutex = new KeyedMutex(requestQueue);
  readonly #deferred: DeferredTask[] = [];

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#paymentIds = parts.paymentIds ?? paymentIds(parts.random);
  }

  /** Rejects only with ServiceError. */
  async run<Input, Output>(
    operation: Operation<Input, Output>,
    account: Account,
    input: Input,
  ): Promise<Output> {
    const context = this.#contextOf(account);
    try {
      return await operation.run(context, input);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      await this.#raise(error, context.lastCommitted);
      throw new ServiceError("internal_failure");
    } finally {
      // The operation is over, so no other request waits for this one. It gives up its place in the
      // work limit (`waits`), because only notification chaos makes an answer wait.
      const { waits = (wait) => wait }: SimulatorBehaviour = account.settings.simulator;
      if (context.answerWaitsFor.length > 0) await waits(Promise.all(context.answerWaitsFor));
    }
  }

  /** The context of an account, for jobs that act on its payments. */
  contextOf(account: Account): OperationContext {
    return this.#contextOf(account);
  }

  /** Runs the tasks that wait for the store. */
  async runDeferred(): Promise<void> {
    // A task that fails again is queued again.
    for (const { task } of this.#deferred.splice(0)) await task().catch(() => undefined);
  }

  /** Called when the process stops: the waiting tasks are abandoned. */
  abandonDeferred(): void {
    for (const { abandon } of this.#deferred.splice(0)) abandon();
  }

  /**
   * Reports an unexpected error during work on a payment. The work has stopped; the payment waits
   * for a review by an operator.
   */
  async raise(error: unknown, payment: Payment): Promise<void> {
    await this.#raise(error, payment);
  }

  #contextOf(account: Account): Context {
    return new Context(this.#parts, account, this.#mutex, this.#paymentIds, this.#deferred);
  }

  async #raise(error: unknown, payment: Payment | undefined): Promise<void> {
    const broken = error instanceof BrokenInvariant;
    this.#parts.alarm({
      kind: broken ? "broken_invariant" : "unexpected_failure",
      what: broken ? error.message : errorFacts(error).errorName,
      where: errorFacts(error).where,
      merchantId: payment?.merchantId,
      paymentId: payment?.id,
    });
    if (payment === undefined || !broken) return;
    try {
      const { store, clock } = this.#parts;
      await changePayment(
        { store, change: (decide) => commitDecision(store, decide) },
        payment,
        (current) => (current.needsReview ? undefined : decideMarkForReview(current, clock.now())),
      );
    } catch {
      // The alarm has been raised. If the store is unavailable the payment cannot be marked, and
      // recovery meets the same invariant again.
    }
  }
}

/** A task that waits for the store (OperationContext.defer). */
interface DeferredTask {
  readonly task: () => Promise<unknown>;
  readonly abandon: () => void;
}

/** Further tasks are abandoned at once. */
const maxDeferred = 1_000;

class Context implements OperationContext {
  readonly account: Account;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  readonly authenticator: Authenticator | undefined;
  readonly cvvCache: CvvCache;
  /**
   * The payment that this operation committed last: it is marked for review if an invariant breaks.
   */
  lastCommitted: Payment | undefined;
  readonly answerWaitsFor: Promise<void>[] = [];
  readonly #acquirerTimeoutMs: number;
  readonly #epoch: () => number;
  readonly #mutex: KeyedMutex;
  readonly #paymentIds: PaymentIds;
  readonly #deferred: DeferredTask[];
  readonly #alarm: RunnerParts["alarm"];
  readonly #acceptsPan: RunnerParts["acceptsPan"];
  readonly #endpointsOf: RunnerParts["endpointsOf"];
  readonly #batchFor: RunnerParts["batchFor"];
  readonly #onNotificationsCommitted: RunnerParts["onNotificationsCommitted"];
  readonly #onCommitted: RunnerParts["onCommitted"];

  constructor(
    parts: RunnerParts,
    account: Account,
    mutex: KeyedMutex,
    ids: PaymentIds,
    deferred: DeferredTask[],
  ) {
    this.#deferred = deferred;
    this.account = account;
    this.clock = parts.clock;
    this.random = parts.random;
    this.store = parts.store;
    this.vault = parts.vault;
    this.connectors = parts.connectors;
    this.authenticator = parts.authenticator;
    this.cvvCache = parts.cvvCache;
    this.#acquirerTimeoutMs = parts.acquirerTimeoutMs;
    this.#epoch = parts.epoch ?? (() => 0);
    this.#mutex = mutex;
    this.#paymentIds = ids;
    this.#alarm = parts.alarm;
    this.#acceptsPan = parts.acceptsPan;
    this.#endpointsOf = parts.endpointsOf;
    this.#batchFor = parts.batchFor;
    this.#onNotificationsCommitted = parts.onNotificationsCommitted;
    this.#onCommitted = parts.onCommitted;
  }

  acceptsPan(pan: Pan): boolean {
    return this.#acceptsPan?.(pan) ?? true;
  }

  reportUnreadableCard(error: unknown): void {
    const what = "a stored card opens with the keys of this installation";
    this.#alarm({
      kind: "card_not_readable",
      what,
      where: errorFacts(error).where,
      merchantId: this.account.id,
      paymentId: undefined,
    });
  }

  reportLateApproval({ merchantId, id }: Payment, of: LateApproval["kind"]): void {
    const what = `the approval of this ${of} comes while its attempt is under way`;
    this.#alarm({ kind: "approval_came_late", what, where: undefined, merchantId, paymentId: id });
  }

  defer(task: () => Promise<unknown>, abandon: () => void): void {
    if (this.#deferred.length < maxDeferred) this.#deferred.push({ task, abandon });
    else abandon();
  }

  newPaymentId(at: Instant): PaymentId {
    return this.#paymentIds(this.account.id, at);
  }

  get epoch(): number {
    return this.#epoch();
  }

  answerBy(): ReturnType<OperationContext["answerBy"]> {
    return laterBy(this.clock.now(), this.#acquirerTimeoutMs);
  }

  async change<C extends Change | undefined>(decide: () => C | Promise<C>): Promise<C> {
    const withEndpoints = (decided: C): C => {
      if (decided?.payment === undefined || decided.notifications.length === 0) return decided;
      const endpoints = this.#endpointsOf(this.account, decided.payment.next);
      if (endpoints.length === 0) return decided;
      const batchFor = this.#batchFor?.(this.account, endpoints) ?? [];
      return batchFor.length > 0 ? { ...decided, endpoints, batchFor } : { ...decided, endpoints };
    };
    const change = await commitDecision(this.store, () => {
      const decided = decide();
      return decided instanceof Promise ? decided.then(withEndpoints) : withEndpoints(decided);
    });
    if (change?.payment !== undefined) this.#onCommitted?.(change.payment.next);
    if (change?.endpoints !== undefined) {
      const wait = this.#onNotificationsCommitted(this.account, change);
      if (wait !== undefined) this.answerWaitsFor.push(wait);
    }
    this.lastCommitted = change?.payment?.next ?? this.lastCommitted;
    return change;
  }

  withLock<T>(found: Payment, task: (payment: Payment) => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(found.merchantId + found.id, (hasWaited) =>
      hasWaited ? reread(this, found).then(task) : task(found),
    );
  }
}
