import { json, NamedSchema } from "../schema.ts";

/** The answers that payment-answer.ts renders. */
const transactionStatus = new NamedSchema(
  "TransactionStatus",
  json.object(
    {
      acquirer: json.text,
      code: {
        enum: ["OK", "NOK", "RETRY", "PENDING"],
        description: "PENDING: the outcome is not known yet.",
      },
      description: json.text,
    },
    { authcode: json.text, iso_code: json.text, mac_code: json.text },
  ),
);

export const refundSchema = new NamedSchema(
  "Refund",
  json.object({
    id: json.digits,
    merchant_refund_code: json.textOrNull,
    status: {
      enum: ["RE", "PE", "CO", "CA"],
      description: "Requested, pending, confirmed, cancelled.",
    },
    request_date: json.time,
    pending_date: json.time,
    confirm_date: json.time,
    cancel_date: json.time,
    amount_ext: json.amount,
    description: json.text,
  }),
);

const chargeback = new NamedSchema(
  "Chargeback",
  json.object({
    create_date: json.time,
    chargeback_date: json.time,
    description: json.text,
    chargeback_credit: json.flag,
  }),
);

/** What the merchant sent, and gets back in every answer about the payment. */
const returned = {
  note: json.text,
  user_value_1: json.text,
  user_value_2: json.text,
  user_value_3: json.text,
  user_value_4: json.text,
  user_value_5: json.text,
  customer: json.object({
    document: json.textOrNull,
    email: json.text,
    name: json.text,
    birth_date: json.textOrNull,
  }),
} as const;

export const paymentSchema = new NamedSchema(
  "Payment",
  json.object(
    {
      hash: {
        type: "string",
        minLength: 48,
        maxLength: 48,
        description: "The payment's id in later requests.",
      },
      country: json.text,
      merchant_payment_code: json.text,
      order_number: json.textOrNull,
      status: {
        enum: ["OP", "PE", "CO", "CA"],
        description:
          "Open (its hosted page takes a card), pending (authorized, or the outcome is unknown), confirmed (captured), cancelled.",
      },
      status_date: json.time,
      open_date: json.time,
      confirm_date: json.time,
      transfer_date: json.time,
      amount_br: { ...json.amount, description: "In the local currency, tax included." },
      amount_ext: { ...json.amount, description: "In the currency of the request." },
      amount_iof: { ...json.amount, description: "The tax included in amount_br." },
      currency_rate: json.amount,
      currency_ext: json.text,
      due_date: { ...json.text, description: "YYYY-MM-DD." },
      instalments: json.digits,
      payment_type_code: { ...json.text, description: "The card's brand, or debitcard." },
      details: json.object({ billing_descriptor: json.text }),
      pre_approved: {
        ...json.flag,
        description: "The issuer approved it, and the approval is still valid.",
      },
      capture_available: {
        type: ["boolean", "null"],
        description: "Authorized and not captured; null while the payment is open.",
      },
    },
    {
      // Absent while the payment is open.
      transaction_status: transactionStatus,
      pin: { type: "string", pattern: String.raw`^\d{9}$` },
      refunds: json.list(refundSchema),
      chargeback,
      token: {
        ...json.text,
        description: "The token made by create_token; returned only once.",
      },
      masked_card_number: json.text,
      cof_info: json.object({ mandate_id: json.text }),
      ...returned,
    },
  ),
);

export const paymentAnswerSchema = new NamedSchema(
  "PaymentAnswer",
  json.object({ payment: paymentSchema, status: json.success }),
);

/** The answer of /ws/request: amounts are numbers here (interface 5.6). */
export const pageAnswerSchema = new NamedSchema(
  "PageAnswer",
  json.object({
    payment: json.object(
      {
        hash: json.text,
        country: json.text,
        merchant_payment_code: json.text,
        order_number: json.textOrNull,
        status: json.exactly("OP"),
        status_date: json.time,
        open_date: json.time,
        confirm_date: json.time,
        transfer_date: json.time,
        amount_br: { ...json.number, description: "In the local currency, tax included." },
        amount_ext: { ...json.number, description: "In the currency of the request." },
        amount_iof: { ...json.number, description: "The tax included in amount_br." },
        currency_rate: json.number,
        currency_ext: json.text,
        due_date: { ...json.text, description: "YYYY-MM-DD: the last day of the page." },
        instalments: json.integer,
        payment_type_code: { ...json.text, description: "As it was sent." },
        details: json.object({ billing_descriptor: json.text }),
        pre_approved: json.flag,
        capture_available: { type: "null" },
        redirect_url: { ...json.text, description: "The page's address." },
      },
      {
        pin: { type: "string", pattern: String.raw`^\d{9}$` },
        ...returned,
      },
    ),
    redirect_url: json.text,
    status: json.success,
  }),
);
