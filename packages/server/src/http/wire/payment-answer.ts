import { addDays, formatDate, formatTimestamp } from "../../kernel/calendar.ts";
import type { PaymentId } from "../../kernel/ids.ts";
import { formatMoney } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import type { PaymentState } from "../../payment/payment-machine.ts";
import type { DeclineReason, Payment, Verdict } from "../../payment/payment.ts";
import { priceOfPart } from "../../payment/pricing.ts";

/** What merchants see of a state (interface 4.1). `OP` is the hosted page's, which has no state here yet. */
export type WireStatus = "OP" | "PE" | "CO" | "CA";

interface StateRow {
  readonly status: WireStatus;
  /** The issuer said yes and that still holds: `pre_approved`. */
  readonly preApproved: boolean;
  /** `capture_available`: authorized, not captured, not under review, and nobody is asking the acquirer right now. */
  readonly captureAvailable: boolean;
  /** Whose word `transaction_status` repeats. */
  readonly says: "verdict" | "waiting" | "undone" | "lapsed";
}

const stateRows = {
  received: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  authorizing: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  authorized: { status: "PE", preApproved: true, captureAvailable: true, says: "verdict" },
  // Approved by the issuer, waiting for a reviewer: OK, but nothing to capture yet (interface 4.2).
  in_review: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  capturing: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  captured: { status: "CO", preApproved: true, captureAvailable: false, says: "verdict" },
  voiding: { status: "PE", preApproved: true, captureAvailable: false, says: "verdict" },
  // Nobody knows whether the issuer said yes, and whatever was held is being given back.
  reversing: { status: "PE", preApproved: false, captureAvailable: false, says: "waiting" },
  declined: { status: "CA", preApproved: false, captureAvailable: false, says: "verdict" },
  voided: { status: "CA", preApproved: false, captureAvailable: false, says: "undone" },
  expired: { status: "CA", preApproved: false, captureAvailable: false, says: "lapsed" },
} as const satisfies Record<PaymentState, StateRow>;

/** The wire's word for the payment's state. */
export function wireStatusOf(state: PaymentState): WireStatus {
  return stateRows[state].status;
}

interface VerdictRow {
  /** RETRY is a technical failure: the same data may be sent again (interface 4.3). */
  readonly code: "OK" | "NOK" | "RETRY";
  readonly description: string;
}

/** The texts of interface 4.3, to the letter: clients compare some of them. */
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

/**
 * Nobody has said yes or no yet. `OK` would be taken for an approval, `NOK` for a decline, and `RETRY` would ask for a second charge
 * beside one that may have gone through. So the code is a word that no client looks for (docs/wire/parity.md, unknown outcomes).
 */
const waiting = '{"acquirer":"EBANX","code":"PENDING","description":"Waiting for the acquirer"}';
/** The authorization never got an answer and was reversed: nothing is held, so another payment may be tried. */
const reversed = '{"acquirer":"EBANX","code":"RETRY","description":"No response from acquirer"}';
/** The hold ran out: refused, as interface 4.2 has it; the text is ours. */
const lapsed = '{"acquirer":"EBANX","code":"NOK","description":"Not accepted"}';

/** interface 3.4: three days after opening in most fixtures. */
const dueDays = 3;

/**
 * The `payment` object of interface 3.4, in the order of its example. A template, because it is ten times as fast as building an
 * object for JSON.stringify (perf.md 5). `token` is the one that this payment has just created: it can be shown only now.
 */
