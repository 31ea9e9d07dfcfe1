// Makes a payment as a shop does: the form, and beside it the request and its answer.
import { signal } from "@preact/signals";
import { call, exchange, newName, subjectOfTab } from "./api.js";
import { problemText, say, shown } from "./shown.js";
import { typedAmount } from "./format.js";
import { html, mount } from "./html.js";
import { language, locale, t } from "./language.js";
import { exactAmount, WrongAmount } from "./money.js";
import {
  countryFields,
  customerFields,
  faultOf,
  formOf,
  nextCode,
  optionalFields,
  queryOf,
  requestsOf,
} from "./payment-form.js";
import { Answer, RefusalText, RequestView } from "./payment-exchange.js";
import { keepFresh } from "./poll.js";
import { refusalWords, refusedField } from "./refusals.js";
import { mayDo, personOfPage } from "./session.js";
import {
  behaviourWords,
  declineOptions,
  paymentFaultOptions,
  faultWords,
  own,
  reasonWords,
} from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { Exchange, Listed, Page, Subject } from "./api.js" */
/** @import { Country, Request, Tables, TestCard, Values } from "./payment-form.js" */

/**
 * What was sent, and what came of it. `code`: that of the payment.
 * @typedef {object} Outcome
 * @property {string} code
 * @property {boolean} isBusy
 * @property {readonly Exchange[]} exchanges oldest first
 * @property {Listed | undefined} payment as the list shows it
 * @property {string} trouble
 * @property {{ field: string | undefined, code: string, text: string, lang: string } | undefined} refusal
 */
/**
 * @typedef {object} Model
 * @property {ReadonlySignal<Tables>} tables
 * @property {ReadonlySignal<Values>} typed
 * @property {ReadonlySignal<Outcome | undefined>} outcome
 * @property {ReadonlySignal<readonly Stored[]>} stored
 * @property {(name: string, value: string) => void} type
 * @property {() => void} send
 * @property {() => void} query
 * @property {() => void} stop
 */
/**
 * Makes a field of the form.
 * @typedef {(name: string, more?: Readonly<Record<string, unknown>>) => unknown} Input
 */
/** A card that was stored here. @typedef {{ token: string, name: string }} Stored */

/**
 * The tokens of the cards that this page has stored, by account and user: the server keeps their
 * digests only.
 * @type {Map<string, readonly Stored[]>}
 */
const storedCards = new Map();

/** Until the payment is in one of these states, its state is read again. */
const settledStates = new Set(["authorized", "captured", "declined", "voided", "expired"]);

