// Volume, approval and latency, as charts and as tables.
import { call } from "./api.js";
import { field, h, select, shape, shown, table } from "./dom.js";
import { amountText, countText, shareText } from "./format.js";
import { locale, t } from "./language.js";
import { keepFresh } from "./poll.js";
import { answerTimes } from "./latency.js";

/**
 * @typedef {object} Tally
 * @property {number} payments
 * @property {number} approved
 * @property {number} declined
 * @property {readonly { currency: string, authorized: string, captured: string }[]} amounts
 */
/** @typedef {Tally & { from: string }} PeriodTally */
/** @typedef {Tally & { brand: string }} BrandTally */
/**
 * @typedef {{ periods: PeriodTally[], brands: BrandTally[], payments_read: number, complete: boolean }}
 * Figures
 */

/** @type {readonly (readonly [value: string, text: string])[]} */
const spans = [
  ["hour", t("charts.hours")],
  ["day", t("charts.days")],
];

/** @type {import("./main.js").View} */
export async function chartsView(main, _words, query, signal) {
  const per = spans.find(([value]) => value === query.get("per"))?.[0] ?? "hour";
  const parts = { volume: h("section"), brands: h("section"), latency: h("section") };
  /** @type {Record<string, string>} */
  const made = {};
  const times = answerTimes(signal);

  /**
   * Redraws only what has changed, so that the focus in a table stays, and an open table stays
   * open.
   * @param {keyof typeof parts} name
   * @param {unknown} data
   * @param {() => readonly Node[]} draw
   */
  const put = (name, data, draw) => {
    const now = JSON.stringify(data);
    if (made[name] === now) return;
    made[name] = now;
    const isOpen = parts[name].querySelector("details")?.open === true;
    const hadFocus = parts[name].contains(document.activeElement);
    parts[name].replaceChildren(...draw());
    const details = parts[name].querySelector("details");
    if (details === null) return;
    details.open = isOpen;
    if (hadFocus) details.querySelector("summary")?.focus();
  };

  const refresh = async () => {
    const figures = /** @type {Figures} */ (await call("/__cofre/figures", { per }));
    if (signal.aborted) return;
    put("volume", [figures.periods, figures.complete], () => volume(per, figures));
    put("brands", figures.brands, () => approval(figures.brands));
    const latency = await times();
    if (signal.aborted || latency === undefined) return;
    put("latency", latency, () => latencies(latency));
  };

  const chosen = select("per", spans, per);
  const apply = () => {
    location.hash = `#/charts?per=${chosen.value}`;
  };
  const form = h(
    "form",
    { class: "search", onsubmit: (event) => event.preventDefault(), onchange: apply },
    field(t("charts.period"), chosen),
  );
  main.append(form, ...Object.values(parts));
  await refresh();
  void keepFresh(signal, refresh);
}

/**
 * @param {string} per
 * @param {Figures} figures
 */
