import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../../kernel/instant.ts";
import { ServiceError, serviceErrors, type ServiceErrorCode } from "../../payment/service-error.ts";
import { capture } from "../../operations/capture.ts";
import { cancel } from "../../operations/cancel.ts";
import { direct } from "../../operations/direct.ts";
import { creditChargeback, openChargeback } from "../../operations/chargeback.ts";
import { query } from "../../operations/query.ts";
import { cancelRefund, refund, refundOrCancel } from "../../operations/refund.ts";
import { resendNotification } from "../../operations/resend-notification.ts";
import { acceptReview, rejectReview } from "../../operations/review.ts";
import { setCvv } from "../../operations/set-cvv.ts";
import { verifyCard } from "../../operations/verify-card.ts";
import { tokenize } from "../../operations/tokenize.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import type { Payment } from "../../payment/payment.ts";
import { StoreError } from "../../stores/store.ts";
import { errorTable } from "../errors/error-table.ts";
import { errorFamilies, rowsOf, wireErrorOf, type ErrorFamily } from "./errors.ts";
import { requestErrors } from "../decode/request-errors.ts";
import { WireError } from "../decode/wire-error.ts";

function told(
  error: unknown,
  family: ErrorFamily,
): readonly [code: string, message: string, status: number] {
  const { statusCode, message, httpStatus } = wireErrorOf(error, family);
  return [statusCode, message, httpStatus];
}

const serviceCodes = Object.keys(serviceErrors) as ServiceErrorCode[];

