import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { instant } from "../kernel/instant.ts";
import type { Identity, IncarnationNote } from "../stores/identity.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import { IncarnationKeeper, nextEpoch, restoreReason } from "./incarnation-keeper.ts";

const known: Identity = {
  keys: "k",
  epoch: 0,
  beat: 10,
  isCopy: false,
  server: undefined,
  presentServer: undefined,
};
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
    [
      "a file of an earlier version, which noted nothing",
      { ...known, beat: 0 },
      undefined,
      "1/1",
      undefined,
    ],
    [
      "a copy that was put aside",
      { ...known, isCopy: true, beat: 0 },
      undefined,
      "1/1",
      "backup_copy",
    ],
    [
      "a new node of a database server",
      { ...known, server: "a", presentServer: "a" },
      undefined,
      undefined,
      undefined,
    ],
    [
      "a database on another server",
      { ...known, server: "a", presentServer: "b" },
      { ...noted, place: undefined },
      undefined,
      "other_server",
    ],
    [
      "a database that was moved from a file",
      { ...known, presentServer: "b" },
      noted,
      undefined,
      undefined,
    ],
    [
      "a server that does not say which it is",
      { ...known, server: "a" },
      noted,
      undefined,
      undefined,
    ],
  ];
  for (const [what, identity, note, place, reason] of cases) {
    test(`${what}: ${reason ?? "no"}`, () =>
      assert.equal(restoreReason(identity, note, place), reason));
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

describe("a start on a database that is behind its note", () => {
  /**
   * Starts processes one after the other on a database and a note, and returns the report of each.
   */
  async function starts(context: TestContext, found: IncarnationNote, isNoteWritable: boolean) {
    const time = new StillTime();
    const store = await openEmbeddedStore({ file: ":memory:" });
    context.after(() => store.close());
    await store.identity.raise({ keys: "k", epoch: 3_000, beat: 10, isServed: true });
    let note = found;
    const start = async () => {
      const reports: string[] = [];
      const keeper = new IncarnationKeeper({
        identity: store.identity,
        note: {
          read: () => note,
          write: (next) => {
            if (!isNoteWritable) throw new Error("the disk is full");
            note = next;
          },
        },
        place: "1/1",
        isShared: false,
        commits: () => 0,
        clock: { now: () => instant(0) },
        scheduler: time,
        report: (reason) => void reports.push(reason),
      });
      await keeper.start("k", false);
      await keeper.stop();
      return { epoch: keeper.epoch, reports };
    };
    return { first: await start(), second: await start(), noted: () => note };
  }

  test("begins an epoch above that of the database and that of the note, whatever the clock says", async (context) => {
    for (const [noted, epoch] of [
      [2_000, 4_000],
      [3_000, 4_000],
      [50_000, 51_000],
    ] as const) {
      const {
        first,
        second,
        noted: note,
      } = await starts(context, { epoch: noted, beat: 50, place: "1/1" }, true);
      assert.deepEqual(
        [first, second],
        [
          { epoch, reports: ["older_than_noted"] },
          { epoch, reports: [] },
        ],
      );
      assert.equal(note().epoch, epoch);
    }
  });

  test("is reported once, also when the note cannot be written", async (context) => {
    const { first, second } = await starts(
      context,
      { epoch: 3_000, beat: 50, place: "1/1" },
      false,
    );
    assert.deepEqual([first.reports, second.reports], [["older_than_noted"], []]);
  });
});

test("the noted time does not go back when a process starts with a clock that was set back", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  let note: IncarnationNote | undefined;
  const notedAfter = async (now: number): Promise<number | undefined> => {
    const keeper = new IncarnationKeeper({
      identity: store.identity,
      note: { read: () => note, write: (next) => void (note = next) },
      place: undefined,
      isShared: false,
      commits: () => 0,
      clock: { now: () => instant(now) },
      scheduler: new StillTime(),
      report: () => undefined,
    });
    await keeper.start("k", false);
    await keeper.stop();
    return note?.at;
  };

  assert.deepEqual(
    [await notedAfter(9_000), await notedAfter(1_000), await notedAfter(2_000)],
    [9_000, 9_000, 9_000],
  );
  assert.equal(await notedAfter(10_000), 10_000);
});
