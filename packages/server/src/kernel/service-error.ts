/** Facts that may be shown and logged. Card data has no place here: neither Pan nor Secret is assignable. */
export type SafeDetail = Readonly<Record<string, string | number | boolean>>;

interface ErrorSpec {
  readonly message: string;
  /** What a caller may do about it: `after_inquiry` means that the outcome is unknown and must be asked for, never assumed. */
  readonly retry: "never" | "later" | "after_inquiry";
}

/** Every way an operation can refuse or fail, once. The wire form of each is a row in wire/answers/errors.ts. */
export const serviceErrors = {
  payment_not_found: { message: "No payment of this merchant has this identifier.", retry: "never" },
  payment_code_holds_card: { message: "The merchant_payment_code holds the number of the card.", retry: "never" },
  payment_code_taken: { message: "A payment with this merchant_payment_code exists.", retry: "never" },
  payment_already_captured: { message: "The payment has already been captured.", retry: "never" },
  payment_cancelled: { message: "The payment is cancelled.", retry: "never" },
  payment_not_capturable: { message: "The payment is not authorized, so it cannot be captured.", retry: "never" },
  payment_not_voidable: { message: "Only an open or pending payment can be cancelled.", retry: "never" },
  payment_in_flight: { message: "Another request about this payment is waiting for the acquirer.", retry: "later" },
  partial_capture_disabled: { message: "Partial capture is not enabled for this account.", retry: "never" },
  capture_amount_invalid: { message: "The amount to capture is not above zero or exceeds what was authorized.", retry: "never" },
  capture_declined: { message: "The acquirer refused the capture.", retry: "never" },
  payment_not_refundable: { message: "Only a captured payment can be refunded.", retry: "never" },
  payment_already_refunded: { message: "Nothing is left of the payment to refund.", retry: "never" },
  payment_charged_back: { message: "The issuer has taken the money back already.", retry: "never" },
  refund_window_over: { message: "The time in which this payment can be refunded is over.", retry: "never" },
  refund_amount_invalid: { message: "The amount to refund is not an amount above zero.", retry: "never" },
  refund_amount_too_high: { message: "The amount to refund exceeds what is left of the payment.", retry: "never" },
  refund_code_holds_card: { message: "The merchant_refund_code holds the number of the payment's card.", retry: "never" },
  refund_code_taken: { message: "A refund with this merchant_refund_code exists.", retry: "never" },
  refund_limit_reached: { message: "The payment has as many refunds as it can have.", retry: "never" },
  request_key_reused: { message: "This Idempotency-Key came with another request before.", retry: "never" },
  request_key_taken: { message: "Another request came with this Idempotency-Key.", retry: "later" },
  refund_not_found: { message: "No refund of this merchant has this identifier.", retry: "never" },
  refund_not_cancellable: { message: "The refund has been sent, or is over.", retry: "never" },
  payment_not_in_review: { message: "The payment does not wait for a reviewer.", retry: "never" },
  payment_not_disputable: { message: "The payment is not captured, or has been disputed or refunded already.", retry: "never" },
  mandate_mismatch: { message: "The mandate is of no initial payment with this card.", retry: "never" },
  void_declined: { message: "The acquirer refused the cancellation.", retry: "never" },
  token_not_found: { message: "No usable card of this merchant has this token.", retry: "never" },
  token_taken: { message: "A card with this token exists.", retry: "never" },
  card_not_storable: { message: "The card number belongs to no brand that is accepted.", retry: "never" },
  card_not_for_tests: { message: "The sandbox accepts only test card numbers.", retry: "later" },
  instalments_not_offered: { message: "The card's brand does not offer this number of instalments.", retry: "never" },
  card_foreign: { message: "Cards that are issued abroad are not processed.", retry: "never" },
  card_not_eligible: { message: "The card is not open to payments without the card.", retry: "never" },
  card_exhausted: { message: "The card was refused too often of late.", retry: "later" },
  instalments_on_prepaid: { message: "Prepaid cards pay in one instalment.", retry: "never" },
  instalments_on_debit: { message: "Debit cards pay in one instalment.", retry: "never" },
  nothing_to_resend: { message: "Nothing has been announced of this payment yet.", retry: "never" },
  card_not_readable: { message: "The stored card could not be opened.", retry: "never" },
  outcome_unknown: { message: "The acquirer did not answer in time.", retry: "after_inquiry" },
  store_unavailable: { message: "The request could not be recorded; nothing was done.", retry: "later" },
  read_timed_out: { message: "The database took too long for this list, and it was ended.", retry: "later" },
  internal_failure: { message: "The request failed inside; nothing is known to have been done.", retry: "after_inquiry" },
} as const satisfies Record<string, ErrorSpec>;

export type ServiceErrorCode = keyof typeof serviceErrors;

/** A refusal or failure from the catalogue. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  readonly detail: SafeDetail;

  constructor(code: ServiceErrorCode, detail: SafeDetail = {}) {
    super(serviceErrors[code].message);
    this.code = code;
    this.detail = detail;
  }
}
