// The page's labels of states, kinds and reasons.
import { t } from "./language.js";

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
 * Whether a text of an address can be a payment's hash.
 * @param {string} text
 */
export function isHash(text) {
  return /^[0-9a-f]{48}$/i.test(text);
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
  received: [t("state.received"), "waiting"],
  opened: [t("state.opened"), "waiting"],
  authenticating: [t("state.authenticating"), "waiting"],
  authorizing: [t("state.authorizing"), "waiting"],
  authorized: [t("state.authorized"), "held"],
  in_review: [t("state.in_review"), "held"],
  capturing: [t("state.capturing"), "waiting"],
  captured: [t("state.captured"), "good"],
  voiding: [t("state.voiding"), "waiting"],
  reversing: [t("state.reversing"), "waiting"],
  declined: [t("state.declined"), "bad"],
  voided: [t("state.voided"), "over"],
  expired: [t("state.expired"), "over"],
};

/** @type {readonly (readonly [value: string, text: string])[]} */
export const stateOptions = [
  .../** @type {(readonly [string, string])[]} */ (
    Object.entries(states).map(([state, [text]]) => [state, text])
  ),
  ["refunded", t("state.refunded")],
  ["partly_refunded", t("state.partly_refunded")],
  ["charged_back", t("state.charged_back")],
];

/**
 * The state of a captured payment's money, as a label and a colour's name.
 * @param {bigint} captured
 * @param {bigint} refunded
 * @param {boolean} isChargedBack
 */
export function moneyWords(captured, refunded, isChargedBack) {
  if (isChargedBack) return { text: t("state.charged_back"), colour: "bad" };
  if (refunded === 0n) return stateWords("captured");
  return refunded === captured
    ? { text: t("state.refunded"), colour: "back" }
    : { text: t("state.partly_refunded"), colour: "back" };
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
  authentication: t("kind.authentication"),
  request: t("kind.request"),
  fact: t("kind.fact"),
  call: t("kind.call"),
  notification: t("kind.notification"),
  attempt: t("kind.attempt"),
};

/**
 * The subject of a timeline's entry.
 * @param {string} kind
 */
export function kindWords(kind) {
  return own(kinds, kind) ?? kind;
}

/** @type {Readonly<Record<string, string>>} */
const refunds = {
  RE: t("refund.requested"),
  PE: t("refund.pending"),
  CO: t("refund.confirmed"),
  CA: t("refund.cancelled"),
};

/** @param {string} status */
export function refundWords(status) {
  return own(refunds, status) ?? status;
}

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const deliveries = {
  waiting: [t("delivery.waiting"), "waiting"],
  delivered: [t("delivery.delivered"), "good"],
  failed: [t("delivery.failed"), "bad"],
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
  failed_timeout: t("outcome.failed_timeout"),
  failed_name: t("outcome.failed_name"),
  failed_connection: t("outcome.failed_connection"),
  failed_certificate: t("outcome.failed_certificate"),
  failed_answer: t("outcome.failed_answer"),
  failed_aborted: t("outcome.failed_aborted"),
  endpoint_removed: t("outcome.endpoint_removed"),
  dropped: t("outcome.dropped"),
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
  fail_before_commit: [t("fault.fail_before_commit"), t("fault.fail_before_commit.does"), false],
  unavailable: [t("fault.unavailable"), t("fault.unavailable.does"), false],
  throttle: [t("fault.throttle"), t("fault.throttle.does"), false],
  drop_before_commit: [t("fault.drop_before_commit"), t("fault.drop_before_commit.does"), false],
  drop_after_commit: [t("fault.drop_after_commit"), t("fault.drop_after_commit.does"), false],
  error_after_commit: [t("fault.error_after_commit"), t("fault.error_after_commit.does"), false],
  garbage_after_commit: [
    t("fault.garbage_after_commit"),
    t("fault.garbage_after_commit.does"),
    false,
  ],
  stall_in_body: [t("fault.stall_in_body"), t("fault.stall_in_body.does"), true],
  late_answer: [t("fault.late_answer"), t("fault.late_answer.does"), true],
  slow: [t("fault.slow"), t("fault.slow.does"), true],
  decline: [t("fault.decline"), t("fault.decline.does"), false],
  acquirer_unknown_then_yes: [
    t("fault.acquirer_unknown_then_yes"),
    t("fault.acquirer_unknown_then_yes.does"),
    false,
  ],
  acquirer_unknown_then_no: [
    t("fault.acquirer_unknown_then_no"),
    t("fault.acquirer_unknown_then_no.does"),
    false,
  ],
};

