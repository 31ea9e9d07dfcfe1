// The published test cards, by what a payment with them leads to.
import { signal } from "@preact/signals";
import { call } from "./api.js";
import { shown } from "./shown.js";
import { html, mount } from "./html.js";
import { parts, t } from "./language.js";
import { resultText } from "./new-payment.js";
import { CopyButton } from "./payment-exchange.js";
import { refusalWords } from "./refusals.js";
import { mayDo } from "./session.js";

/** @import { Signal } from "@preact/signals" */
/** @import { TestCard } from "./payment-form.js" */

/**
 * The first group that a card fits is its own.
 * @type {readonly { title: string, fits: (card: TestCard) => boolean }[]}
 */
const groups = [
  { title: "3-D Secure", fits: ({ three_d_secure: secure }) => secure !== undefined },
  { title: t("cards.rules"), fits: ({ refusal }) => refusal !== undefined },
  { title: t("cards.declined"), fits: ({ result }) => result === "declined" },
  { title: t("cards.approved"), fits: () => true },
];

/** The groups in the order of the page. */
const order = groups.toReversed();

/** @type {import("./main.js").View} */
export async function cardsView(main, _words, _query, abort) {
  const { cards } = /** @type {{ cards: TestCard[] }} */ (await call("/__cofre/test-cards", {}));
  if (abort.aborted) return;
  const search = signal("");
  const place = document.createElement("div");
  main.append(place);
  mount(place, html`<${Cards} cards=${cards} search=${search} />`, abort);
}

/** @param {{ cards: readonly TestCard[], search: Signal<string> }} props */
function Cards({ cards, search }) {
  const words = search.value
    .toLowerCase()
    .split(" ")
    .filter((word) => word !== "");
  const found = cards.filter((card) => {
    const text = textOf(card).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  /** The number of all countries: visa is accepted everywhere. */
  const most = Math.max(...cards.map(({ countries }) => countries.length));
  const change = (/** @type {Event} */ { currentTarget }) => {
    if (currentTarget instanceof HTMLInputElement) search.value = currentTarget.value;
  };
  return html`
    <div class="cards">
      <p>${t("cards.explained")}</p>
      <p>
        <input
          type="search"
          name="search"
          aria-label=${t("cards.search")}
          placeholder=${t("cards.search")}
          autocomplete="off"
          spellcheck=${false}
          value=${search.value}
          onInput=${change}
        />
      </p>
      <p class="unseen" role="status">${t("cards.count", { count: found.length })}</p>
      ${found.length === 0 && html`<p class="nothing">${t("no_match")}</p>`}
      ${order.map(({ title }) => {
        const rows = found.filter((card) => groups.find(({ fits }) => fits(card))?.title === title);
        return (
          rows.length > 0 &&
          html`<${Group} key=${title} title=${title} cards=${rows} most=${most} />`
        );
      })}
    </div>
  `;
}

/**
 * What a search is compared with.
 * @param {TestCard} card
 */
function textOf(card) {
  return [card.card_number, card.brand, card.funding, resultText(card), answerText(card)].join(" ");
}

/**
 * What the answer to a payment says; without instalments, unless the card is always refused.
 * @param {TestCard} card
 */
function answerText({ transaction_code: code, transaction_description: text, refusal }) {
  if (refusal?.when === "always") return refusalText(refusal);
  return code === null ? "" : `${code}: ${text ?? ""}`;
}

/** @param {{ status_code: string, status_message: string }} refusal */
function refusalText({ status_code: code, status_message: message }) {
  return `${code}: ${refusalWords(code, message).text}`;
}

/** @param {{ card: TestCard }} props */
function Answer({ card }) {
  const { refusal } = card;
  if (refusal?.when === "always") return html`<span>${shown(refusalText(refusal))}</span>`;
  const said = html`<span lang="en">${shown(answerText(card))}</span>`;
  if (refusal === undefined) return said;
  const why = shown(refusalText(refusal));
  return html`<span>${parts("cards.with_instalments", { said, refusal: why })}</span>`;
}

const heads = {
  number: t("head.number"),
  brand: t("head.brand"),
  what: t("cards.what"),
  answer: t("new.answer"),
  countries: t("cards.countries"),
};

/** @param {{ title: string, cards: readonly TestCard[], most: number }} props */
function Group({ title, cards, most }) {
  return html`
    <section>
      <h2>${title}</h2>
      <div class="wide">
        <table role="table" class="card-rows">
          <caption class="unseen">
            ${title}
          </caption>
          <thead role="rowgroup">
            <tr role="row">
              ${Object.values(heads).map((head) => html`<th key=${head} scope="col" role="columnheader">${head}</th>`)}
              <th scope="col" role="columnheader">
                <span class="unseen">${t("actions.title")}</span>
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${cards.map((card) => html`<${Row} key=${card.card_number} card=${card} most=${most} />`)}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

/** @param {{ card: TestCard, most: number }} props */
function Row({ card, most }) {
  const { card_number: number, masked_card_number: mask, brand, countries } = card;
  const last = shown(number.slice(-4));
  const address = `#/new?${new URLSearchParams({ card: mask }).toString()}`;
  return html`
    <tr role="row">
      <td role="cell" data-head=${heads.number}><code>${shown(grouped(number))}</code></td>
      <td role="cell" data-head=${heads.brand}><span class="brand-name">${shown(brand)}</span></td>
      <td role="cell" data-head=${heads.what}>${resultText(card)}</td>
      <td role="cell" data-head=${heads.answer}><${Answer} card=${card} /></td>
      <td role="cell" data-head=${heads.countries}>
        ${countries.length === most ? t("cards.everywhere") : shown(countries.join(" ").toUpperCase())}
      </td>
      <td role="cell" data-head=${t("actions.title")}>
        <span class="buttons">
          <${CopyButton} text=${number} label=${t("cards.copy", { last })} />
          ${
            mayDo("operator") &&
            html`<a href=${address} aria-label=${t("cards.pay_with", { last })}
              >${t("cards.pay")}</a
            >`
          }
        </span>
      </td>
    </tr>
  `;
}

/**
 * In groups of four digits.
 * @param {string} number
 */
function grouped(number) {
  return number.match(/.{1,4}/g)?.join(" ") ?? number;
}
