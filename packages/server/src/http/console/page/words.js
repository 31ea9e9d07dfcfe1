// What the page calls things.

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
export const stateOptions = Object.entries(states).map(([state, [text]]) => [state, text]);

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
 * The state in a word, and the colour's name.
 * @param {string} state
 */
export function stateWords(state) {
  const [text, colour] = states[state] ?? [state, "over"];
  return { text, colour };
}

/** @type {Readonly<Record<string, string>>} */
const kinds = { request: "Request", fact: "Payment", call: "Acquirer", notification: "Notification", attempt: "Delivery" };

/**
 * Whom an entry of a timeline is about.
 * @param {string} kind
 */
export function kindWords(kind) {
  return kinds[kind] ?? kind;
}

/** @type {Readonly<Record<string, string>>} */
const refunds = { RE: "requested", PE: "pending", CO: "confirmed", CA: "cancelled" };

/** @param {string} status */
export function refundWords(status) {
  return refunds[status] ?? status;
}
