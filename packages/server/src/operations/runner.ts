import type { Connectors } from "../connectors/connector.ts";
import type { LateApproval } from "../decisions/late-approvals.ts";
import { decideMarkForReview } from "../decisions/payment-decisions.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { type PaymentId, type PaymentIds, paymentIds } from "../kernel/ids.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Account, SimulatorTreatment } from "../merchant/account.ts";
import { errorFacts } from "../logging/error-facts.ts";
import type { EndpointId } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { CvvPocket } from "../vault/cvv-pocket.ts";
import type { Pan } from "../vault/pan.ts";
import type { Vault } from "../vault/vault.ts";
import { commitDecision } from "./commit.ts";
import type { Operation, OperationContext } from "./operation.ts";
import { changePayment, reread } from "./payment-change.ts";
import { Turns } from "./turns.ts";

/**
 * An invariant broke, or something else that should not happen did: somebody must look. Holds
 * nothing of a request.
 */
export interface Alarm {
  readonly kind:
    | "broken_invariant"
    | "unexpected_failure"
    | "card_not_readable"
    | "approval_came_late";
  /** The property that did not hold, or the name of the error's class. */
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
  readonly pocket: CvvPocket;
  readonly clock: Clock;
  readonly random: Random;
  /** Without it, what is remembered of ids begins with this runner. */
  readonly paymentIds?: PaymentIds;
  /** How long an acquirer may take to answer before its answer is unknown. */
  readonly acquirerTimeoutMs: number;
  /** Attempts on payments that there were before are numbered above it. */
  readonly epoch?: () => number;
  readonly alarm: (alarm: Alarm) => void;
  /** Which card numbers may be stored and charged; all of them unless given. */
  readonly acceptsPan?: ((pan: Pan) => boolean) | undefined;
  /** Who is to hear of this payment's notifications. */
  readonly deliverTo: (account: Account, payment: Payment) => readonly EndpointId[];
  /** Which of those take several payments in one message; none unless given. */
  readonly gatherFor?: (
    account: Account,
    deliverTo: readonly EndpointId[],
  ) => readonly EndpointId[];
  /**
   * Told when there is something new to deliver. Costs next to nothing and never throws. In the
   * sandbox the answer to whoever caused it may have to wait for the promise, which never rejects.
   */
  readonly told: (account: Account, change: Change) => Promise<void> | undefined;
  /**
   * Told of each new version of a payment as soon as it is committed. Costs next to nothing and
   * never throws.
   */
  readonly committed?: (payment: Payment) => void;
}

/** Gives operations their context and their failures a meaning. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #paymentIds: PaymentIds;
  readonly #turns = new Turns();
  readonly #later: Later[] = [];

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#paymentIds = parts.paymentIds ?? paymentIds(parts.random);
  }

  /** Rejects with ServiceError and nothing else. */
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
      await this.#raise(error, context.touched);
      throw new ServiceError("internal_failure");
    } finally {
      // Nobody else waits meanwhile: the operation's turn is over. Without a place for work, since
      // only chaos makes an answer wait.
      const { waits = (wait) => wait }: SimulatorTreatment = account.settings.simulator;
      if (context.answerWaitsFor.length > 0) await waits(Promise.all(context.answerWaitsFor));
    }
  }

  /** The context of an account, for jobs that act on its payments. */
  contextOf(account: Account): OperationContext {
    return this.#contextOf(account);
  }

  /** Does what waits for the store to be back. */
  async doLater(): Promise<void> {
    // What fails once more is put back.
    for (const { task } of this.#later.splice(0)) await task().catch(() => undefined);
  }

  /** The process stops: what waits for the store is not done. */
  giveUpLater(): void {
    for (const { givenUp } of this.#later.splice(0)) givenUp();
  }

  /**
   * Work on a payment met something that should not be: that work has stopped; the payment waits
   * for people.
   */
  async raise(error: unknown, payment: Payment): Promise<void> {
    await this.#raise(error, payment);
  }

  #contextOf(account: Account): Context {
    return new Context(this.#parts, account, this.#turns, this.#paymentIds, this.#later);
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
      // The alarm has been raised; a store that is down cannot take the mark, and recovery meets
      // the same invariant again.
    }
  }
}

