import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../../kernel/instant.ts";
import { ServiceError, serviceErrors, type ServiceErrorCode } from "../../payment/service-error.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import type { Payment } from "../../payment/payment.ts";
import { StoreError } from "../../stores/store.ts";
import { errorTable } from "../errors/error-table.ts";
import { documentedEndpoints } from "../../../test/keyed-endpoints.ts";
import { type ErrorMappings, wireErrorOf } from "./errors.ts";
import { requestErrors } from "../decode/request-errors.ts";
import { WireError } from "../decode/wire-error.ts";

function wireOf(
  error: unknown,
  errors: ErrorMappings,
): readonly [code: string, message: string, status: number] {
  const { statusCode, message, httpStatus } = wireErrorOf(error, errors);
  return [statusCode, message, httpStatus];
}

/** Endpoints that run operations. */
const endpoints = documentedEndpoints().filter(({ runs }) => runs !== undefined);
const allErrors = endpoints.map(({ errors = {} }) => errors);

/** Errors that an endpoint reports as an internal failure although its operation declares them. */
function isInternal(path: string, code: ServiceErrorCode): boolean {
  // The simulated event always captures the full amount.
  const ofPartialCapture = code === "partial_capture_disabled" || code === "capture_amount_invalid";
  // A stored card cannot be decrypted.
  return code === "card_not_readable" || (path === "/__cofre/payment" && ofPartialCapture);
}

/** The errors that an endpoint declares. */
function errorsOf(path: string): ErrorMappings {
  const errors = endpoints.find((each) => each.path === path)?.errors;
  assert.ok(errors !== undefined, path);
  return errors;
}

const serviceCodes = Object.keys(serviceErrors) as ServiceErrorCode[];

describe("errors on the wire", () => {
  const rows = [
    ["/ws/capture", "payment_not_found", "BP-CAP-2"],
    ["/ws/capture", "payment_cancelled", "BP-CAP-3"],
    ["/ws/capture", "payment_already_captured", "BP-CAP-4"],
    ["/ws/capture", "payment_not_capturable", "BP-CAP-5"],
    ["/ws/capture", "capture_amount_invalid", "BP-CAP-6"],
    ["/ws/capture", "capture_declined", "BP-CAP-7"],
    ["/ws/capture", "partial_capture_disabled", "BP-CAP-11"],
    ["/ws/cancel", "payment_not_found", "BP-CAN-2"],
    ["/ws/cancel", "payment_not_voidable", "BP-CAN-3"],
    ["/ws/cancel", "void_declined", "BP-CAN-4"],
    ["/ws/query", "payment_not_found", "BP-QRY-2"],
    ["/ws/direct", "token_taken", "BP-DR-65"],
    ["/ws/token", "token_taken", "BP-DR-65"],
    ["/ws/direct", "outcome_unknown", "BP-DR-119"],
    ["/ws/capture", "outcome_unknown", "COFRE-22"],
    ["/ws/cancel", "payment_in_flight", "COFRE-20"],
    ["/__cofre/payment", "payment_not_found", "BP-QRY-2"],
  ] as const;
  for (const [path, code, wire] of rows) {
    test(`${code} of ${path} is ${wire}`, () => {
      const { message } = errorTable[wire];
      assert.deepEqual(wireOf(new ServiceError(code), errorsOf(path)), [wire, message, 200]);
    });
  }

  test("an error that an operation declares is not an internal failure", () => {
    for (const { path, errors = {}, runs = [] } of endpoints) {
      for (const code of runs.flatMap((operation) => operation.errors)) {
        if (isInternal(path, code)) continue;
        assert.notEqual(
          errors[code]?.code ?? requestErrors.internal,
          requestErrors.internal,
          `${path} ${code}`,
        );
      }
    }
  });

  test("every error of the service is sent by an endpoint", () => {
    const names = new Set(allErrors.flatMap((errors) => Object.keys(errors)));
    assert.deepEqual(
      serviceCodes.filter((code) => !names.has(code)),
      [],
    );
  });

  test("a store that wrote nothing answers 503 everywhere, so that the request is sent again", () => {
    for (const errors of allErrors) {
      for (const error of [
        new ServiceError("store_unavailable"),
        new ServiceError("cards_stopped"),
        new StoreError("overloaded"),
        new StoreError("unavailable"),
      ]) {
        assert.deepEqual(wireOf(error, errors).slice(0, 1), ["COFRE-21"]);
        assert.equal(wireOf(error, errors)[2], 503);
      }
    }
    for (const errors of [errorsOf("/ws/query"), errorsOf("/__cofre/payment")]) {
      for (const error of [new ServiceError("read_timed_out"), new StoreError("timed_out")]) {
        assert.deepEqual(wireOf(error, errors).slice(0, 1), ["COFRE-168"]);
        assert.equal(wireOf(error, errors)[2], 503);
      }
    }
    // The control: a commit that may have succeeded must not be repeated blindly.
    assert.equal(wireOf(new StoreError("commit_unknown"), errorsOf("/ws/direct"))[2], 200);
  });

  test("everything else answers 200", () => {
    for (const errors of allErrors) {
      for (const code of serviceCodes.filter(
        (code) => !["store_unavailable", "cards_stopped", "read_timed_out"].includes(code),
      )) {
        assert.equal(wireOf(new ServiceError(code), errors)[2], 200);
      }
    }
  });

  test("a payment that exists is returned with its code, its time and its status", () => {
    const existing = {
      createdAt: instant(Date.UTC(2025, 10, 25, 18, 13, 28)),
      state: "captured",
      order: { code: "ord-417" },
    } as Payment;
    assert.deepEqual(wireOf(new PaymentCodeTaken(existing), errorsOf("/ws/direct")), [
      "BP-DR-0",
      "Payment already exists with merchant_payment_code: ord-417 (created on 2025-11-25 18:13:28, status is CO)",
      200,
    ]);
  });

  test("a plan that the stored card's brand has not is reported as a card number's is", () => {
    const error = new ServiceError("instalments_not_offered", {
      brand: "elo",
      country: "br",
      count: 7,
    });
    assert.deepEqual(wireOf(error, errorsOf("/ws/direct")), [
      "BP-DR-34",
      "Invalid value for instalments: 7 (1-6)",
      200,
    ]);
  });

  test("a payment that exists is returned with its whole code, digits in groups and 128 characters included", () => {
    for (const code of ["order-20261128-000123", "b".repeat(128)]) {
      const existing = { createdAt: instant(0), state: "captured", order: { code } } as Payment;
      assert.ok(
        wireOf(new PaymentCodeTaken(existing), errorsOf("/ws/direct"))[1].includes(
          `: ${code} (created`,
        ),
      );
    }
  });

  test("a code that looks like a card number is not repeated", () => {
    const existing = {
      createdAt: instant(0),
      state: "captured",
      order: { code: "4111111111111111" },
    } as Payment;
    assert.ok(
      !wireOf(new PaymentCodeTaken(existing), errorsOf("/ws/direct"))[1].includes(
        "4111111111111111",
      ),
    );
  });

  test("a refusal in the wire's own terms stays as it is, and an unknown failure reveals nothing", () => {
    const refusal = new WireError("BP-DR-5", "Field payment.amount_total is required");
    assert.equal(wireErrorOf(refusal, errorsOf("/ws/direct")), refusal);
    const { message } = errorTable["COFRE-14"];
    assert.deepEqual(wireOf(new TypeError("secret 4111111111111111"), errorsOf("/ws/direct")), [
      "COFRE-14",
      message,
      200,
    ]);
  });
});
