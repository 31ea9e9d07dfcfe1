// Calls to this server. The key is sent in the body, never in a URL; it is stored by this tab only
// and deleted with it. With sign-in there is no key: the browser sends the session by itself, which
// no script can read, and the page adds a header.
import { t } from "./language.js";
import { refusalWords, refusedField } from "./refusals.js";
import {
  accountOfTab,
  end,
  readSessionHeaders,
  isLogin,
  keepAccount,
  personOfPage,
  sessionHeaders,
} from "./session.js";

const place = "cofre.integration_key";
/** The key that was used before a world was opened. */
const placeBefore = "cofre.integration_key_before";
/** The name of the open world. */
const placeOfName = "cofre.world";

/** @returns {string | undefined} */
export function keyOfTab() {
  return sessionStorage.getItem(place) ?? undefined;
}

/** @param {string} key */
export function keepKey(key) {
  forgetKey();
  sessionStorage.setItem(place, key);
}

/**
 * Tabs of this page in one browser: a new one gets the key from another, so that it is stored in
 * tabs only.
 */
const channelName = "cofre.key";
const longestAnswerMs = 500;

/** Answers new tabs with the key of this one. */
export function offerKey() {
  new BroadcastChannel(channelName).addEventListener("message", ({ data, target }) => {
    const key = keyOfTab();
    if (data === "asked" && key !== undefined && target instanceof BroadcastChannel) {
      // A channel reaches pages of this origin only, and takes no origin: the rule is about
      // windows.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      target.postMessage({ key });
    }
  });
}

/**
 * The key of another tab; undefined when there is none.
 * @returns {Promise<string | undefined>}
 */
export function keyOfOtherTab() {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(channelName);
    const end = (/** @type {string | undefined} */ key) => {
      clearTimeout(timer);
      channel.close();
      resolve(key);
    };
    const timer = setTimeout(() => end(undefined), longestAnswerMs);
    channel.addEventListener("message", ({ data }) => {
      const { key } = /** @type {{ key?: unknown }} */ (
        typeof data === "object" && data !== null ? data : {}
      );
      if (typeof key === "string") end(key);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    channel.postMessage("asked");
  });
}

export function forgetKey() {
  for (const each of [place, placeBefore, placeOfName]) sessionStorage.removeItem(each);
}

/**
 * Opens a world: by its id with sign-in, otherwise by its key; the first key is kept, to return to
 * its account.
 * @param {{ id: string, name: string, integration_key?: string }} world
 */
export function enterWorld({ id, name, integration_key: key = "" }) {
  if (isLogin()) {
    keepAccount(id);
    sessionStorage.setItem(placeOfName, name);
    return;
  }
  const before = sessionStorage.getItem(placeBefore) ?? keyOfTab();
  keepKey(key);
  if (before !== undefined && before !== key) sessionStorage.setItem(placeBefore, before);
  sessionStorage.setItem(placeOfName, name);
}

/**
 * Whether this world is open.
 * @param {{ id: string, integration_key?: string }} world
 */
export function isOpen({ id, integration_key: key }) {
  return isLogin() ? id === accountOfTab() : key === keyOfTab();
}

/**
 * The open account: a dialog sends its request to the account that it was opened for, even if
 * another one is opened in the meantime.
 * @returns {Subject}
 */
export function subjectOfTab() {
  return { key: keyOfTab(), account: accountOfTab() };
}

/** @typedef {{ key?: string | undefined, account?: string | undefined }} Subject */

/** Returns to the previous account; false: there is none, and the key was deleted. */
export function leaveWorld() {
  if (isLogin()) {
    const wasWorld = canLeaveWorld();
    keepAccount(undefined);
    forgetKey();
    return wasWorld;
  }
  const before = sessionStorage.getItem(placeBefore);
  forgetKey();
  if (before !== null) keepKey(before);
  return before !== null;
}

export function canLeaveWorld() {
  return isLogin() ? accountOfTab() !== undefined : sessionStorage.getItem(placeBefore) !== null;
}

/** @returns {string | undefined} */
export function nameOfWorld() {
  return sessionStorage.getItem(placeOfName) ?? undefined;
}

/** @param {string} name of the world whose key is kept */
export function nameWorld(name) {
  sessionStorage.setItem(placeOfName, name);
}

