import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day, type Instant, instant } from "../kernel/instant.ts";
import { endOfDueMonth, parseCardDueDate } from "./card-due-date.ts";

/** A moment from ISO text by the platform's calendar, the oracle of this file. */
function at(iso: string): Instant {
  return instant(Date.parse(iso));
}

describe("expiry of cards", () => {
  test("mm/yyyy is read with and without padding", () => {
    assert.deepEqual(parseCardDueDate("9/2027"), { month: 9, year: 2027 });
    assert.deepEqual(parseCardDueDate("09/2027"), { month: 9, year: 2027 });
    assert.deepEqual(parseCardDueDate("12/2030"), { month: 12, year: 2030 });
  });

  for (const text of [
    "0/2027",
    "00/2027",
    "13/2027",
    "009/2027",
    "9/27",
    "9/20271",
    "2027/9",
    "9-2027",
    "9/2027 ",
    "",
  ]) {
    test(`${JSON.stringify(text)} is not an expiry`, () => {
      assert.equal(parseCardDueDate(text), undefined);
    });
  }

  const ends: readonly (readonly [year: number, month: number, last: string])[] = [
    [2026, 11, "2026-12-01T11:59:59.999Z"],
    [2026, 12, "2027-01-01T11:59:59.999Z"],
    [2028, 2, "2028-03-01T11:59:59.999Z"],
    [2027, 2, "2027-03-01T11:59:59.999Z"],
    [2030, 4, "2030-05-01T11:59:59.999Z"],
  ];
  for (const [year, month, last] of ends) {
    test(`${month}/${year} ends with ${last}, when the month is over in UTC-12`, () => {
      assert.equal(endOfDueMonth(year, month), at(last));
      const there = new Date(endOfDueMonth(year, month) - day / 2);
      assert.deepEqual([there.getUTCFullYear(), there.getUTCMonth() + 1], [year, month]);
    });
  }
});
