// The charts, bars and tables of Insights.
import { useId, useState } from "preact/hooks";
import { shown } from "./shown.js";
import { listOf, marksOf, percentOf } from "./figures.js";
import {
  amountText,
  compactText,
  countText,
  shareText,
  shortDayText,
  timeOf,
  timeOfDay,
} from "./format.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { amountOf, minorOf } from "./money.js";
import { own } from "./words.js";
import { zone } from "./zone.js";

/** @import { Amounts, Figures, Tally } from "./insights.js" */

/** Bars of a list that are shown without a press. */
const mostBars = 8;

/** @param {string} amount */
export function minorIn(amount) {
  return /^\d+(?:\.\d+)?$/.test(amount) ? minorOf(amount) : 0n;
}

/**
 * @param {readonly Amounts[]} amounts
 * @param {readonly string[]} rank
 */
export function inOrder(amounts, rank) {
  return amounts.toSorted(
    (left, right) => rank.indexOf(left.currency) - rank.indexOf(right.currency),
  );
}

/**
 * A period's beginning in the shown zone, as its unit has it.
 * @param {Figures} figures
 * @param {string} at
 */
export function momentOf({ per }, at) {
  return per === "hour" ? `${shortDayText(at)}, ${timeOfDay(at)}` : shortDayText(at);
}

/**
 * The list of the payments of one period.
 * @param {Figures} figures
 * @param {number} index
 * @param {string} currency
 */
function listOfPeriod({ periods: all, to }, index, currency) {
  const [from, next] = [all[index]?.from ?? "", all[index + 1]?.from ?? to];
  return listOf({ from: timeOf(from), to: timeOf(next) }, { currency });
}

/**
 * The number of payments of each period.
 * @param {{ figures: Figures, currency: string }} props
 */
export function Counts({ figures, currency }) {
  const { total } = figures;
  const sums = { count: total.payments, approved: total.approved, declined: total.declined };
  const bars = figures.periods.map((tally, index) => ({
    key: tally.from,
    href: listOfPeriod(figures, index, currency),
    label: t("insights.bar", {
      when: momentOf(figures, tally.from),
      count: tally.payments,
      approved: tally.approved,
      declined: tally.declined,
    }),
    parts: countParts(tally),
    cells: [tally.payments, tally.approved, tally.declined].map(countText),
  }));
  return html`
    <${Chart}
      title=${t("insights.over_time")}
      label=${figures.per === "hour" ? t("insights.by_hour", sums) : t("insights.by_day", sums)}
      figures=${figures}
      bars=${bars}
      axis=${(/** @type {bigint} */ mark) => countText(Number(mark))}
      legend=${[
        ["approved", t("insights.approved")],
        ["declined", t("insights.declined")],
        ["open", t("insights.open")],
      ]}
      heads=${[t("view.payments"), t("insights.approved"), t("insights.declined")]}
    />
  `;
}

/**
 * @param {Tally} tally
 * @returns {readonly (readonly [kind: string, size: bigint])[]}
 */
function countParts({ payments, approved, declined }) {
  return [
    ["approved", BigInt(approved)],
    ["declined", BigInt(declined)],
    ["open", BigInt(Math.max(0, payments - approved - declined))],
  ];
}

/**
 * What was captured in each period, and how much of it was refunded.
 * @param {{ figures: Figures, currency: string, isOne: boolean }} props
 */
