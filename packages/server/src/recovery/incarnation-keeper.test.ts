import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import type { Identity, IncarnationNote } from "../stores/identity.ts";
import { nextEpoch, putBackBecause } from "./incarnation-keeper.ts";

const known: Identity = { keys: "k", epoch: 0, beat: 10, isCopy: false, server: undefined, presentServer: undefined };
const noted: IncarnationNote = { epoch: 0, beat: 10, place: "1/1" };

describe("a database is taken for one that was put back", () => {
  const cases: readonly (readonly [
    what: string,
    Identity,
    IncarnationNote | undefined,
    place: string | undefined,
    reason: string | undefined,
  ])[] = [
    ["as it was noted", known, noted, "1/1", undefined],
    ["ahead of the note, as after a crash", { ...known, beat: 11 }, noted, "1/1", undefined],
    ["behind the note", { ...known, beat: 9 }, noted, "1/1", "older_than_noted"],
    ["another file", known, noted, "2/1", "copied_file"],
    ["where files cannot be told apart", known, noted, undefined, undefined],
    ["a note that knows no file", known, { ...noted, place: undefined }, "1/1", undefined],
    ["a file without a note", known, undefined, "1/1", "no_note"],
    ["a file of an earlier version, which noted nothing", { ...known, beat: 0 }, undefined, "1/1", undefined],
    ["a copy that was put aside", { ...known, isCopy: true, beat: 0 }, undefined, "1/1", "backup_copy"],
    ["a new node of a database server", { ...known, server: "a", presentServer: "a" }, undefined, undefined, undefined],
    [
      "a database on another server",
      { ...known, server: "a", presentServer: "b" },
      { ...noted, place: undefined },
      undefined,
      "other_server",
    ],
    ["a database that was moved from a file", { ...known, presentServer: "b" }, noted, undefined, undefined],
    ["a server that does not say which it is", { ...known, server: "a" }, noted, undefined, undefined],
  ];
  for (const [what, identity, note, place, reason] of cases) {
    test(`${what}: ${reason ?? "no"}`, () => assert.equal(putBackBecause(identity, note, place), reason));
  }
});

describe("an epoch", () => {
  const at = (text: string) => ({ now: () => instant(Date.parse(text)) });

  test("is the second in which it began", () => {
    assert.equal(nextEpoch(at("2026-01-02T00:00:00Z"), 0), 86_400);
  });

  test("is above every earlier one, also when the clock was set back", () => {
    assert.equal(nextEpoch(at("2026-01-02T00:00:00Z"), 90_000, 80_000), 91_000);
    assert.equal(nextEpoch(at("1999-01-01T00:00:00Z"), 0), 1_000);
  });

  test("fits the numbers of attempts in both stores until the year 2089", () => {
    assert.ok(nextEpoch(at("2089-01-01T00:00:00Z"), 0) < 2 ** 31);
  });
});
