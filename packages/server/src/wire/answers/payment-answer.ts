import { addDays, formatDate, formatTimestamp } from "../../kernel/calendar.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import { formatMoney } from "../../kernel/money.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import type { PaymentState } from "../../payment/payment-machine.ts";
import type { Chargeback } from "../../payment/chargeback.ts";
import { isOpenPage } from "../../payment/page.ts";
import type { DeclineReason, Payment, PaymentOrder, Verdict } from "../../payment/payment.ts";
import { priceOfPart } from "../../payment/pricing.ts";
import type { Refund, RefundState } from "../../payment/refund.ts";

/** The status of a payment on the wire (interface 4.1). `OP`: its hosted page takes a card. */
export type WireStatus = "OP" | "PE" | "CO" | "CA";

interface StateRow {
  readonly status: WireStatus;
  /** `pre_approved`: the issuer approved, and the approval still holds. */
  readonly preApproved: boolean;
  /**
   * `capture_available`: authorized, not captured, not under review, and no acquirer call in
   * progress.
   */
  readonly captureAvailable: boolean;
  /** Source of `transaction_status`. */
  readonly says: "verdict" | "waiting" | "undone" | "lapsed";
}

const stateRows = {
  received: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  opened: { status: "OP", preApproved: false, captureAvailable: false, says: "waiting" },
  authenticating: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  authorizing: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  authorized: { status: "PE", preApproved: true, captureAvailable: true, says: "verdict" },
  // Approved by the issuer, waiting for a review: OK, but not capturable yet (interface 4.2).
  in_review: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  capturing: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  captured: { status: "CO", preApproved: true, captureAvailable: false, says: "verdict" },
  voiding: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  // It is unknown whether the issuer approved, and any hold is being reversed.
  reversing: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  declined: { status: "CA", preApproved: false, captureAvailable: false, says: "verdict" },
  voided: { status: "CA", preApproved: false, captureAvailable: false, says: "undone" },
  expired: { status: "CA", preApproved: false, captureAvailable: false, says: "lapsed" },
} as const satisfies Record<PaymentState, StateRow>;

/** The wire status of a payment without a page in this state. */
export function wireStatusOfState(state: PaymentState): WireStatus {
  return stateRows[state].status;
}

/** The wire status of a payment. */
export function wireStatusOf(payment: Payment): WireStatus {
  return isOpenPage(payment) ? "OP" : wireStatusOfState(payment.state);
}

interface VerdictRow {
  /** RETRY is a technical failure: the same data may be sent again (interface 4.3). */
  readonly code: "OK" | "NOK" | "RETRY";
  readonly description: string;
}

/** The exact texts of interface 4.3: clients compare some of them. */
const verdictRows = {
  approved: { code: "OK", description: "Accepted" },
  not_accepted: { code: "NOK", description: "Not accepted" },
  insufficient_funds: { code: "NOK", description: "Insufficient funds" },
  incorrect_customer_data: { code: "NOK", description: "Incorrect customer data" },
  expired_card: { code: "NOK", description: "Expired card" },
  security_code_mismatch: { code: "NOK", description: "Security code mismatch" },
  invalid_card: { code: "NOK", description: "Invalid card or card type" },
  invalid_card_number: { code: "NOK", description: "Invalid card number" },
  three_d_secure_required: { code: "NOK", description: "3-D Secure required" },
  high_risk: { code: "NOK", description: "High risk transaction" },
  timeout: { code: "RETRY", description: "Timeout" },
  no_acquirer_response: { code: "RETRY", description: "No response from acquirer" },
  acquirer_error: { code: "RETRY", description: "Acquirer response error" },
} as const satisfies Record<DeclineReason | "approved", VerdictRow>;

export function verdictCode(reason: DeclineReason | "approved"): VerdictRow["code"] {
  return verdictRows[reason].code;
}

export function verdictDescription(reason: DeclineReason | "approved"): string {
  return verdictRows[reason].description;
}