/**
 * Faults of 3-D Secure, which no payment meets.
 * @type {typeof faults}
 */
const authenticationFaults = {
  directory_server_silent: [
    t("fault.directory_server_silent"),
    t("fault.directory_server_silent.does"),
    false,
  ],
  bank_silent: [t("fault.bank_silent"), t("fault.bank_silent.does"), false],
  bank_late: [t("fault.bank_late"), t("fault.bank_late.does"), true],
  result_lost: [t("fault.result_lost"), t("fault.result_lost.does"), false],
  result_forged: [t("fault.result_forged"), t("fault.result_forged.does"), false],
};
const allFaults = { ...faults, ...authenticationFaults };

/**
 * @param {typeof faults} rows
 * @returns {readonly (readonly [value: string, text: string])[]}
 */
const optionsOf = (rows) => Object.entries(rows).map(([kind, [name]]) => [kind, name]);

export const faultOptions = optionsOf(allFaults);
/** Those that a payment can meet. */
export const paymentFaultOptions = optionsOf(faults);

/**
 * A fault's name and effect, and whether it takes a duration.
 * @param {string} kind
 */
export function faultWords(kind) {
  const [name, does, waits] = own(allFaults, kind) ?? [kind, "", false];
  return { name, does, waits };
}

/** @type {Readonly<Record<string, string>>} */
const reasons = {
  not_accepted: t("reason.not_accepted"),
  insufficient_funds: t("reason.insufficient_funds"),
  incorrect_customer_data: t("reason.incorrect_customer_data"),
  expired_card: t("reason.expired_card"),
  security_code_mismatch: t("reason.security_code_mismatch"),
  invalid_card: t("reason.invalid_card"),
  invalid_card_number: t("reason.invalid_card_number"),
  three_d_secure_required: t("reason.three_d_secure_required"),
  high_risk: t("reason.high_risk"),
  timeout: t("reason.timeout"),
  no_acquirer_response: t("reason.no_acquirer_response"),
  acquirer_error: t("reason.acquirer_error"),
};

/** @type {readonly (readonly [value: string, text: string])[]} */
export const declineOptions = Object.entries(reasons);

/**
 * Why a payment was declined.
 * @param {string} reason
 */
export function reasonWords(reason) {
  return own(reasons, reason) ?? reason.replaceAll("_", " ");
}

/** @type {Readonly<Record<string, string>>} */
const roles = {
  viewer: t("role.viewer"),
  operator: t("role.operator"),
  admin: t("role.admin"),
};

/** @param {string} role */
export function roleWords(role) {
  return own(roles, role) ?? role;
}

/** @type {Readonly<Record<string, string>>} */
const results = {
  approved: t("result.approved"),
  declined: t("result.declined"),
  refused: t("result.refused"),
  found: t("result.found"),
  not_found: t("result.not_found"),
};

/**
 * What an acquirer answered.
 * @param {string} result
 */
export function resultWords(result) {
  return own(results, result) ?? result;
}

/** @type {Readonly<Record<string, string>>} */
const entryKinds = {
  capture: t("entry.capture"),
  chargeback: t("entry.chargeback"),
  chargeback_credit: t("entry.chargeback_credit"),
  hold: t("entry.hold"),
  refund: t("entry.refund"),
  release: t("entry.release"),
};

/**
 * The kind of a ledger entry.
 * @param {string} kind
 */
export function entryWords(kind) {
  return own(entryKinds, kind) ?? kind;
}

/** @type {Readonly<Record<string, string>>} */
const ledgerAccounts = {
  acquirer_receivable: t("account.acquirer_receivable"),
  authorized_holds: t("account.authorized_holds"),
  cardholder_commitments: t("account.cardholder_commitments"),
  merchant_payable: t("account.merchant_payable"),
  tax_payable: t("account.tax_payable"),
};

/** @param {string} account */
export function accountWords(account) {
  return own(ledgerAccounts, account) ?? account;
}

