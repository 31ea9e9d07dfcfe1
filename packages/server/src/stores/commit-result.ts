import { BrokenInvariant, unreachable } from "../kernel/assert.ts";
import type { CommitResult } from "./change.ts";
import type { Outcome } from "./change-message.ts";
import { StoreError } from "./store.ts";

/**
 * The result of Store.commit for a writer's outcome. `payment_code`: the caller still has to read
 * the payment that has the code. Throws StoreError and BrokenInvariant as Store.commit rejects with
 * them.
 */
export function commitResultOf(outcome: Outcome): CommitResult | "payment_code" {
  switch (outcome) {
    case "committed":
    case "stale":
      return { outcome };
    case "payment_code":
      return outcome;
    case "payment_id":
    case "refund_id":
    case "refund_code":
    case "token":
    case "account":
    case "account_key":
    case "request_key":
      return { outcome: "duplicate", key: outcome };
    case "unavailable":
    case "commit_unknown":
      throw new StoreError(outcome);
    case "broken":
      throw new BrokenInvariant("a change keeps the constraints of the database");
    default:
      return unreachable(outcome, "every outcome has its case");
  }
}
