import { assert, BrokenInvariant } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Change, CommitResult } from "../stores/change.ts";
import { type Store, StoreError } from "../stores/store.ts";
import { CardsStopped } from "../vault/card-stop.ts";
import { PaymentCodeTaken } from "./payment-code-taken.ts";

const maximumDecisions = 8;

/**
 * The loop behind OperationContext.change: decides, commits, and decides again if a concurrent
 * change was committed first.
 */
export async function commitDecision<C extends Change | undefined>(
  store: Store,
  decide: () => C | Promise<C>,
): Promise<C> {
  for (let decisions = 0; decisions < maximumDecisions; decisions += 1) {
    // Synchronous decisions are not awaited: each await costs a turn of the microtask queue and two
    // promises.
    const decided = decide();
    const change = decided instanceof Promise ? await decided : decided;
    if (change === undefined) return change;
    let result: CommitResult;
    try {
      result = await store.commit(change);
    } catch (error) {
      throw error instanceof StoreError ? serviceErrorOf(error) : error;
    }
    switch (result.outcome) {
      case "committed":
        return change;
      case "stale":
        break;
      case "duplicate":
        if (result.key === "payment_code") throw new PaymentCodeTaken(result.existing);
        if (result.key === "token") throw new ServiceError("token_taken");
        if (result.key === "request_key") throw new ServiceError("request_key_taken");
        if (result.key === "refund_code") throw new ServiceError("refund_code_taken");
        // Refund ids have 31 bits: collisions occur, and the decision draws another id.
        if (result.key === "refund_id") break;
        throw new BrokenInvariant("identifiers drawn at random are unique");
    }
  }
  // Eight concurrent changes in a row were committed first: nothing of this request was written.
  throw new ServiceError("payment_in_flight");
}

/** If the store cannot say whether it committed, the outcome is unknown; recovery resolves it. */
function serviceErrorOf(error: StoreError): ServiceError {
  return new ServiceError(
    error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable",
  );
}

/** All reads of operations use this, so that store failures are mapped in one place. */
export async function read<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    assert(error instanceof StoreError, "a store rejects with StoreError and nothing else");
    throw readErrorOf(error);
  }
}

/**
 * For failures of the vault, which reads a merchant's key from the store at its first use: those of
 * the store as the error of a read, others unchanged.
 */
export function vaultErrorOf(error: unknown): unknown {
  if (error instanceof CardsStopped) return new ServiceError("cards_stopped");
  return error instanceof StoreError ? readErrorOf(error) : error;
}

function readErrorOf({ code }: StoreError): ServiceError {
  return new ServiceError(code === "timed_out" ? "read_timed_out" : "store_unavailable");
}
