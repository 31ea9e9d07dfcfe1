import { formatTimestamp } from "../../kernel/calendar.ts";
import { ServiceError, type ServiceErrorCode } from "../../kernel/service-error.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { countryOf } from "../../payment/countries.ts";
import { offeredInstalments } from "../../payment/instalments.ts";
import { StoreError } from "../../stores/store.ts";
import { brands } from "../../vault/brand.ts";
import { echoName } from "../decode/card-like.ts";
import { wireStatusOf } from "./payment-answer.ts";
import { requestErrors } from "../decode/request-errors.ts";
import { rangeOf } from "../requests/rules.ts";
import { WireError } from "../decode/wire-error.ts";

/** Whose error codes apply (interface 5, 7). */
export const errorFamilies = [
  "token",
  "direct",
  "verify",
  "set_cvv",
  "capture",
  "cancel",
  "refund",
  "refund_or_cancel",
  "query",
  "resend",
  "admin",
] as const;
export type ErrorFamily = (typeof errorFamilies)[number];

export interface ErrorRow {
  readonly code: string;
  readonly message: string;
  /** 200 for whatever the merchant's program can act upon. */
  readonly httpStatus: 200 | 503;
}

/*
 * Codes that begin with COFRE are ours: the interface knows no code for these cases, and a number of its own series might one day
 * turn out to mean something else. The low numbers are in request-errors.ts. The reason of each choice is in docs/wire/errors.md.
 */

const inFlight: ErrorRow = { code: "COFRE-20", message: "Another request about this payment is waiting for the acquirer", httpStatus: 200 };
/** Nothing was done and the same request may be sent again: a proxy or a client that repeats on 503 does right. */
export const serviceUnavailable: ErrorRow = {
  code: "COFRE-21",
  message: "Nothing was done: the request could not be recorded, send it again later",
  httpStatus: 503,
};
/** 200, so that nothing on the way repeats the request by itself, and that clients which drop other bodies show the advice. */
const unknown: ErrorRow = {
  code: "COFRE-22",
  message: "The acquirer did not answer: query the payment to learn the outcome",
  httpStatus: 200,
};
/** For what people read. 503, for nothing was done; asked again, or for less, it may be answered. */
const readTimedOut: ErrorRow = {
  code: "COFRE-168",
  message: "The database took longer than 2 seconds for this list, and it was ended: send the request again, or ask for less",
  httpStatus: 503,
};
const failed: ErrorRow = requestErrors.internal;
const noSuchPayment: ErrorRow = { code: "BP-QRY-2", message: "Payment not found", httpStatus: 200 };
/** Never shown as it is: the error that is thrown carries the payment that exists, see paymentExists. */
const codeTaken: ErrorRow = { code: "BP-DR-0", message: "Payment already exists with this merchant_payment_code", httpStatus: 200 };
/** Never shown as it is: the error's details say which plan, see planNotOffered. */
const noSuchPlan: ErrorRow = { code: "BP-DR-34", message: "Invalid value for instalments", httpStatus: 200 };

const always = {
  payment_in_flight: inFlight,
  request_key_reused: { code: "COFRE-44", message: "This Idempotency-Key came with another request before", httpStatus: 200 },
  request_key_taken: { code: "COFRE-45", message: "Another request with this Idempotency-Key is under way", httpStatus: 200 },
  store_unavailable: serviceUnavailable,
  outcome_unknown: unknown,
  internal_failure: failed,
} as const;

const cardRows = {
  token_not_found: { code: "BP-DR-64", message: "Token not found", httpStatus: 200 },
  token_taken: { code: "BP-DR-65", message: "Token to create already exists", httpStatus: 200 },
  card_not_storable: { code: "BP-DR-75", message: "Field payment.creditcard.card_number is invalid", httpStatus: 200 },
  card_not_for_tests: {
    code: "BP-DR-75",
    message: "Field payment.creditcard.card_number is not a test card number: COFRE_SANDBOX_CARDS=any takes every number",
    httpStatus: 200,
  },
  card_not_readable: failed,
} as const;

