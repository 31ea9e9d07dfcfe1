import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isClockRight, isContested } from "./clock-verdict.ts";

const none = { others: [], last: undefined };
const withOthers = (...others: number[]) => ({ others, last: others[0] });

describe("the clock of a node", () => {
  for (const [what, aheadMs, readings, isTrusted, isRight] of [
    ["alone, as it was: the database's was set", -60_000, none, true, true],
    ["alone, at its start or after it was set: as the database's", 60_000, none, false, false],
    ["alone at its start, near the database's", 2_000, none, false, true],
    [
      "alone at its start, as the nodes before it were",
      60_000,
      { others: [], last: 60_500 },
      false,
      true,
    ],
    [
      "alone at its start, unlike the nodes before it and the database's",
      7_000,
      { others: [], last: 60_000 },
      false,
      false,
    ],
    ["of two that agree: the database's is off", 60_000, withOthers(60_000), false, true],
    ["of two, with the database's", 0, withOthers(60_000), false, true],
    ["of two, against the other and the database's", 60_000, withOthers(0), true, false],
    ["of two, unlike both", 30_000, withOthers(60_000), true, false],
    ["of three, with one: the database's is another", 60_000, withOthers(60_000, 0), true, true],
    ["of three, against two", 0, withOthers(60_000, 60_000), true, false],
    [
      "of four, half of which agree with the database's",
      0,
      withOthers(0, 60_000, 60_000),
      true,
      true,
    ],
    ["of four, the other half", 60_000, withOthers(60_000, 0, 0), true, false],
    ["at the tolerance", 2_000, withOthers(0, 0), true, true],
    ["beyond the tolerance", 2_001, withOthers(0, 0), true, false],
  ] as const) {
    test(`${isRight ? "is right" : "is off"}: ${what}`, () => {
      assert.equal(isClockRight(aheadMs, readings, isTrusted), isRight);
    });
  }

  test("never counts as right beside one that it is far from, but for the time that one of them needs to notice", () => {
    for (const one of [0, 5_000, 60_000]) {
      for (const other of [0, 5_000, 60_000]) {
        const both =
          isClockRight(one, withOthers(other), true) && isClockRight(other, withOthers(one), true);
        assert.ok(!both || !isContested(one, withOthers(other)), `${one} and ${other}`);
      }
    }
  });

  test("is contested by one that is further from it than two right ones can be", () => {
    assert.equal(isContested(0, withOthers(4_000)), false);
    assert.equal(isContested(0, withOthers(0, 4_001)), true);
    assert.equal(isContested(0, none), false);
  });
});
