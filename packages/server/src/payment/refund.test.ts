import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newRefund, paymentId } from "../../test/contract/store-fixtures.ts";
import { refundReference } from "./refund.ts";

describe("the reference that the acquirer sees of a refund", () => {
  test("names payment, refund and attempt, so that no two calls share one", () => {
    assert.equal(
      refundReference(paymentId(1), newRefund(17, { attempts: 2 })),
      `${paymentId(1)}-r17-2`,
    );
  });
});
