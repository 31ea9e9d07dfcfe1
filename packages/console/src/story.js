// What happened to a payment, from its timeline: the messages of the diagram and the steps of the
// list. Independent of the document.
import { amountText } from "./format.js";
import { t } from "./language.js";
import { authenticationWords, own, resultWords } from "./words.js";

/** @import { Delivery, Entry } from "./api.js" */

/**
 * The parties of a diagram, from left to right. The cardholder's bank is beside the acquirer.
 * @param {readonly Message[]} messages
 */
export function partiesOf(messages) {
  const hasBank = messages.some(({ isOfBank }) => isOfBank === true);
  return /** @type {const} */ ([
    t("party.shop"),
    "Cofre",
    hasBank ? t("party.acquirer_and_bank") : t("party.acquirer"),
    t("party.receivers"),
  ]);
}

/**
 * A message between two parties, by their places. `isLost`: it did not arrive, or is not answered.
 * @typedef {{ at: string, from: number, to: number, text: string, colour: string, isLost: boolean,
 * isOfBank?: true }} Message
 */
/**
 * An entry of the list, with the attempts of a notification in one. `calls`: those of which the
 * entry is the result.
 * @typedef {{ key: string, entry: Entry, attempts: readonly Entry[], calls: readonly Entry[] }}
 * Step
 */

const [shop, cofre, acquirer, receivers] = [0, 1, 2, 3];

/**
 * Messages in the order of their sending. The answer to a request follows the calls that it waited
 * for.
 * @param {readonly Entry[]} entries
 * @returns {readonly Message[]}
 */
export function messagesOf(entries) {
  const currency = currencyOf(entries);
  /** @type {Message[]} */
  const messages = [];
  /** @type {{ until: number, message: Message } | undefined} */
  let open;
  const close = () => {
    if (open !== undefined) messages.push(open.message);
    open = undefined;
  };
  for (const { at, kind, data } of entries) {
    if (open !== undefined && (kind === "request" || Date.parse(at) > open.until)) close();
    if (kind === "request") {
      messages.push(messageOf(at, shop, cofre, requestText(data, currency), "over"));
      open = { until: Date.parse(at) + numberOf(data["duration_ms"]), message: answerOf(at, data) };
    } else if (kind === "authentication") messages.push(...authenticationMessages(at, data));
    else if (kind === "call") messages.push(...callMessages(at, data, currency));
    else if (kind === "notification") {
      close();
      messages.push(...deliveryMessages(at, data));
    }
  }
  close();
  return messages;
}

/**
 * @param {string} at
 * @param {number} from
 * @param {number} to
 * @param {string} text
 * @param {string} colour
 * @param {boolean} [isLost]
 * @returns {Message}
 */
function messageOf(at, from, to, text, colour, isLost = false) {
  return { at, from, to, text, colour, isLost };
}

/**
 * The payment's currency, from the first entry that has it.
 * @param {readonly Entry[]} entries
 */
function currencyOf(entries) {
  for (const { data } of entries) {
    const { payment } = /** @type {{ payment?: { currency_code?: unknown } }} */ (
      data["parameters"] ?? {}
    );
    const currency = textOf(data["currency"] ?? payment?.currency_code);
    if (currency !== "") return currency;
  }
  return "";
}

/**
 * @param {string} at
 * @param {unknown} durationMs
 */
function after(at, durationMs) {
  const begun = Date.parse(at);
  const passed = numberOf(durationMs);
  return Number.isNaN(begun) || passed < 1 ? at : new Date(begun + passed).toISOString();
}

/**
 * The answer to a request; a refusal with its code.
 * @param {string} at
 * @param {Entry["data"]} data
 */
function answerOf(at, { duration_ms: ms, http_status: status, status_code: code }) {
  const http = `HTTP ${numberOf(status)}`;
  const isGood = numberOf(status) < 400 && textOf(code) === "";
  const text = textOf(code) === "" ? http : `${http}, ${textOf(code)}`;
  return messageOf(after(at, ms), cofre, shop, text, isGood ? "good" : "bad");
}

/**
 * @param {Entry["data"]} data
 * @param {string} currency
 */
