import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import "../support/session-storage.ts";

interface Span {
  readonly per: "hour" | "day";
  readonly bounds: readonly number[];
}
const figuresUrl = pathToFileURL(
  fileURLToPath(new URL("../../../console/src/figures.js", import.meta.url)),
).href;
// The shown zone of this process.
sessionStorage.setItem("cofre.zone", "UTC");
/** The page's own module; its types are in comments. */
const { spanOf, spanBefore, isTooLong, timeText, listOf, marksOf, percentOf } = (await import(
  figuresUrl
)) as {
  readonly spanOf: (
    chosen: { readonly period: string; readonly from: string; readonly to: string },
    now: number,
  ) => Span | undefined;
  readonly spanBefore: (span: Span) => Span | undefined;
  readonly isTooLong: (span: Span) => boolean;
  readonly timeText: (at: number) => string;
  readonly listOf: (
    span: { readonly from: number; readonly to: number },
    values: Readonly<Record<string, string>>,
    state?: string,
  ) => string;
  readonly marksOf: (most: bigint) => readonly bigint[];
  readonly percentOf: (part: bigint, whole: bigint) => number;
};

/** The bounds of a choice in a browser of that zone. */
function boundsIn(zone: string, chosen: Parameters<typeof spanOf>[0], now: number): Span {
  const program = `
    import ${JSON.stringify(import.meta.resolve("../support/session-storage.ts"))};
    const { spanOf } = await import(${JSON.stringify(figuresUrl)});
    console.log(JSON.stringify(spanOf(${JSON.stringify(chosen)}, ${now})));`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", program],
    { encoding: "utf8", env: { ...process.env, TZ: zone } },
  );
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Span;
}

function endsOf({ bounds }: Span): { readonly from: number; readonly to: number } {
  return { from: bounds[0] ?? NaN, to: bounds.at(-1) ?? NaN };
}

describe("the period of Insights", () => {
  const now = Date.UTC(2026, 10, 25, 18, 13);
  const times = (period: string, from = "", to = "", at = now) => {
    const span = spanOf({ period, from, to }, at);
    if (span === undefined) return undefined;
    const { from: first, to: last } = endsOf(span);
    const [begin = "", end = ""] = [first, last].map((time) =>
      timeText(time).replace("T00:00Z", ""),
    );
    return [span.per, begin, end];
  };

  test("is the last hours or days of the account's time, including the present one", () => {
    assert.deepEqual(times("24h"), ["hour", "2026-11-24T19:00Z", "2026-11-25T19:00Z"]);
    assert.deepEqual(times("7d"), ["day", "2026-11-19", "2026-11-26"]);
    assert.deepEqual(times("30d"), ["day", "2026-10-27", "2026-11-26"]);
    assert.deepEqual(times("constructor"), times("7d"), "any other word is the usual period");
    assert.deepEqual(times("7d", "", "", 3_600_000), ["day", "1970-01-01", "1970-01-02"]);
  });

  test("is a range of whole days, by hour if it is short", () => {
    assert.deepEqual(times("range", "2026-11-01", "2026-11-03"), [
      "day",
      "2026-11-01",
      "2026-11-04",
    ]);
    assert.deepEqual(times("range", "2026-11-01", "2026-11-02"), [
      "hour",
      "2026-11-01",
      "2026-11-03",
    ]);
    for (const [from, to] of [
      ["2026-11-02", "2026-11-01"],
      ["2026-13-01", "2026-11-01"],
      ["yesterday", "2026-11-01"],
      ["2026-11-01", ""],
    ] as const)
      assert.equal(times("range", from, to), undefined, `${from} ${to}`);
    const spanTo = (to: string) => spanOf({ period: "range", from: "2026-01-01", to }, now);
    const [longest, longer] = [spanTo("2026-04-10"), spanTo("2026-04-11")];
    assert.ok(longest !== undefined && longer !== undefined);
    assert.deepEqual([isTooLong(longest), isTooLong(longer)], [false, true]);
  });

  test("is compared with the span of the same length before it, if there is one", () => {
    const day = 86_400_000;
    const days = (first: number) => Array.from({ length: 8 }, (_, index) => (first + index) * day);
    assert.deepEqual(spanBefore({ per: "day", bounds: days(7) }), { per: "day", bounds: days(0) });
    assert.deepEqual(spanBefore({ per: "hour", bounds: [2 * day, 2 * day + 3_600_000] }), {
      per: "hour",
      bounds: [2 * day - 3_600_000, 2 * day],
    });
    assert.equal(spanBefore({ per: "day", bounds: days(6) }), undefined);
    assert.equal(spanBefore({ per: "day", bounds: [] }), undefined);
    assert.deepEqual(spanOf({ period: "7d", from: "", to: "" }, NaN), { per: "day", bounds: [] });
  });

  test("has the days of the shown zone, also those of 23 and 25 hours, and its hours", () => {
    const texts = ({ bounds }: Span) => bounds.map(timeText);
    const range = (from: string, to: string) => ({ period: "range", from, to });
    // The day of the zone is the one before that of UTC.
    const night = Date.UTC(2026, 10, 26, 1, 30);
    const week = texts(boundsIn("America/Sao_Paulo", { period: "7d", from: "", to: "" }, night));
    assert.deepEqual(
      [week.length, week[0], week.at(-2), week.at(-1)],
      [8, "2026-11-19T03:00Z", "2026-11-25T03:00Z", "2026-11-26T03:00Z"],
    );
    assert.deepEqual(
      texts(boundsIn("America/Santiago", range("2026-09-05", "2026-09-07"), night)),
      ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z", "2026-09-08T03:00Z"],
      "the clock skips the midnight of September 6",
    );
    const long = boundsIn("America/Santiago", range("2026-04-04", "2026-04-04"), night);
    assert.deepEqual([long.per, long.bounds.length - 1], ["hour", 25]);
    const hours = texts(boundsIn("Asia/Kolkata", { period: "24h", from: "", to: "" }, night));
    assert.deepEqual([hours.length, hours.at(-1)], [25, "2026-11-26T02:30Z"]);
  });
});