/**
 * @typedef {object} Listed
 * @property {string} hash
 * @property {string} merchant_payment_code
 * @property {string} state
 * @property {string} status
 * @property {string} open_date
 * @property {string} amount_ext
 * @property {string} currency_ext
 * @property {string} amount_br
 * @property {string} currency_br
 * @property {string} authorized
 * @property {string} captured
 * @property {string} refunded
 * @property {string} brand
 * @property {string} masked_card_number
 * @property {string} name
 * @property {string} email
 * @property {string} country
 * @property {string} instalments
 * @property {"issuer" | "merchant"} expected_liability
 * @property {boolean} charged_back
 * @property {boolean} disputed
 * @property {boolean} in_flight
 * @property {boolean} needs_review
 * @property {string} [decline_reason]
 * @property {string} [eci]
 * @property {string} [capture_by]
 * @property {{ receivers: number, delivered: number, failed: number, late: boolean }} [notified]
 */
/** @typedef {{ payments: Listed[], next: string | null }} Page */
/**
 * @typedef {{ kind: string, account: string, currency: string, amount: string, balance: string }}
 * Posting
 */
/**
 * @typedef {{ at: string, kind: string, text: string, data: Readonly<Record<string, unknown>> & {
 * postings?: Posting[] } }} Entry
 */
/** @typedef {{ since: string | null, complete: boolean, omitted: number }} Recording */
/**
 * @typedef {{ part: string, amount: string, currency: string, local: string, local_currency: string,
 * text: string, rate?: string, gross?: string, tax?: string, captured?: string,
 * captured_local?: string }} Price
 */
/** @typedef {{ rule: string, currency?: string }} Violation */
/**
 * @typedef {{ entries: Entry[], recording: Recording, price: Price[],
 * problems: string[], violations: Violation[], payment: Payment }} Timeline
 */
/**
 * @typedef {{ id: string, status: string, amount_ext: string, request_date: string, description:
 * string }} Refund
 */
/** @typedef {{ code: string, description: string, authcode?: string }} TransactionStatus */
/**
 * @typedef {{ hash: string, status: string, currency_rate: string, transaction_status:
 * TransactionStatus, refunds?: Refund[] }} Payment
 */
/**
 * @typedef {{ endpoint: string, state: string, attempts: number, outcome?: string, due_at?: string,
 * message?: number }} Delivery
 */
/**
 * `merchant_payment_code`: in lists of all payments' notifications.
 * @typedef {{ number: number, notification_type: string, hash: string, merchant_payment_code?:
 * string | null, at: string, deliveries: Delivery[] }} ListedNotification
 */

/** A refusal by the server, with its text in the language of the page, or its English message. */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    const { text, lang } = refusalWords(code, message);
    super(`${text} (${code})`);
    this.code = code;
    /** The name of the refused field; undefined: the refusal is not about one. */
    this.field = refusedField(code, message);
    /** The server's English message. */
    this.original = message;
    /** The language of the text. */
    this.lang = lang;
  }
}

/** Codes for an invalid key. */
const keyCodes = new Set(["BP-SA-1", "BP-SA-2", "DA-1"]);
const notSignedIn = "COFRE-110";
/**
 * Another tab of this browser has signed in since: this page's header belongs to the previous
 * session.
 */
const notFromPage = "COFRE-112";
const notAllowed = "COFRE-113";
const invalid = "COFRE-119";

/** @param {unknown} error */
export function isAboutKey(error) {
  return (
    error instanceof Refusal && (isLogin() ? error.code === notSignedIn : keyCodes.has(error.code))
  );
}

/** Longest time until an answer. */
const longestMs = 90_000;

/** Dispatched to the window when the server reports that the user is not signed in any more. */
export const sessionOver = "cofre-session-over";

/**
 * Calls the server; rejects with a Refusal, or with an Error when there was no answer.
 * @param {string} path
 * @param {Readonly<Record<string, unknown>>} fields
 * @param {{ once?: string } & Subject} [options] `once`: the request's idempotency key
 * @returns {Promise<unknown>} the caller asserts its type
 */
export async function call(path, fields, options = {}) {
  return answerTo(path, posted(fields, options));
}

/**
 * @param {Readonly<Record<string, unknown>>} fields
 * @param {{ once?: string } & Subject} options
 * @returns {RequestInit}
 */
function posted(fields, { once, key = keyOfTab(), account = accountOfTab() }) {
  const named = once === undefined ? {} : { "Idempotency-Key": once };
  const headers = {
    "Content-Type": "application/json",
    ...named,
    ...(isLogin() ? sessionHeaders(account) : {}),
  };
  return {
    method: "POST",
    headers,
    body: JSON.stringify(isLogin() ? fields : { integration_key: key, ...fields }),
  };
}