/**
 * The outcome is not known yet. Clients would take `OK` for an approval and `NOK` for a decline,
 * and `RETRY` would request a second charge beside one that may have succeeded. So the code is a
 * word that no client checks (docs/wire/parity.md, unknown outcomes).
 */
const waiting = '"code":"PENDING","description":"Waiting for the acquirer"';
/**
 * The authorization got no answer and was reversed: nothing is held, so another payment may be
 * tried.
 */
const reversed = '"code":"RETRY","description":"No response from acquirer"';
/**
 * The hold or the hosted page expired, or the merchant cancelled the page: declined, as in interface
 * 4.2; the text is Cofre's choice.
 */
const lapsed = '"code":"NOK","description":"Not accepted"';
/** A reviewer rejected the payment (interface 4.2). */
const rejected = '"code":"NOK","description":"High risk transaction"';

/** The sandbox texts of 2017 (interface 4.3); reasons without a source follow their spelling. */
const legacyReasons = {
  not_accepted: "notApproved",
  insufficient_funds: "insufficientFunds",
  incorrect_customer_data: "incorrectCustomerData",
  expired_card: "cardExpired",
  security_code_mismatch: "securityCodeMismatch",
  invalid_card: "invalidData",
  invalid_card_number: "invalidCardNumber",
  three_d_secure_required: "threeDSecureRequired",
  high_risk: "highRisk",
  timeout: "timeout",
  no_acquirer_response: "noAcquirerResponse",
  acquirer_error: "acquirerError",
} as const satisfies Record<DeclineReason, string>;
const legacyText = (what: string): string => `Sandbox - Test credit card, transaction ${what}`;
/** In 2017 a cancelled payment was reported as declined. */
const legacyCancelled = `"code":"NOK","description":"${legacyText("cancelled")}"`;

/** Countries in which declines can have `iso_code` and `mac_code` (interface 4.3). */
const declineCodeCountries: ReadonlySet<string> = new Set([
  "ar",
  "br",
  "cl",
  "co",
  "do",
  "mx",
  "pe",
]);

/**
 * The status of a refund on the wire (interface 4.4). A refund that is being sent can no longer be
 * cancelled, but is still pending.
 */
const refundStatuses = {
  requested: "RE",
  pending: "PE",
  sending: "PE",
  confirmed: "CO",
  cancelled: "CA",
} as const satisfies Record<RefundState, string>;

/** Interface 3.4: three days after opening in most fixtures. */
const dueDays = 3;

/**
 * The `payment` object of interface 3.4, in the order of its example. A template, because it is ten
 * times as fast as building an object for JSON.stringify (perf.md 5). `token` is the one that this
 * payment has just created: it can be shown only now.
 */
export function renderPayment(payment: Payment, account: Account, token?: string): string {
  const { order, state } = payment;
  const row = stateRows[state];
  const status = wireStatusOf(payment);
  const amounts = amountsOf(payment);
  const opened = formatTimestamp(payment.createdAt);
  const changed =
    status === "PE" || status === "OP" || payment.statusAt === undefined
      ? "null"
      : `"${formatTimestamp(payment.statusAt)}"`;
  const confirmed =
    status !== "CO" || payment.capturedAt === undefined
      ? "null"
      : `"${formatTimestamp(payment.capturedAt)}"`;
  const descriptor = (order.softDescriptor ?? account.settings.descriptor).toUpperCase();
  const isCrossBorder = account.settings.profile === "X";
  return (
    `{"hash":"${payment.id}",${isCrossBorder ? `"pin":"${pinOf(payment.id)}",` : ""}"country":"${order.country}",` +
    `"merchant_payment_code":${quote(order.code)},"order_number":${quoteOrNull(order.orderNumber)},` +
    `"status":"${status}","status_date":${changed},"open_date":"${opened}","confirm_date":${confirmed},"transfer_date":null,` +
    `"amount_br":"${amounts.local}","amount_ext":"${amounts.requested}","amount_iof":"${amounts.tax}",` +
    `"currency_rate":"${order.pricing.rate}","currency_ext":"${order.amount.currency}",` +
    `"due_date":"${formatDate(order.page?.lapsesAt ?? addDays(payment.createdAt, dueDays))}","instalments":"${order.instalments}",` +
    `"payment_type_code":${quote(paymentTypeShown(order))},` +
    `"details":{"billing_descriptor":${quote(descriptor)}},` +
    (status === "OP" ? "" : `"transaction_status":${transactionStatusOf(payment, account)},`) +
    `"pre_approved":${row.preApproved},"capture_available":${status === "OP" ? "null" : row.captureAvailable}` +
    (payment.refunds.length === 0
      ? ""
      : `,"refunds":[${payment.refunds.map((refund) => renderRefund(refund, payment)).join(",")}]`) +
    (payment.chargeback === undefined
      ? ""
      : `,"chargeback":${renderChargeback(payment.chargeback)}`) +
    (token === undefined
      ? ""
      : `,"token":${quote(token)},"masked_card_number":${quoteOrNull(order.card?.maskedPan)}`) +
    mandateOf(payment) +
    (order.note === undefined ? "" : `,"note":${quote(order.note)}`) +
    userValuesOf(order.userValues) +
    (isCrossBorder ? `,"customer":${customerOf(payment)}` : "") +
    "}"
  );
}

