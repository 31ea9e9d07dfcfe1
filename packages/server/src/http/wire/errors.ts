import { formatTimestamp } from "../../kernel/calendar.ts";
import { ServiceError, type ServiceErrorCode } from "../../kernel/service-error.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { countryOf } from "../../payment/countries.ts";
import { offeredInstalments } from "../../payment/instalments.ts";
import { StoreError } from "../../stores/store.ts";
import { brands } from "../../vault/brand.ts";
import { echo } from "./card-like.ts";
import { wireStatusOf } from "./payment-answer.ts";
import { requestErrors } from "./request-errors.ts";
import { rangeOf } from "./rules.ts";
import { WireError } from "./wire-error.ts";

/** Whose error codes apply (interface 5, 7). */
export const errorFamilies = ["token", "direct", "capture", "cancel", "query"] as const;
export type ErrorFamily = (typeof errorFamilies)[number];

interface ErrorRow {
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
const unavailable: ErrorRow = {
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
const failed: ErrorRow = requestErrors.internal;

/** A refusal that an operation of this family does not end in: should it ever, that is a failure of ours. */
const unexpected = failed;

const always = {
  store_unavailable: unavailable,
  outcome_unknown: unknown,
  internal_failure: failed,
} as const;

/** What operations that create something never end in. */
const noPaymentYet = {
  payment_not_found: unexpected,
  payment_already_captured: unexpected,
  payment_cancelled: unexpected,
  payment_not_capturable: unexpected,
  payment_not_voidable: unexpected,
  partial_capture_disabled: unexpected,
  capture_amount_invalid: unexpected,
  capture_declined: unexpected,
  void_declined: unexpected,
} as const;

/** What operations on a payment that exists never end in. */
const noCard = {
  payment_code_taken: unexpected,
  token_not_found: unexpected,
  token_taken: unexpected,
  card_not_storable: unexpected,
  instalments_not_offered: unexpected,
  card_not_readable: unexpected,
} as const;

const cardRows = {
  token_not_found: { code: "BP-DR-64", message: "Token not found", httpStatus: 200 },
  token_taken: { code: "BP-DR-65", message: "Token to create already exists", httpStatus: 200 },
  card_not_storable: { code: "BP-DR-75", message: "Field payment.creditcard.card_number is invalid", httpStatus: 200 },
  card_not_readable: failed,
} as const;

const familyRows = {
  token: {
    ...always,
    ...noPaymentYet,
    ...cardRows,
    payment_code_taken: unexpected,
    payment_in_flight: inFlight,
    instalments_not_offered: unexpected,
  },
  direct: {
    ...always,
    ...noPaymentYet,
    ...cardRows,
    payment_in_flight: inFlight,
    // Never shown: the error that is thrown carries the payment that exists, see paymentExists.
    payment_code_taken: { code: "BP-DR-0", message: "Payment already exists with this merchant_payment_code", httpStatus: 200 },
    // Never shown: the error's details say which plan, see planNotOffered.
    instalments_not_offered: { code: "BP-DR-34", message: "Invalid value for instalments", httpStatus: 200 },
    // interface 7.2: an internal failure that leaves the payment unknown.
    outcome_unknown: {
      code: "BP-DR-119",
      message: "The outcome is not known yet: query the payment before you send it again",
      httpStatus: 200,
    },
  },
  capture: {
    ...always,
    ...noCard,
    payment_in_flight: inFlight,
    payment_not_found: { code: "BP-CAP-2", message: "Payment not found", httpStatus: 200 },
    payment_cancelled: { code: "BP-CAP-3", message: "Payment cannot be captured, status is: CA", httpStatus: 200 },
    payment_already_captured: { code: "BP-CAP-4", message: "Payment has already been captured, status is: CO", httpStatus: 200 },
    payment_not_capturable: { code: "BP-CAP-5", message: "Payment cannot be captured, it is still open", httpStatus: 200 },
    capture_amount_invalid: { code: "BP-CAP-6", message: "Parameter amount is invalid", httpStatus: 200 },
    capture_declined: { code: "BP-CAP-7", message: "Capture refused by the acquirer", httpStatus: 200 },
    partial_capture_disabled: { code: "BP-CAP-11", message: "Partial capture not available", httpStatus: 200 },
    payment_not_voidable: unexpected,
    void_declined: unexpected,
  },
  cancel: {
    ...always,
    ...noCard,
    payment_in_flight: inFlight,
    payment_not_found: { code: "BP-CAN-2", message: "Payment not found", httpStatus: 200 },
    payment_not_voidable: { code: "BP-CAN-3", message: "Only open or pending payments can be cancelled", httpStatus: 200 },
    void_declined: { code: "BP-CAN-4", message: "Cancellation refused by the acquirer", httpStatus: 200 },
    payment_already_captured: unexpected,
    payment_cancelled: unexpected,
    payment_not_capturable: unexpected,
    partial_capture_disabled: unexpected,
    capture_amount_invalid: unexpected,
    capture_declined: unexpected,
  },
  query: {
    ...always,
    ...noPaymentYet,
    ...noCard,
    payment_in_flight: inFlight,
    payment_not_found: { code: "BP-QRY-2", message: "Payment not found", httpStatus: 200 },
  },
} as const satisfies Record<ErrorFamily, Record<ServiceErrorCode, ErrorRow>>;

/** The wire's form of whatever an endpoint's work ended in. What is no refusal from the catalogue is a failure of ours, without details. */
export function wireErrorOf(error: unknown, family: ErrorFamily): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof PaymentCodeTaken) return paymentExists(error);
  if (error instanceof ServiceError && error.code === "instalments_not_offered") return planNotOffered(error);
  const row: ErrorRow = familyRows[family][serviceCodeOf(error)];
  return new WireError(row.code, row.message, row.httpStatus);
}

function serviceCodeOf(error: unknown): ServiceErrorCode {
  if (error instanceof ServiceError) return error.code;
  if (error instanceof StoreError) return error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable";
  return "internal_failure";
}

/** The text that a card number gets in direct-request.ts: whether a card came as a number or as a token makes no difference. */
function planNotOffered({ detail }: ServiceError): WireError {
  const { code, message } = familyRows.direct.instalments_not_offered;
  const country = countryOf(String(detail["country"]));
  const brand = brands.find((name) => name === detail["brand"]);
  const range = country === undefined ? "" : ` (${rangeOf(offeredInstalments(country, brand))})`;
  return new WireError(code, `${message}: ${String(detail["count"])}${range}`);
}

/** BP-DR-0 tells which payment it met, so that a client that lost the first answer can ask for it. */
function paymentExists({ existing }: PaymentCodeTaken): WireError {
  const created = formatTimestamp(existing.createdAt);
  return new WireError(
    familyRows.direct.payment_code_taken.code,
    `Payment already exists with merchant_payment_code: ${echo(existing.order.code)} (created on ${created}, status is ${wireStatusOf(existing.state)})`,
  );
}
