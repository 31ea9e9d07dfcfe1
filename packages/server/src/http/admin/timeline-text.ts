import type { AuthenticationMessage } from "../../authentication/simulated-authenticator.ts";
import { scaleOf } from "../../kernel/currency.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { EntryKind, JournalEntry, LedgerAccount } from "../../ledger/journal.ts";
import type { FactRecord, FactSource, HistoryFact } from "../../stores/change.ts";
import type {
  CallKind,
  OutcomeFacts,
  RecordedAttempt,
  RecordedCall,
  RecordedRequest,
} from "../../sandbox/recording/recorder.ts";

/** The text of each entry of a timeline: one sentence of plain English, without client input. */

export function requestText({ method, path, key, answer, durationMs }: RecordedRequest): string {
  const request = `${method} ${path} ${key === "session" ? "by a signed-in user" : `with the ${key} key`}`;
  if (answer === undefined) return `${request} is being carried out.`;
  const { status, code, isReplayed } = answer;
  // As in access logs: nothing of the answer, or not all of it, was written.
  if (status === 444)
    return `${request} was carried out, and its connection was cut by a fault after ${shortMs(durationMs)}.`;
  const how =
    code === undefined
      ? `was answered with HTTP ${status}`
      : `was refused with ${code} (HTTP ${status})`;
  const again = isReplayed ? ", as the request of the same Idempotency-Key before it" : "";
  return `${request} ${how} after ${shortMs(durationMs)}${again}.`;
}

const facts = {
  authorization_sent: "The authorization was recorded and sent to the acquirer",
  authorization_approved: "The acquirer approved: the amount is held",
  authorization_held: "The acquirer approved, and the payment is in review",
  sale_approved: "The acquirer approved, and the amount was captured immediately",
  authorization_declined: "The authorization was declined",
  page_opened: "The hosted page was opened",
  page_submitted: "The customer submitted a card on the hosted page",
  try_declined: "The card was declined, and the customer may try another one",
  page_cancelled: "The merchant cancelled the hosted page: no card can be charged on it any more",
  page_lapsed: "The hosted page expired: no card can be charged on it any more",
  authentication_started: "3-D Secure was started: the bank asks the customer for a proof",
  authentication_passed: "The customer passed 3-D Secure",
  authentication_failed: "The customer did not pass 3-D Secure, and the payment is declined",
  authentication_unanswered: "The outcome of 3-D Secure is not known yet",
  try_not_authenticated:
    "The customer did not pass 3-D Secure with this card, and may try another one",
  review_accepted: "The reviewer accepted the payment",
  review_rejected: "The reviewer rejected the payment: the hold is released",
  capture_sent: "The capture was recorded and sent to the acquirer",
  capture_approved: "The acquirer captured the amount",
  capture_declined: "The capture was declined, and the hold stays",
  void_sent: "The void was recorded and sent to the acquirer",
  void_approved: "The acquirer released the hold",
  void_declined: "The void was declined, and the hold stays",
  void_declined_in_review: "The void was declined, and the payment stays in review",
  reversal_sent: "The outcome stayed unknown, and a reversal was recorded and sent",
  reversal_approved: "The authorization was reversed: nothing is held",
  authorization_lapsed: "The payment was not captured in time: the hold is released",
  lapse_approved: "The payment expired: nothing is held any more",
  attempt_unanswered: "The acquirer gave no conclusive answer: the outcome is unknown",
  authorization_rerouted:
    "The acquirer certainly holds nothing, and the payment is sent to another one",
  attempt_repeated:
    "The request was sent again with the same reference, or the undo of a late approval was sent",
  approval_came_late: "The acquirer approved an attempt that counted as not done",
  late_approval_undone: "The effect of a late approval was undone at the acquirer",
  notification_resent: "The merchant requested the notification again",
  marked_for_review: "An inconsistency was found in this payment: it needs investigation",
  refund_requested: "A refund was requested",
  refund_queued: "The refund became pending",
  refund_sent: "The refund was recorded and sent to the acquirer",
  refund_approved: "The acquirer gave the money back",
  refund_declined: "The acquirer declined the refund",
  refund_not_done: "The refund had not been carried out, and is sent again",
  refund_cancelled: "The refund was cancelled before it was sent",
  chargeback_opened: "The issuer charged the payment back",
  chargeback_credited: "The dispute was won: the merchant gets the money again",
} as const satisfies Record<HistoryFact, string>;

const sources = {
  merchant: "",
  recovery: ", as recovery determined",
  clock: ", because it was due",
  operator: ", by the operator",
} as const satisfies Record<FactSource, string>;

/** `entries`: the journal entries that were committed with the fact. */
export function factText({ fact, by }: FactRecord, entries: readonly JournalEntry[]): string {
  const booked = entries.map(bookedText).join(", ");
  return `${facts[fact]}${sources[by]}${booked === "" ? "" : `; booked: ${booked}`}.`;
}

