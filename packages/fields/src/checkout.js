// The hosted page of a payment: the customer pays with a card. See docs/checkout.md.
import { cardForm, labelled, mark } from "./card-form.js";
import { texts } from "./checkout-messages.js";

/** @import { Field } from "./card-form.js" */
/** @typedef {keyof typeof texts} TextName */
/** @typedef {"open" | "waiting" | "paid" | "declined" | "closed"} PageState */

/**
 * @typedef {object} Page
 * @property {string} hash
 * @property {string} account
 * @property {string} shop
 * @property {string} country
 * @property {string} total
 * @property {string} tax
 * @property {string} currency
 * @property {string} [requested]
 * @property {readonly (readonly [count: number, each: string])[]} instalments
 * @property {boolean} credit
 * @property {boolean} debit
 * @property {readonly TextName[]} fields
 * @property {PageState} state
 * @property {number} try
 * @property {boolean} declined
 * @property {string} [url]
 * @property {readonly { number: string, outcome: string }[]} testCards
 */

/** @type {Page} */
const page = JSON.parse(decodeURIComponent(document.documentElement.dataset["page"] ?? "{}"));
/** The number of the next card that is sent. */
let number = page.try;
let isSending = false;

/** A payment is answered within this time, or the page asks for its state. */
const answerMs = 60_000;
/** Between two questions for the state, in milliseconds. */
const pauseMs = 2_000;
/** The customer reads the outcome before the page goes back to the shop. */
const leaveMs = 4_000;

/**
 * A text with its values.
 * @param {TextName} name
 * @param {Readonly<Record<string, string>>} [values]
 */
const t = (name, values = {}) =>
  Object.entries(values).reduce(
    (text, [value, shown]) => text.replaceAll(`{${value}}`, () => shown),
    texts[name],
  );

/** @param {string} amount */
function money(amount) {
  return new Intl.NumberFormat(`${document.documentElement.lang.slice(0, 2)}-${page.country}`, {
    style: "currency",
    currency: page.currency,
    currencyDisplay: "code",
    minimumFractionDigits: amount.split(".")[1]?.length ?? 0,
  }).format(/** @type {Intl.StringNumericLiteral} */ (amount));
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} [members]
 * @param {readonly Node[]} [children]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function element(tag, members = {}, children = []) {
  const made = document.createElement(tag);
  Object.assign(/** @type {HTMLElement} */ (made), members);
  made.append(...children);
  return made;
}

const status = element("p", { className: "status", role: "status" });
const main = element("main", {}, [
  element("h1", { textContent: t("to", { shop: page.shop }) }),
  element("p", { className: "amount", textContent: money(page.total) }),
]);
if (Number(page.tax) > 0)
  main.append(element("p", { className: "soft", textContent: t("tax", { tax: money(page.tax) }) }));
if (page.requested !== undefined)
  main.append(
    element("p", { className: "soft", textContent: t("requested", { amount: page.requested }) }),
  );
main.append(status);
document.title = t("to", { shop: page.shop });
document.body.append(main);

// --- The form -----------------------------------------------------------------------------------

const form = element("form", { noValidate: true });
const card = cardForm(form, {
  shown: ["number", "expiry", "code", "name"],
  changed: () => undefined,
  entered: () => undefined,
});
/** @type {ReadonlyMap<TextName, Field>} */
const others = new Map(page.fields.map((name) => [name, labelled(form, name, t(name))]));
const kind = chosen("kind", page.credit && page.debit ? ["credit", "debit"] : []);
const instalments = chosen(
  "instalments",
  page.instalments.length > 1 ? page.instalments.map(([count]) => String(count)) : [],
);
const button = element("button", { textContent: t("pay", { amount: money(page.total) }) });
form.append(button);

/**
 * A list from which the customer chooses; undefined if there is no choice.
 * @param {"kind" | "instalments"} name
 * @param {readonly string[]} values
 */
function chosen(name, values) {
  if (values.length === 0) return undefined;
  const list = element(
    "select",
    { id: name },
    values.map((value) => element("option", { value, textContent: textOfChoice(name, value) })),
  );
  const label = element("label", { htmlFor: name, textContent: t(name) });
  form.append(element("div", { className: `field ${name}` }, [label, list]));
  return list;
}

/**
 * @param {"kind" | "instalments"} name
 * @param {string} value
 */
function textOfChoice(name, value) {
  if (name === "kind") return value === "debit" ? t("debit") : t("credit");
  const each = page.instalments.find(([count]) => String(count) === value)?.[1] ?? "0";
  return t("instalment", { count: value, amount: money(each) });
}

for (const { input, error } of others.values())
  // Not when the field is left: what moved away under the pointer would not be clicked.
  input.addEventListener("input", () => {
    if (input.value.trim() !== "") mark({ input, error }, "");
  });

/** The first field that is empty, with its mistake shown. */
function firstMissing() {
  const empty = [...others.values()].filter((field) => {
    const isEmpty = field.input.value.trim() === "";
    mark(field, isEmpty ? t("field_required") : "");
    return isEmpty;
  });
  return empty[0]?.input;
}