/** @type {import("./main.js").View} */
export async function newPaymentView(main, _words, query, abort) {
  const subject = subjectOfTab();
  const place = JSON.stringify([subject, personOfPage()?.id]);
  const [{ countries }, { cards }, firstYear] = await Promise.all([
    /** @type {Promise<{ countries: Country[] }>} */ (call("/__cofre/countries", {})),
    /** @type {Promise<{ cards: TestCard[] }>} */ (call("/__cofre/test-cards", {})),
    yearOf(subject),
  ]);
  const tables = signal({ countries, cards, year: firstYear });
  const typed = signal(
    /** @type {Values} */ ({
      merchant_payment_code: `order-${newName().slice(0, 8)}-1`,
      ...(await givenIn(query, cards)),
    }),
  );
  if (abort.aborted) return;
  const outcome = signal(/** @type {Outcome | undefined} */ (undefined));
  const stored = signal(storedCards.get(place) ?? []);
  let stopping = new AbortController();

  /** @param {Partial<Outcome>} changes */
  const become = (changes) => {
    const { value } = outcome;
    if (value !== undefined && !abort.aborted) outcome.value = { ...value, ...changes };
  };
  /** @param {Request} request */
  const ask = async ({ path, fields }) => {
    const answer = await exchange(path, fields, AbortSignal.any([abort, stopping.signal]), subject);
    become({ exchanges: [...(outcome.value?.exchanges ?? []), answer] });
    return answer;
  };
  /** Reads the payment as the list shows it. */
  const look = async (/** @type {string} */ hash) => {
    const page = /** @type {Page} */ (await call("/__cofre/payments", { search: hash }, subject));
    const payment = page.payments.find((each) => each.hash === hash);
    if (payment !== undefined) become({ payment });
  };
  /**
   * A published number has no field of its own.
   * @param {string | undefined} field
   */
  const controlOf = (field) =>
    field === "card_number" && typed.value["card"] !== "" ? "card" : field;
  /** @param {Exchange} answer that may have a payment */
  const take = async ({ body }) => {
    const { payment, status_code: code, status_message: text } = body;
    if (typeof payment === "object" && payment !== null && "hash" in payment) {
      typed.value = { ...typed.value, merchant_payment_code: nextCode(outcome.value?.code ?? "") };
      await look(String(payment.hash));
    } else if (typeof code === "string" && typeof text === "string")
      become({
        refusal: {
          field: controlOf(refusedField(code, text)),
          code,
          ...refusalWords(code, text),
        },
      });
  };
  /** @param {() => Promise<void>} work */
  const busy = async (work) => {
    stopping = new AbortController();
    become({ isBusy: true, trouble: "", refusal: undefined });
    try {
      await work();
    } catch (error) {
      if (error instanceof WrongAmount)
        become({
          refusal: { field: "amount_total", code: "", text: error.message, lang: language },
        });
      else become({ trouble: problemText(error) });
    } finally {
      become({ isBusy: false });
    }
  };
  const send = async () => {
    if (outcome.value?.isBusy === true) return;
    const { value: sent } = typed;
    outcome.value = {
      code: sent["merchant_payment_code"] ?? "",
      isBusy: true,
      exchanges: [],
      payment: undefined,
      trouble: "",
      refusal: undefined,
    };
    await busy(async () => {
      // The clock may have been moved since the form was shown.
      tables.value = { ...tables.value, year: await yearOf(subject) };
      const { values } = formOf(sent, tables.value);
      exactAmount(values["amount_total"] ?? "", values["currency_code"] ?? "");
      const { card_number: number = "", fault: kind = "" } = values;
      const add = faultOf(values, faultWords(kind).waits);
      const added = add === undefined ? {} : await call("/__cofre/faults", { add }, subject);
      try {
        const [first, second] = requestsOf(values);
        if (first === undefined) return;
        const answer = await ask(first);
        const { token, payment_type_code: brand } = answer.body;
        if (second === undefined || typeof token !== "string") return await take(answer);
        const name = `${String(brand)} •••• ${number.slice(-4)}`;
        storedCards.set(place, [...stored.value, { token, name }]);
        stored.value = storedCards.get(place) ?? [];
        const [, charge = second] = requestsOf(values, token);
        await take(await ask(charge));
      } finally {
        const { fault } = /** @type {{ fault?: { id: string } }} */ (added);
        // It may have been removed by hand.
        if (fault !== undefined)
          await call("/__cofre/faults", { clear: fault.id }, subject).catch(() => undefined);
      }
    });
    showRefusal();
  };
  /** Leads to the refused field, or announces the result. */
  const showRefusal = () => {
    const { refusal, exchanges = [] } = outcome.value ?? {};
    if (abort.aborted) return;
    const { field = "" } = refusal ?? {};
    const control = main.querySelector(`[name="${CSS.escape(field)}"]`);
    if (control === null) showAnswer(main);
    if (control instanceof HTMLElement) {
      const details = control.closest("details");
      if (details !== null) details.open = true;
      control.focus();
    }
    say(refusal === undefined ? endText(exchanges.at(-1)) : shown(refusal.text));
  };
  /** @type {Model} */
  const model = {
    tables,
    typed,
    outcome,
    stored,
    type: (name, value) => {
      typed.value = { ...typed.value, [name]: value };
      if (outcome.value?.refusal?.field === name) become({ refusal: undefined });
    },
    send: () => void send(),
    query: () =>
      void busy(async () => {
        await take(await ask(queryOf(outcome.value?.code ?? "")));
      }),
    stop: () => stopping.abort(),
  };
  const node = document.createElement("div");
  main.append(node);
  mount(node, html`<${NewPayment} model=${model} />`, abort);
  void keepFresh(abort, async () => {
    const { payment, isBusy } = outcome.value ?? {};
    if (payment !== undefined && isBusy === false && !settledStates.has(payment.state))
      await look(payment.hash);
  });
}