const cancelRows = {
  payment_not_found: { code: "BP-CAN-2", message: "Payment not found", httpStatus: 200 },
  payment_not_voidable: { code: "BP-CAN-3", message: "Only open or pending payments can be cancelled", httpStatus: 200 },
  void_declined: { code: "BP-CAN-4", message: "Cancellation refused by the acquirer", httpStatus: 200 },
} as const;

/** Only BP-REF-1, 7 and CAN-2 are known (interface 5.3); the other numbers of the series are ours. */
const refundRows = {
  // Never shown: the request is told which payment it named, see payment-request.ts.
  payment_not_found: { code: "BP-REF-CAN-2", message: "Payment not found", httpStatus: 200 },
  refund_amount_invalid: { code: "BP-REF-4", message: "Parameter amount is invalid", httpStatus: 200 },
  refund_amount_too_high: { code: "BP-REF-5", message: "Amount is above what is left of the payment", httpStatus: 200 },
  payment_not_refundable: { code: "BP-REF-7", message: "Only confirmed payments can be refunded", httpStatus: 200 },
  refund_not_found: { code: "BP-REF-9", message: "Refund not found", httpStatus: 200 },
  refund_not_cancellable: { code: "BP-REF-10", message: "Refund cannot be cancelled", httpStatus: 200 },
  refund_code_holds_card: { code: "COFRE-47", message: "Parameter merchant_refund_code is invalid", httpStatus: 200 },
  refund_code_taken: { code: "BP-REF-11", message: "Refund already exists with this merchant_refund_code", httpStatus: 200 },
  payment_already_refunded: { code: "BP-REF-12", message: "Payment has already been refunded", httpStatus: 200 },
  refund_window_over: { code: "COFRE-24", message: "The time in which this payment can be refunded is over", httpStatus: 200 },
  refund_limit_reached: { code: "COFRE-43", message: "The payment has as many refunds as it can have", httpStatus: 200 },
  payment_charged_back: { code: "COFRE-25", message: "The issuer has taken the money back already", httpStatus: 200 },
} as const;

