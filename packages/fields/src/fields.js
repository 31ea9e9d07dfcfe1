// The card fields: a frame of this origin in the page of a shop. The shop gets no digits, only a
// token. See docs/checkout.md.
import { cardForm } from "./card-form.js";
import { texts } from "./messages.js";

/** @import { FieldName } from "./card-form.js" */

const { dataset } = document.documentElement;
const {
  key = "",
  origin = "",
  country = "",
  only = "",
} = Object.fromEntries(
  Object.entries(dataset).map(([name, value = ""]) => [name, decodeURIComponent(value)]),
);

/** The server answers within this time, or the shop is asked to try again. */
const answerMs = 30_000;

/** @type {readonly FieldName[]} */
const shown = only === "code" ? ["code"] : ["number", "expiry", "code", "name"];

const main = document.createElement("main");
const heading = document.createElement("h1");
heading.textContent = texts.title;
main.append(heading);
const form = cardForm(main, {
  shown,
  changed: () => sendChange(),
  entered: () => send({ type: "submit" }),
});
document.body.append(main);

// --- The shop's side ----------------------------------------------------------------------------

/** @type {MessagePort | undefined} */
let port;
let sentBefore = "";
let isBusy = false;

/** @param {object} message */
function send(message) {
  port?.postMessage(message);
}

/** Which fields are right, and the brand: no digit of them. */
function sendChange() {
  const right = Object.fromEntries(shown.map((name) => [name, form.problemOf(name) === undefined]));
  const message = {
    type: "change",
    brand: form.brand(),
    ...right,
    complete: Object.values(right).every(Boolean),
  };
  const text = JSON.stringify(message);
  if (text === sentBefore) return;
  sentBefore = text;
  send(message);
}

/**
 * Sends a request to the server of this frame.
 * @param {string} path
 * @param {object} fieldsOfRequest
 * @returns {Promise<Readonly<Record<string, string>> | { readonly error: object }>}
 */
async function ask(path, fieldsOfRequest) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      body: JSON.stringify({ public_integration_key: key, ...fieldsOfRequest }),
      signal: AbortSignal.timeout(answerMs),
      credentials: "omit",
    });
  } catch {
    return { error: { code: "no_answer", message: texts.no_answer } };
  }
  /** @type {Readonly<Record<string, string>>} */
  const answer = await response.json().catch(() => ({}));
  if (answer["status"] === "SUCCESS") return answer;
  const retryAfter = Number(response.headers.get("Retry-After") ?? "");
  return {
    error: {
      code: answer["status_code"] ?? "no_answer",
      message: answer["status_message"] ?? texts.no_answer,
      ...(retryAfter > 0 ? { retryAfterSeconds: retryAfter } : {}),
    },
  };
}

/** Empties what must not stay. */
const forget = () => form.empty(["number", "code"]);

/** Stores the card. Resolves with the answer to the shop. */
async function tokenize() {
  const error = form.firstProblem();
  if (error !== undefined) return { error };
  const answer = await ask("/ws/token", {
    payment_type_code: "creditcard",
    ...(country === "" ? {} : { country }),
    creditcard: form.card(),
  });
  if ("error" in answer) return answer;
  const token = String(answer["token"]);
  // The code is not stored with the card: it is kept in memory for the next payment.
  const kept = await ask("/ws/token/setCVV", { token, card_cvv: form.valueOf("code") });
  const brand = form.brand();
  forget();
  return {
    token,
    brand,
    masked: answer["masked_card_number"],
    ...("error" in kept ? { securityCode: kept["error"] } : {}),
  };
}

/** @param {unknown} token */
async function setCode(token) {
  const error = form.firstProblem();
  if (error !== undefined) return { error };
  const answer = await ask("/ws/token/setCVV", { token, card_cvv: form.valueOf("code") });
  if ("error" in answer) return answer;
  forget();
  return { token, masked: answer["masked_card_number"] };
}

/**
 * Looks that a shop may choose. Other values are ignored.
 * @param {Readonly<Record<string, unknown>>} theme
 */
function look({ accent, radius, fontSize, scheme }) {
  const { style } = document.documentElement;
  if (typeof accent === "string" && /^#[0-9a-f]{6}$/i.test(accent))
    style.setProperty("--accent", accent);
  if (typeof radius === "number" && radius >= 0 && radius <= 24)
    style.setProperty("--radius", `${radius}px`);
  if (typeof fontSize === "number" && fontSize >= 12 && fontSize <= 24)
    style.setProperty("--size", `${fontSize}px`);
  if (scheme === "light" || scheme === "dark") style.setProperty("color-scheme", scheme);
}

/** @param {Readonly<Record<string, unknown>>} message */
async function obey(message) {
  const { type, id } = message;
  if (type === "theme") look(message);
  if (type === "focus") form.focus();
  if (type === "clear") form.empty(shown);
  if (type !== "tokenize" && type !== "setCode") return;
  if (isBusy) {
    const error = { code: "busy", message: texts.busy };
    send({ type: "answer", id, error });
    return;
  }
  isBusy = true;
  try {
    const answer = await (type === "tokenize" && only === ""
      ? tokenize()
      : setCode(message["token"]));
    send({ type: "answer", id, ...answer });
  } finally {
    isBusy = false;
  }
}

/** @param {MessageEvent} event */
function meet(event) {
  const [given] = event.ports;
  if (event.source !== window.parent || event.origin !== origin || given === undefined) return;
  window.removeEventListener("message", meet);
  port = given;
  port.addEventListener("message", ({ data }) => {
    if (typeof data === "object" && data !== null) void obey(data);
  });
  port.start();
  send({ type: "ready", title: texts.title });
  new ResizeObserver(() => {
    // The frame has no scroll bars: its height is that of its content.
    send({ type: "height", height: Math.ceil(document.body.getBoundingClientRect().height) });
  }).observe(document.body);
  sendChange();
}

window.addEventListener("message", meet);
if (window.parent !== window) window.parent.postMessage({ type: "cofre:hello" }, origin);