/**
 * On a narrow screen the answer is below the form.
 * @param {HTMLElement} main
 */
function showAnswer(main) {
  const title = main.querySelector(".beside h2");
  const { top = 0 } = title?.getBoundingClientRect() ?? {};
  if (top < 0 || top > innerHeight) title?.scrollIntoView();
}

/**
 * The year of the account's clock: a world may be at any time.
 * @param {Subject} subject
 */
async function yearOf(subject) {
  const { clock } = /** @type {{ clock: { now: string } }} */ (
    await call("/__cofre/clock", {}, subject)
  );
  return Number(clock.now.slice(0, 4));
}

/** @param {Exchange | undefined} last */
function endText(last) {
  if (last === undefined) return "";
  if (last.end === "answer") return t("new.answered", { status: String(last.status) });
  return last.end === "cut" ? t("new.cut") : t("new.stopped");
}

/**
 * What the address asks for: a test card by its mask, or the data of another payment.
 * @param {URLSearchParams} query
 * @param {readonly TestCard[]} cards
 * @returns {Promise<Values>}
 */
async function givenIn(query, cards) {
  const byMask = (/** @type {string | null} */ mask) => {
    const card = cards.find(({ masked_card_number: each }) => each === mask);
    return card === undefined ? {} : { card: card.card_number };
  };
  const hash = query.get("from");
  if (hash === null) {
    const country = cards.find(({ masked_card_number: each }) => each === query.get("card"))
      ?.countries[0];
    return { ...byMask(query.get("card")), ...(country === undefined ? {} : { country }) };
  }
  const [{ payments }, { requests }] = await Promise.all([
    /** @type {Promise<Page>} */ (call("/__cofre/payments", { search: hash })),
    /** @type {Promise<{ requests: { path: string, parameters: unknown }[] }>} */ (
      call("/__cofre/requests", { hash })
    ),
  ]);
  const payment = payments.find((each) => each.hash === hash);
  if (payment === undefined) throw new Error(t("payment.not_found"));
  const { parameters } = requests.find(({ path }) => path === "/ws/direct") ?? {};
  return {
    name: payment.name,
    email: payment.email,
    ...sentIn(parameters),
    country: payment.country,
    currency_code: payment.currency_ext,
    amount_total: typedAmount(payment.amount_ext, payment.currency_ext),
    instalments: payment.instalments,
    ...byMask(payment.masked_card_number),
  };
}

/**
 * The values of the form in a recorded request.
 * @param {unknown} parameters
 * @returns {Values}
 */
function sentIn(parameters) {
  const payment = objectIn(parameters, "payment") ?? {};
  const card = objectIn(payment, "creditcard") ?? objectIn(payment, "card");
  const names = [...customerFields, ...countryFields, ...optionalFields];
  const sent = names.flatMap((name) => {
    const value = own(payment, name);
    return typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [];
  });
  const isLater = String(card?.["auto_capture"]) === "false";
  return { ...Object.fromEntries(sent), ...(isLater ? { capture: "later" } : {}) };
}

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {Readonly<Record<string, unknown>> | undefined}
 */
function objectIn(value, name) {
  if (typeof value !== "object" || value === null) return undefined;
  const inner = own(/** @type {Readonly<Record<string, unknown>>} */ (value), name);
  return typeof inner === "object" && inner !== null
    ? /** @type {Readonly<Record<string, unknown>>} */ (inner)
    : undefined;
}

/** @type {Readonly<Record<string, string>>} */
const labels = {
  name: t("facts.name"),
  email: t("head.email"),
  phone_number: t("new.phone"),
  document: t("new.document"),
  zipcode: t("new.zipcode"),
  address: t("new.street"),
  street_number: t("new.street_number"),
  city: t("new.city"),
  state: t("new.region"),
  notification_url: t("new.notification_url"),
  order_number: t("new.order_number"),
  note: t("new.note"),
  soft_descriptor: t("new.descriptor"),
  birth_date: t("new.birth_date"),
};

const regions = new Intl.DisplayNames(locale, { type: "region" });

/** @param {string} code */
export function countryName(code) {
  if (!/^[a-z]{2}$/.test(code)) return shown(code);
  return `${regions.of(code.toUpperCase()) ?? code} (${code.toUpperCase()})`;
}