export function renderPayment(payment: Payment, account: Account, token?: string): string {
  const { order, state } = payment;
  const row = stateRows[state];
  const amounts = amountsOf(payment);
  const opened = formatTimestamp(payment.createdAt);
  const changed = row.status === "PE" || payment.statusAt === undefined ? "null" : `"${formatTimestamp(payment.statusAt)}"`;
  const confirmed = row.status !== "CO" || payment.capturedAt === undefined ? "null" : `"${formatTimestamp(payment.capturedAt)}"`;
  const descriptor = (order.softDescriptor ?? account.settings.descriptor).toUpperCase();
  return (
    `{"hash":"${payment.id}","pin":"${pinOf(payment.id)}","country":"${order.country}",` +
    `"merchant_payment_code":${quote(order.code)},"order_number":${quoteOrNull(order.orderNumber)},` +
    `"status":"${row.status}","status_date":${changed},"open_date":"${opened}","confirm_date":${confirmed},"transfer_date":null,` +
    `"amount_br":"${amounts.local}","amount_ext":"${amounts.requested}","amount_iof":"${amounts.tax}",` +
    `"currency_rate":"${order.pricing.rate}","currency_ext":"${order.amount.currency}",` +
    `"due_date":"${formatDate(addDays(payment.createdAt, dueDays))}","instalments":"${order.instalments}",` +
    `"payment_type_code":"${order.paymentType === "debit" ? "debitcard" : order.card.brand}",` +
    `"details":{"billing_descriptor":${quote(descriptor)}},"transaction_status":${transactionStatusOf(payment)},` +
    `"pre_approved":${row.preApproved},"capture_available":${row.captureAvailable}` +
    (token === undefined ? "" : `,"token":${quote(token)},"masked_card_number":"${order.card.maskedPan}"`) +
    (order.note === undefined ? "" : `,"note":${quote(order.note)}`) +
    userValuesOf(order.userValues) +
    (account.settings.profile === "X" ? `,"customer":${customerOf(payment)}` : "") +
    "}"
  );
}

/** The whole answer. `operation` is named by the answers of cancel and refund only (interface 5.2, 5.3). */
export function paymentAnswer(
  payment: Payment,
  account: Account,
  extras: { readonly token?: string; readonly operation?: "cancel" } = {},
): string {
  const operation = extras.operation === undefined ? "" : `,"operation":"${extras.operation}"`;
  return `{"payment":${renderPayment(payment, account, extras.token)}${operation},"status":"SUCCESS"}`;
}

/** What was asked for; once captured, what was captured (interface 5.1 leaves it open, docs/wire/parity.md). */
function amountsOf(payment: Payment): { readonly requested: string; readonly local: string; readonly tax: string } {
  const { amount, pricing } = payment.order;
  const shown = payment.state === "captured" ? payment.captured : amount.minor;
  const { total, tax } = priceOfPart(pricing, amount, shown);
  return { requested: formatMoney({ minor: shown, currency: amount.currency }), local: formatMoney(total), tax: formatMoney(tax) };
}

function transactionStatusOf(payment: Payment): string {
  const { says } = stateRows[payment.state];
  const { verdict } = payment;
  if (says === "lapsed") return lapsed;
  if (says === "undone") return verdict === undefined ? reversed : verdictText(verdict);
  return says === "waiting" || verdict === undefined ? waiting : verdictText(verdict);
}

/** `authcode` is missing on declines (interface 3.4). */
function verdictText(verdict: Verdict): string {
  const { code, description } = verdictRows[verdict.reason];
  const authcode = verdict.authorizationCode === undefined ? "" : `,"authcode":${quote(verdict.authorizationCode)}`;
  return `{"acquirer":"EBANX","code":"${code}","description":"${description}"${authcode}}`;
}

/** `user_value_1` to `user_value_5`, those that were sent. */
function userValuesOf(values: readonly (string | undefined)[]): string {
  let text = "";
  for (const [index, value] of values.entries()) if (value !== undefined) text += `,"user_value_${index + 1}":${quote(value)}`;
  return text;
}

function customerOf({ order: { customer } }: Payment): string {
  return (
    `{"document":${quoteOrNull(customer.document)},"email":${quote(customer.email)},` +
    `"name":${quote(customer.name.toUpperCase())},"birth_date":${quoteOrNull(customer.birthDate)}}`
  );
}

/** Nine digits, the same for ever: interface 3.4 has them, nothing reads them. From the random part of the identifier. */
function pinOf(id: PaymentId): string {
  return String(Number.parseInt(id.slice(8, 20), 16) % 1_000_000_000).padStart(9, "0");
}

/** What JSON has to escape: the quote, the backslash, controls and halves of surrogate pairs. */
const needsEscape = /["\\\p{Cc}\p{Cs}]/u;

function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function quoteOrNull(text: string | undefined): string {
  return text === undefined ? "null" : quote(text);
}
