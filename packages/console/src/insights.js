// Amounts and counts of payments over time and by member, which lead to the payments.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call, subjectOfTab } from "./api.js";
import { shown } from "./shown.js";
import {
  dateAt,
  isTooLong,
  listOf,
  mostDays,
  percentOf,
  spanBefore,
  spanOf,
  timeText,
} from "./figures.js";
import {
  amountText,
  changeText,
  countText,
  countryText,
  durationText,
  shareText,
  timeOf,
} from "./format.js";
import { html, mountIn } from "./html.js";
import { Bars, Counts, inOrder, minorIn, momentOf, Money, Table } from "./insights-charts.js";
import { parts, t } from "./language.js";
import { answerTimes } from "./latency.js";
import { accountTime } from "./list.js";
import { keepFresh } from "./poll.js";
import { isSandbox, mayDo } from "./session.js";
import { clock } from "./state.js";
import { reasonWords } from "./words.js";
import { zone } from "./zone.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { Span } from "./figures.js" */
/** @import { PathTimes } from "./latency.js" */

/** @typedef {{ currency: string, authorized: string, captured: string, refunded: string }} Amounts */
/**
 * @typedef {object} Tally
 * @property {number} payments
 * @property {number} approved
 * @property {number} declined
 * @property {number} disputed
 * @property {readonly Amounts[]} amounts one per currency
 */
/**
 * @typedef {object} Figures
 * @property {"hour" | "day"} per
 * @property {string} from
 * @property {string} to
 * @property {Tally} total
 * @property {readonly (Tally & { from: string })[]} periods
 * @property {readonly (Tally & { brand: string })[]} brands
 * @property {readonly (Tally & { country: string })[]} countries
 * @property {readonly (Tally & { currency: string })[]} currencies also those that are not chosen
 * @property {readonly (Tally & { reason: string })[]} decline_reasons
 * @property {number} payments_read
 * @property {boolean} complete
 */
/** @typedef {{ period: string, from: string, to: string, currency: string }} Chosen */
/**
 * What the components show. `before`: the figures of the span before; undefined: not known.
 * @typedef {object} Model
 * @property {Chosen} chosen
 * @property {ReadonlySignal<Figures | undefined>} now
 * @property {ReadonlySignal<Figures | undefined>} before
 * @property {ReadonlySignal<readonly PathTimes[] | undefined>} times
 * @property {ReadonlySignal<string>} trouble
 * @property {ReadonlySignal<boolean>} isRead
 */

/** @type {readonly (readonly [value: string, text: string])[]} */
const periods = [
  ["24h", t("period.24h")],
  ["7d", t("period.7d")],
  ["30d", t("period.30d")],
  ["range", t("insights.range")],
];
const usualPeriod = "7d";
/** The span before is read again every fifth time. */
const turnsOfBefore = 5;

/** @type {import("./main.js").View} */
export async function insightsView(main, _words, query, abort) {
  const chosen = chosenOf(query);
  const now = signal(/** @type {Figures | undefined} */ (undefined));
  const before = signal(/** @type {Figures | undefined} */ (undefined));
  const times = signal(/** @type {readonly PathTimes[] | undefined} */ (undefined));
  const trouble = signal("");
  const isRead = signal(false);
  const model = { chosen, now, before, times, trouble, isRead };
  mountIn(main, html`<${Insights} model=${model} />`, abort);
  const subject = subjectOfTab();
  /** @param {Span} span */
  const read = async ({ per, bounds }) =>
    /** @type {Figures} */ (
      await call(
        "/__cofre/figures",
        {
          per,
          ...(bounds.length === 0 ? {} : { bounds: bounds.map(timeText).join() }),
          ...(chosen.currency === "" ? {} : { currency: chosen.currency }),
        },
        subject,
      )
    );
  const latency = answerTimes(abort);
  let turn = 0;
  /** @type {number | undefined} */
  let begun;
  const refresh = async () => {
    const span = spanOf(chosen, timeOf(clock.value?.now ?? (await accountTime(subject))));
    if (span === undefined || isTooLong(span)) {
      trouble.value =
        span === undefined ? t("insights.no_range") : t("insights.too_long", { most: mostDays });
      return;
    }
    const figures = await read(span);
    if (abort.aborted) return;
    put(now, figures);
    const earlier = spanBefore(span);
    if (turn % turnsOfBefore === 0 || begun !== span.bounds[0]) {
      const compared = earlier === undefined ? undefined : await read(earlier);
      if (abort.aborted) return;
      put(before, compared);
    }
    begun = span.bounds[0];
    turn += 1;
    const found = await latency();
    if (!abort.aborted) put(times, found);
  };
  try {
    await refresh();
  } finally {
    isRead.value = true;
  }
  void keepFresh(abort, refresh);
}

