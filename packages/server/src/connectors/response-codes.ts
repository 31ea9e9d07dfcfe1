import type { DeclineReason } from "../payment/payment.ts";

/**
 * DE 39 (ISO 8583:1987) for a decline whose answer has no code, or none that passes
 * strict-answers.ts.
 */
export const responseCodeOf: Readonly<Record<DeclineReason, string>> = {
  not_accepted: "05",
  insufficient_funds: "51",
  incorrect_customer_data: "12",
  expired_card: "54",
  security_code_mismatch: "82",
  invalid_card: "62",
  invalid_card_number: "14",
  three_d_secure_required: "65",
  high_risk: "59",
  timeout: "68",
  no_acquirer_response: "91",
  acquirer_error: "96",
};
