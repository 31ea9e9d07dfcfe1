import type { Authenticator } from "../authentication/authenticator.ts";
import type { Connectors } from "../connectors/connector.ts";
import type { LateApproval } from "../decisions/late-approvals.ts";
import type { Clock } from "../kernel/clock.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { ServiceErrorCode } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { CvvCache } from "../vault/cvv-cache.ts";
import type { Pan } from "../vault/pan.ts";
import type { Vault } from "../vault/vault.ts";

/**
 * What an operation may use. Clock and random belong to the account, because in the sandbox each
 * account can be a separate world.
 */
export interface OperationContext {
  readonly account: Account;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  /** The 3-D Secure server; undefined where there is none. */
  readonly authenticator: Authenticator | undefined;
  /** Security codes in memory, for the next payment with their token. */
  readonly cvvCache: CvvCache;
  /**
   * Whether a card with this number may be stored and charged here: the sandbox refuses live cards.
   */
  acceptsPan(pan: Pan): boolean;
  /** An id for a payment created at this moment; ids of the same moment increase. */
  newPaymentId(at: Instant): PaymentId;
  /** New attempts get numbers above it. 0 until the database is first restored from a backup. */
  readonly epoch: number;
  /** The deadline of an acquirer request that is sent now. */
  answerBy(): Instant;
  /**
   * Commits what `decide` returns and resolves with it. If a concurrent change was committed first,
   * `decide` is called again, at most 8 times, and reads again itself; undefined from `decide`
   * means that nothing is left to write. A taken payment code rejects with PaymentCodeTaken, a
   * taken token with `token_taken`, a store failure with `store_unavailable` (nothing was written)
   * or `outcome_unknown`.
   */
  change<C extends Change | undefined>(decide: () => C | Promise<C>): Promise<C>;
  /**
   * Raises an alarm: a stored card of this account could not be decrypted, because it was altered
   * or its keys are lost.
   */
  reportUnreadableCard(error: unknown): void;
  /** Raises an alarm: an acquirer approved an attempt that was already recorded as not done. */
  reportLateApproval(payment: Payment, of: LateApproval["kind"]): void;
  /**
   * Runs `task` when the store is available again, within seconds. Kept in memory only: `abandon`
   * is called instead if too many tasks wait, or if the process stops first.
   */
  defer(task: () => Promise<unknown>, abandon: () => void): void;
  /**
   * Runs `task` after earlier requests of this process for the same payment. It receives `found`,
   * or the payment as read again if there were earlier requests.
   */
  withLock<T>(found: Payment, task: (payment: Payment) => Promise<T>): Promise<T>;
}

/** A request of a merchant. */
export interface Operation<Input, Output> {
  readonly name: string;
  /** The possible refusals, besides those of the store and `internal_failure`. */
  readonly errors: readonly ServiceErrorCode[];
  run(context: OperationContext, input: Input): Promise<Output>;
}

export function defineOperation<Input, Output>(
  operation: Operation<Input, Output>,
): Operation<Input, Output> {
  return operation;
}