/** @type {Readonly<Record<string, string>>} */
const auditActions = {
  capture: t("audited.capture"),
  cancel: t("audited.cancel"),
  card_stored: t("audited.card_stored"),
  card_verified: t("audited.card_verified"),
  change_password: t("audited.change_password"),
  clock_moved: t("audited.clock_moved"),
  disable: t("audited.disable"),
  endpoint_changed: t("audited.endpoint_changed"),
  enrol: t("audited.enrol"),
  faults_changed: t("audited.faults_changed"),
  invite: t("audited.invite"),
  key_act: t("audited.key_act"),
  key_act_approved: t("audited.key_act_approved"),
  key_act_requested: t("audited.key_act_requested"),
  key_compromised: t("audited.key_compromised"),
  key_current: t("audited.key_current"),
  key_destroyed: t("audited.key_destroyed"),
  key_made: t("audited.key_made"),
  key_retired: t("audited.key_retired"),
  key_rewrapped: t("audited.key_rewrapped"),
  lock: t("audited.lock"),
  notification_resent: t("audited.notification_resent"),
  payment_changed: t("audited.payment_changed"),
  payment_created: t("audited.payment_created"),
  refund: t("audited.refund"),
  refund_or_cancel: t("audited.refund_or_cancel"),
  reinvite: t("audited.reinvite"),
  request: t("audited.request"),
  root_key_reported: t("audited.root_key_reported"),
  secrets_shown: t("audited.secrets_shown"),
  security_code_set: t("audited.security_code_set"),
  set_role: t("audited.set_role"),
  settings_changed: t("audited.settings_changed"),
  sign_in: t("audited.sign_in"),
  sign_out: t("audited.sign_out"),
  simulator_instructed: t("audited.simulator_instructed"),
  unlock: t("audited.unlock"),
  viewed: t("audited.viewed"),
  views_changed: t("audited.views_changed"),
  world_changed: t("audited.world_changed"),
  world_created: t("audited.world_created"),
};

/**
 * An action of the audit log.
 * @param {string} action
 */
export function actionWords(action) {
  return own(auditActions, action) ?? action.replaceAll("_", " ");
}

/**
 * Fixed words in the details of audit entries.
 * @type {Readonly<Record<string, string>>}
 */
const details = {
  accept_review: t("accept.name"),
  cancel: t("void.name"),
  chargeback: t("chargeback.name"),
  chargeback_credit: t("win.name"),
  confirm: t("capture.name"),
  delete: t("worlds.delete"),
  "new browser": t("detail.new_browser"),
  rate_limited: t("detail.rate_limited"),
  reject_review: t("reject.name"),
  reset: t("worlds.reset"),
  restore: t("worlds.restore"),
  snapshot: t("worlds.snapshot"),
};

/** @type {readonly (readonly [form: RegExp, words: (value: string, other: string) => string])[]} */
const detailForms = [
  [/^account (\S+)$/, (id) => t("detail.account", { id })],
  [/^amount ([\d.]+)$/, (amount) => t("detail.amount", { amount })],
  [/^disable (\S+)$/, (id) => `${t("receivers.disable")} ${id}`],
  [/^enable (\S+)$/, (id) => `${t("receivers.enable")} ${id}`],
  [/^role (\w+)$/, (role) => t("detail.role", { role: roleWords(role) })],
  [/^status (\d+)$/, (status) => `HTTP ${status}`],
  [/^(\d+) more\b/, (count) => t("detail.more", { count: Number(count) })],
  [/^(\w+) to (\w+)$/, (before, after) => `${roleWords(before)} → ${roleWords(after)}`],
];

/**
 * The details of an audit entry: the server's fixed words and codes, separated by commas. Names of
 * settings and codes of refusals stay.
 * @param {string} detail
 */
export function detailWords(detail) {
  return detail
    .split(", ")
    .map((part) => {
      const fixed = own(details, part);
      if (fixed !== undefined) return fixed;
      const [form, words] = detailForms.find(([each]) => each.test(part)) ?? [];
      const [, value = "", other = ""] = form?.exec(part) ?? [];
      return words?.(value, other) ?? part;
    })
    .join(", ");
}

/**
 * A transStatus of 3-D Secure: its letter, or that the challenge was not completed.
 * @param {string} status
 */
export function authenticationWords(status) {
  return status === "not_completed" ? t("authentication.not_completed") : status;
}

/** @type {Readonly<Record<string, string>>} */
const behaviours = {
  frictionless: t("secure.frictionless"),
  attempt: t("secure.attempt"),
  informational: t("secure.informational"),
  unavailable: t("secure.unavailable"),
  directory_server_silent: t("secure.directory_server_silent"),
  refused: t("secure.refused"),
  rejected: t("secure.rejected"),
  challenge_succeeds: t("secure.challenge_succeeds"),
  challenge_fails: t("secure.challenge_fails"),
  challenge_unavailable: t("secure.challenge_unavailable"),
  bank_silent: t("secure.bank_silent"),
  result_lost: t("secure.result_lost"),
  result_forged: t("secure.result_forged"),
};

/**
 * What 3-D Secure does with a test card.
 * @param {string} behaviour
 */
export function behaviourWords(behaviour) {
  return own(behaviours, behaviour) ?? behaviour;
}
