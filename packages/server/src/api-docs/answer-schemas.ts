import { faultKindNames } from "../http/faults/fault-kinds.ts";
import { timelineKinds } from "../wire/answers/timeline-kinds.ts";
import type { Schema } from "./types.ts";

/**
 * The content of answers. A test compares real answers with these schemas: an unknown or missing
 * member fails it.
 */
const text: Schema = { type: "string" };
const textOrNull: Schema = { type: ["string", "null"] };
const amount: Schema = {
  type: "string",
  pattern: String.raw`^\d+(\.\d+)?$`,
  description: "Decimal text.",
};
const time: Schema = { type: ["string", "null"], description: "YYYY-MM-DD hh:mm:ss in UTC." };
const instant: Schema = { type: "string", description: "UTC, such as 2026-01-31T12:00:00.000Z." };
const flag: Schema = { type: "boolean" };
const success: Schema = { const: "SUCCESS" };

/** An object without other members. Members in `optional` may be missing. */
function node(
  members: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: "object",
    required: Object.keys(members),
    properties: { ...members, ...optional },
    additionalProperties: false,
  };
}

export const ref = (name: keyof typeof answerSchemas): Schema => ({
  $ref: `#/components/schemas/${name}`,
});
const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const tally = {
  payments: { type: "integer" },
  approved: { type: "integer", description: "Approved by the issuer, whatever the later state." },
  declined: { type: "integer" },
  amounts: { type: "array", items: node({ currency: text, authorized: amount, captured: amount }) },
} as const satisfies Readonly<Record<string, Schema>>;

const refund = node({
  id: { type: "string", pattern: String.raw`^\d+$` },
  merchant_refund_code: textOrNull,
  status: {
    enum: ["RE", "PE", "CO", "CA"],
    description: "Requested, pending, confirmed, cancelled.",
  },
  request_date: time,
  pending_date: time,
  confirm_date: time,
  cancel_date: time,
  amount_ext: amount,
  description: text,
});

const transactionStatus = node(
  {
    acquirer: text,
    code: {
      enum: ["OK", "NOK", "RETRY", "PENDING"],
      description: "PENDING: the outcome is not known yet.",
    },
    description: text,
  },
  { authcode: text, iso_code: text, mac_code: text },
);

const payment = node(
  {
    hash: {
      type: "string",
      minLength: 48,
      maxLength: 48,
      description: "The payment's id in later requests.",
    },
    country: text,
    merchant_payment_code: text,
    order_number: textOrNull,
    status: {
      enum: ["PE", "CO", "CA"],
      description:
        "Pending (authorized, or the outcome is unknown), confirmed (captured), cancelled.",
    },
    status_date: time,
    open_date: time,
    confirm_date: time,
    transfer_date: time,
    amount_br: { ...amount, description: "In the local currency, tax included." },
    amount_ext: { ...amount, description: "In the currency of the request." },
    amount_iof: { ...amount, description: "The tax included in amount_br." },
    currency_rate: amount,
    currency_ext: text,
    due_date: { type: "string", description: "YYYY-MM-DD." },
    instalments: { type: "string", pattern: String.raw`^\d+$` },
    payment_type_code: { type: "string", description: "The card's brand, or debitcard." },
    details: node({ billing_descriptor: text }),
    transaction_status: refTo("TransactionStatus"),
    pre_approved: {
      type: "boolean",
      description: "The issuer approved it, and the approval is still valid.",
    },
    capture_available: { type: "boolean", description: "Authorized and not captured." },
  },
  {
    pin: { type: "string", pattern: String.raw`^\d{9}$` },
    refunds: { type: "array", items: refTo("Refund") },
    chargeback: refTo("Chargeback"),
    token: {
      type: "string",
      description: "The token made by create_token; returned only once.",
    },
    masked_card_number: text,
    cof_info: node({ mandate_id: text }),
    note: text,
    user_value_1: text,
    user_value_2: text,
    user_value_3: text,
    user_value_4: text,
    user_value_5: text,
    customer: node({ document: textOrNull, email: text, name: text, birth_date: textOrNull }),
  },
);

const prices: Schema = {
  type: "array",
  items: node({
    of: { enum: ["payment", "captured", "returned"] },
    amount,
    currency: text,
    local: amount,
    local_currency: text,
    text: { ...text, description: "How the amounts were calculated, as a sentence." },
  }),
};
const fault = node(
  {
    id: text,
    kind: { enum: faultKindNames },
    times: { type: "integer", description: "0: until it is cleared." },
    met: { type: "integer", description: "The number of requests that it was injected into." },
  },
  { path: text, merchant_payment_code: text, delay_ms: { type: "integer" }, reason: text },
);

const properties = node({
  status: success,
  success: { const: true },
  resource: { const: "merchantIntegrationProperties" },
  operation: { enum: ["get", "edit"] },
  body: node({
    image: textOrNull,
    url_response: textOrNull,
    receipt_email: textOrNull,
    url_status_change_notification: textOrNull,
  }),
});