/**
 * @template Value
 * @param {import("@preact/signals").Signal<Value>} place
 * @param {Value} value
 */
function put(place, value) {
  if (JSON.stringify(place.value) !== JSON.stringify(value)) place.value = value;
}

/**
 * @param {URLSearchParams} query
 * @returns {Chosen}
 */
function chosenOf(query) {
  const text = (/** @type {string} */ name) => query.get(name) ?? "";
  const period = periods.find(([value]) => value === text("period"))?.[0] ?? usualPeriod;
  const currency = text("currency").toUpperCase();
  return {
    period,
    from: text("from"),
    to: text("to"),
    currency: /^[A-Z]{3}$/.test(currency) ? currency : "",
  };
}

/** @param {{ model: Model }} props */
function Insights({ model }) {
  const figures = model.now.value;
  const trouble = model.trouble.value;
  return html`
    <div class="insights">
      <${Choices} model=${model} />
      ${trouble !== "" && html`<p class="problem" role="alert">${trouble}</p>`}
      ${
        figures === undefined
          ? !model.isRead.value && html`<p class="soft looking" role="status">${t("loading")}</p>`
          : html`<${Shown} model=${model} figures=${figures} />`
      }
      <${Latency} model=${model} />
    </div>
  `;
}

/** @param {{ model: Model }} props */
function Choices({ model }) {
  const { chosen } = model;
  const [period, setPeriod] = useState(chosen.period);
  const figures = model.now.value;
  const currencies = figures?.currencies ?? [];
  const isOther =
    chosen.currency !== "" && !currencies.some(({ currency }) => currency === chosen.currency);
  const [firstDay, lastDay] = daysOf(chosen, figures);
  /** @param {Event} event */
  const apply = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLElement} */ (event.currentTarget).closest("form");
    if (form === null) return;
    const typed = [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === "string" && value !== "" ? [[name, value]] : [],
    );
    location.hash = `#/insights?${new URLSearchParams(typed).toString()}`;
  };
  /** @param {Event} event */
  const choose = (event) => {
    const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
    setPeriod(value);
    // A range is complete with its days only.
    if (value !== "range") apply(event);
  };
  return html`
    <form class="search" onSubmit=${apply}>
      <label class="field">
        <span>${t("insights.period")}</span>
        <select name="period" onChange=${choose}>
          ${periods.map(
            ([value, text]) =>
              html`<option key=${value} value=${value} selected=${value === period}>
                ${text}
              </option>`,
          )}
        </select>
      </label>
      ${
        period === "range" &&
        html`
          <${Day} name="from" label=${t("insights.from")} value=${firstDay} />
          <${Day} name="to" label=${t("insights.to")} value=${lastDay} />
        `
      }
      <label class="field">
        <span>${t("insights.currency")}</span>
        <select name="currency" onChange=${apply}>
          <option value="" selected=${chosen.currency === ""}>
            ${t("insights.all_currencies")}
          </option>
          ${isOther && html`<option value=${chosen.currency} selected>${chosen.currency}</option>`}
          ${currencies.map(
            ({ currency, payments }) =>
              html`<option
                key=${currency}
                value=${currency}
                selected=${currency === chosen.currency}
              >
                ${shown(currency)} (${countText(payments)})
              </option>`,
          )}
        </select>
      </label>
      ${period === "range" && html`<button type="submit">${t("insights.show")}</button>`}
    </form>
  `;
}

/** @param {{ name: string, label: string, value: string }} props */
function Day({ name, label, value }) {
  return html`
    <label class="field">
      <span>${label}</span>
      <input type="date" name=${name} value=${value} required min="1970-01-01" max="9999-12-31" />
    </label>
  `;
}

/**
 * The first and the last day of what is shown.
 * @param {Chosen} chosen
 * @param {Figures | undefined} figures
 */