function requestText(data, currency) {
  const path = textOf(data["path"]).split("/").at(-1) ?? "";
  const parameters = /** @type {Readonly<Record<string, unknown>>} */ (data["parameters"] ?? {});
  const payment = /** @type {Readonly<Record<string, unknown>>} */ (parameters["payment"] ?? {});
  const amount = textOf(parameters["amount"] ?? payment["amount_total"]);
  // What the issuer or a reviewer does in the sandbox: its path says nothing.
  const action = path === "payment" ? textOf(parameters["action"]) : "";
  const name = action === "" ? path : action;
  return amount === "" ? name : `${name} ${amountText(amount, currency)}`;
}

/**
 * The operations that an acquirer is asked for. Others are shown as they are.
 * @type {Readonly<Record<string, string>>}
 */
const calls = {
  authorize: t("call.authorize"),
  capture: t("call.capture"),
  void: t("call.void"),
  reverse: t("call.reverse"),
  refund: t("call.refund"),
  inquire: t("call.inquire"),
};
/** @param {string} kind */
function callWords(kind) {
  return own(calls, kind) ?? kind;
}

/** @type {Readonly<Record<string, string>>} */
const colours = { approved: "good", found: "good", declined: "bad", refused: "bad" };

/**
 * The call to the acquirer and its answer.
 * @param {string} at
 * @param {Entry["data"]} data
 * @param {string} currency
 */
function callMessages(at, data, currency) {
  const amount = textOf(data["amount"]);
  const kind = textOf(data["kind"]);
  const outcome = /** @type {Readonly<Record<string, unknown>>} */ (data["outcome"] ?? {});
  const result = textOf(outcome["kind"]);
  const isBack = kind === "refund";
  const sent = messageOf(
    at,
    cofre,
    acquirer,
    amount === "" ? callWords(kind) : `${callWords(kind)} ${amountText(amount, currency)}`,
    isBack ? "back" : "over",
  );
  const answeredAt = after(at, data["duration_ms"]);
  if (result === "unknown")
    return [sent, messageOf(answeredAt, acquirer, cofre, t("story.no_answer"), "bad", true)];
  const detail = textOf(outcome["authorization"]);
  const words =
    detail === "" ? resultWords(result) : `${resultWords(result)} ${resultWords(detail)}`;
  const colour = Object.hasOwn(colours, result) ? (colours[result] ?? "over") : "over";
  return [
    sent,
    messageOf(answeredAt, acquirer, cofre, words, isBack && colour === "good" ? "back" : colour),
  ];
}

/**
 * Between whom the messages of 3-D Secure are. The browser is on the shop's side.
 * @type {Readonly<Record<string, readonly [from: number, to: number]>>}
 */
const ways = {
  AReq: [cofre, acquirer],
  ARes: [acquirer, cofre],
  CReq: [shop, acquirer],
  CRes: [acquirer, shop],
  RReq: [acquirer, cofre],
};

/**
 * A message of 3-D Secure with its transStatus.
 * @param {string} at
 * @param {Entry["data"]} data
 * @returns {readonly Message[]}
 */
function authenticationMessages(at, data) {
  const name = textOf(data["message"]);
  const way = own(ways, name);
  if (way === undefined) return [];
  const status = textOf(data["status"]);
  const isLost = status === "lost";
  const shown = status === "" || isLost ? name : `${name} ${authenticationWords(status)}`;
  const isBad = isLost || ["N", "R", "U", "not_completed"].includes(status);
  const colour = isBad ? "bad" : status === "Y" || status === "A" ? "good" : "over";
  return [{ ...messageOf(at, ...way, shown, colour, isLost), isOfBank: true }];
}

/**
 * One message to each receiver, however many attempts it took.
 * @param {string} at
 * @param {Entry["data"]} data
 */
function deliveryMessages(at, data) {
  const deliveries = /** @type {readonly Delivery[]} */ (data["deliveries"] ?? []);
  const kind = textOf(data["notification_type"]);
  return deliveries.map(({ state, attempts }) => {
    if (state === "delivered") return messageOf(at, cofre, receivers, kind, "good");
    const words =
      attempts === 0 ? t("story.queued", { kind }) : t("story.failed", { kind, count: attempts });
    return messageOf(at, cofre, receivers, words, state === "failed" ? "bad" : "waiting", true);
  });
}

