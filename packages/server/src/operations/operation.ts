import type { Clock } from "../kernel/clock.ts";
import type { Random } from "../kernel/random.ts";
import type { Connector } from "../connectors/connector.ts";
import type { Account } from "../merchant/account.ts";
import type { Payment } from "../payment/payment.ts";
import type { Change } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { Vault } from "../vault/vault.ts";
import type { ServiceErrorCode } from "../kernel/service-error.ts";

/** What an operation may use. Time and chance are the account's own: in the sandbox every account is a world of its own. */
export interface OperationContext {
  readonly account: Account;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly vault: Vault;
  readonly connector: Connector;
  /**
   * Commits what `decide` returns and resolves with it. When someone else was faster, `decide` is asked again, at most 8
   * times, and reads again itself. A taken payment code rejects with PaymentCodeTaken, a taken token with `token_taken`; a
   * store failure with `store_unavailable` (nothing written) or `outcome_unknown`.
   */
  change<C extends Change>(decide: () => Promise<C>): Promise<C>;
  /** Marks the payment for review and raises an alarm: called when a broken invariant was met in its work. */
  alarm(payment: Pick<Payment, "merchantId" | "id">, error: unknown): Promise<void>;
}

/** One thing that a merchant asks for. */
export interface Operation<Input, Output> {
  readonly name: string;
  /** The refusals it may end in. */
  readonly errors: readonly ServiceErrorCode[];
  run(context: OperationContext, input: Input): Promise<Output>;
}

export function defineOperation<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output> {
  return operation;
}