/** What the operations of each family end in. A test holds the rows against what the operations declare. */
const familyRows: Record<ErrorFamily, Partial<Record<ServiceErrorCode, ErrorRow>>> = {
  token: { ...always, ...cardRows },
  direct: {
    ...always,
    ...cardRows,
    payment_code_holds_card: { code: "BP-DR-9", message: "Field payment.merchant_payment_code is invalid", httpStatus: 200 },
    payment_code_taken: codeTaken,
    instalments_not_offered: noSuchPlan,
    card_foreign: { code: "BP-DR-83", message: "Foreign cards are not processed", httpStatus: 200 },
    instalments_on_prepaid: { code: "BP-DR-97", message: "Instalments are not allowed for prepaid cards", httpStatus: 200 },
    instalments_on_debit: { code: "BP-DR-100", message: "Instalments are not allowed for debit cards", httpStatus: 200 },
    card_not_eligible: { code: "BP-DR-101", message: "Card is not eligible for e-commerce", httpStatus: 200 },
    card_exhausted: { code: "BP-DR-102", message: "Too many attempts", httpStatus: 200 },
    mandate_mismatch: {
      code: "COFRE-28",
      message: "Field payment.cof_info.mandate_id is of no initial payment with this card",
      httpStatus: 200,
    },
    // interface 7.2: an internal failure that leaves the payment unknown.
    outcome_unknown: {
      code: "BP-DR-119",
      message: "The outcome is not known yet: query the payment before you send it again",
      httpStatus: 200,
    },
  },
  verify: { ...always, ...cardRows },
  set_cvv: { ...always, ...cardRows },
  capture: {
    ...always,
    payment_not_found: { code: "BP-CAP-2", message: "Payment not found", httpStatus: 200 },
    payment_cancelled: { code: "BP-CAP-3", message: "Payment cannot be captured, status is: CA", httpStatus: 200 },
    payment_already_captured: { code: "BP-CAP-4", message: "Payment has already been captured, status is: CO", httpStatus: 200 },
    payment_not_capturable: { code: "BP-CAP-5", message: "Payment cannot be captured, it is still open", httpStatus: 200 },
    capture_amount_invalid: { code: "BP-CAP-6", message: "Parameter amount is invalid", httpStatus: 200 },
    capture_declined: { code: "BP-CAP-7", message: "Capture refused by the acquirer", httpStatus: 200 },
    partial_capture_disabled: { code: "BP-CAP-11", message: "Partial capture not available", httpStatus: 200 },
  },
  cancel: { ...always, ...cancelRows },
  refund: { ...always, ...refundRows },
  refund_or_cancel: { ...always, ...cancelRows, ...refundRows },
  query: { ...always, read_timed_out: readTimedOut, payment_not_found: noSuchPayment },
  resend: {
    ...always,
    payment_not_found: noSuchPayment,
    nothing_to_resend: { code: "COFRE-29", message: "Nothing has been announced of this payment yet", httpStatus: 200 },
  },
  admin: {
    ...always,
    read_timed_out: readTimedOut,
    payment_not_found: noSuchPayment,
    payment_not_in_review: { code: "COFRE-37", message: "The payment does not wait for a reviewer", httpStatus: 200 },
    payment_not_disputable: {
      code: "COFRE-38",
      message:
        "Only a captured payment that has neither been refunded nor disputed can be charged back, and only a charged back one credited",
      httpStatus: 200,
    },
    payment_already_captured: { code: "BP-CAP-4", message: "Payment has already been captured, status is: CO", httpStatus: 200 },
    payment_cancelled: { code: "BP-CAP-3", message: "Payment cannot be captured, status is: CA", httpStatus: 200 },
    payment_not_capturable: { code: "BP-CAP-5", message: "Payment cannot be captured, it is still open", httpStatus: 200 },
    capture_declined: { code: "BP-CAP-7", message: "Capture refused by the acquirer", httpStatus: 200 },
    payment_not_voidable: cancelRows.payment_not_voidable,
    void_declined: cancelRows.void_declined,
  },
};

/** The rows of a family: for the catalogue and its tests. */
export function rowsOf(family: ErrorFamily): Readonly<Partial<Record<ServiceErrorCode, ErrorRow>>> {
  return familyRows[family];
}

/** The wire's form of whatever an endpoint's work ended in. What is no refusal from the catalogue is a failure of ours, without details. */
export function wireErrorOf(error: unknown, family: ErrorFamily): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof PaymentCodeTaken) return paymentExists(error);
  if (error instanceof ServiceError && error.code === "instalments_not_offered") return planNotOffered(error);
  // A refusal that an operation of this family does not end in: should it ever, that is a failure of ours.
  const row = familyRows[family][serviceCodeOf(error)] ?? failed;
  return new WireError(row.code, row.message, row.httpStatus);
}

function serviceCodeOf(error: unknown): ServiceErrorCode {
  if (error instanceof ServiceError) return error.code;
  if (error instanceof StoreError && error.code === "timed_out") return "read_timed_out";
  if (error instanceof StoreError) return error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable";
  return "internal_failure";
}

/** The text that a card number gets in direct-request.ts: whether a card came as a number or as a token makes no difference. */
function planNotOffered({ detail }: ServiceError): WireError {
  const { code, message } = noSuchPlan;
  const country = countryOf(String(detail["country"]));
  const brand = brands.find((name) => name === detail["brand"]);
  const range = country === undefined ? "" : ` (${rangeOf(offeredInstalments(country, brand))})`;
  return new WireError(code, `${message}: ${String(detail["count"])}${range}`);
}

/** BP-DR-0 tells which payment it met, so that a client that lost the first answer can ask for it. */
function paymentExists({ existing }: PaymentCodeTaken): WireError {
  const created = formatTimestamp(existing.createdAt);
  return new WireError(
    codeTaken.code,
    `Payment already exists with merchant_payment_code: ${echoName(existing.order.code)} (created on ${created}, status is ${wireStatusOf(existing.state)})`,
  );
}