export function Money({ figures, currency, isOne }) {
  const zero = amountOf(0n, "0.00");
  const bars = figures.periods.map((tally, index) => {
    const { captured = zero, refunded = zero } =
      tally.amounts.find((each) => each.currency === currency) ?? {};
    const texts = [captured, refunded].map((amount) => amountText(amount, currency));
    const [capturedText = "", refundedText = ""] = texts;
    return {
      key: tally.from,
      href: listOfPeriod(figures, index, currency),
      label: t("insights.amount_bar", {
        when: momentOf(figures, tally.from),
        captured: capturedText,
        refunded: refundedText,
        currency: shown(currency),
      }),
      parts: /** @type {[string, bigint][]} */ ([
        ["captured", minorIn(captured) - minorIn(refunded)],
        ["refunded", minorIn(refunded)],
      ]),
      cells: texts,
    };
  });
  const like = figures.total.amounts.find((each) => each.currency === currency)?.captured ?? zero;
  return html`
    <${Chart}
      title=${t("insights.amounts_in", { currency: shown(currency) })}
      label=${t("insights.amounts_in", { currency: shown(currency) })}
      figures=${figures}
      bars=${bars}
      axis=${(/** @type {bigint} */ mark) => compactText(amountOf(mark, like))}
      legend=${[
        ["captured", t("insights.kept")],
        ["refunded", t("insights.refunded")],
      ]}
      heads=${[t("insights.captured"), t("insights.refunded")]}
      note=${isOne ? "" : t("insights.not_added")}
    />
  `;
}

/**
 * A bar of a chart. `cells`: its row in the table.
 * @typedef {{ key: string, href: string, label: string, parts: readonly (readonly [kind: string,
 * size: bigint])[], cells: readonly string[] }} ChartBar
 */

/** Dates below a chart: more would not fit a phone. */
const mostDates = 5;

/**
 * Bars over time, which lead to their payments, with the same data as a table.
 * @param {{ title: string, label: string, figures: Figures, bars: readonly ChartBar[], axis: (mark:
 * bigint) => string, legend: readonly (readonly [kind: string, text: string])[], heads: readonly
 * string[], note?: string }} props
 */
function Chart({ title, label, figures, bars, axis, legend, heads, note = "" }) {
  const id = useId();
  const [current, setCurrent] = useState(-1);
  const sums = bars.map(({ parts: sizes }) => sizes.reduce((sum, [, size]) => sum + size, 0n));
  const marks = marksOf(sums.reduce((most, sum) => (sum > most ? sum : most), 0n));
  const top = marks.at(-1) ?? 1n;
  // One stop for the Tab key; arrow keys move from bar to bar.
  const stop = bars[current] === undefined ? bars.length - 1 : current;
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const next = own(
      { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: bars.length - 1 },
      event.key,
    );
    if (next === undefined) return;
    event.preventDefault();
    const links = /** @type {Element} */ (event.currentTarget).querySelectorAll("a");
    links[next]?.focus();
  };
  const step = Math.ceil(bars.length / mostDates);
  const { per } = figures;
  return html`
    <section class="box chart">
      <div class="top">
        <h2>${title}</h2>
        <ul class="legend" aria-hidden="true">
          ${legend.map(
            ([kind, text]) =>
              html`<li key=${kind}><span class=${`key ${kind}`}></span>${text}</li>`,
          )}
        </ul>
      </div>
      ${note !== "" && html`<p class="soft">${note}</p>`}
      <p id=${id} class="unseen">${label}. ${t("insights.keys")}</p>
      <div class="plot">
        <div class="axis" aria-hidden="true">
          ${marks.map(
            (mark) =>
              html`<span key=${mark} style=${{ bottom: `${percentOf(mark, top)}%` }}
                >${axis(mark)}</span
              >`,
          )}
        </div>
        <ol
          class="columns"
          role="list"
          aria-label=${title}
          aria-describedby=${id}
          onKeyDown=${walk}
        >
          ${bars.map(
            ({ key, href, label: text, parts: sizes }, index) => html`
              <li key=${key} role="listitem">
                <a
                  href=${href}
                  aria-label=${text}
                  title=${text}
                  tabindex=${index === stop ? 0 : -1}
                  onFocus=${() => setCurrent(index)}
                >
                  ${sizes.map(
                    ([kind, size]) =>
                      size > 0n &&
                      html`<span
                        key=${kind}
                        class=${`part ${kind}`}
                        style=${{ height: `${percentOf(size, top)}%` }}
                      ></span>`,
                  )}
                </a>
                ${
                  index % step === 0 &&
                  html`<span
                    class="date"
                    aria-hidden="true"
                    style=${{ "--columns": Math.min(step, bars.length - index) }}
                    >${per === "hour" ? timeOfDay(key) : shortDayText(key)}</span
                  >`
                }
              </li>
            `,
          )}
        </ol>
      </div>
      <details>
        <summary>${t("insights.as_table")}<span class="unseen">: ${title}</span></summary>
        <${Table}
          caption=${title}
          heads=${[per === "hour" ? t("insights.hour", { zone }) : t("insights.day", { zone }), ...heads]}
          rows=${bars.map(({ key, href, cells }) => ({
            key,
            cells: [html`<a href=${href}>${momentOf(figures, key)}</a>`, ...cells],
          }))}
        />
      </details>
    </section>
  `;
}