describe("errors on the wire", () => {
  const rows: readonly (readonly [
    family: ErrorFamily,
    code: ServiceErrorCode,
    wire: string,
    message: string,
  ])[] = [
    ["capture", "payment_not_found", "BP-CAP-2", "Payment not found"],
    ["capture", "payment_cancelled", "BP-CAP-3", "Payment cannot be captured, status is: CA"],
    [
      "capture",
      "payment_already_captured",
      "BP-CAP-4",
      "Payment has already been captured, status is: CO",
    ],
    [
      "capture",
      "payment_not_capturable",
      "BP-CAP-5",
      "Payment cannot be captured, it is still open",
    ],
    ["capture", "capture_amount_invalid", "BP-CAP-6", "Parameter amount is invalid"],
    ["capture", "capture_declined", "BP-CAP-7", "Capture refused by the acquirer"],
    ["capture", "partial_capture_disabled", "BP-CAP-11", "Partial capture not available"],
    ["cancel", "payment_not_found", "BP-CAN-2", "Payment not found"],
    [
      "cancel",
      "payment_not_voidable",
      "BP-CAN-3",
      "Only open or pending payments can be cancelled",
    ],
    ["cancel", "void_declined", "BP-CAN-4", "Cancellation refused by the acquirer"],
    ["query", "payment_not_found", "BP-QRY-2", "Payment not found"],
    ["direct", "token_not_found", "BP-DR-64", "Token not found"],
    ["direct", "token_taken", "BP-DR-65", "Token to create already exists"],
    ["token", "token_taken", "BP-DR-65", "Token to create already exists"],
    [
      "direct",
      "outcome_unknown",
      "BP-DR-119",
      "The outcome is not known yet: query the payment before you send it again",
    ],
    [
      "capture",
      "outcome_unknown",
      "COFRE-22",
      "The acquirer did not answer: query the payment to learn the outcome",
    ],
    [
      "cancel",
      "payment_in_flight",
      "COFRE-20",
      "Another request for this payment is waiting for the acquirer",
    ],
  ];
  for (const [family, code, wire, message] of rows) {
    test(`${code} of ${family} is ${wire}`, () => {
      assert.deepEqual(told(new ServiceError(code), family), [wire, message, 200]);
    });
  }

  test("what an operation says that it ends in is no internal failure", () => {
    const operations: Readonly<
      Record<ErrorFamily, readonly { readonly errors: readonly ServiceErrorCode[] }[]>
    > = {
      token: [tokenize],
      direct: [direct],
      verify: [verifyCard],
      set_cvv: [setCvv],
      capture: [capture],
      cancel: [cancel],
      refund: [refund, cancelRefund],
      refund_or_cancel: [refundOrCancel],
      query: [query],
      resend: [resendNotification],
      admin: [acceptReview, rejectReview, openChargeback, creditChargeback],
    };
    for (const family of errorFamilies) {
      for (const code of operations[family].flatMap(({ errors }) => errors)) {
        // A stored card that cannot be decrypted is an internal failure.
        if (code === "card_not_readable") continue;
        assert.notEqual(
          rowsOf(family)[code]?.code ?? requestErrors.internal,
          requestErrors.internal,
          `${family} ${code}`,
        );
      }
    }
  });

  test("every code of the catalogue has a row in some family", () => {
    const rows = new Set(errorFamilies.flatMap((family) => Object.keys(rowsOf(family))));
    assert.deepEqual(
      serviceCodes.filter((code) => !rows.has(code)),
      [],
    );
  });

  test("a store that wrote nothing answers 503 everywhere, so that the request is sent again", () => {
    for (const family of errorFamilies) {
      for (const error of [
        new ServiceError("store_unavailable"),
        new StoreError("overloaded"),
        new StoreError("unavailable"),
      ]) {
        assert.deepEqual(told(error, family).slice(0, 1), ["COFRE-21"]);
        assert.equal(told(error, family)[2], 503);
      }
    }
    for (const family of ["query", "admin"] as const) {
      for (const error of [new ServiceError("read_timed_out"), new StoreError("timed_out")]) {
        assert.deepEqual(told(error, family).slice(0, 1), ["COFRE-168"]);
        assert.equal(told(error, family)[2], 503);
      }
    }
    // The control: a commit that may have succeeded must not be repeated blindly.
    assert.equal(told(new StoreError("commit_unknown"), "direct")[2], 200);
  });

  test("everything else answers 200", () => {
    for (const family of errorFamilies) {
      for (const code of serviceCodes.filter(
        (code) => code !== "store_unavailable" && code !== "read_timed_out",
      )) {
        assert.equal(told(new ServiceError(code), family)[2], 200);
      }
    }
  });

  test("a payment that exists is told with its code, its time and its status", () => {
    const existing = {
      createdAt: instant(Date.UTC(2025, 10, 25, 18, 13, 28)),
      state: "captured",
      order: { code: "ord-417" },
    } as Payment;
    assert.deepEqual(told(new PaymentCodeTaken(existing), "direct"), [
      "BP-DR-0",
      "Payment already exists with merchant_payment_code: ord-417 (created on 2025-11-25 18:13:28, status is CO)",
      200,
    ]);
  });

  test("a plan that the stored card's brand has not is told as a card number's is", () => {
    const error = new ServiceError("instalments_not_offered", {
      brand: "elo",
      country: "br",
      count: 7,
    });
    assert.deepEqual(told(error, "direct"), [
      "BP-DR-34",
      "Invalid value for instalments: 7 (1-6)",
      200,
    ]);
  });

  test("a payment that exists is told with its whole code, digits in groups and 128 characters included", () => {
    for (const code of ["order-20261128-000123", "b".repeat(128)]) {
      const existing = { createdAt: instant(0), state: "captured", order: { code } } as Payment;
      assert.ok(told(new PaymentCodeTaken(existing), "direct")[1].includes(`: ${code} (created`));
    }
  });

  test("a code that looks like a card number is not repeated", () => {
    const existing = {
      createdAt: instant(0),
      state: "captured",
      order: { code: "4111111111111111" },
    } as Payment;
    assert.ok(!told(new PaymentCodeTaken(existing), "direct")[1].includes("4111111111111111"));
  });

  test("a refusal in the wire's own terms stays as it is, and an unknown failure tells nothing of itself", () => {
    const refusal = new WireError("BP-DR-5", "Field payment.amount_total is required");
    assert.equal(wireErrorOf(refusal, "direct"), refusal);
    const { message } = errorTable["COFRE-14"];
    assert.deepEqual(told(new TypeError("secret 4111111111111111"), "direct"), [
      "COFRE-14",
      message,
      200,
    ]);
  });
});
