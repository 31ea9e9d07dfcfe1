import assert from "node:assert/strict";
import { ServiceError } from "../src/payment/service-error.ts";
import type { Account } from "../src/merchant/account.ts";
import type { Operation } from "../src/operations/operation.ts";
import type { Runner } from "../src/operations/runner.ts";

/**
 * What every operation may end in: the store's failures, somebody else who is faster again and
 * again, and what should not be.
 */
const ofAll: readonly string[] = [
  "store_unavailable",
  "outcome_unknown",
  "payment_in_flight",
  "internal_failure",
];

/**
 * Runs an operation as the runner does, and holds that it refuses with nothing but what it
 * declares.
 */
export async function runDeclared<Input, Output>(
  runner: Runner,
  operation: Operation<Input, Output>,
  account: Account,
  input: Input,
): Promise<Output> {
  try {
    return await runner.run(operation, account, input);
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    assert.ok(
      ofAll.includes(error.code) || operation.errors.includes(error.code),
      `${operation.name} declares ${error.code}`,
    );
    throw error;
  }
}