/** What waits for the store to be back (OperationContext.later). */
interface Later {
  readonly task: () => Promise<unknown>;
  readonly givenUp: () => void;
}

/** Further ones are given up at once. */
const mostLater = 1_000;

class Context implements OperationContext {
  readonly account: Account;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  readonly pocket: CvvPocket;
  /** The payment that this work last committed: the one to mark when an invariant breaks. */
  touched: Payment | undefined;
  readonly answerWaitsFor: Promise<void>[] = [];
  readonly #acquirerTimeoutMs: number;
  readonly #epoch: () => number;
  readonly #turns: Turns;
  readonly #paymentIds: PaymentIds;
  readonly #later: Later[];
  readonly #alarm: RunnerParts["alarm"];
  readonly #acceptsPan: RunnerParts["acceptsPan"];
  readonly #deliverTo: RunnerParts["deliverTo"];
  readonly #gatherFor: RunnerParts["gatherFor"];
  readonly #told: RunnerParts["told"];
  readonly #committed: RunnerParts["committed"];

  constructor(parts: RunnerParts, account: Account, turns: Turns, ids: PaymentIds, later: Later[]) {
    this.#later = later;
    this.account = account;
    this.clock = parts.clock;
    this.random = parts.random;
    this.store = parts.store;
    this.vault = parts.vault;
    this.connectors = parts.connectors;
    this.pocket = parts.pocket;
    this.#acquirerTimeoutMs = parts.acquirerTimeoutMs;
    this.#epoch = parts.epoch ?? (() => 0);
    this.#turns = turns;
    this.#paymentIds = ids;
    this.#alarm = parts.alarm;
    this.#acceptsPan = parts.acceptsPan;
    this.#deliverTo = parts.deliverTo;
    this.#gatherFor = parts.gatherFor;
    this.#told = parts.told;
    this.#committed = parts.committed;
  }

  acceptsPan(pan: Pan): boolean {
    return this.#acceptsPan?.(pan) ?? true;
  }

  cardNotReadable(error: unknown): void {
    const what = "a stored card opens with the keys of this installation";
    this.#alarm({
      kind: "card_not_readable",
      what,
      where: errorFacts(error).where,
      merchantId: this.account.id,
      paymentId: undefined,
    });
  }

  approvalCameLate({ merchantId, id }: Payment, of: LateApproval["kind"]): void {
    const what = `the approval of this ${of} comes while its attempt is under way`;
    this.#alarm({ kind: "approval_came_late", what, where: undefined, merchantId, paymentId: id });
  }

  later(task: () => Promise<unknown>, givenUp: () => void): void {
    if (this.#later.length < mostLater) this.#later.push({ task, givenUp });
    else givenUp();
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
    const addressed = (decided: C): C => {
      if (decided?.payment === undefined || decided.notifications.length === 0) return decided;
      const deliverTo = this.#deliverTo(this.account, decided.payment.next);
      if (deliverTo.length === 0) return decided;
      const gatherFor = this.#gatherFor?.(this.account, deliverTo) ?? [];
      return gatherFor.length > 0
        ? { ...decided, deliverTo, gatherFor }
        : { ...decided, deliverTo };
    };
    const change = await commitDecision(this.store, () => {
      const decided = decide();
      return decided instanceof Promise ? decided.then(addressed) : addressed(decided);
    });
    if (change?.payment !== undefined) this.#committed?.(change.payment.next);
    if (change?.deliverTo !== undefined) {
      const wait = this.#told(this.account, change);
      if (wait !== undefined) this.answerWaitsFor.push(wait);
    }
    this.touched = change?.payment?.next ?? this.touched;
    return change;
  }

  inTurn<T>(found: Payment, task: (payment: Payment) => Promise<T>): Promise<T> {
    return this.#turns.take(found.merchantId + found.id, (hasWaited) =>
      hasWaited ? reread(this, found).then(task) : task(found),
    );
  }
}
