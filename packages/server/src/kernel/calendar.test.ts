import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import {
  addDays,
  addMonths,
  ageAt,
  civilFromInstant,
  daysInMonth,
  formatCalendarDate,
  formatDate,
  formatTimestamp,
  parseDayMonthYear,
  startOfDay,
} from "./calendar.ts";
import { instant, type Instant } from "./instant.ts";

/** A moment from ISO text by the platform's calendar, the oracle of this file. */
function at(iso: string): Instant {
  return instant(Date.parse(iso));
}

const dayMs = 86_400_000;
const oracleFrom = Date.UTC(1900, 0, 1);
const oracleTo = Date.UTC(2101, 0, 1);
const anyInstant = fc
  .integer({ min: Date.UTC(1600, 0, 1), max: Date.UTC(2600, 0, 1) })
  .map(instant);

describe("instants and the calendar", () => {
  test("every day of 201 years has the date that the platform's calendar gives it", () => {
    let days = 0;
    for (let ms = oracleFrom; ms < oracleTo; ms += dayMs) {
      const oracle = new Date(ms);
      const civil = civilFromInstant(instant(ms));
      if (
        civil.year !== oracle.getUTCFullYear() ||
        civil.month !== oracle.getUTCMonth() + 1 ||
        civil.day !== oracle.getUTCDate() ||
        startOfDay(civil) !== ms
      ) {
        assert.fail(`${oracle.toISOString()} came out as ${JSON.stringify(civil)}`);
      }
      days += 1;
    }
    assert.equal(days, 73_414);
  });

  test("the time of day agrees with the platform's, before 1970 too", () => {
    fc.assert(
      fc.property(anyInstant, (moment) => {
        const oracle = new Date(moment).toISOString();
        const { hour, minute, second, millisecond } = civilFromInstant(moment);
        const time = [hour, minute, second].map((part) => String(part).padStart(2, "0")).join(":");
        assert.equal(`${time}.${String(millisecond).padStart(3, "0")}`, oracle.slice(11, 23));
        assert.equal(formatTimestamp(moment), oracle.slice(0, 19).replace("T", " "));
        assert.equal(formatDate(moment), oracle.slice(0, 10));
      }),
      { numRuns: 20_000 },
    );
  });

  test("the kept day is given up at midnight, in both directions", () => {
    assert.equal(formatTimestamp(at("2025-12-31T23:59:59.999Z")), "2025-12-31 23:59:59");
    assert.equal(formatTimestamp(at("2026-01-01T00:00:00.000Z")), "2026-01-01 00:00:00");
    assert.equal(formatTimestamp(at("2025-12-31T23:59:59.999Z")), "2025-12-31 23:59:59");
  });

  test("a day that does not exist has no start", () => {
    assert.throws(() => startOfDay({ year: 2026, month: 2, day: 29 }), { name: "BrokenInvariant" });
  });
});

describe("adding months", () => {
  const vectors: readonly (readonly [from: string, months: number, to: string])[] = [
    // 14 months from the ends of months around leap years (reliability 3.5).
    ["2022-12-31T00:00:00Z", 14, "2024-02-29T00:00:00Z"],
    ["2023-12-31T00:00:00Z", 14, "2025-02-28T00:00:00Z"],
    ["2026-12-31T10:20:30Z", 14, "2028-02-29T10:20:30Z"],
    ["2027-12-31T10:20:30Z", 14, "2029-02-28T10:20:30Z"],
    ["2026-12-30T00:00:00Z", 14, "2028-02-29T00:00:00Z"],
    ["2026-12-29T00:00:00Z", 14, "2028-02-29T00:00:00Z"],
    ["2026-12-28T00:00:00Z", 14, "2028-02-28T00:00:00Z"],
    ["2026-10-31T23:59:59Z", 14, "2027-12-31T23:59:59Z"],
    ["2026-10-30T00:00:00Z", 14, "2027-12-30T00:00:00Z"],
    ["2026-10-29T00:00:00Z", 14, "2027-12-29T00:00:00Z"],
    ["2026-11-30T00:00:00Z", 14, "2028-01-30T00:00:00Z"],
    ["2026-11-29T00:00:00Z", 14, "2028-01-29T00:00:00Z"],
    ["2028-02-29T12:00:00Z", 14, "2029-04-29T12:00:00Z"],
    ["2026-04-30T00:00:00Z", 14, "2027-06-30T00:00:00Z"],
    ["2026-08-31T00:00:00Z", 1, "2026-09-30T00:00:00Z"],
    ["2028-02-29T00:00:00Z", 12, "2029-02-28T00:00:00Z"],
    ["2028-02-29T00:00:00Z", 48, "2032-02-29T00:00:00Z"],
    ["2024-03-31T00:00:00Z", -1, "2024-02-29T00:00:00Z"],
    ["2026-01-15T00:00:00Z", -13, "2024-12-15T00:00:00Z"],
    ["2026-05-20T06:07:08.009Z", 0, "2026-05-20T06:07:08.009Z"],
  ];
  for (const [from, months, to] of vectors) {
    test(`${from} and ${months} months is ${to}`, () => {
      assert.equal(addMonths(at(from), months), at(to));
    });
  }

  test("it agrees with the platform's months wherever no month's end is in the way", () => {
    fc.assert(
      fc.property(anyInstant, fc.integer({ min: -600, max: 600 }), (moment, months) => {
        const oracle = new Date(moment);
        const { year, month } = civilFromInstant(addMonths(moment, months));
        const wanted = oracle.getUTCDate();
        oracle.setUTCDate(1);
        oracle.setUTCMonth(oracle.getUTCMonth() + months);
        oracle.setUTCDate(Math.min(wanted, daysInMonth(year, month)));
        assert.equal(addMonths(moment, months), oracle.getTime());
      }),
      { numRuns: 10_000 },
    );
  });

  test("a month's length agrees with the platform's for 400 years", () => {
    for (let year = 1900; year < 2300; year += 1) {
      for (let month = 1; month <= 12; month += 1) {
        assert.equal(daysInMonth(year, month), new Date(Date.UTC(year, month, 0)).getUTCDate());
      }
    }
  });

  test("days are 24 hours, and only whole ones are added", () => {
    assert.equal(addDays(at("2028-02-28T13:00:00Z"), 3), at("2028-03-02T13:00:00Z"));
    assert.throws(() => addDays(at("2028-02-28T13:00:00Z"), 0.5), { name: "BrokenInvariant" });
    assert.throws(() => addMonths(at("2028-02-28T13:00:00Z"), 0.5), { name: "BrokenInvariant" });
  });
});