/** @param {{ model: Model }} props */
function NewPayment({ model }) {
  const form = formOf(model.typed.value, model.tables.value);
  const { values, needed, card } = form;
  const { source, fault = "" } = values;
  const isBusy = model.outcome.value?.isBusy === true;
  const { does, waits } = faultWords(fault);
  const others = countryFields.filter((name) => !needed.includes(name));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    model.send();
  };
  /** @type {Input} */
  const input = (name, more) =>
    html`<${Field}
      key=${name}
      model=${model}
      name=${name}
      label=${own(labels, name)}
      value=${own(values, name) ?? ""}
      ...${more}
    />`;
  return html`
    <form class="new-payment" onSubmit=${submit} noValidate>
      <div>
        <fieldset>
          <legend>${t("view.payment")}</legend>
          ${input("country", {
            label: t("facts.country"),
            options: model.tables.value.countries.map(({ country }) => [
              country,
              countryName(country),
            ]),
          })}
          ${input("currency_code", { label: t("new.currency"), options: form.currencies.map((each) => [each, shown(each)]) })}
          ${input("amount_total", { label: t("head.amount"), mode: "decimal" })}
          ${input("instalments", { label: t("head.instalments"), options: form.counts.map((each) => [String(each), String(each)]) })}
          ${input("capture", {
            label: t("capture.name"),
            options: [
              ["now", t("new.now")],
              ["later", t("new.later")],
            ],
          })}
          ${input("merchant_payment_code", { label: t("head.code") })}
        </fieldset>
        <fieldset>
          <legend>${t("head.card")}</legend>
          ${input("source", {
            label: t("new.source"),
            options: [
              ["card", t("new.source.card")],
              ["store", t("new.source.store")],
              ["token", t("new.source.token")],
            ],
          })}
          ${source === "token" ? html`<${TokenFields} model=${model} values=${values} input=${input} />` : html`<${CardFields} model=${model} values=${values} input=${input} />`}
          ${input("payment_type_code", {
            label: t("head.type"),
            options: [
              ["creditcard", t("new.credit")],
              ["debitcard", t("new.debit")],
            ],
          })}
          ${source !== "token" && html`<${CardNote} card=${card} country=${values["country"]} />`}
        </fieldset>
        <fieldset>
          <legend>${t("head.customer")}</legend>
          ${[...customerFields, ...needed].map((name) =>
            input(name, name === "state" ? { choices: form.states } : {}),
          )}
        </fieldset>
        <details class="more">
          <summary>${t("new.optional")}</summary>
          <fieldset>
            <legend class="unseen">${t("new.optional")}</legend>
            ${[...others, ...optionalFields].map((name) => input(name))}
          </fieldset>
        </details>
        ${
          mayDo("admin") &&
          html`
            <fieldset>
              <legend>${t("new.fail")}</legend>
              ${input("fault", { label: t("faults.kind_of"), options: [["", t("new.no_fault")], ...paymentFaultOptions] })}
              ${waits && input("delay_ms", { label: t("faults.delay"), mode: "numeric" })}
              ${fault === "decline" && input("reason", { label: t("faults.reason"), options: declineOptions })}
              <p class="soft wide-part">${fault === "" ? t("new.fail_explained") : does}</p>
            </fieldset>
          `
        }
        <p class="save">
          <button type="submit" disabled=${isBusy}>
            ${isBusy ? t("new.sending") : t("new.send")}
          </button>
          ${isBusy && html`<button type="button" class="second" onClick=${model.stop}>${t("new.stop")}</button>`}
        </p>
      </div>
      <div class="beside">
        <${Answer} outcome=${model.outcome.value} onQuery=${model.query} />
        <${RequestView} forShell=${requestsOf(values)} asJson=${requestsOf(values, "$TOKEN")} />
      </div>
    </form>
  `;
}

/**
 * A field with its label, and the refusal of its value. `options`: a choice; `choices`: suggestions
 * for a text; `writes`: the changed value, if it has another name.
 * @param {{ model: Model, name: string, label: string, value: string, options?: readonly (readonly
 * [string, string])[], choices?: readonly string[], mode?: string, writes?: string }} props
 */