function volume(per, { periods, payments_read: lookedAt, complete }) {
  const most = Math.max(1, ...periods.map(({ payments }) => payments));
  const sum = (/** @type {(tally: Tally) => number} */ of) =>
    periods.reduce((total, tally) => total + of(tally), 0);
  const isHourly = per === "hour";
  const sums = {
    count: sum(({ payments }) => payments),
    approved: sum(({ approved }) => approved),
    declined: sum(({ declined }) => declined),
  };
  const words = isHourly ? t("charts.by_hour", sums) : t("charts.by_day", sums);
  const height = 100;
  const bars = periods.flatMap(({ from, payments, approved, declined }, index) => {
    const parts = /** @type {const} */ ([
      ["approved", approved, t("charts.legend.approved")],
      ["declined", declined, t("charts.legend.declined")],
      ["open", payments - approved - declined, t("charts.open")],
    ]);
    let top = height;
    return parts.map(([kind, number, name]) => {
      const tall = (number / most) * height;
      top -= tall;
      if (number <= 0) return undefined;
      return shape(
        "rect",
        { class: kind, x: index + 0.1, y: top, width: 0.8, height: tall },
        shape("title", {}, `${shown(from)}: ${name} ${countText(number)}`),
      );
    });
  });
  const drawing = shape(
    "svg",
    {
      viewBox: `0 0 ${periods.length} ${height}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    ...bars,
  );
  const head = isHourly ? t("charts.hour") : t("charts.day");
  const busy = periods.filter(({ payments }) => payments > 0);
  const rows = busy.map(({ from, payments, approved, declined, amounts }) => [
    shown(from),
    countText(payments),
    countText(approved),
    countText(declined),
    amounts
      .map(({ currency, captured }) => `${amountText(captured, currency)} ${shown(currency)}`)
      .join(", "),
  ]);
  if (busy.length === 0 && complete)
    return [h("h2", {}, t("charts.volume")), h("p", { class: "soft" }, t("charts.none"))];
  return [
    h("h2", {}, t("charts.volume")),
    h(
      "div",
      { class: "chart", role: "img", "aria-label": words },
      h("p", { class: "scale soft", "aria-hidden": "true" }, countText(most)),
      drawing,
      h(
        "p",
        { class: "ends soft", "aria-hidden": "true" },
        h("span", {}, shown(periods.at(0)?.from ?? "")),
        h("span", {}, shown(periods.at(-1)?.from ?? "")),
      ),
    ),
    legend(
      ["approved", t("charts.legend.approved")],
      ["declined", t("charts.legend.declined")],
      ["open", t("charts.open")],
    ),
    h("p", {}, words, "."),
    !complete && h("p", { class: "problem" }, t("charts.newest", { count: lookedAt })),
    inTable(
      isHourly ? t("charts.table_hours") : t("charts.table_days"),
      [head, t("view.payments"), t("charts.approved"), t("charts.declined"), t("charts.captured")],
      rows,
    ),
  ].filter((node) => node !== false);
}

/** @param {readonly BrandTally[]} brands */
function approval(brands) {
  const heading = h("h2", {}, t("charts.approval"));
  if (brands.length === 0) return [heading, h("p", { class: "soft" }, t("charts.none"))];
  const rows = brands.map(({ brand, payments, approved, declined }) => {
    const decided = approved + declined;
    return {
      brand,
      payments,
      approved,
      declined,
      share: decided === 0 ? undefined : approved / decided,
    };
  });
  return [
    heading,
    h(
      "ul",
      { class: "lines" },
      ...rows.map(({ brand, approved, declined, share }) =>
        line(
          shown(brand),
          share === undefined
            ? t("charts.none_decided")
            : t("charts.share", {
                share: shareText(share),
                approved,
                decided: approved + declined,
              }),
          [
            ["approved", share ?? 0],
            ["declined", share === undefined ? 0 : 1 - share],
          ],
        ),
      ),
    ),
    inTable(
      t("charts.approval"),
      [
        t("head.brand"),
        t("view.payments"),
        t("charts.approved"),
        t("charts.declined"),
        t("charts.rate"),
      ],
      rows.map(({ brand, payments, approved, declined, share }) => [
        shown(brand),
        countText(payments),
        countText(approved),
        countText(declined),
        share === undefined ? t("charts.none_decided") : shareText(share),
      ]),
    ),
  ];
}

/** @param {readonly import("./latency.js").PathTimes[]} paths */
function latencies(paths) {
  const heading = h("h2", {}, t("charts.latency"));
  if (paths.length === 0) return [heading, h("p", { class: "soft" }, t("charts.no_requests"))];
  const most = Math.max(1, ...paths.map(({ slow }) => slow));
  return [
    heading,
    h("p", { class: "soft" }, t("charts.latency_explained")),
    h(
      "ul",
      { class: "lines" },
      ...paths.map(({ path, number, median, slow }) =>
        line(shown(path), t("charts.line", { median: ms(median), slow: ms(slow), number }), [
          ["median", median / most],
          ["slow", (slow - median) / most],
        ]),
      ),
    ),
    inTable(
      t("charts.latency_table"),
      [
        t("charts.path"),
        t("charts.requests"),
        t("charts.median"),
        t("charts.p95"),
        t("charts.slowest"),
      ],
      paths.map(({ path, number, median, slow, slowest }) => [
        shown(path),
        countText(number),
        ms(median),
        ms(slow),
        ms(slowest),
      ]),
    ),
  ];
}

/**
 * A line with a name, its value in words, and a bar of parts.
 * @param {string} name
 * @param {string} words
 * @param {readonly (readonly [kind: string, share: number])[]} parts
 */
function line(name, words, parts) {
  let left = 0;
  const drawn = parts.map(([kind, share]) => {
    const from = left;
    left += share;
    return share <= 0
      ? undefined
      : shape("rect", { class: kind, x: from * 100, y: 0, width: share * 100, height: 1 });
  });
  const drawing = shape(
    "svg",
    { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...drawn,
  );
  return h(
    "li",
    {},
    h("span", { class: "name" }, name),
    drawing,
    h("span", { class: "amount" }, words),
  );
}

/** @param {...(readonly [kind: string, text: string])} entries */
function legend(...entries) {
  const items = entries.map(([kind, text]) =>
    h("li", {}, h("span", { class: `key ${kind}` }), text),
  );
  return h("ul", { class: "legend", "aria-hidden": "true" }, ...items);
}

/**
 * The data of a chart as a table, for exact numbers and for screen readers.
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly (readonly string[])[]} rows
 */
function inTable(caption, heads, rows) {
  return h(
    "details",
    {},
    h("summary", {}, t("charts.as_table", { caption })),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
      table(caption, heads, rows),
    ),
  );
}

const tenths = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** @param {number} duration */
function ms(duration) {
  return duration >= 10 ? `${countText(Math.round(duration))} ms` : `${tenths.format(duration)} ms`;
}
