// The card fields: a frame of this origin in the page of a shop. The shop gets no digits, only a
// token. See docs/checkout.md.
import {
  brandOf,
  caretAfter,
  codeLength,
  digitsOf,
  expiryOf,
  groupedNumber,
  isCardNumber,
  typedExpiry,
} from "./card.js";
import { texts } from "./messages.js";

/** @import { Texts } from "./messages-en.js" */
/** @typedef {keyof Texts} TextName */
/** @typedef {"number" | "expiry" | "code" | "name"} FieldName */
/**
 * @typedef {object} Field
 * @property {HTMLInputElement} input
 * @property {HTMLElement} error
 */

const { dataset } = document.documentElement;
const {
  key = "",
  origin = "",
  country = "",
  only = "",
} = Object.fromEntries(
  Object.entries(dataset).map(([name, value = ""]) => [name, decodeURIComponent(value)]),
);
/** @param {TextName} name */
const t = (name) => texts[name];

/** The server answers within this time, or the shop is asked to try again. */
const answerMs = 30_000;

/** @type {readonly FieldName[]} */
const shown = only === "code" ? ["code"] : ["number", "expiry", "code", "name"];
/** @type {Readonly<Record<FieldName, Readonly<Record<string, string>>>>} */
const attributes = {
  number: { autocomplete: "cc-number", inputmode: "numeric", maxlength: "24" },
  expiry: { autocomplete: "cc-exp", inputmode: "numeric", maxlength: "9" },
  code: { autocomplete: "cc-csc", inputmode: "numeric", maxlength: "4" },
  name: { autocomplete: "cc-name", autocapitalize: "words", maxlength: "64" },
};

const main = document.createElement("main");
const heading = document.createElement("h1");
heading.textContent = t("title");
const brandName = document.createElement("p");
brandName.className = "brand";
brandName.setAttribute("role", "status");
main.append(heading);
const fields = /** @type {Readonly<Record<FieldName, Field>>} */ (
  Object.fromEntries(shown.map((name) => [name, fieldOf(name)]))
);
document.body.append(main);

/**
 * @param {FieldName} name
 * @returns {Field}
 */
function fieldOf(name) {
  const place = document.createElement("div");
  place.className = `field ${name}`;
  const label = document.createElement("label");
  label.htmlFor = name;
  label.textContent = t(name);
  const input = document.createElement("input");
  input.id = name;
  input.required = true;
  input.spellcheck = false;
  for (const [attribute, value] of Object.entries(attributes[name]))
    input.setAttribute(attribute, value);
  input.setAttribute("aria-describedby", `${name}-error`);
  const error = document.createElement("p");
  error.id = `${name}-error`;
  error.className = "error";
  error.setAttribute("role", "status");
  place.append(label, input, ...(name === "number" ? [brandName] : []), error);
  main.append(place);
  return { input, error };
}

/** @param {FieldName} name */
const valueOf = (name) => fields[name]?.input.value ?? "";
const numberDigits = () => digitsOf(valueOf("number"));

/**
 * What is wrong with a field; undefined if nothing is.
 * @param {FieldName} name
 * @returns {TextName | undefined}
 */
function problemOf(name) {
  if (valueOf(name).trim() === "") return `${name}_required`;
  return isValid[name]() ? undefined : `${name}_invalid`;
}

/** @type {Readonly<Record<FieldName, () => boolean>>} */
const isValid = {
  number: () => isCardNumber(numberDigits()),
  expiry: () => expiryOf(valueOf("expiry"), new Date()) !== undefined,
  code: () => {
    const { length } = valueOf("code");
    return only === "code" ? length === 3 || length === 4 : length === codeLength(numberDigits());
  },
  name: () => !/\d/.test(valueOf("name")),
};

/**
 * Shows what is wrong with a field, or that nothing is.
 * @param {FieldName} name
 */
function judge(name) {
  const problem = problemOf(name);
  const { input, error } = fields[name];
  input.setAttribute("aria-invalid", problem === undefined ? "false" : "true");
  const text = problem === undefined ? "" : t(problem);
  if (error.textContent !== text) error.textContent = text;
  return problem;
}

/**
 * Formats what was typed, with the caret behind the same digits.
 * @param {HTMLInputElement} input
 * @param {(text: string) => string} formatted
 */
function format(input, formatted) {
  const { value, selectionStart } = input;
  const text = formatted(value);
  if (text === value) return;
  input.value = text;
  if (document.activeElement !== input) return;
  const caret = caretAfter(value, selectionStart ?? value.length, text);
  input.setSelectionRange(caret, caret);
}

/** @type {Readonly<Record<FieldName, ((text: string) => string) | undefined>>} */
const formats = {
  number: (text) => groupedNumber(digitsOf(text).slice(0, 19)),
  // What was deleted is not added again.
  expiry: (text) => typedExpiry(text),
  code: (text) => digitsOf(text).slice(0, 4),
  name: undefined,
};

