// Two payments side by side: facts and steps, with the differences marked.
import { useState } from "preact/hooks";
import { aligned, mostCompared } from "./aligned.js";
import { call, subjectOfTab } from "./api.js";
import { problemText, shown } from "./shown.js";
import { amountText, countryText, countText, exactText, momentText, timeOf } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { clock } from "./state.js";
import { sinceText, stepsOf } from "./story.js";
import { sentenceOf } from "./sentences.js";
import { isHash, kindWords, moneyWords, reasonWords, shortHash, stateWords } from "./words.js";
import { minorOf } from "./money.js";

/** @import { Entry, Listed, Page, Subject, Timeline } from "./api.js" */
/** @import { Step } from "./story.js" */

/** @typedef {{ payment: Listed, entries: readonly Entry[] }} Compared */

/** Payments of the same customer that are offered. */
const mostOffered = 10;

/** @type {import("./main.js").View} */
export async function compareView(main, [left = "", right = ""], _query, abort) {
  const subject = subjectOfTab();
  if (right !== "") {
    const both = await Promise.all([read(left, subject), read(right, subject)]);
    if (!abort.aborted)
      mountIn(main, html`<div class="compare"><${Both} both=${both} /></div>`, abort);
    return;
  }
  const payment = await paymentNamed(left, subject);
  const { payments } = /** @type {Page} */ (
    await call("/__cofre/payments", { search: payment.email, limit: mostOffered + 1 }, subject)
  );
  if (abort.aborted) return;
  const others = payments.filter(({ hash }) => hash !== payment.hash).slice(0, mostOffered);
  mountIn(
    main,
    html`<div class="compare">
      <${Choice} payment=${payment} others=${others} subject=${subject} />
    </div>`,
    abort,
  );
}

/**
 * @param {string} name a hash or a code
 * @param {Subject} subject
 */
async function paymentNamed(name, subject) {
  const { payments } = /** @type {Page} */ (
    await call("/__cofre/payments", { search: name, limit: 1 }, subject)
  );
  const [payment] = payments;
  if (payment === undefined || ![payment.hash, payment.merchant_payment_code].includes(name))
    throw new Error(t("payment.not_found"));
  return payment;
}

/**
 * @param {string} hash
 * @param {Subject} subject
 * @returns {Promise<Compared>}
 */
async function read(hash, subject) {
  if (!isHash(hash)) throw new Error(t("payment.not_found"));
  const [payment, { entries }] = await Promise.all([
    paymentNamed(hash, subject),
    /** @type {Promise<Timeline>} */ (call("/__cofre/timeline", { hash }, subject)),
  ]);
  return { payment, entries };
}

/**
 * Asks for the second payment.
 * @param {{ payment: Listed, others: readonly Listed[], subject: Subject }} props
 */
