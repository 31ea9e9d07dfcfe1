/**
 * Data that may be shown and logged. Card data must not be in it: neither Pan nor Secret is
 * assignable.
 */
export type SafeDetail = Readonly<Record<string, string | number | boolean>>;

/**
 * What a caller may do about an error: `after_inquiry` means that the outcome is unknown and must
 * be queried, never assumed.
 */
type Retry = "never" | "later" | "after_inquiry";

/**
 * Every refusal or failure of an operation. wire/answers/errors.ts maps each to an error of the
 * wire, which has the text for clients.
 */
export const serviceErrors = {
  payment_not_found: "never",
  payment_code_holds_card: "never",
  payment_code_taken: "never",
  payment_already_captured: "never",
  payment_cancelled: "never",
  payment_not_capturable: "never",
  payment_not_voidable: "never",
  payment_in_flight: "later",
  partial_capture_disabled: "never",
  capture_amount_invalid: "never",
  capture_declined: "never",
  payment_not_refundable: "never",
  payment_already_refunded: "never",
  payment_charged_back: "never",
  refund_window_over: "never",
  refund_amount_invalid: "never",
  refund_amount_too_high: "never",
  refund_code_holds_card: "never",
  refund_code_taken: "never",
  refund_limit_reached: "never",
  request_key_reused: "never",
  request_key_taken: "later",
  refund_not_found: "never",
  refund_not_cancellable: "never",
  payment_not_in_review: "never",
  payment_not_disputable: "never",
  chargeback_refused: "never",
  mandate_mismatch: "never",
  void_declined: "never",
  token_not_found: "never",
  token_taken: "never",
  card_not_storable: "never",
  card_not_for_tests: "later",
  instalments_not_offered: "never",
  card_foreign: "never",
  card_not_eligible: "never",
  card_exhausted: "later",
  instalments_on_prepaid: "never",
  instalments_on_debit: "never",
  nothing_to_resend: "never",
  card_not_readable: "never",
  outcome_unknown: "after_inquiry",
  store_unavailable: "later",
  cards_stopped: "later",
  read_timed_out: "later",
  internal_failure: "after_inquiry",
} as const satisfies Record<string, Retry>;

export type ServiceErrorCode = keyof typeof serviceErrors;

/** A refusal or failure of an operation. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  readonly detail: SafeDetail;

  constructor(code: ServiceErrorCode, detail: SafeDetail = {}) {
    super(code);
    this.code = code;
    this.detail = detail;
  }
}