/** Facts that the answer to a call has caused. */
const results = /_(?:approved|held|declined|declined_in_review|unanswered)$/;

/**
 * The entries, with the attempts of each notification behind it. A call to an acquirer, the fact
 * that it was sent and the fact that it has caused are one step; repeated calls with one outcome are one
 * step, the last of them.
 * @param {readonly Entry[]} entries
 * @returns {readonly Step[]}
 */
export function stepsOf(entries) {
  /** @type {Map<unknown, Entry[]>} */
  const attempts = new Map();
  const numbers = new Set(
    entries.filter(({ kind }) => kind === "notification").map(({ data }) => data["number"]),
  );
  /** @param {Entry} entry */
  const isWithin = ({ kind, data }) => kind === "attempt" && numbers.has(data["number"]);
  for (const entry of entries.filter(isWithin))
    attempts.set(entry.data["number"], [...(attempts.get(entry.data["number"]) ?? []), entry]);
  const outer = entries.filter((entry) => !isWithin(entry));
  /** @type {Step[]} */
  const steps = [];
  for (let place = 0; place < outer.length; place += 1) {
    const [entry, next] = [outer[place], outer[place + 1]];
    if (entry === undefined) break;
    // An entry keeps its name when later entries follow.
    const key = `${place} ${entry.at} ${entry.kind}`;
    if (isSent(entry) && next?.kind === "call") continue;
    if (entry.kind !== "call") {
      const tries = entry.kind === "notification" ? attempts.get(entry.data["number"]) : undefined;
      steps.push({ key, entry, attempts: tries ?? [], calls: [] });
      continue;
    }
    const result = next !== undefined && isResult(next) ? next : undefined;
    if (result !== undefined) place += 1;
    const last = steps.at(-1);
    const isRepeated = last !== undefined && isLike(last, entry, result);
    if (isRepeated) steps.pop();
    steps.push({
      key: isRepeated ? last.key : key,
      entry: result ?? entry,
      attempts: [],
      calls: [...(isRepeated ? last.calls : []), entry],
    });
  }
  return steps;
}

/** @param {Entry} entry */
function isSent({ kind, data: { fact, postings = [] } }) {
  return kind === "fact" && textOf(fact).endsWith("_sent") && postings.length === 0;
}

/** @param {Entry} entry */
function isResult({ kind, data: { fact } }) {
  return kind === "fact" && results.test(textOf(fact));
}

/**
 * Whether a step is the same call with the same outcome, which has changed nothing.
 * @param {Step} step
 * @param {Entry} call
 * @param {Entry | undefined} result
 */
function isLike({ entry, calls: [earlier] }, call, result) {
  if (earlier === undefined || (result ?? call).kind !== entry.kind) return false;
  const { postings = [], fact } = entry.data;
  return (
    postings.length === 0 && fact === result?.data["fact"] && outcomeOf(earlier) === outcomeOf(call)
  );
}

/** @param {Entry} call */
function outcomeOf({ data: { connector, kind, outcome } }) {
  const { kind: result, cause } = /** @type {Readonly<Record<string, unknown>>} */ (outcome ?? {});
  return JSON.stringify([connector, kind, result, cause]);
}

/**
 * The time since the first entry, such as `+5 s`.
 * @param {number} ms
 */
export function sinceText(ms) {
  /** @type {readonly (readonly [limit: number, unit: number, name: string])[]} */
  const units = [
    [1_000, 1, "ms"],
    [120_000, 1_000, "s"],
    [7_200_000, 60_000, "min"],
    [172_800_000, 3_600_000, "h"],
    [Number.POSITIVE_INFINITY, 86_400_000, "d"],
  ];
  const [, unit = 1, name = "ms"] = units.find(([limit]) => ms < limit) ?? [];
  return `+${Math.round(ms / unit)} ${name}`;
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === "string" ? value : "";
}

/** @param {unknown} value */
function numberOf(value) {
  return typeof value === "number" ? value : 0;
}
