import { formatTimestamp } from "../../kernel/calendar.ts";
import { ServiceError, type ServiceErrorCode } from "../../payment/service-error.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { countryOf } from "../../payment/countries.ts";
import { offeredInstalments } from "../../payment/instalments.ts";
import { StoreError } from "../../stores/store.ts";
import { brands } from "../../vault/brand.ts";
import { echoName } from "../decode/card-like.ts";
import { wireStatusOf } from "./payment-answer.ts";
import { type ErrorCode, type Filling, refusal } from "../errors/refusal.ts";
import { rangeOf } from "../requests/rules.ts";
import { WireError } from "../decode/wire-error.ts";

/** Groups of operations that share their error codes (interface 5, 7). */
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

/** The wire error for a refusal of an operation. */
export interface Ending {
  readonly code: ErrorCode;
  readonly refusalOf: (error: unknown) => WireError;
}

function endsIn<Code extends ErrorCode>(code: Code, ...filling: Filling<Code>): Ending {
  return { code, refusalOf: () => refusal(code, ...filling) };
}

const failed = endsIn("COFRE-14");

const always = {
  payment_in_flight: endsIn("COFRE-20"),
  request_key_reused: endsIn("COFRE-44"),
  request_key_taken: endsIn("COFRE-45"),
  store_unavailable: endsIn("COFRE-21"),
  outcome_unknown: endsIn("COFRE-22"),
  internal_failure: failed,
} as const;

const cardRows = {
  token_not_found: endsIn("BP-DR-64", { text: "Token not found" }),
  token_taken: endsIn("BP-DR-65"),
  card_not_storable: endsIn("BP-DR-75", { problem: "invalid" }),
  card_not_for_tests: endsIn("BP-DR-75", {
    problem: "not a test card number: COFRE_SANDBOX_CARDS=any takes every number",
  }),
  card_not_readable: failed,
} as const;

const captureRows = {
  payment_cancelled: endsIn("BP-CAP-3"),
  payment_already_captured: endsIn("BP-CAP-4"),
  payment_not_capturable: endsIn("BP-CAP-5"),
  capture_declined: endsIn("BP-CAP-7"),
} as const;

const cancelRows = {
  payment_not_found: endsIn("BP-CAN-2"),
  payment_not_voidable: endsIn("BP-CAN-3"),
  void_declined: endsIn("BP-CAN-4"),
} as const;

/**
 * endpoints/refund.ts sends BP-REF-CAN-2, because it knows the name by which the payment was
 * searched.
 */
const refundRows = {
  payment_not_found: { code: "BP-REF-CAN-2", refusalOf: failed.refusalOf },
  refund_amount_invalid: endsIn("BP-REF-4"),
  refund_amount_too_high: endsIn("BP-REF-5"),
  payment_not_refundable: endsIn("BP-REF-7"),
  refund_not_found: endsIn("BP-REF-9"),
  refund_not_cancellable: endsIn("BP-REF-10"),
  refund_code_holds_card: endsIn("COFRE-47"),
  refund_code_taken: endsIn("BP-REF-11"),
  payment_already_refunded: endsIn("BP-REF-12"),
  refund_window_over: endsIn("COFRE-24"),
  refund_limit_reached: endsIn("COFRE-43"),
  payment_charged_back: endsIn("COFRE-25"),
} as const;

/**
 * The wire errors of each family's operations. A test compares the rows with the errors that the
 * operations declare.
 */
const familyRows: Record<ErrorFamily, Partial<Record<ServiceErrorCode, Ending>>> = {
  token: { ...always, ...cardRows },
  direct: {
    ...always,
    ...cardRows,
    payment_code_holds_card: endsIn("BP-DR-9", { problem: "invalid" }),
    payment_code_taken: { code: "BP-DR-0", refusalOf: paymentExists },
    instalments_not_offered: { code: "BP-DR-34", refusalOf: planNotOffered },
    card_foreign: endsIn("BP-DR-83"),
    instalments_on_prepaid: endsIn("BP-DR-97"),
    instalments_on_debit: endsIn("BP-DR-100"),
    card_not_eligible: endsIn("BP-DR-101"),
    card_exhausted: endsIn("BP-DR-102"),
    mandate_mismatch: endsIn("COFRE-28"),
    outcome_unknown: endsIn("BP-DR-119"),
  },
  verify: { ...always, ...cardRows },
  set_cvv: { ...always, ...cardRows },
  capture: {
    ...always,
    ...captureRows,
    payment_not_found: endsIn("BP-CAP-2"),
    capture_amount_invalid: endsIn("BP-CAP-6"),
    partial_capture_disabled: endsIn("BP-CAP-11"),
  },
  cancel: { ...always, ...cancelRows },
  refund: { ...always, ...refundRows },
  refund_or_cancel: { ...always, ...cancelRows, ...refundRows },
  query: { ...always, read_timed_out: endsIn("COFRE-168"), payment_not_found: endsIn("BP-QRY-2") },
  resend: {
    ...always,
    payment_not_found: endsIn("BP-QRY-2"),
    nothing_to_resend: endsIn("COFRE-29"),
  },
  admin: {
    ...always,
    ...captureRows,
    ...cancelRows,
    read_timed_out: endsIn("COFRE-168"),
    payment_not_found: endsIn("BP-QRY-2"),
    payment_not_in_review: endsIn("COFRE-37"),
    payment_not_disputable: endsIn("COFRE-38"),
  },
};

/** The rows of a family, for the API description and tests. */
export function rowsOf(family: ErrorFamily): Readonly<Partial<Record<ServiceErrorCode, Ending>>> {
  return familyRows[family];
}

/**
 * The wire error for an error in the work of an endpoint. Anything but a known refusal is an
 * internal failure, without details.
 */
export function wireErrorOf(error: unknown, family: ErrorFamily): WireError {
  if (error instanceof WireError) return error;
  // An error that the family's operations do not declare is an internal failure.
  const ending = familyRows[family][serviceCodeOf(error)] ?? failed;
  return ending.refusalOf(error);
}

function serviceCodeOf(error: unknown): ServiceErrorCode {
  if (error instanceof ServiceError) return error.code;
  if (error instanceof StoreError && error.code === "timed_out") return "read_timed_out";
  if (error instanceof StoreError)
    return error.code === "commit_unknown" ? "outcome_unknown" : "store_unavailable";
  return "internal_failure";
}

/**
 * As for a card number in direct-request.ts: the number and the token of one card get the same
 * text.
 */
function planNotOffered(error: unknown): WireError {
  const detail = error instanceof ServiceError ? error.detail : {};
  const country = countryOf(String(detail["country"]));
  if (country === undefined) return failed.refusalOf(error);
  const brand = brands.find((name) => name === detail["brand"]);
  return refusal("BP-DR-34", {
    count: String(detail["count"]),
    range: rangeOf(offeredInstalments(country, brand)),
  });
}

/**
 * Names the payment that has the code, so that a client that lost the first answer can query it.
 */
function paymentExists(error: unknown): WireError {
  if (!(error instanceof PaymentCodeTaken)) return failed.refusalOf(error);
  const { order, createdAt, state } = error.existing;
  return refusal("BP-DR-0", {
    code: echoName(order.code),
    time: formatTimestamp(createdAt),
    status: wireStatusOf(state),
  });
}