function daysOf(chosen, figures) {
  if (chosen.period === "range") return [chosen.from, chosen.to];
  const [from, to] = [timeOf(figures?.from ?? ""), timeOf(figures?.to ?? "")];
  return Number.isNaN(from) || Number.isNaN(to) ? ["", ""] : [dateAt(from), dateAt(to - 1)];
}

/** @param {{ model: Model, figures: Figures }} props */
function Shown({ model, figures }) {
  const { total, complete, payments_read: counted, currencies } = figures;
  const { currency } = model.chosen;
  const span = { from: timeOf(figures.from), to: timeOf(figures.to) };
  const note =
    !complete && html`<p class="problem">${t("insights.newest", { count: counted })}</p>`;
  if (total.payments === 0) return html`<div>${note}<${None} /></div>`;
  // Amounts of one currency are drawn: the chosen one, or that of most payments.
  const drawn = currency === "" ? (currencies[0]?.currency ?? "") : currency;
  const rank = currencies.map((each) => each.currency);
  /** @type {Leads} */
  const leads = (values, state) => listOf(span, { ...values, currency }, state);
  return html`
    <div>
      ${note}
      <${Sums} figures=${figures} before=${model.before.value} leads=${leads} />
      <${Counts} figures=${figures} currency=${currency} />
      <${Money}
        figures=${figures}
        currency=${drawn}
        isOne=${currency !== "" || currencies.length < 2}
      />
      <div class="groups">
        <${Bars}
          title=${t("insights.countries")}
          all=${total.payments}
          rank=${rank}
          rows=${figures.countries.map((tally) => ({
            name: countryText(tally.country),
            tally,
            href: leads({ country: tally.country }),
          }))}
        />
        <${Bars}
          title=${t("insights.brands")}
          all=${total.payments}
          rank=${rank}
          rows=${figures.brands.map((tally) => ({
            name: shown(tally.brand),
            tally,
            href: leads({ brand: tally.brand }),
          }))}
        />
        <${Bars}
          title=${t("insights.currencies")}
          all=${currencies.reduce((sum, { payments }) => sum + payments, 0)}
          rank=${rank}
          rows=${currencies.map((tally) => ({
            name: shown(tally.currency),
            tally,
            href: listOf(span, { currency: tally.currency }),
          }))}
        />
        <${Bars}
          title=${t("insights.reasons")}
          all=${total.declined}
          rank=${rank}
          rows=${figures.decline_reasons.map((tally) => ({
            name: shown(reasonWords(tally.reason)),
            tally,
            href: leads({ reason: tally.reason }),
          }))}
        />
      </div>
    </div>
  `;
}

/**
 * The list of the shown payments that have these values.
 * @typedef {(values: Readonly<Record<string, string>>, state?: string) => string} Leads
 */

function None() {
  return html`<p class="nothing">
    ${
      mayDo("operator") && isSandbox()
        ? parts("insights.none_new", { link: html`<a href="#/new">${t("view.new")}</a>` })
        : t("insights.none")
    }
  </p>`;
}

/**
 * The sums of the span, with those of the span before.
 * @param {{ figures: Figures, before: Figures | undefined, leads: Leads }} props
 */
function Sums({ figures, before, leads }) {
  const { total, currencies } = figures;
  const amounts = inOrder(
    total.amounts,
    currencies.map((each) => each.currency),
  );
  // A part of a count compares with nothing.
  const earlier = figures.complete && before?.complete === true ? before : undefined;
  const decided = total.approved + total.declined;
  const rate = rateOf(total);
  const rateBefore = earlier === undefined ? undefined : rateOf(earlier.total);
  return html`
    <div>
      <dl class="sums">
        <${Sum}
          name=${t("view.payments")}
          value=${html`<a href=${leads({})}>${countText(total.payments)}</a>`}
          under=${earlier !== undefined && compared(total.payments, earlier.total.payments)}
        />
        <${Sum}
          name=${t("insights.rate")}
          value=${rate === undefined ? t("insights.none_decided") : shareText(rate)}
          under=${
            rateBefore !== undefined && t("insights.before", { value: shareText(rateBefore) })
          }
        >
          ${
            decided > 0 &&
            parts("insights.decided", {
              approved: countText(total.approved),
              declined: html`<a href=${leads({ status: "declined" })}
                >${t("insights.number_declined", { count: total.declined })}</a
              >`,
            })
          }
        <//>
        ${
          /** @type {const} */ (["captured", "refunded"]).map(
            (kind) => html`
              <${Sum}
                key=${kind}
                name=${kind === "captured" ? t("insights.captured") : t("insights.refunded")}
                value=${html`<a
                  href=${
                    kind === "captured"
                      ? leads({ status: "captured" })
                      : leads({}, "refunded,partly_refunded")
                  }
                  ><${AmountLines} amounts=${amounts} kind=${kind}
                /></a>`}
                under=${earlier !== undefined && comparedAmounts(total, earlier.total, kind)}
              />
            `,
          )
        }
        <${Sum}
          name=${t("insights.disputed")}
          value=${html`<a href=${leads({ status: "disputed" })}>${countText(total.disputed)}</a>`}
          under=${earlier !== undefined && compared(total.disputed, earlier.total.disputed)}
        />
      </dl>
      ${
        earlier !== undefined &&
        html`<p class="soft">
          ${t("insights.compared", {
            from: momentOf(earlier, earlier.from),
            to: endOf(earlier),
            zone,
          })}
        </p>`
      }
    </div>
  `;
}