function Choice({ payment, others, subject }) {
  const [trouble, setTrouble] = useState("");
  /** @param {Event} event */
  const find = async (event) => {
    event.preventDefault();
    const typed = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)).get("other");
    try {
      const other = await paymentNamed(typeof typed === "string" ? typed.trim() : "", subject);
      location.hash = `#/compare/${payment.hash}/${other.hash}`;
    } catch (error) {
      setTrouble(problemText(error));
    }
  };
  return html`
    <div>
      <p>
        ${t("compare.first")}${" "}
        <a href=${`#/payment/${payment.hash}`}
          ><bdi>${shown(payment.merchant_payment_code)}</bdi></a
        >
      </p>
      <form class="search" onSubmit=${find}>
        <label class="field">
          <span>${t("compare.second")}</span>
          <input name="other" required autocomplete="off" spellcheck=${false} maxlength="100" />
        </label>
        <button type="submit">${t("compare.name")}</button>
      </form>
      ${trouble !== "" && html`<p class="problem" role="alert">${trouble}</p>`}
      ${
        others.length > 0 &&
        html`
          <h2>${t("compare.same_customer")}</h2>
          <ul class="plain-list">
            ${others.map(
              (other) => html`
                <li key=${other.hash}>
                  <a href=${`#/compare/${payment.hash}/${other.hash}`}
                    ><bdi>${shown(other.merchant_payment_code)}</bdi></a
                  >${" "}
                  <span class="soft">
                    ${`${moneyOf(other)} · ${stateOf(other)} · ${momentText(other.open_date, timeOf(clock.value?.now ?? ""))}`}
                  </span>
                </li>
              `,
            )}
          </ul>
        `
      }
    </div>
  `;
}

/** @param {Listed} payment */
function moneyOf({ amount_ext: amount, currency_ext: currency }) {
  return `${amountText(amount, currency)} ${shown(currency)}`;
}

/** @param {Listed} payment */
function stateOf({ state, captured, refunded, charged_back: isChargedBack, decline_reason: why }) {
  const { text } =
    state === "captured"
      ? moneyWords(minorOf(captured), minorOf(refunded), isChargedBack)
      : stateWords(state);
  return why === undefined ? text : `${text}, ${reasonWords(why)}`;
}

/** @type {readonly (readonly [name: string, text: (payment: Listed) => string])[]} */
const rows = [
  [t("head.state"), stateOf],
  [t("head.amount"), moneyOf],
  [
    t("head.local"),
    ({ amount_br: amount, currency_br: currency }) =>
      `${amountText(amount, currency)} ${shown(currency)}`,
  ],
  [
    t("money.captured"),
    ({ captured, currency_ext: currency }) =>
      `${amountText(captured, currency)} ${shown(currency)}`,
  ],
  [
    t("money.refunded"),
    ({ refunded, currency_ext: currency }) =>
      `${amountText(refunded, currency)} ${shown(currency)}`,
  ],
  [t("head.card"), ({ brand, masked_card_number: mask }) => shown(`${brand} ${mask}`)],
  [t("head.instalments"), ({ instalments }) => shown(instalments)],
  [t("facts.country"), ({ country }) => countryText(country)],
  [t("head.customer"), ({ name }) => shown(name)],
  [t("head.email"), ({ email }) => shown(email)],
  [t("head.opened"), ({ open_date: at }) => exactText(at)],
];

/** @param {{ both: readonly [Compared, Compared] }} props */
function Both({ both }) {
  const [left, right] = both;
  const [lefts, rights] = [stepsOf(left.entries), stepsOf(right.entries)];
  const pairs = aligned(lefts.slice(0, mostCompared), rights.slice(0, mostCompared));
  const begun = both.map(({ entries }) => Date.parse(entries[0]?.at ?? ""));
  const names = both.map(({ payment }) => payment.merchant_payment_code);
  const heads = both.map(
    ({ payment }) => html`
      <th key=${payment.hash} scope="col" role="columnheader">
        <a href=${`#/payment/${payment.hash}`}
          ><bdi>${shown(payment.merchant_payment_code)}</bdi></a
        >
        <small class="code"> ${shortHash(payment.hash)}</small>
      </th>
    `,
  );
  return html`
    <div>
      <${Sides}
        caption=${t("facts.title")}
        first=${t("compare.fact")}
        heads=${heads}
        names=${names}
        rows=${rows.map(([name, text]) => {
          const texts = [text(left.payment), text(right.payment)];
          return { name, texts, isSame: texts[0] === texts[1] };
        })}
      />
      <${Sides}
        caption=${t("payment.timeline")}
        first=${t("compare.step")}
        heads=${heads}
        names=${names}
        rows=${pairs.map(({ left: one, right: other }) => ({
          name: kindOf(one ?? other),
          texts: [one, other].map((step, side) =>
            step === undefined ? "" : textOf(step, begun[side] ?? 0),
          ),
          isSame: one !== undefined && other !== undefined,
        }))}
      />
    </div>
  `;
}

/** @param {Step | undefined} step */
function kindOf(step) {
  return kindWords((step?.calls[0] ?? step?.entry)?.kind ?? "");
}

/**
 * @param {Step} step
 * @param {number} begun
 */
function textOf({ entry, calls }, begun) {
  const [first = entry] = calls;
  const last = calls.at(-1);
  const sentences = last === undefined || last === entry ? [entry] : [last, entry];
  return [
    sinceText(Date.parse(first.at) - begun),
    ...(calls.length > 1 ? [`${countText(calls.length)}×`] : []),
    ...sentences.map((each) => shown(sentenceOf(each))),
  ].join(" ");
}

/**
 * @param {{ caption: string, first: string, heads: unknown, names: readonly string[], rows:
 * readonly { name: string, texts: readonly string[], isSame: boolean }[] }} props
 */
function Sides({ caption, first, heads, names, rows: shownRows }) {
  const different = shownRows.filter(({ isSame }) => !isSame).length;
  return html`
    <section>
      <h2>${caption}</h2>
      <p class="soft">${t("compare.differences", { count: different })}</p>
      <div class="wide">
        <table role="table" class="sides">
          <caption class="unseen">
            ${caption}
          </caption>
          <thead role="rowgroup">
            <tr role="row">
              <th scope="col" role="columnheader">${first}</th>
              ${heads}
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${shownRows.map(
              ({ name, texts, isSame }, place) => html`
                <tr key=${place} role="row" class=${isSame ? undefined : "differs"}>
                  <th scope="row" role="rowheader">
                    ${name}${!isSame && html`<span class="unlike" role="img" aria-label=${t("compare.differs")}> ≠</span>`}
                  </th>
                  ${texts.map(
                    (text, side) =>
                      html`<td key=${side} role="cell" data-head=${names[side]}>
                        <bdi>${text === "" ? "–" : text}</bdi>
                      </td>`,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
}