/** payment_type_code: the brand, or `debitcard`; before a card is submitted, what was sent. */
export function paymentTypeShown({ paymentType, card, page }: PaymentOrder): string {
  if (card === undefined) return page?.paymentTypes ?? "";
  return paymentType === "debit" ? "debitcard" : card.brand;
}

/**
 * The refund object of interface 4.4. Its id is a string of digits, which clients read as an
 * integer.
 */
function renderRefund(refund: Refund, { order }: Payment): string {
  return (
    `{"id":"${refund.id}","merchant_refund_code":${quoteOrNull(refund.code)},"status":"${refundStatuses[refund.state]}",` +
    `"request_date":"${formatTimestamp(refund.requestedAt)}","pending_date":${timeOrNull(refund.pendingAt)},` +
    `"confirm_date":${timeOrNull(refund.confirmedAt)},"cancel_date":${timeOrNull(refund.cancelledAt)},` +
    `"amount_ext":"${formatMoney({ minor: refund.amount, currency: order.amount.currency })}","description":${quote(refund.description)}}`
  );
}

/** Interface 4.5. Both dates are the time of opening: the sources do not distinguish them. */
function renderChargeback({ openedAt, description, state }: Chargeback): string {
  const opened = formatTimestamp(openedAt);
  return (
    `{"create_date":"${opened}","chargeback_date":"${opened}","description":${quote(description)},` +
    `"chargeback_credit":${state === "credited"}}`
  );
}

/**
 * The mandate id by which later stored-credential payments refer to an initial one (interface 3.6;
 * its position is Cofre's choice).
 */
function mandateOf({ order: { storedCredential }, verdict }: Payment): string {
  if (storedCredential?.use !== "initial" || verdict?.networkTransactionId === undefined) return "";
  return `,"cof_info":{"mandate_id":${quote(verdict.networkTransactionId)}}`;
}

export interface PaymentExtras {
  /** The token that this payment has just created. */
  readonly token?: string;
  readonly operation?: "cancel" | "refund";
  readonly refund?: Refund;
}

/**
 * The whole answer. Only the answers of cancel and refund have `operation` (interface 5.2, 5.3).
 */
export function paymentAnswer(
  payment: Payment,
  account: Account,
  extras: PaymentExtras = {},
): string {
  const refund =
    extras.refund === undefined ? "" : `,"refund":${renderRefund(extras.refund, payment)}`;
  const operation = extras.operation === undefined ? "" : `,"operation":"${extras.operation}"`;
  return `{"payment":${renderPayment(payment, account, extras.token)}${refund}${operation},"status":"SUCCESS"}`;
}