/** The ledger account whose posting is the amount of an entry. */
const shownAccounts = {
  hold: "authorized_holds",
  release: "authorized_holds",
  capture: "acquirer_receivable",
  refund: "acquirer_receivable",
  chargeback: "acquirer_receivable",
  chargeback_credit: "acquirer_receivable",
} as const satisfies Record<EntryKind, LedgerAccount>;

/** `capture of 100.00 USD (585.22 BRL)`. */
function bookedText({ kind, postings }: JournalEntry): string {
  const amounts = postings
    .filter(({ account }) => account === shownAccounts[kind])
    .map(
      ({ currency, minor }) =>
        `${formatAmount(minor < 0n ? -minor : minor, scaleOf(currency))} ${currency}`,
    );
  const [first = "nothing", ...others] = amounts;
  return `${kind.replaceAll("_", " ")} of ${first}${others.map((other) => ` (${other})`).join("")}`;
}

const verbs = {
  authorize: "authorize",
  capture: "capture",
  void: "void",
  refund: "refund",
  verify: "verify the card",
  reverse: "reverse",
  inquire: "report the outcome",
} as const satisfies Record<CallKind, string>;

export function callText({
  connector,
  kind,
  amount,
  currency,
  capture,
  answered,
}: RecordedCall): string {
  const money = amount === undefined ? "" : ` ${amount} ${currency ?? ""}`;
  const verb = capture === true ? "authorize and capture" : verbs[kind];
  const question = `The acquirer ${connector} was asked to ${verb}${money}`;
  if (answered === undefined) return `${question} and has not answered yet.`;
  return `${question}: ${outcomeText(answered.outcome)} after ${shortMs(answered.durationMs)}.`;
}

const causes: ReadonlyMap<string, string> = new Map([
  ["timeout", "no answer came in time"],
  ["connection", "the connection gave no answer"],
  ["garbled", "the answer could not be read"],
  ["refused_to_say", "the acquirer refused to report it"],
]);

function outcomeText(outcome: OutcomeFacts): string {
  const { kind, reason, cause, response_code: code, authorization, captured, voided } = outcome;
  switch (kind) {
    case "approved":
      return "approved";
    case "declined":
      return `declined${reason === undefined ? "" : `, ${String(reason).replaceAll("_", " ")}`}${code === undefined ? "" : ` (${String(code)})`}`;
    case "unknown":
      return `unknown, because ${causes.get(String(cause)) ?? "the acquirer gave no reason"},`;
    case "not_sent":
      return "nothing was sent,";
    case "found":
      return `found ${String(authorization)}, ${String(captured)} captured${voided === true ? ", voided" : ""},`;
    case "not_found":
      return "the acquirer has no record of it,";
    case "unknown_original":
      return "the acquirer has no record of what to reverse,";
    default:
      return kind;
  }
}

export function notificationText(
  number: number,
  kind: string,
  endpoints: readonly string[],
): string {
  const whom =
    endpoints.length === 0
      ? "no receiver, because the account has no address"
      : endpoints.join(", ");
  return `Notification ${number} (${kind}) was recorded for ${whom}.`;
}

const verdicts = {
  delivered: "",
  retry: ", and is retried",
  failed: ", and the delivery has failed",
  gone: ", and the endpoint was disabled",
} as const satisfies Record<RecordedAttempt["verdict"], string>;

export function attemptText({
  attempt,
  number,
  endpoint,
  outcome,
  verdict,
}: RecordedAttempt): string {
  const how = /^\d+$/.test(outcome)
    ? `was answered with HTTP ${outcome}`
    : outcome === "dropped"
      ? "was dropped by the account's chaos"
      : `failed (${outcome.replaceAll("_", " ")})`;
  return `Attempt ${attempt} to deliver notification ${number} to ${endpoint} ${how}${verdicts[verdict]}.`;
}

const authenticationTexts = {
  AReq: "The bank was asked to authenticate the cardholder (AReq).",
  ARes: "The bank answered (ARes)",
  CReq: "The browser opened the challenge of the bank (CReq).",
  CRes: "The browser reported that the challenge is over (CRes), which has no effect",
  RReq: "The bank sent the result of the challenge (RReq)",
} as const satisfies Record<AuthenticationMessage["name"], string>;

export function authenticationText(
  name: AuthenticationMessage["name"],
  status: AuthenticationMessage["status"],
): string {
  const text = authenticationTexts[name];
  if (status === undefined) return text;
  return status === "lost"
    ? `${text}, and the message was lost.`
    : `${text}: ${status.replaceAll("_", " ")}.`;
}

/** Whole milliseconds, or "less than 1 ms". */
function shortMs(ms: number): string {
  return ms < 1 ? "less than 1 ms" : `${Math.round(ms)} ms`;
}
