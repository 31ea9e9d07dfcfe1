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
  approved: { type: "integer", description: "By the issuer, whatever became of it afterwards." },
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
      description: "PENDING: nobody has said yes or no yet.",
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
      description: "The payment's name in every later request.",
    },
    country: text,
    merchant_payment_code: text,
    order_number: textOrNull,
    status: {
      enum: ["PE", "CO", "CA"],
      description: "Pending (authorized, or not known yet), confirmed (paid), cancelled.",
    },
    status_date: time,
    open_date: time,
    confirm_date: time,
    transfer_date: time,
    amount_br: { ...amount, description: "In the local currency, tax included." },
    amount_ext: { ...amount, description: "In the currency that was asked for." },
    amount_iof: { ...amount, description: "The tax within amount_br." },
    currency_rate: amount,
    currency_ext: text,
    due_date: { type: "string", description: "YYYY-MM-DD." },
    instalments: { type: "string", pattern: String.raw`^\d+$` },
    payment_type_code: { type: "string", description: "The card's brand, or debitcard." },
    details: node({ billing_descriptor: text }),
    transaction_status: refTo("TransactionStatus"),
    pre_approved: { type: "boolean", description: "The issuer said yes and that still holds." },
    capture_available: { type: "boolean", description: "Authorized, and waiting to be captured." },
  },
  {
    pin: { type: "string", pattern: String.raw`^\d{9}$` },
    refunds: { type: "array", items: refTo("Refund") },
    chargeback: refTo("Chargeback"),
    token: {
      type: "string",
      description: "The token that create_token asked for: shown this once.",
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
    text: { ...text, description: "How the one came from the other, as a sentence." },
  }),
};
const fault = node(
  {
    id: text,
    kind: { enum: faultKindNames },
    times: { type: "integer", description: "0: until it is cleared." },
    met: { type: "integer", description: "Requests that it has met." },
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
      "Every refusal, nearly always with HTTP status 200: look at `status`, then at `status_code`.",
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
          "Requests, calls and attempts before this moment may be missing; null: none was recorded.",
      },
      complete: { ...flag, description: "Nothing about this payment is missing." },
      left_out: {
        type: "number",
        description:
          "Older requests, calls and attempts of this payment that are recorded and not shown.",
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
      description: "What should hold of the books and does not: never any.",
    },
    payment: refTo("Payment"),
    status: success,
  }),
  RequestsAnswer: node({
    requests: {
      type: "array",
      items: node(
        {
          number: { type: "number", description: "Counts up from 1 within the account." },
          at: text,
          method: { enum: ["GET", "POST"] },
          path: text,
          key: { enum: ["secret", "public", "session"] },
          parameters: {
            type: "object",
            description: "Those that may be shown, as they may be shown.",
          },
          parameters_left_out: { type: "number" },
          hash: textOrNull,
          merchant_payment_code: textOrNull,
          answer: {
            type: ["object", "array", "null"],
            items: {},
            description: "null while there is none, and when it is longer than what is kept.",
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
      description: "Goes on with `after`; null when there are no more.",
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
        authorized: { ...amount, description: "In currency_ext, as the next two." },
        captured: amount,
        refunded: amount,
        brand: text,
        masked_card_number: text,
        name: text,
        email: text,
        country: text,
        instalments: text,
        charged_back: { ...flag, description: "The issuer has taken it back." },
        disputed: {
          ...flag,
          description: "It was taken back once, whether it was won back or not.",
        },
        waits_for_acquirer: flag,
        needs_review: {
          ...flag,
          description: "A broken invariant was seen on it: somebody must look.",
        },
      }),
      description: "Newest first.",
    },
    next: { ...textOrNull, description: "Goes on with `before`; null when there are no more." },
    status: success,
  }),
  FaultsAnswer: node(
    {
      faults: {
        type: "array",
        items: fault,
        description: "Those that wait, in the order in which they were added.",
      },
      status: success,
    },
    {
      fault: { ...fault, description: "The one that was added." },
      cleared: { type: "integer", description: "How many were taken away." },
    },
  ),
  FiguresAnswer: node({
    per: { enum: ["hour", "day"] },
    from: time,
    to: time,
    periods: {
      type: "array",
      items: node({ from: time, ...tally }),
      description: "All of them, oldest first.",
    },
    brands: {
      type: "array",
      items: node({ brand: text, ...tally }),
      description: "Those with payments, the most used first.",
    },
    card_like_names: {
      ...node({
        merchant_payment_code: { type: "integer" },
        merchant_refund_code: { type: "integer" },
        idempotency_key: { type: "integer" },
      }),
      description: "How many accepted names looked like a card number, since the process started.",
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
          description: "When the token stops working unless it is used before.",
        },
      }),
      description: "Newest first.",
    },
    found: {
      type: "integer",
      description: "How many of those that were looked at fit, shown or not.",
    },
    next: { ...textOrNull, description: "Goes on with `after`; null when there are no more." },
    status: success,
  }),
  SettingsAnswer: node(
    {
      settings: { type: "object", description: "Every switch of the account, by name." },
      status: success,
    },
    {
      described: {
        type: "array",
        items: { type: "object" },
        description:
          "With `describe`: name, default, allowed, doc, values where they are few, and unit where it is thousandths.",
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
          "Who hears: id, url, enabled, and state: on, off (somebody has switched it off, at `off_at`) or gone (it has answered 410, at `gone_at`); with a key also secret.",
      },
      payment_url_secret: text,
      public_key: text,
      certificate_fingerprint: text,
      status: success,
    },
    {
      next: {
        type: ["integer", "null"],
        description: "With `order`: goes on with `before`; null when there are no more.",
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
            description: "When something falls due next.",
          },
        },
      ),
      status: success,
    },
    {
      done: node({
        payments: { type: "integer", description: "Changes of payments." },
        deliveries: { type: "integer", description: "Attempts to deliver notifications." },
        cards: { type: "integer", description: "Stored cards that were forgotten." },
      }),
      complete: {
        ...flag,
        description:
          "false: more fell due than one call goes through. A call with `set` to `to` goes on.",
      },
      to: { ...instant, description: "Where the time was to be, when it is not there." },
    },
  ),
  StatsAnswer: node({ store: { type: "object" }, status: success }),
  Health: node({ status: text }, { message: text, failing: { type: "array", items: text } }),
} as const satisfies Record<string, Schema>;
