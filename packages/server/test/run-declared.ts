import assert from "node:assert/strict";
import { ServiceError } from "../src/payment/service-error.ts";
import type { Account } from "../src/merchant/account.ts";
import type { Operation } from "../src/operations/operation.ts";
import type { Runner } from "../src/operations/runner.ts";

/**
 * Errors that every operation may end with: store failures, repeated conflicts with concurrent
 * changes, and broken invariants.
 */
const ofAll: readonly string[] = [
  "store_unavailable",
  "outcome_unknown",
  "payment_in_flight",
  "internal_failure",
];

/**
 * Runs an operation as the runner does, and asserts that it only fails with errors that it
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
