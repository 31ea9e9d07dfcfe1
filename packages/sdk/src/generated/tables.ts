// Made from the server's tables: npm run docs. Do not edit.

/** Paths of the operations. `keyed`: the operation accepts an Idempotency-Key. */
export const operations = {
  token: { path: "/ws/token", keyed: false },
  setCvv: { path: "/ws/token/setCVV", keyed: false },
  direct: { path: "/ws/direct", keyed: true },
  verifyCard: { path: "/ws/verifycard", keyed: false },
  capture: { path: "/ws/capture", keyed: true },
  cancel: { path: "/ws/cancel", keyed: true },
  refund: { path: "/ws/refund", keyed: true },
  refundOrCancel: { path: "/ws/refundOrCancel", keyed: true },
  query: { path: "/ws/query", keyed: false },
  exchange: { path: "/ws/exchange", keyed: false },
  resendNotification: { path: "/ws/everest/resendNotification", keyed: false },
  getProperties: { path: "/ws/merchantIntegrationProperties/get", keyed: false },
} as const;

/** Codes of errors about one field, by that field. */
export const errorFields: Readonly<Record<string, string>> = {
  "integration_key": "BP-SA-1 BP-SA-2 DA-1",
  "payment.merchant_payment_code": "BP-DR-0 BP-DR-9 BP-DR-10",
  "payment": "BP-DR-2",
  "payment.currency_code": "BP-DR-3 BP-DR-4",
  "payment.amount_total": "BP-DR-5 BP-DR-6 BP-DR-7 BP-DR-8",
  "payment.order_number": "BP-DR-11",
  "payment.name": "BP-DR-13 BP-DR-14",
  "payment.email": "BP-DR-15 BP-DR-16 BP-DR-17",
  "payment.birth_date": "BP-DR-20 BP-DR-21",
  "payment.document": "BP-DR-22 BP-DR-23",
  "payment.zipcode": "BP-DR-24",
  "payment.address": "BP-DR-25",
  "payment.street_number": "BP-DR-26",
  "payment.city": "BP-DR-27",
  "payment.state": "BP-DR-28 BP-DR-29",
  "payment.phone_number": "BP-DR-31 BP-DR-32",
  "payment.instalments": "BP-DR-33 BP-DR-34 BP-DR-97 BP-DR-100",
  "payment.payment_type_code": "BP-DR-35 BP-DR-36 BP-DR-38",
  "payment.person_type": "BP-DR-41",
  "payment.responsible": "BP-DR-42",
  "payment.responsible.name": "BP-DR-43",
  "payment.creditcard": "BP-DR-48",
  "payment.creditcard.card_number": "BP-DR-49 BP-DR-75",
  "payment.creditcard.card_name": "BP-DR-51 BP-DR-52 BP-DR-95",
  "payment.creditcard.card_cvv": "BP-DR-54 BP-DR-55",
  "payment.creditcard.card_due_date": "BP-DR-56 BP-DR-57 BP-DR-58 BP-DR-59 BP-DR-67",
  "payment.creditcard.create_token": "BP-DR-61 BP-DR-62",
  "token": "BP-DR-64 BP-DR-65",
  "payment.token": "BP-DR-66",
  "payment.country": "BP-DR-76 BP-DR-77",
  "payment.creditcard.network_token_expire_date": "BP-DR-136",
  "hash": "BP-CAP-1 BP-CAN-1 BP-REF-1 BP-QRY-1",
  "amount": "BP-CAP-6 BP-CAP-11 BP-REF-3 BP-REF-4 BP-REF-5",
  "operation": "BP-REF-2",
  "refund_id": "BP-REF-8",
  "merchant_refund_code": "BP-REF-11 COFRE-47",
  "payment.cof_info.mandate_id": "COFRE-28",
  "currency_code": "COFRE-40 COFRE-41",
};

/** Descriptions of `transaction_status` with the reason that each has. */
export const declineReasons = {
  "Not accepted": "not_accepted",
  "Insufficient funds": "insufficient_funds",
  "Incorrect customer data": "incorrect_customer_data",
  "Expired card": "expired_card",
  "Security code mismatch": "security_code_mismatch",
  "Invalid card or card type": "invalid_card",
  "Invalid card number": "invalid_card_number",
  "3-D Secure required": "three_d_secure_required",
  "High risk transaction": "high_risk",
  "Timeout": "timeout",
  "No response from acquirer": "no_acquirer_response",
  "Acquirer response error": "acquirer_error",
} as const;

/** Members of a charge that the request has in its card node. */
export const cardOptions: readonly string[] = ["softDescriptor","threedsEci","threedsCryptogram","threedsXid","threedsVersion","threedsTrxid"];