function Field({ model, name, label, value, options, choices = [], mode = "text", writes = name }) {
  const refusal = model.outcome.value?.refusal;
  const isRefused = refusal !== undefined && refusal.field === name;
  const id = `new-${name}`;
  const change = (/** @type {Event} */ { currentTarget }) => {
    if (currentTarget instanceof HTMLInputElement || currentTarget instanceof HTMLSelectElement)
      model.type(writes, currentTarget.value);
  };
  const common = {
    id,
    name,
    "aria-invalid": isRefused ? "true" : undefined,
    "aria-describedby": isRefused ? `${id}-refusal` : undefined,
  };
  return html`
    <div class="part-field">
      <label for=${id}>${label}</label>
      ${
        options === undefined
          ? html`<input
              ...${common}
              value=${value}
              inputmode=${mode}
              autocomplete="off"
              spellcheck=${false}
              list=${choices.length > 0 ? `${id}-choices` : undefined}
              onInput=${change}
            />`
          : html`<select ...${common} value=${value} onChange=${change}>
              ${options.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
            </select>`
      }
      ${
        choices.length > 0 &&
        html`<datalist id=${`${id}-choices`}>
          ${choices.map((each) => html`<option key=${each} value=${each}></option>`)}
        </datalist>`
      }
      ${isRefused && html`<p id=${`${id}-refusal`} class="refusal"><${RefusalText} refusal=${refusal} /></p>`}
    </div>
  `;
}

/** @param {{ model: Model, values: Values, input: Input }} props */
function CardFields({ model, values, input }) {
  const options = model.tables.value.cards.map((card) => [
    card.card_number,
    `${shown(card.brand)} •••• ${shown(card.card_number.slice(-4))}: ${resultText(card)}`,
  ]);
  return html`
    ${input("card", { label: t("new.test_card"), options: [...options, ["", t("new.other_card")]] })}
    ${values["card"] === "" && input("card_number", { label: t("head.number"), mode: "numeric" })}
    ${input("card_name", { label: t("new.card_name") })}
    ${input("card_due_date", { label: t("new.expiry") })}
    ${input("card_cvv", { label: t("new.cvv"), mode: "numeric" })}
  `;
}

/**
 * What a payment with the card leads to.
 * @param {TestCard} card
 */
export function resultText({ result, reason, refusal, funding, three_d_secure: secure }) {
  const ofSecure = secure === undefined ? [] : [`3-D Secure: ${behaviourWords(secure)}`];
  if (result === "declined") return [reasonWords(reason ?? ""), ...ofSecure].join("; ");
  if (result === "refused")
    return shown(refusalWords(refusal?.status_code ?? "", refusal?.status_message ?? "").text);
  const more =
    funding === "credit"
      ? []
      : [(own(kindsOfCard, funding) ?? shown(funding)).toLocaleLowerCase(locale)];
  return [[t("result.approved"), ...more].join(", "), ...ofSecure].join("; ");
}

/** @type {Readonly<Record<string, string>>} */
const kindsOfCard = { debit: t("new.debit"), prepaid: t("new.prepaid") };

/** @param {{ card: TestCard | undefined, country: string }} props */
function CardNote({ card, country }) {
  if (card === undefined) return html`<p class="soft wide-part">${t("new.published_only")}</p>`;
  if (card.countries.includes(country)) return null;
  return html`<p class="waiting-note wide-part">
    ${t("new.not_in_country", { brand: shown(card.brand), country: countryName(country) })}
  </p>`;
}

/** @param {{ model: Model, values: Values, input: Input }} props */
function TokenFields({ model, values, input }) {
  const stored = model.stored.value;
  const { token = "" } = values;
  const isKnown = stored.some((each) => each.token === token);
  const options = stored.map((each) => [each.token, shown(each.name)]);
  return html`
    ${
      stored.length > 0 &&
      input("stored", {
        writes: "token",
        label: t("new.stored_card"),
        value: isKnown ? token : "",
        options: [...options, ["", t("new.other_token")]],
      })
    }
    ${!isKnown && input("token", { label: t("new.token") })}
    <p class="soft wide-part">${t("new.tokens_explained")}</p>
  `;
}