test("the list of a bar has times with their zone, which the page does not read in its own", () => {
  const [from, to] = [Date.UTC(2026, 10, 25), Date.UTC(2026, 10, 26)];
  const query = (address: string) =>
    Object.fromEntries(new URLSearchParams(address.slice("#/payments?".length)));
  assert.deepEqual(query(listOf({ from, to }, { currency: "USD", brand: "", country: "mx" })), {
    search: "currency:usd country:mx after:2026-11-25T00:00Z before:2026-11-26T00:00Z",
  });
  assert.deepEqual(query(listOf({ from: NaN, to: NaN }, { reason: "timeout" }, "refunded")), {
    search: "reason:timeout",
    state: "refunded",
  });
});

test("the axis of a chart has at most five marks, which are round, and ends above the greatest bar", () => {
  for (const [most, marks] of [
    [0n, [0n, 1n]],
    [1n, [0n, 1n]],
    [3n, [0n, 1n, 2n, 3n]],
    [5n, [0n, 2n, 4n, 6n]],
    [100n, [0n, 50n, 100n]],
    [101n, [0n, 50n, 100n, 150n]],
    [123_456n, [0n, 50_000n, 100_000n, 150_000n]],
    [10n ** 18n + 1n, [0n, 5n * 10n ** 17n, 10n ** 18n, 15n * 10n ** 17n]],
  ] as const)
    assert.deepEqual(marksOf(most), marks, String(most));
  assert.deepEqual([percentOf(1n, 3n), percentOf(5n, 0n)], [33.33, 0]);
});

describe("a bar of Insights", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server[Symbol.asyncDispose]());

  type Fields = Readonly<Record<string, unknown>>;
  async function ask(path: string, fields: Fields): Promise<Fields> {
    const { body } = await server.postJson(path, { integration_key: integrationKey, ...fields });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    return body;
  }

  /** The number of payments in the list at an address. */
  async function listed(address: string): Promise<number> {
    const query = new URLSearchParams(address.slice(address.indexOf("?")));
    const fields = { limit: 100, ...Object.fromEntries(query) };
    const { payments, next } = await ask("/__cofre/payments", fields);
    assert.equal(next, null);
    return (payments as readonly unknown[]).length;
  }

  test("has the number of payments of the list that it leads to", async () => {
    const card = (card_number: string) => ({ creditcard: { ...testCard, card_number } });
    const chile = { amount_total: "23", currency_code: "CLP", country: "cl", document: undefined };
    let made = 0;
    for (const [payment, hours] of [
      [{}, 0],
      // Its local currency is BRL too, as is the requested one of the next.
      [card("5555555555554444"), 0],
      [{ currency_code: "BRL" }, 1],
      [chile, 22],
      [{ ...chile, currency_code: "USD" }, 1],
      [card("5102026827345142"), 24],
      [card("4716909774636285"), 3],
      [{ ...card("4716909774636285"), currency_code: "BRL" }, 0],
    ] as const) {
      server.clock.advance(hours * 3_600_000);
      await server.postJson("/ws/direct", directBody(`bar-${(made += 1)}`, payment));
    }
    const now = Number(server.clock.now());
    const groups = [
      ["countries", "country", 2],
      ["brands", "brand", 2],
      ["currencies", "currency", 3],
      ["decline_reasons", "reason", 2],
    ] as const;
    for (const [period, zone] of [
      ["24h", "UTC"],
      ["7d", "UTC"],
      ["7d", "America/Sao_Paulo"],
    ] as const) {
      const { per, bounds } = boundsIn(zone, { period, from: "", to: "" }, now);
      const span = endsOf({ per, bounds });
      for (const currency of ["", "USD", "BRL"]) {
        const only = currency === "" ? {} : { currency };
        const times = bounds.map(timeText).join();
        const figures = await ask("/__cofre/figures", { per, bounds: times, ...only });
        const numberOf = (tally: unknown) => (tally as Fields)["payments"];
        const total = numberOf(figures["total"]);
        assert.equal(total, await listed(listOf(span, { currency })));
        for (const [list, operator, least] of groups) {
          const rows = figures[list] as readonly Fields[];
          if (period === "7d" && currency === "") assert.ok(rows.length >= least, list);
          for (const row of rows) {
            const address = listOf(span, { currency, [operator]: String(row[operator]) });
            assert.equal(row["payments"], await listed(address), address);
          }
        }
        assert.equal((figures["periods"] as readonly Fields[]).length, bounds.length - 1);
        for (const [index, tally] of (figures["periods"] as readonly Fields[]).entries()) {
          const [from = NaN, to = NaN] = bounds.slice(index, index + 2);
          const address = listOf({ from, to }, { currency });
          assert.equal(tally["payments"], await listed(address), address);
        }
        const { declined } = figures["total"] as Fields;
        assert.equal(declined, await listed(listOf(span, { currency, status: "declined" })));
      }
    }
  });
});
