import type { Connectors } from "../connectors/connector.ts";
import type { LateApproval } from "../decisions/late-approvals.ts";
import type { Clock } from "../kernel/clock.ts";
import type { PaymentId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { ServiceErrorCode } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { CvvPocket } from "../vault/cvv-pocket.ts";
import type { Pan } from "../vault/pan.ts";
import type { Vault } from "../vault/vault.ts";

/**
 * What an operation may use. Time and chance are the account's own: in the sandbox every account is
 * a world of its own.
 */
export interface OperationContext {
  readonly account: Account;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  /** Security codes that wait in memory for the next payment with their token. */
  readonly pocket: CvvPocket;
  /**
   * Whether a card with this number may be stored and charged here: not a live one in the sandbox.
   */
  acceptsPan(pan: Pan): boolean;
  /** An id for a payment made at this moment: of two of one moment the later is the greater. */
  newPaymentId(at: Instant): PaymentId;
  /** Attempts that follow are numbered above it: 0 until the database was ever put back. */
  readonly epoch: number;
  /** When an acquirer that is asked now has to have answered. */
  answerBy(): Instant;
  /**
   * Commits what `decide` returns and resolves with it. When someone else was faster, `decide` is
   * asked again, at most 8 times, and reads again itself; undefined from `decide` means that there
   * is nothing left to write. A taken payment code rejects with PaymentCodeTaken, a taken token
   * with `token_taken`, a store failure with `store_unavailable` (nothing was written) or
   * `outcome_unknown`.
   */
  change<C extends Change | undefined>(decide: () => C | Promise<C>): Promise<C>;
  /**
   * Tells whoever watches that a stored card of this account did not open: it was altered, or its
   * keys are lost.
   */
  cardNotReadable(error: unknown): void;
  /**
   * Raises an alarm: an acquirer's approval came when its attempt had been taken for never done.
   */
  approvalCameLate(payment: Payment, of: LateApproval["kind"]): void;
  /**
   * Runs `task` within seconds, because the store was down. Kept in memory only: `givenUp` is
   * called instead when too many tasks wait, and when the process stops before.
   */
  later(task: () => Promise<unknown>, givenUp: () => void): void;
  /**
   * Runs `task` when earlier requests of this process about the same payment are through, with the
   * payment as it was read before that, or as it is read again if there were earlier ones.
   */
  inTurn<T>(found: Payment, task: (payment: Payment) => Promise<T>): Promise<T>;
}

/** One thing that a merchant asks for. */
export interface Operation<Input, Output> {
  readonly name: string;
  /** The refusals it may end in, beside the store's and `internal_failure`. */
  readonly errors: readonly ServiceErrorCode[];
  run(context: OperationContext, input: Input): Promise<Output>;
}

export function defineOperation<Input, Output>(
  operation: Operation<Input, Output>,
): Operation<Input, Output> {
  return operation;
}