/** Names of the fields in errors, and those of the page. */
const places = new Map([
  ["payment.creditcard.card_number", "number"],
  ["payment.creditcard.card_due_date", "expiry"],
  ["payment.creditcard.card_cvv", "code"],
  ["payment.creditcard.card_name", "name"],
  ["payment.responsible.name", "responsible"],
  ...page.fields.map((name) => /** @type {const} */ ([`payment.${name}`, name])),
]);

/**
 * Shows what the server refused, beside its field if there is one. After any other error than a
 * refusal of what was typed, the outcome may be open: it is asked for.
 * @param {Readonly<Record<string, string>>} answer
 */
function showRefusal({ field, status_code: code = "" }) {
  const name = places.get(field ?? "");
  const input = document.getElementById(name ?? "");
  const error = document.getElementById(`${name}-error`);
  if (input instanceof HTMLInputElement && error !== null) {
    mark({ input, error }, t("field_invalid"));
    input.focus();
    say("");
  } else if (code === "COFRE-178") say(t("later"));
  else if (code.startsWith("BP-DR-") && code !== "BP-DR-119") say(t("refused"));
  else {
    say(t("no_answer"));
    void watch();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!isSending) void submit();
});

async function submit() {
  const problem = card.firstProblem();
  const missing = firstMissing();
  if (problem !== undefined) return;
  if (missing !== undefined) {
    missing.focus();
    return;
  }
  isSending = true;
  button.disabled = true;
  say(t("paying"));
  const answer = await ask("/checkout/pay", {
    try: String(number),
    ...Object.fromEntries([...others].map(([name, { input }]) => [name, input.value])),
    payment_type_code:
      (kind?.value ?? (page.credit ? "credit" : "debit")) === "debit" ? "debitcard" : "creditcard",
    instalments: instalments?.value ?? String(page.instalments[0]?.[0] ?? 1),
    creditcard: card.card(),
  });
  isSending = false;
  button.disabled = false;
  if (answer === undefined) {
    say(t("no_answer"));
    void watch();
  } else if (answer["status"] === "SUCCESS") {
    card.empty(["number", "code"]);
    show(answer, true);
  } else if (answer["status_code"] === "COFRE-192") {
    say(t("other_tab"));
    void watch();
  } else showRefusal(answer);
}

// --- The state of the payment -------------------------------------------------------------------

/**
 * Calls the server. Undefined: no answer, or none of the server's.
 * @param {string} path
 * @param {object} [fields]
 * @returns {Promise<any>}
 */
async function ask(path, fields = {}) {
  try {
    const response = await fetch(path, {
      method: "POST",
      body: JSON.stringify({ hash: page.hash, account: page.account, ...fields }),
      signal: AbortSignal.timeout(answerMs),
      credentials: "omit",
    });
    const answer = await response.json();
    return typeof answer?.status === "string" ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} text */
function say(text) {
  status.textContent = text;
}

/**
 * Shows where the payment is. A card that waits for its outcome cannot be followed by another one.
 * @param {{ state: PageState, try: number, declined: boolean, url?: string | null }} now
 * @param {boolean} isNews
 */
function show({ state, try: next, declined, url }, isNews) {
  number = next;
  const isOpen = state === "open";
  form.hidden = !isOpen;
  if (!isOpen && form.isConnected) form.remove();
  if (isOpen && !form.isConnected) main.append(form);
  if (isOpen) {
    say(declined ? t("declined_try") : "");
    if (declined && isNews) card.focus();
    return;
  }
  say(t(state));
  if (state === "waiting") void watch();
  else leave(url ?? undefined, isNews);
}

let isWatching = false;

/** Asks for the state until the payment does not wait any more. */
async function watch() {
  if (isWatching) return;
  isWatching = true;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const now = await ask("/checkout/state");
    if (now?.status !== "SUCCESS" || now.state === "waiting") continue;
    isWatching = false;
    show(now, true);
    return;
  }
}

/**
 * Offers the way back to the shop, and takes it after a payment of this window.
 * @param {string | undefined} url
 * @param {boolean} isNews
 */
function leave(url, isNews) {
  if (url === undefined || main.querySelector(".back") !== null) return;
  const link = element("a", {
    className: "back",
    href: url,
    textContent: t("back", { shop: page.shop }),
  });
  main.append(link);
  if (isNews) setTimeout(() => location.assign(url), leaveMs);
}

if (page.testCards.length > 0) {
  const rows = page.testCards.map(({ number: digits, outcome }) => {
    const fill = element("button", { type: "button", textContent: `${digits} · ${outcome}` });
    fill.addEventListener("click", () => {
      const code = /^3[47]/.test(digits) ? "1234" : "123";
      const values = { number: digits, expiry: "12/39", code, name: "Ana Lima" };
      for (const [name, value] of Object.entries(values)) {
        const input = document.getElementById(name);
        if (!(input instanceof HTMLInputElement)) continue;
        input.value = value;
        input.dispatchEvent(new Event("change"));
      }
    });
    return element("li", {}, [fill]);
  });
  main.after(
    element("aside", {}, [
      element("p", { textContent: t("no_money") }),
      element("details", {}, [
        element("summary", { textContent: t("test_cards") }),
        element("ul", {}, rows),
      ]),
    ]),
  );
}

show(page, false);