/**
 * The requested amount; once captured, the captured amount (interface 5.1 leaves it open,
 * docs/wire/parity.md).
 */
function amountsOf(payment: Payment): {
  readonly requested: string;
  readonly local: string;
  readonly tax: string;
} {
  const { amount, pricing } = payment.order;
  const shown = payment.state === "captured" ? payment.captured : amount.minor;
  const { total, tax } = priceOfPart(pricing, amount, shown);
  return {
    requested: formatMoney({ minor: shown, currency: amount.currency }),
    local: formatMoney(total),
    tax: formatMoney(tax),
  };
}

function transactionStatusOf(payment: Payment, { settings }: Account): string {
  return `{"acquirer":${quote(settings.acquirerName)},${statusText(payment, settings)}}`;
}

function statusText(payment: Payment, settings: AccountSettings): string {
  const { says } = stateRows[payment.state];
  const { verdict } = payment;
  if (says === "lapsed") return lapsed;
  if (says === "waiting") return waiting;
  if (says === "undone") {
    if (verdict === undefined) return wasReversed(payment) ? reversed : lapsed;
    if (payment.review === "rejected") return rejected;
    return settings.legacyDescriptions ? legacyCancelled : verdictText(payment, verdict, settings);
  }
  return verdict === undefined ? waiting : verdictText(payment, verdict, settings);
}

/** A page can also be void because the merchant cancelled it while no card was being tried. */
function wasReversed({ order: { page } }: Payment): boolean {
  return page === undefined || (page.tries > 0 && page.declined === undefined);
}

/** Declines have no `authcode` (interface 3.4). */
function verdictText(payment: Payment, verdict: Verdict, settings: AccountSettings): string {
  const { code, description } = verdictRows[verdict.reason];
  const text = settings.legacyDescriptions ? legacyDescription(payment, verdict) : description;
  const authcode =
    verdict.authorizationCode === undefined
      ? ""
      : `,"authcode":${quote(verdict.authorizationCode)}`;
  return `"code":"${code}","description":"${text}"${authcode}${declineCodes(payment, verdict, settings)}`;
}

function legacyDescription(payment: Payment, { reason }: Verdict): string {
  if (reason !== "approved") return legacyText(`declined reason ${legacyReasons[reason]}`);
  return legacyText(payment.state === "captured" ? "captured" : "will be approved");
}

function declineCodes({ order }: Payment, verdict: Verdict, settings: AccountSettings): string {
  if (!settings.declineCodes || verdict.approved || !declineCodeCountries.has(order.country))
    return "";
  const advice = verdict.adviceCode === undefined ? "" : `,"mac_code":${quote(verdict.adviceCode)}`;
  return `,"iso_code":${quote(verdict.responseCode)}${advice}`;
}

/** `user_value_1` to `user_value_5`, as far as they were sent. */
function userValuesOf(values: readonly (string | undefined)[]): string {
  let text = "";
  for (const [index, value] of values.entries())
    if (value !== undefined) text += `,"user_value_${index + 1}":${quote(value)}`;
  return text;
}

function customerOf({ order: { customer } }: Payment): string {
  return (
    `{"document":${quoteOrNull(customer.document)},"email":${quote(customer.email)},` +
    `"name":${quote(customer.name.toUpperCase())},"birth_date":${quoteOrNull(customer.birthDate)}}`
  );
}

/**
 * Nine digits that never change: interface 3.4 has them, no client reads them. They are derived
 * from the random part of the identifier.
 */
function pinOf(id: PaymentId): string {
  return String(Number.parseInt(id.slice(8, 20), 16) % 1_000_000_000).padStart(9, "0");
}

/** Characters that JSON has to escape: the quote, the backslash, controls and lone surrogates. */
const needsEscape = /["\\\p{Cc}\p{Cs}]/u;

function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function quoteOrNull(text: string | undefined): string {
  return text === undefined ? "null" : quote(text);
}

function timeOrNull(at: Instant | undefined): string {
  return at === undefined ? "null" : `"${formatTimestamp(at)}"`;
}
