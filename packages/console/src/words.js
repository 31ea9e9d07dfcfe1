// The page's labels.

/**
 * The row of one of our tables for an external word. Every object also has `constructor` and
 * `toString`, which are not rows.
 * @template Row
 * @param {Readonly<Record<string, Row>>} table
 * @param {string} word
 * @returns {Row | undefined}
 */
export function own(table, word) {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/**
 * The beginning has the time of creation; the end distinguishes payments of one moment, which begin
 * alike.
 * @param {string} hash
 */
export function shortHash(hash) {
  return `${hash.slice(0, 8)}…${hash.slice(-8)}`;
}

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const states = {
  received: ["Received", "waiting"],
  authorizing: ["Authorizing", "waiting"],
  authorized: ["Authorized", "held"],
  in_review: ["In review", "held"],
  capturing: ["Capturing", "waiting"],
  captured: ["Captured", "good"],
  voiding: ["Voiding", "waiting"],
  reversing: ["Reversing", "waiting"],
  declined: ["Declined", "bad"],
  voided: ["Voided", "over"],
  expired: ["Expired", "over"],
};

/** @type {readonly (readonly [value: string, text: string])[]} */
export const stateOptions = [
  .../** @type {(readonly [string, string])[]} */ (
    Object.entries(states).map(([state, [text]]) => [state, text])
  ),
  ["refunded", "Refunded"],
  ["partly_refunded", "Partly refunded"],
  ["charged_back", "Charged back"],
];

/**
 * The state of a captured payment's money, as a label and a colour's name.
 * @param {bigint} captured
 * @param {bigint} refunded
 * @param {boolean} isChargedBack
 */
export function moneyWords(captured, refunded, isChargedBack) {
  if (isChargedBack) return { text: "Charged back", colour: "bad" };
  if (refunded === 0n) return stateWords("captured");
  return refunded === captured
    ? { text: "Refunded", colour: "back" }
    : { text: "Partly refunded", colour: "back" };
}

/** @type {readonly (readonly [value: string, text: string])[]} */
export const brandOptions = [
  "amex",
  "aura",
  "cabal",
  "carnet",
  "credimas",
  "diners",
  "discover",
  "elo",
  "hipercard",
  "magna",
  "mastercard",
  "naranja",
  "visa",
].map((brand) => [brand, brand]);

/**
 * The state as a label, and the colour's name.
 * @param {string} state
 */
export function stateWords(state) {
  const [text, colour] = own(states, state) ?? [state, "over"];
  return { text, colour };
}

/** @type {Readonly<Record<string, string>>} */
const kinds = {
  request: "Request",
  fact: "Payment",
  call: "Acquirer",
  notification: "Notification",
  attempt: "Delivery",
};

/**
 * The subject of a timeline's entry.
 * @param {string} kind
 */
export function kindWords(kind) {
  return own(kinds, kind) ?? kind;
}

/** @type {Readonly<Record<string, string>>} */
const refunds = { RE: "requested", PE: "pending", CO: "confirmed", CA: "cancelled" };

/** @param {string} status */
export function refundWords(status) {
  return own(refunds, status) ?? status;
}

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const deliveries = {
  waiting: ["waiting", "waiting"],
  delivered: ["delivered", "good"],
  failed: ["failed", "bad"],
};

/** @type {readonly (readonly [value: string, text: string])[]} */
export const deliveryOptions = Object.entries(deliveries).map(([state, [text]]) => [state, text]);

/**
 * The state of a delivery as a label, and the colour's name.
 * @param {string} state
 */
export function deliveryWords(state) {
  const [text, colour] = own(deliveries, state) ?? [state, "over"];
  return { text, colour };
}

/** @type {Readonly<Record<string, string>>} */
const outcomes = {
  failed_timeout: "timeout",
  failed_name: "unknown host name",
  failed_connection: "connection failed",
  failed_certificate: "untrusted certificate",
  failed_answer: "unreadable response",
  failed_aborted: "aborted",
  endpoint_removed: "receiver removed",
  dropped: "dropped by a notification fault",
};

/**
 * The result of the last attempt: an HTTP status is its own label.
 * @param {string} outcome
 */
export function outcomeWords(outcome) {
  return own(outcomes, outcome) ?? outcome;
}

/** @type {Readonly<Record<string, readonly [name: string, does: string, waits: boolean]>>} */
const faults = {
  fail_before_commit: ["Error before commit", "HTTP 500; nothing is done.", false],
  unavailable: ["Unavailable", "HTTP 503 with Retry-After; nothing is done.", false],
  throttle: ["Too many requests", "HTTP 429 with Retry-After; nothing is done.", false],
  drop_before_commit: [
    "Connection cut before commit",
    "The connection is cut; nothing is done.",
    false,
  ],
  drop_after_commit: [
    "Connection cut after commit",
    "The request is processed, then the connection is cut without a response.",
    false,
  ],
  error_after_commit: [
    "Error after commit",
    "The request is processed, but the response is HTTP 500.",
    false,
  ],
  garbage_after_commit: [
    "Unreadable response",
    "The request is processed, but the response is a proxy's HTML page with HTTP 502.",
    false,
  ],
  stall_in_body: [
    "Stalled response",
    "The request is processed. Half of the response is sent; after the delay the connection is cut.",
    true,
  ],
  late_answer: [
    "Late response",
    "The request is processed immediately; the response is delayed.",
    true,
  ],
  slow: [
    "Slow",
    "The request is processed and answered after the delay, even if the client disconnects.",
    true,
  ],
  decline: ["Declined", "The issuer declines with the chosen reason.", false],
  acquirer_unknown_then_yes: [
    "Unknown, then processed",
    "The acquirer does not answer in time; recovery resolves that the operation was processed.",
    false,
  ],
  acquirer_unknown_then_no: [
    "Unknown, then not processed",
    "The acquirer does not answer in time; recovery resolves that the operation was not processed.",
    false,
  ],
};

/** @type {readonly (readonly [value: string, text: string])[]} */
export const faultOptions = Object.entries(faults).map(([kind, [name]]) => [kind, name]);

/**
 * A fault's name and effect, and whether it takes a duration.
 * @param {string} kind
 */
export function faultWords(kind) {
  const [name, does, waits] = own(faults, kind) ?? [kind, "", false];
  return { name, does, waits };
}

/** @type {readonly (readonly [value: string, text: string])[]} */
export const declineOptions = [
  "not_accepted",
  "insufficient_funds",
  "incorrect_customer_data",
  "expired_card",
  "security_code_mismatch",
  "invalid_card",
  "invalid_card_number",
  "three_d_secure_required",
  "high_risk",
  "timeout",
  "no_acquirer_response",
  "acquirer_error",
].map((reason) => [reason, reason.replaceAll("_", " ")]);
