import { cancel } from "../operations/cancel.ts";
import { capture } from "../operations/capture.ts";
import { creditChargeback, openChargeback } from "../operations/chargeback.ts";
import { countPayments } from "../operations/count-payments.ts";
import { direct } from "../operations/direct.ts";
import { listCards } from "../operations/list-cards.ts";
import { listPayments } from "../operations/list-payments.ts";
import type { Operation } from "../operations/operation.ts";
import { query } from "../operations/query.ts";
import { cancelRefund, refund, refundOrCancel } from "../operations/refund.ts";
import { resendNotification } from "../operations/resend-notification.ts";
import { acceptReview, rejectReview } from "../operations/review.ts";
import { setCvv } from "../operations/set-cvv.ts";
import { tokenize } from "../operations/tokenize.ts";
import { verifyCard } from "../operations/verify-card.ts";
import { directRules } from "../wire/requests/direct-request.ts";
import type { ErrorFamily } from "../wire/answers/errors.ts";
import { tokenRules } from "../wire/requests/token-request.ts";
import type { ErrorCode } from "../wire/errors/refusal.ts";
import { verifyRules } from "../wire/requests/verify-request.ts";
import type { answerSchemas } from "./answer-schemas.ts";
import type { Field } from "./field.ts";
import * as fields from "./request-fields.ts";

export type Tag =
  | "Cards"
  | "Payments"
  | "Afterwards"
  | "Around a payment"
  | "Browsers"
  | "Sandbox"
  | "Not here";

export const tags: Readonly<Record<Tag, string>> = {
  Cards: "Store a card, or ask whether it is good.",
  Payments: "Charge, capture, give up, look.",
  Afterwards: "Give money back.",
  "Around a payment": "What shops ask beside.",
  Browsers: "Called by pages of other origins, with the public key alone.",
  Sandbox: "Make things happen that an issuer, an acquirer or a reviewer causes otherwise.",
  "Not here": "Operations of the interface that this version does not have. They answer so.",
};

/** What the documentation adds to an endpoint's own row. */
export interface OperationRow {
  readonly path: string;
  /** Other paths of the same operation. */
  readonly also?: readonly string[];
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly fields: readonly Field[];
  readonly answer: keyof typeof answerSchemas;
  /** Answers with an HTTP status other than 200 and 503. */
  readonly otherAnswers?: Readonly<Record<string, keyof typeof answerSchemas>>;
  /** Accepts an Idempotency-Key. */
  readonly idempotent?: true;
  /** Other headers that the operation reads. */
  readonly headers?: readonly { readonly name: string; readonly note: string }[];
  /** Sources of its error codes: the operations that it runs, with the codes of the family. */
  readonly family?: ErrorFamily;
  readonly runs?: readonly Pick<Operation<never, unknown>, "errors">[];
  readonly rules?: readonly { readonly code: number }[];
  /** Codes from none of the sources above. */
  readonly codes?: readonly ErrorCode[];
  /**
   * A request that works unchanged, with shell variables: $KEY, $PUBLIC_KEY, $ORDER (a payment's
   * code), $TOKEN (a token of the client's choice). $DUE, the expiry date of a card, is filled in
   * beforehand.
   */
  readonly example: Readonly<Record<string, unknown>>;
  /** What must exist before the example works. */
  readonly needs?: "held" | "captured" | "stored";
}

const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "$DUE",
  card_cvv: "123",
};
const key = { integration_key: "$KEY" };
const order = { ...key, merchant_payment_code: "$ORDER" };
const page = { publicIntegrationKey: "$PUBLIC_KEY" };