const keyCheck = {
  success: flag,
  resource: { const: "merchantIntegrationProperties" },
  operation: { const: "isValidPublicIntegrationKey" },
};

export const answerSchemas = {
  Error: {
    ...node(
      { status: { const: "ERROR" }, status_code: text, status_message: text },
      { message: text },
    ),
    description:
      "Every error, nearly always with HTTP status 200: check `status`, then `status_code`.",
  },
  Done: node({ status: success }),
  Payment: payment,
  Refund: refund,
  TransactionStatus: transactionStatus,
  Chargeback: node({
    create_date: time,
    chargeback_date: time,
    description: text,
    chargeback_credit: flag,
  }),
  PaymentAnswer: node({ payment: refTo("Payment"), status: success }),
  CancelAnswer: node({
    payment: refTo("Payment"),
    operation: { const: "cancel" },
    status: success,
  }),
  RefundAnswer: node({
    payment: refTo("Payment"),
    refund: refTo("Refund"),
    operation: { const: "refund" },
    status: success,
  }),
  RefundOrCancelAnswer: node(
    { payment: refTo("Payment"), operation: { enum: ["refund", "cancel"] }, status: success },
    { refund: refTo("Refund") },
  ),
  TokenAnswer: node({
    status: success,
    payment_type_code: text,
    token: text,
    masked_card_number: text,
  }),
  SetCvvAnswer: node({ status: success, token: text, masked_card_number: text }),
  VerifyAnswer: node({
    status: success,
    payment_type_code: text,
    card_verification: node(
      {
        transaction_status: node({ code: { enum: ["OK", "NOK", "RETRY"] }, description: text }),
        transaction_type: { enum: ["ZERO DOLLAR", "GHOST AUTHORIZATION"] },
      },
      { mandate_id: text },
    ),
  }),
  ExchangeAnswer: node({ currency_rate: refTo("CurrencyRate"), status: success }),
  CurrencyRatesAnswer: node({
    currency_rates: { type: "array", items: refTo("CurrencyRate") },
    status: success,
  }),
  CurrencyRate: node({ code: text, base_code: text, name: text, rate: amount }),
  PropertiesAnswer: properties,
  KeyIsValid: node({
    status: success,
    ...keyCheck,
    body: { type: "array", items: {}, maxItems: 0 },
  }),
  KeyIsInvalid: node({ status: { const: "CONFLICT" }, ...keyCheck, body: node({ error: text }) }),
  FingerprintAnswer: node({
    ebanx_session_id: text,
    providers: { type: "array", items: {}, maxItems: 0 },
  }),
  Nothing: node({}),
  ZipcodeAnswer: node({ zipcode: node({ state: text, city: text, name: text }), status: success }),
  DocumentBalanceAnswer: node({
    document_balance: node({
      document: text,
      balance: amount,
      available: amount,
      currency_code: text,
    }),
    status: success,
  }),
  ExplainAnswer: node({
    hash: text,
    state: text,
    facts: { type: "array", items: { type: "object" } },
    postings: { type: "array", items: { type: "object" } },
    money: { type: "array", items: { type: "object" } },
    price: prices,
    problems: { type: "array", items: text },
    status: success,
  }),
  TimelineAnswer: node({
    hash: text,
    merchant_payment_code: text,
    state: text,
    recording: node({
      since: {
        ...textOrNull,
        description:
          "Requests, calls and attempts before this time may be missing; null: none was recorded.",
      },
      complete: { ...flag, description: "Nothing about this payment is missing." },
      left_out: {
        type: "number",
        description:
          "The number of older recorded requests, calls and attempts of this payment that are not shown.",
      },
    }),
    entries: {
      type: "array",
      items: node({
        at: { type: "string", description: "Such as 2026-01-31T12:00:00.000Z." },
        kind: { enum: timelineKinds },
        text: { type: "string", description: "One sentence." },
        data: { type: "object" },
      }),
    },
    price: prices,
    problems: {
      type: "array",
      items: text,
      description: "Violated invariants of the ledger; normally empty.",
    },
    payment: refTo("Payment"),
    status: success,
  }),
  RequestsAnswer: node({
    requests: {
      type: "array",
      items: node(
        {
          number: { type: "number", description: "Sequential number in the account, from 1." },
          at: text,
          method: { enum: ["GET", "POST"] },
          path: text,
          key: { enum: ["secret", "public", "session"] },
          parameters: {
            type: "object",
            description: "Only parameters of the allow list; card numbers are masked.",
          },
          parameters_left_out: { type: "number" },
          hash: textOrNull,
          merchant_payment_code: textOrNull,
          answer: {
            type: ["object", "array", "null"],
            items: {},
            description: "null while there is no answer, or when it is too long to be kept.",
          },
        },
        {
          http_status: { type: "number" },
          status_code: textOrNull,
          duration_ms: { type: "number" },
          replayed: flag,
          answer_begins: { type: "string", description: "The beginning of a longer answer." },
        },
      ),
    },
    next: {
      type: ["number", "null"],
      description: "The value of `after` for the next page; null on the last page.",
    },
    recording: node({ since: textOrNull, keeps: { type: "number" } }),
    status: success,
  }),
  PaymentsAnswer: node({
    payments: {
      type: "array",
      items: node({
        hash: text,
        merchant_payment_code: text,
        state: text,
        status: { enum: ["PE", "CO", "CA"] },
        open_date: time,
        amount_ext: amount,
        currency_ext: text,
        amount_br: amount,
        currency_br: text,
        authorized: { ...amount, description: "In currency_ext, like captured and refunded." },
        captured: amount,
        refunded: amount,
        brand: text,
        masked_card_number: text,
        name: text,
        email: text,
        country: text,
        instalments: text,
        charged_back: { ...flag, description: "A chargeback is open." },
        disputed: {
          ...flag,
          description: "There was a chargeback, reversed or not.",
        },
        waits_for_acquirer: flag,
        needs_review: {
          ...flag,
          description: "An invariant of the payment was violated; needs investigation.",
        },
      }),
      description: "Newest first.",
    },
    next: {
      ...textOrNull,
      description: "The value of `before` for the next page; null on the last page.",
    },
    status: success,
  }),
  FaultsAnswer: node(
    {
      faults: {
        type: "array",
        items: fault,
        description: "Active faults, in the order in which they were added.",
      },
      status: success,
    },
    {
      fault: { ...fault, description: "The added fault." },
      cleared: { type: "integer", description: "The number of removed faults." },
    },
  ),
  FiguresAnswer: node({
    per: { enum: ["hour", "day"] },
    from: time,
    to: time,
    periods: {
      type: "array",
      items: node({ from: time, ...tally }),
      description: "All periods, oldest first.",
    },
    brands: {
      type: "array",
      items: node({ brand: text, ...tally }),
      description: "Brands with payments, the most used first.",
    },
    card_like_names: {
      ...node({
        merchant_payment_code: { type: "integer" },
        merchant_refund_code: { type: "integer" },
        idempotency_key: { type: "integer" },
      }),
      description:
        "The number of accepted names that looked like a card number, since the process started.",
    },
    looked_at: { type: "integer" },
    complete: {
      ...flag,
      description: "false: there are more than 10,000 payments, and the oldest are not counted.",
    },
    status: success,
  }),
  TokensAnswer: node({
    tokens: {
      type: "array",
      items: node({
        brand: text,
        masked_card_number: text,
        created_at: time,
        last_used_at: time,
        expires_at: {
          ...time,
          description: "When the token expires if it is not used before.",
        },
      }),
      description: "Newest first.",
    },
    found: {
      type: "integer",
      description: "The number of matching cards among those that this call read.",
    },
    next: {
      ...textOrNull,
      description: "The value of `after` for the next page; null on the last page.",
    },
    status: success,
  }),
  SettingsAnswer: node(
    {
      settings: { type: "object", description: "Every setting of the account, by name." },
      status: success,
    },
    {
      described: {
        type: "array",
        items: { type: "object" },
        description:
          "With `describe`: name, default, allowed, doc, the values of an enumeration, and unit for thousandths.",
      },
    },
  ),
  NotificationsAnswer: node(
    {
      notifications: { type: "array", items: { type: "object" } },
      endpoints: {
        type: "array",
        items: { type: "object" },
        description:
          "The account's endpoints: id, url, enabled, and state: on, off (disabled, at `off_at`) or gone (it answered 410, at `gone_at`); with a key also secret.",
      },
      payment_url_secret: text,
      public_key: text,
      certificate_fingerprint: text,
      status: success,
    },
    {
      next: {
        type: ["integer", "null"],
        description:
          "With `order`: the value of `before` for the next page; null on the last page.",
      },
    },
  ),
  WorldsAnswer: node(
    { status: success },
    {
      world: { anyOf: [refTo("World"), { type: "null" }] },
      worlds: { type: "array", items: refTo("World") },
    },
  ),
  World: node({
    id: text,
    name: text,
    seed: text,
    integration_key: text,
    public_integration_key: text,
    clock: node({ now: instant, running: flag }),
    payments: { type: "integer" },
    snapshots: { type: "array", items: text },
  }),
  ClockAnswer: node(
    {
      clock: node(
        { now: instant, running: flag },
        {
          next_due: {
            ...instant,
            type: ["string", "null"],
            description: "When work falls due next.",
          },
        },
      ),
      status: success,
    },
    {
      done: node({
        payments: { type: "integer", description: "Changes of payments." },
        deliveries: { type: "integer", description: "Attempts to deliver notifications." },
        cards: { type: "integer", description: "Stored cards that were deleted." },
      }),
      complete: {
        ...flag,
        description:
          "false: more work fell due than one call performs. Repeat the request with `set` to `to`.",
      },
      to: { ...instant, description: "The requested time, when it is not reached." },
    },
  ),
  StatsAnswer: node({ store: { type: "object" }, status: success }),
  Health: node({ status: text }, { message: text, failing: { type: "array", items: text } }),
} as const satisfies Record<string, Schema>;