/**
 * A request as a shop sends it, and its answer unchanged. `end`: an answer arrived, the connection
 * was cut, or the page stopped waiting.
 * @typedef {object} Exchange
 * @property {string} path
 * @property {"answer" | "cut" | "stopped"} end
 * @property {number | undefined} status of HTTP
 * @property {number} ms
 * @property {string} text
 * @property {Readonly<Record<string, unknown>>} body empty unless the text is a JSON object
 */

/**
 * Sends a request as a shop does; never rejects.
 * @param {string} path
 * @param {Readonly<Record<string, unknown>>} fields
 * @param {AbortSignal} stop ends the waiting for an answer
 * @param {Subject} subject
 * @returns {Promise<Exchange>}
 */
export async function exchange(path, fields, stop, subject) {
  const begun = performance.now();
  const signal = AbortSignal.any([stop, AbortSignal.timeout(longestMs)]);
  /** @type {number | undefined} */
  let status;
  let text = "";
  /** @type {Exchange["end"]} */
  let how = "answer";
  try {
    const response = await fetch(path, { ...posted(fields, subject), signal });
    status = response.status;
    readSessionHeaders(response);
    text = await response.text();
  } catch {
    how = signal.aborted ? "stopped" : "cut";
  }
  const body = objectIn(text);
  observe(body);
  return { path, end: how, status, ms: performance.now() - begun, text, body };
}

/** @param {string} text */
function objectIn(text) {
  try {
    /** @type {unknown} */
    const read = JSON.parse(text);
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}

/**
 * Requests data that needs no key; rejects as `call` does.
 * @param {string} path
 */
export function lookUp(path) {
  return answerTo(path, isLogin() ? { headers: sessionHeaders() } : {});
}

/**
 * @param {string} path
 * @param {RequestInit} request
 * @returns {Promise<unknown>}
 */
async function answerTo(path, request) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { ...request, signal: AbortSignal.timeout(longestMs) });
  } catch {
    throw new Error(t("server.silent"));
  }
  readSessionHeaders(response);
  /** @type {unknown} */
  const answer = await response.json().catch(() => undefined);
  if (isObject(answer) && answer["status"] === "SUCCESS") return answer;
  const refused = isObject(answer) ? answer : {};
  const { status_code: code, status_message: message } = refused;
  const isRefusal = typeof code === "string" && typeof message === "string";
  observe(refused);
  throw isRefusal
    ? new Refusal(code, message)
    : new Error(t("server.unreadable", { status: String(response.status) }));
}

/**
 * What a refusal says about the session and the open account.
 * @param {Readonly<Record<string, unknown>>} answer
 */
function observe({ status_code: code, status_message: message }) {
  if ((code === notSignedIn || code === notFromPage) && personOfPage() !== undefined) {
    end();
    dispatchEvent(new Event(sessionOver));
  }
  // The headers of this answer have the present role.
  if (code === notAllowed) void call("/__cofre/session", {}).catch(() => undefined);
  // The open world was deleted.
  if (
    code === invalid &&
    isLogin() &&
    String(message).startsWith("Header X-Cofre-Account") &&
    leaveWorld()
  ) {
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

/**
 * Whether an order or a disabled root key has stopped card operations. Rejects when the server does
 * not answer.
 * @returns {Promise<boolean>}
 */
export async function areCardsStopped() {
  const response = await fetch("/readyz", { signal: AbortSignal.timeout(longestMs) });
  /** @type {unknown} */
  const answer = await response.json();
  return isObject(answer) && answer["cards"] === "stopped";
}

/**
 * The paths of this server, requested once.
 * @type {Promise<ReadonlySet<string>> | undefined}
 */
let paths;

/**
 * Whether the server has this path, by its API description.
 * @param {string} path
 * @returns {Promise<boolean>}
 */
export async function offers(path) {
  paths ??= fetch("/openapi.json", { signal: AbortSignal.timeout(90_000) })
    .then((response) => response.json())
    .then(
      (/** @type {{ paths: object }} */ description) => new Set(Object.keys(description.paths)),
    );
  try {
    return (await paths).has(path);
  } catch {
    paths = undefined;
    throw new Error(t("server.silent"));
  }
}

/**
 * @param {unknown} value
 * @returns {value is Readonly<Record<string, unknown>>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null;
}

/** A random idempotency key for a request that moves money. */
export function newName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
