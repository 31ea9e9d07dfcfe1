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
    ? { text: "Refunded", colour: "over" }
    : { text: "Partly refunded", colour: "held" };
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
  failed_timeout: "no answer in time",
  failed_name: "its name is not known",
  failed_connection: "no connection",
  failed_certificate: "its certificate is not trusted",
  failed_answer: "an answer that cannot be read",
  failed_aborted: "stopped",
  endpoint_removed: "the receiver was taken away",
  dropped: "dropped on purpose",
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
  fail_before_commit: ["Fails before it is done", "HTTP 500, and nothing is done.", false],
  unavailable: ["Unavailable", "HTTP 503 with Retry-After, and nothing is done.", false],
  throttle: ["Too many requests", "HTTP 429 with Retry-After, and nothing is done.", false],
  drop_before_commit: [
    "Cut before it is done",
    "The connection is cut, and nothing is done.",
    false,
  ],
  drop_after_commit: [
    "Cut after it is done",
    "All is done, and the connection is cut without an answer.",
    false,
  ],
  error_after_commit: ["Fails after it is done", "All is done, and the answer is HTTP 500.", false],
  garbage_after_commit: [
    "Unreadable answer",
    "All is done, and the answer is a proxy's HTML page with HTTP 502.",
    false,
  ],
  stall_in_body: [
    "Stalls in mid-answer",
    "All is done; half of the answer comes, then nothing, then the connection is cut.",
    true,
  ],
  late_answer: ["Late answer", "All is done at once, and the answer comes later.", true],
  slow: ["Slow", "All is done and answered later, also when the client has gone.", true],
  decline: ["Declined", "The issuer says no, and why.", false],
  acquirer_unknown_then_yes: [
    "Unknown, then yes",
    "The acquirer does not answer in time; recovery finds out that it was done.",
    false,
  ],
  acquirer_unknown_then_no: [
    "Unknown, then no",
    "The acquirer does not answer in time; recovery finds out that it was not done.",
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