let brandBefore = "";

/** @param {FieldName} name */
function typed(name, isDeletion = false) {
  const { input } = fields[name];
  const formatted = formats[name];
  if (formatted !== undefined && !(name === "expiry" && isDeletion)) format(input, formatted);
  // A mistake is shown when the field is left, and gone when it is corrected.
  if (input.getAttribute("aria-invalid") === "true" && problemOf(name) === undefined) judge(name);
  const brand = brandOf(numberDigits())?.name ?? "";
  if (brand !== brandBefore) {
    brandBefore = brand;
    const title = brand.slice(0, 1).toUpperCase() + brand.slice(1);
    brandName.textContent = brand === "" ? "" : t("brand").replace("{brand}", title);
    fields.code?.input.setAttribute(
      "maxlength",
      only === "code" ? "4" : String(codeLength(numberDigits())),
    );
  }
  sendChange();
}

for (const name of shown) {
  const { input } = fields[name];
  input.addEventListener("input", (event) =>
    typed(name, event instanceof InputEvent && event.inputType.startsWith("delete")),
  );
  // Some browsers and password managers fill in without an input event.
  input.addEventListener("change", () => typed(name));
  input.addEventListener("blur", () => {
    if (input.value !== "") judge(name);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) send({ type: "submit" });
  });
}

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
  const right = Object.fromEntries(shown.map((name) => [name, problemOf(name) === undefined]));
  const isComplete = Object.values(right).every(Boolean);
  const message = { type: "change", brand: brandBefore, ...right, complete: isComplete };
  const text = JSON.stringify(message);
  if (text === sentBefore) return;
  sentBefore = text;
  send(message);
}

/**
 * Shows all mistakes and goes to the first. Returns the problem that was found first.
 * @returns {{ field: FieldName, code: string, message: string } | undefined}
 */
function firstProblem() {
  const found = shown.flatMap((name) => {
    const problem = judge(name);
    return problem === undefined ? [] : [{ field: name, code: problem, message: t(problem) }];
  });
  const [first] = found;
  if (first !== undefined) fields[first.field].input.focus();
  return first;
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
    return { error: { code: "no_answer", message: t("no_answer") } };
  }
  /** @type {Readonly<Record<string, string>>} */
  const answer = await response.json().catch(() => ({}));
  if (answer["status"] === "SUCCESS") return answer;
  const retryAfter = Number(response.headers.get("Retry-After") ?? "");
  return {
    error: {
      code: answer["status_code"] ?? "no_answer",
      message: answer["status_message"] ?? t("no_answer"),
      ...(retryAfter > 0 ? { retryAfterSeconds: retryAfter } : {}),
    },
  };
}

/** Empties what must not stay. */
function forget() {
  for (const name of /** @type {const} */ (["number", "code"])) {
    if (fields[name] === undefined) continue;
    fields[name].input.value = "";
    fields[name].input.setAttribute("aria-invalid", "false");
  }
  typed(shown[0] ?? "code");
}

/** Stores the card. Resolves with the answer to the shop. */
async function tokenize() {
  const error = firstProblem();
  if (error !== undefined) return { error };
  const answer = await ask("/ws/token", {
    payment_type_code: "creditcard",
    ...(country === "" ? {} : { country }),
    creditcard: {
      card_number: numberDigits(),
      card_name: valueOf("name").trim(),
      card_due_date: expiryOf(valueOf("expiry"), new Date()),
      card_cvv: valueOf("code"),
    },
  });
  if ("error" in answer) return answer;
  const token = String(answer["token"]);
  // The code is not stored with the card: it is kept in memory for the next payment.
  const kept = await ask("/ws/token/setCVV", { token, card_cvv: valueOf("code") });
  const brand = brandBefore;
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
  const error = firstProblem();
  if (error !== undefined) return { error };
  const answer = await ask("/ws/token/setCVV", { token, card_cvv: valueOf("code") });
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
  if (type === "focus")
    (
      shown.map((name) => fields[name].input).find(({ value }) => value === "") ??
      fields[shown[0] ?? "code"].input
    ).focus();
  if (type === "clear") {
    for (const name of shown) fields[name].input.value = "";
    typed(shown[0] ?? "code");
  }
  if (type !== "tokenize" && type !== "setCode") return;
  if (isBusy) {
    const error = { code: "busy", message: t("busy") };
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
  send({ type: "ready", title: t("title") });
  new ResizeObserver(() => {
    // The frame has no scroll bars: its height is that of its content.
    send({ type: "height", height: Math.ceil(document.body.getBoundingClientRect().height) });
  }).observe(document.body);
  sendChange();
}

window.addEventListener("message", meet);
if (window.parent !== window) window.parent.postMessage({ type: "cofre:hello" }, origin);
