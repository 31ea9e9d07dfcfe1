import { assert, BrokenInvariant } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Change, CommitResult } from "../stores/change.ts";
import { type Store, StoreError } from "../stores/store.ts";
import { PaymentCodeTaken } from "./payment-code-taken.ts";

const maximumDecisions = 8;

/**
 * The loop behind OperationContext.change: decide, commit, and decide again when someone else was
 * faster.
 */
export async function commitDecision<C extends Change | undefined>(
  store: Store,
  decide: () => C | Promise<C>,
): Promise<C> {
  for (let decisions = 0; decisions < maximumDecisions; decisions += 1) {
    // What is known at once is not waited for: each await is a turn of the microtask queue and two
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
        // Refund ids have 31 bits: now and then one is drawn twice, and the decision draws another.
        if (result.key === "refund_id") break;
        throw new BrokenInvariant("identifiers drawn at random are unique");
    }
  }
  // Eight others in a row were faster: nothing of this request was written.
  throw new ServiceError("payment_in_flight");
}

/**
 * A commit of which the store cannot say whether it happened is never acted upon: recovery finds
 * out.
 */
function serviceErrorOf(error: StoreError): ServiceError {
  return new ServiceError(
    error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable",
  );
}

/** Reads of an operation go through here, so that a store failure has one meaning. */
export async function read<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    assert(error instanceof StoreError, "a store rejects with StoreError and nothing else");
    throw new ServiceError(error.code === "timed_out" ? "read_timed_out" : "store_unavailable");
  }
}