describe("dates of requests", () => {
  test("dd/mm/yyyy is read with and without padding", () => {
    assert.deepEqual(parseDayMonthYear("12/04/1979"), { year: 1979, month: 4, day: 12 });
    assert.deepEqual(parseDayMonthYear("1/11/1975"), { year: 1975, month: 11, day: 1 });
    assert.deepEqual(parseDayMonthYear("29/2/2028"), { year: 2028, month: 2, day: 29 });
    assert.equal(formatCalendarDate({ year: 1975, month: 11, day: 1 }), "1975-11-01");
  });

  for (const text of [
    "29/02/2027",
    "29/02/1900",
    "31/04/2026",
    "00/01/2026",
    "01/00/2026",
    "01/13/2026",
    "32/01/2026",
    "1979-04-12",
    "12/04/79",
    "12/04/19790",
    " 12/04/1979",
    "12/04/1979\n",
    "12/04/1979x",
    "١٢/٠٤/١٩٧٩",
    "",
  ]) {
    test(`${JSON.stringify(text)} is not a date`, () => {
      assert.equal(parseDayMonthYear(text), undefined);
    });
  }

  test("29/02/2000 is one, as 2000 is a leap year and 1900 is not", () => {
    assert.deepEqual(parseDayMonthYear("29/02/2000"), { year: 2000, month: 2, day: 29 });
  });

  test("a birthday completes a year, the day before does not", () => {
    const birth = { year: 2010, month: 11, day: 28 };
    assert.equal(ageAt(birth, at("2026-11-27T23:59:59.999Z")), 15);
    assert.equal(ageAt(birth, at("2026-11-28T00:00:00Z")), 16);
    assert.equal(ageAt({ year: 2008, month: 2, day: 29 }, at("2027-02-28T23:59:59Z")), 18);
    assert.equal(ageAt({ year: 2008, month: 2, day: 29 }, at("2027-03-01T00:00:00Z")), 19);
  });
});

describe("the machine's zone", () => {
  const source = readFileSync(new URL("calendar.ts", import.meta.url), "utf8");
  const code = source.replaceAll(/\/\*\*?[^]*?\*\/|\/\/.*/g, "");

  test("the calendar does not know the platform's", () => {
    assert.doesNotMatch(code, /\bDate\b|\bIntl\b|\bTemporal\b/);
    assert.match(code, /formatTimestamp/, "control: the code is still there without its comments");
  });

  const script = `
    const { formatTimestamp, addMonths, endOfMonth } = await import(process.argv[1]);
    const moments = [0, 1741487400000, 1761440399000, 1774749600000, -1];
    console.log(JSON.stringify([moments.map(formatTimestamp), addMonths(1798675200000, 14), endOfMonth(2026, 10), new Date(0).getHours()]));
  `;
  const printedIn = (zone: string): string => {
    const module = fileURLToPath(new URL("calendar.ts", import.meta.url));
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script, module], {
      env: { ...process.env, TZ: zone },
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    return run.stdout.trim();
  };

  test("it prints the same in every zone, on the days when clocks change", () => {
    const zones = ["UTC", "America/Sao_Paulo", "America/Santiago", "Asia/Kathmandu"];
    const printed = zones.map(printedIn);
    const withoutControl = printed.map((line) => line.replace(/,\d+\]$/, "]"));
    assert.equal(new Set(withoutControl).size, 1);
    assert.match(printed[0] ?? "", /1970-01-01 00:00:00.*1969-12-31 23:59:59/);
    assert.equal(
      new Set(printed).size,
      zones.length - 1,
      "control: the platform's hour differs between the zones, two of which are at UTC-3 or -4",
    );
  });
});