/**
 * A table of numbers.
 * @param {{ caption: string, heads: readonly string[], rows: readonly { key: string, cells: readonly
 * unknown[] }[] }} props
 */
export function Table({ caption, heads, rows }) {
  const kindOf = (/** @type {number} */ column) => (column === 0 ? undefined : "numbers");
  return html`
    <div class="wide" tabindex="0" role="region" aria-label=${caption}>
      <table role="table">
        <caption class="unseen">
          ${caption}
        </caption>
        <thead role="rowgroup">
          <tr role="row">
            ${heads.map(
              (head, column) =>
                html`<th key=${column} scope="col" role="columnheader" class=${kindOf(column)}>
                  ${head}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map(
            ({ key, cells }) => html`
              <tr key=${key} role="row">
                ${cells.map(
                  (cell, column) =>
                    html`<td
                      key=${column}
                      role="cell"
                      data-head=${heads[column]}
                      class=${kindOf(column)}
                    >
                      ${cell}
                    </td>`,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** @typedef {{ name: string, tally: Tally, href: string }} BarRow */

/**
 * The payments of each value of a member, the most used first, as bars that lead to them. `rank`:
 * the order of currencies.
 * @param {{ title: string, rows: readonly BarRow[], all: number, rank: readonly string[] }} props
 */
export function Bars({ title, rows, all, rank }) {
  if (rows.length === 0) return null;
  const most = BigInt(Math.max(1, ...rows.map(({ tally }) => tally.payments)));
  const bar = (/** @type {BarRow} */ row) =>
    html`<${Bar} key=${row.href} row=${row} most=${most} all=${all} rank=${rank} />`;
  const others = rows.slice(mostBars);
  return html`
    <section class="box">
      <h2>${title}</h2>
      <ul class="bars" role="list">
        ${rows.slice(0, mostBars).map(bar)}
      </ul>
      ${
        others.length > 0 &&
        html`<details>
          <summary>${t("insights.others", { count: others.length })}</summary>
          <ul class="bars" role="list">
            ${others.map(bar)}
          </ul>
        </details>`
      }
    </section>
  `;
}

/**
 * @param {{ row: BarRow, most: bigint, all: number, rank: readonly string[] }} props
 */
function Bar({ row: { name, tally, href }, most, all, rank }) {
  const captured = inOrder(tally.amounts, rank).filter((each) => minorIn(each.captured) > 0n);
  const [first = "", ...others] = captured.map(
    (each) => `${amountText(each.captured, each.currency)} ${shown(each.currency)}`,
  );
  return html`
    <li>
      <a href=${href}>
        <span class="name">${name}</span>
        <span class="amount" title=${others.length > 0 ? [first, ...others].join(" · ") : undefined}
          >${others.length > 0 ? `${first} +${others.length}` : first}</span
        >
        <span class="count">${countText(tally.payments)}</span>
        <span class="share">${all > 0 && shareText(tally.payments / all)}</span>
        <span class="meter" aria-hidden="true">
          ${countParts(tally).map(
            ([kind, size]) =>
              size > 0n &&
              html`<span
                key=${kind}
                class=${`part ${kind}`}
                style=${{ width: `${percentOf(size, most)}%` }}
              ></span>`,
          )}
        </span>
      </a>
    </li>
  `;
}