export const operationRows: readonly OperationRow[] = [
  {
    path: "/ws/token",
    id: "token",
    tag: "Cards",
    summary: "Store a card",
    description:
      "The answer's token stands for the card in later payments. It works for 14 months after its last use.",
    fields: fields.tokenFields,
    answer: "TokenAnswer",
    family: "token",
    runs: [tokenize],
    rules: tokenRules,
    example: {
      ...key,
      payment_type_code: "creditcard",
      country: "br",
      token: "$TOKEN",
      creditcard: card,
    },
  },
  {
    path: "/ws/token/setCVV",
    id: "setCvv",
    tag: "Cards",
    summary: "Leave a security code for a token's next payment",
    description: "The code stays in memory, is used once, and is gone after 15 minutes.",
    fields: fields.setCvvFields,
    answer: "SetCvvAnswer",
    family: "set_cvv",
    runs: [setCvv],
    codes: ["BP-DR-54", "BP-DR-55", "BP-DR-64"],
    example: { public_integration_key: "$PUBLIC_KEY", token: "$TOKEN", card_cvv: "123" },
    needs: "stored",
  },
  {
    path: "/ws/verifycard",
    also: ["/ws/cardverify"],
    id: "verifyCard",
    tag: "Cards",
    summary: "Ask whether a card is good",
    description: "Nothing is charged, and nothing stays held.",
    fields: fields.verifyFields,
    answer: "VerifyAnswer",
    family: "verify",
    runs: [verifyCard],
    rules: verifyRules,
    codes: ["COFRE-26", "COFRE-27"],
    example: { ...key, payment_type_code: "creditcard", country: "br", card },
  },
  {
    path: "/ws/direct",
    id: "direct",
    tag: "Payments",
    summary: "Charge or authorize a card",
    description:
      "With a number, a token or a network token. A merchant_payment_code charges once: send the same again after a failure, and BP-DR-0 tells " +
      "that the first one arrived. A decline is no error: status is SUCCESS, the payment is CA, and transaction_status says why.",
    fields: fields.directFields,
    answer: "PaymentAnswer",
    idempotent: true,
    headers: [
      {
        name: "X-EBANX-Simulate-Internal-Error",
        note: "In the sandbox: a BP code or 503 is answered, and nothing is done; with BP-DR-119 the acquirer's answer gets lost.",
      },
      { name: "X-EBANX-API-Processing-Type", note: "local: processed within the country." },
    ],
    family: "direct",
    runs: [direct],
    rules: directRules,
    codes: ["BP-DR-119", "COFRE-26", "COFRE-27"],
    example: {
      ...key,
      operation: "request",
      payment: {
        merchant_payment_code: "$ORDER",
        amount_total: "100.00",
        currency_code: "PEN",
        country: "pe",
        name: "Ana Lima",
        email: "ana.lima@example.com",
        phone_number: "51987654321",
        payment_type_code: "creditcard",
        creditcard: { ...card, auto_capture: false },
      },
    },
  },
  {
    path: "/ws/capture",
    id: "capture",
    tag: "Payments",
    summary: "Take what an authorization holds",
    description: "Once; whatever is left after a partial capture is given back to the card.",
    fields: fields.captureFields,
    answer: "PaymentAnswer",
    idempotent: true,
    family: "capture",
    runs: [capture],
    codes: ["BP-CAP-1", "BP-CAP-6"],
    example: order,
    needs: "held",
  },
  {
    path: "/ws/cancel",
    id: "cancel",
    tag: "Payments",
    summary: "Give an authorization up",
    description: "Of a payment that is not captured. A captured one is refunded.",
    fields: fields.cancelFields,
    answer: "CancelAnswer",
    idempotent: true,
    family: "cancel",
    runs: [cancel],
    codes: ["BP-CAN-1"],
    example: order,
    needs: "held",
  },
  {
    path: "/ws/query",
    id: "query",
    tag: "Payments",
    summary: "Look at a payment",
    description: "What to do whenever an answer was lost.",
    fields: fields.queryFields,
    answer: "PaymentAnswer",
    family: "query",
    runs: [query],
    codes: ["BP-QRY-1"],
    example: order,
    needs: "held",
  },
  {
    path: "/ws/refund",
    id: "refund",
    tag: "Afterwards",
    summary: "Give money back, or take a refund back",
    description:
      "Of a captured payment, in as many parts as you like. A refund that has not been sent yet can be taken back.",
    fields: fields.refundFields,
    answer: "RefundAnswer",
    idempotent: true,
    family: "refund",
    runs: [refund, cancelRefund],
    codes: ["BP-REF-1", "BP-REF-2", "BP-REF-3", "BP-REF-4", "BP-REF-6", "BP-REF-8", "COFRE-47"],
    example: {
      ...order,
      operation: "request",
      amount: "25.00",
      description: "one of four cups was broken",
    },
    needs: "captured",
  },
  {
    path: "/ws/refundOrCancel",
    id: "refundOrCancel",
    tag: "Afterwards",
    summary: "Undo a payment",
    description: "Gives up what is not captured yet, and gives back what is left of what was.",
    fields: fields.refundOrCancelFields,
    answer: "RefundOrCancelAnswer",
    idempotent: true,
    family: "refund_or_cancel",
    runs: [refundOrCancel],
    codes: ["BP-REF-1", "BP-REF-6", "COFRE-47"],
    example: { ...order, description: "the order was cancelled" },
    needs: "captured",
  },
  {
    path: "/ws/exchange",
    id: "exchange",
    tag: "Around a payment",
    summary: "Ask for an exchange rate",
    description: "What one unit of currency_code is worth, by the account's own table.",
    fields: fields.exchangeFields,
    answer: "ExchangeAnswer",
    codes: ["COFRE-40", "COFRE-41"],
    example: { ...key, currency_code: "USD", currency_base_code: "BRL" },
  },
  {
    path: "/ws/exchange/getCurrencyRates",
    id: "currencyRates",
    tag: "Around a payment",
    summary: "Ask for several exchange rates",
    description:
      "What one unit of each currency in currency_codes is worth in each of currency_base_codes, by the account's own table.",
    fields: fields.currencyRatesFields,
    answer: "CurrencyRatesAnswer",
    codes: ["COFRE-40", "COFRE-41"],
    example: { ...key, currency_codes: "USD,EUR", currency_base_codes: "BRL" },
  },
  {
    path: "/ws/everest/resendNotification",
    id: "resendNotification",
    tag: "Around a payment",
    summary: "Announce a payment once more",
    description: "What was announced last is announced again.",
    fields: fields.queryFields,
    answer: "PaymentAnswer",
    family: "resend",
    runs: [resendNotification],
    codes: ["BP-QRY-1"],
    example: order,
    needs: "captured",
  },
  {
    path: "/ws/zipcode",
    id: "zipcode",
    tag: "Around a payment",
    summary: "Look an address up",
    description: "Knows the few codes that public examples ask for, and no others.",
    fields: fields.zipcodeFields,
    answer: "ZipcodeAnswer",
    codes: ["BP-ZIP-1", "BP-ZIP-2", "BP-ZIP-3"],
    example: { ...key, zipcode: "80230010" },
  },
  {
    path: "/ws/documentbalance",
    id: "documentBalance",
    tag: "Around a payment",
    summary: "Ask what a person may still spend abroad",
    description: "Nothing is summed up here: everybody always has the whole of it left.",
    fields: fields.documentBalanceFields,
    answer: "DocumentBalanceAnswer",
    codes: ["COFRE-42"],
    example: { ...key, document: "853.513.468-93" },
  },
  {
    path: "/ws/merchantIntegrationProperties/get",
    id: "getProperties",
    tag: "Around a payment",
    summary: "Show the account's addresses",
    description: "Plugins ask this to learn whether a secret key is good.",
    fields: fields.keyOnlyFields,
    answer: "PropertiesAnswer",
    example: key,
  },
  {
    path: "/ws/merchantIntegrationProperties/edit",
    id: "editProperties",
    tag: "Around a payment",
    summary: "Change the account's addresses",
    description: "Those that are named; the others stay.",
    fields: fields.propertiesFields,
    answer: "PropertiesAnswer",
    codes: ["COFRE-39"],
    example: { ...key, url_response: "https://shop.example/back" },
  },
  {
    path: "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey",
    id: "isValidPublicIntegrationKey",
    tag: "Browsers",
    summary: "Ask whether a public key is good",
    description: "What a page asks first.",
    fields: fields.keyCheckFields,
    answer: "KeyIsValid",
    otherAnswers: { "409": "KeyIsInvalid" },
    example: { public_integration_key: "$PUBLIC_KEY" },
  },
  {
    path: "/fingerprint",
    id: "fingerprint",
    tag: "Browsers",
    summary: "Give a device a name",
    description:
      "The name is sent along as device_id. There are no scripts to load: the list of providers is empty.",
    fields: fields.fingerprintFields,
    answer: "FingerprintAnswer",
    otherAnswers: { "401": "Error" },
    codes: ["BP-SA-2"],
    example: page,
  },
  {
    path: "/fingerprint/provider",
    id: "fingerprintProvider",
    tag: "Browsers",
    summary: "Tell what a provider found",
    description: "Taken, and not looked at.",
    fields: fields.fingerprintProviderFields,
    answer: "Nothing",
    otherAnswers: { "401": "Error" },
    codes: ["BP-SA-2"],
    example: page,
  },
  {
    path: "/fingerprint/error",
    id: "fingerprintError",
    tag: "Browsers",
    summary: "Tell that a page failed",
    description: "Taken, and not looked at.",
    fields: fields.fingerprintErrorFields,
    answer: "Nothing",
    example: { ...page, errorMessage: "no camera" },
  },
  {
    path: "/__cofre/explain",
    id: "explain",
    tag: "Sandbox",
    summary: "Explain a payment",
    description: "Every fact, every posting, where its money is, and how its amounts came about.",
    fields: fields.queryFields,
    answer: "ExplainAnswer",
    family: "query",
    runs: [query],
    codes: ["BP-QRY-1"],
    example: order,
    needs: "held",
  },
  {
    path: "/__cofre/timeline",
    id: "timeline",
    tag: "Sandbox",
    summary: "Tell all that happened to a payment",
    description:
      "Requests, facts with their postings, calls of acquirers, notifications and attempts to deliver them, as one list in the order of time. " +
      "Requests, calls and attempts are kept in memory: what was before `recording.since` is gone.",
    fields: fields.queryFields,
    answer: "TimelineAnswer",
    family: "query",
    runs: [query],
    codes: ["BP-QRY-1"],
    example: order,
    needs: "held",
  },
  {
    path: "/__cofre/requests",
    id: "listRequests",
    tag: "Sandbox",
    summary: "List the account's requests",
    description:
      "The newest thousand, oldest first, fifty at a time: as long as there is a `next`, the same with `after` goes on. They hold no card number, no " +
      "security code and no whole token.",
    fields: fields.requestsFields,
    answer: "RequestsAnswer",
    codes: ["COFRE-85"],
    example: { ...key, after: 0 },
  },
  {
    path: "/__cofre/payments",
    id: "listPayments",
    tag: "Sandbox",
    summary: "List and search payments",
    description:
      "Newest first. One call looks at 2,000 payments at most: as long as there is a `next`, the same with `before` goes on. Reads no card.",
    fields: fields.paymentsFields,
    answer: "PaymentsAnswer",
    family: "query",
    runs: [listPayments],
    codes: ["COFRE-55", "COFRE-56", "COFRE-57"],
    example: { ...key, search: "ana.lima@example.com", limit: 10 },
  },
  {
    path: "/__cofre/figures",
    id: "figures",
    tag: "Sandbox",
    summary: "Count payments by hour or day, and by brand",
    description:
      "How many were made, approved and declined, and what was authorized and captured. The 10,000 newest at most.",
    fields: fields.figuresFields,
    answer: "FiguresAnswer",
    family: "query",
    runs: [countPayments],
    codes: ["COFRE-62", "COFRE-63"],
    example: { ...key, per: "day" },
  },
  {
    path: "/__cofre/tokens",
    id: "listTokens",
    tag: "Sandbox",
    summary: "List stored cards",
    description:
      "Masks, brands and times, newest first; no token, for only its digest is kept, and no card is opened. One call looks at 1,000: as long as " +
      "there is a `next`, the same with `after` goes on among the others.",
    fields: fields.tokensFields,
    answer: "TokensAnswer",
    family: "query",
    runs: [listCards],
    codes: ["COFRE-56", "COFRE-64"],
    example: { ...key, brand: "visa" },
    needs: "stored",
  },
  {
    path: "/__cofre/payment",
    id: "actOnPayment",
    tag: "Sandbox",
    summary: "Make something happen to a payment",
    description:
      "A reviewer's yes or no, a chargeback and its end, or the payment simulator's confirm and cancel.",
    fields: fields.paymentActionFields,
    answer: "PaymentAnswer",
    family: "admin",
    runs: [acceptReview, rejectReview, openChargeback, creditChargeback, capture, cancel],
    codes: ["COFRE-36", "BP-QRY-1"],
    example: { ...order, action: "confirm" },
    needs: "held",
  },
  {
    path: "/__cofre/simulator",
    id: "instructSimulator",
    tag: "Sandbox",
    summary: "Tell the simulated acquirer what to do next",
    description: "Lose a request or an answer, answer late, see double, or decline.",
    fields: fields.simulatorFields,
    answer: "Done",
    codes: ["COFRE-32", "COFRE-33", "COFRE-34", "COFRE-35", "COFRE-50"],
    example: { ...key, next: "decline", reason: "insufficient_funds", of: "authorize" },
  },
  {
    path: "/__cofre/worlds",
    id: "worlds",
    tag: "Sandbox",
    summary: "Make a world, or list them",
    description:
      "POST makes an account of its own in memory, with a clock and a seed, and takes no key. GET lists all worlds. docs/test-worlds.md says what they are for.",
    fields: fields.worldsFields,
    answer: "WorldsAnswer",
    codes: ["COFRE-31", "COFRE-70", "COFRE-71", "COFRE-72", "COFRE-73"],
    example: { seed: "a seed", clock: "2026-01-31 12:00:00" },
  },
  {
    path: "/__cofre/world",
    id: "world",
    tag: "Sandbox",
    summary: "Show a world, begin it anew, keep it, let it go",
    description:
      "reset begins it as it began first; snapshot keeps what it is now under a name, restore makes it that again; delete lets it go.",
    fields: fields.worldFields,
    answer: "WorldsAnswer",
    codes: ["COFRE-73", "COFRE-74", "COFRE-75", "COFRE-76", "COFRE-77"],
    example: key,
  },
  {
    path: "/__cofre/clock",
    id: "clock",
    tag: "Sandbox",
    summary: "Read a world's clock, or move it",
    description:
      "Through every moment at which something falls due, in order; answers when all of that is done.",
    fields: fields.clockFields,
    answer: "ClockAnswer",
    codes: ["COFRE-73", "COFRE-74", "COFRE-78", "COFRE-162"],
    example: key,
  },
  {
    path: "/__cofre/faults",
    id: "faults",
    tag: "Sandbox",
    summary: "Make requests fail on their way",
    description:
      "Adds a fault that waits for the account's next requests, takes faults away, or lists them. docs/wire/sandbox.md says what each kind does.",
    fields: fields.faultsFields,
    answer: "FaultsAnswer",
    codes: [
      "COFRE-90",
      "COFRE-91",
      "COFRE-92",
      "COFRE-93",
      "COFRE-94",
      "COFRE-95",
      "COFRE-96",
      "COFRE-97",
      "COFRE-98",
      "COFRE-99",
      "COFRE-100",
    ],
    example: {
      ...key,
      add: { kind: "drop_after_commit", path: "/ws/direct", merchant_payment_code: "$ORDER" },
    },
  },
  {
    path: "/__cofre/settings",
    id: "settings",
    tag: "Sandbox",
    summary: "Show or change the account's switches",
    description: "docs/wire/sandbox.md says what each does.",
    fields: fields.settingsFields,
    answer: "SettingsAnswer",
    codes: ["COFRE-30", "COFRE-31"],
    example: { ...key, settings: { strictForms: false } },
  },
  {
    path: "/__cofre/notifications",
    id: "notifications",
    tag: "Sandbox",
    summary: "List or replay notifications, switch receivers on and off",
    description:
      "What the account was told, with every delivery, and what its receivers verify with. docs/concepts/notifications.md says how.",
    fields: fields.notificationsFields,
    answer: "NotificationsAnswer",
    codes: ["COFRE-48", "COFRE-60", "COFRE-61", "COFRE-85", "COFRE-145"],
    example: { ...key, after: 0 },
  },
  {
    path: "/__cofre/stats",
    id: "stats",
    tag: "Sandbox",
    summary: "Show what the store has done",
    description: "Since the start, of all the server's own accounts together; of a world, its own.",
    fields: fields.keyOnlyFields,
    answer: "StatsAnswer",
    example: key,
  },
];