/**
 * @param {{ name: string, value: unknown, under: unknown, children?: unknown }} props
 */
function Sum({ name, value, under, children }) {
  return html`
    <div>
      <dt>${name}</dt>
      <dd class="value">${value}</dd>
      ${children !== undefined && children !== false && html`<dd class="soft">${children}</dd>`}
      ${under !== false && html`<dd class="soft">${under}</dd>`}
    </div>
  `;
}

/** @param {Tally} tally */
function rateOf({ approved, declined }) {
  return approved + declined === 0 ? undefined : approved / (approved + declined);
}

/**
 * @param {number} now
 * @param {number} before
 */
function compared(now, before) {
  const value = countText(before);
  return before === 0
    ? t("insights.before", { value })
    : t("insights.before_change", { value, change: changeText((now - before) / before) });
}

/**
 * Only where both have at most one and the same currency.
 * @param {Tally} now
 * @param {Tally} before
 * @param {"captured" | "refunded"} kind
 */
function comparedAmounts({ amounts: [now, ...others] }, { amounts: earlier }, kind) {
  const [before] = earlier;
  if (now === undefined || others.length > 0 || before === undefined) return false;
  if (earlier.length > 1 || now.currency !== before.currency) return false;
  const value = `${amountText(before[kind], before.currency)} ${shown(before.currency)}`;
  const [minor, earlierMinor] = [minorIn(now[kind]), minorIn(before[kind])];
  return earlierMinor === 0n
    ? t("insights.before", { value })
    : t("insights.before_change", {
        value,
        change: changeText(percentOf(minor - earlierMinor, earlierMinor) / 100),
      });
}

/**
 * The last day, or the hour at the end.
 * @param {Figures} figures
 */
function endOf(figures) {
  const end = timeOf(figures.to);
  return figures.per === "hour" || Number.isNaN(end)
    ? momentOf(figures, figures.to)
    : momentOf(figures, new Date(end - 1).toISOString());
}

/**
 * The amount in each currency.
 * @param {{ amounts: readonly Amounts[], kind: "captured" | "refunded" }} props
 */
function AmountLines({ amounts, kind }) {
  return html`<span class="amounts"
    >${amounts.map(
      (each) =>
        html`<span key=${each.currency} class="amount"
          >${amountText(each[kind], each.currency)} <small>${shown(each.currency)}</small></span
        >`,
    )}</span
  >`;
}

/**
 * Durations of the newest recorded requests, if the server records them.
 * @param {{ model: Model }} props
 */
function Latency({ model }) {
  const times = model.times.value;
  if (times === undefined) return null;
  return html`
    <section class="box">
      <h2>${t("insights.latency")}</h2>
      ${
        times.length === 0
          ? html`<p class="soft">${t("insights.no_requests")}</p>`
          : html`
              <p class="soft">${t("insights.latency_explained")}</p>
              <${Table}
                caption=${t("insights.latency")}
                heads=${[
                  t("insights.path"),
                  t("insights.requests"),
                  t("insights.median"),
                  t("insights.p95"),
                  t("insights.slowest"),
                ]}
                rows=${times.map(({ path, number, median, slow, slowest }) => ({
                  key: path,
                  cells: [
                    shown(path),
                    countText(number),
                    durationText(median),
                    durationText(slow),
                    durationText(slowest),
                  ],
                }))}
              />
            `
      }
    </section>
  `;
}
