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
const facts = {
  authorization_sent: "Authorization sent to the acquirer",
  authorization_approved: "Authorization approved",
  authorization_held: "Approved, and held for a reviewer",
  sale_approved: "Approved and captured at once",
  authorization_declined: "Declined",
  review_accepted: "Reviewer accepted",
  review_rejected: "Reviewer refused",
  capture_sent: "Capture sent to the acquirer",
  capture_approved: "Captured",
  capture_declined: "Capture declined: the hold stays",
  void_sent: "Void sent to the acquirer",
  void_approved: "Voided: nothing is held any more",
  void_declined: "Void declined: the hold stays",
  void_declined_in_review: "Void declined: the hold stays",
  reversal_sent: "Reversal sent, for the outcome is unknown",
  reversal_approved: "Reversed: nothing is held",
  authorization_lapsed: "Nobody captured in time: the hold is given up",
  lapse_approved: "Expired: nothing is held any more",
  attempt_unanswered: "The acquirer did not answer in time: outcome unknown",
  authorization_rerouted: "Sent to another acquirer",
  attempt_repeated: "Sent again under the same reference",
  notification_resent: "Announced once more",
  marked_for_review: "Something is wrong with this payment: somebody must look",
  chargeback_opened: "Charged back by the issuer",
  chargeback_credited: "Chargeback won: the money is back",
};

/** @param {string} name */
export function factWords(name) {
  const words = facts[name] ?? name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @type {Readonly<Record<string, string>>} */
const sources = {
  merchant: "by a request",
  recovery: "found out by recovery",
  clock: "by the clock",
  operator: "by the operator",
};

/** @param {string} by */
export function sourceWords(by) {
  return sources[by] ?? by;
}

/** @type {Readonly<Record<string, string>>} */
const refunds = { RE: "requested", PE: "pending", CO: "confirmed", CA: "cancelled" };

/** @param {string} status */
export function refundWords(status) {
  return refunds[status] ?? status;
}
