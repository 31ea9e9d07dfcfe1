import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { day, hour, instant } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { longestRetryAfterMs, maximumAttempts, nextAttemptAt, retryAfter } from "./backoff.ts";

const now = instant(Date.UTC(2026, 10, 28, 12));
const random = new SeededRandom("backoff");
const never = { bytes: (length: number) => new Uint8Array(length) };
const always = { bytes: (length: number) => new Uint8Array(length).fill(255) };

function scheduleWith(chance: typeof random | typeof never): number[] {
  const delays: number[] = [];
  for (let attempts = 1; ; attempts += 1) {
    const at = nextAttemptAt(attempts, now, chance);
    if (at === undefined) return delays;
    delays.push(at - now);
  }
}

describe("the schedule of attempts", () => {
  test("has ten attempts, over more than three days even when chance adds nothing, and four at most", () => {
    const shortest = scheduleWith(never);
    assert.equal(shortest.length + 1, maximumAttempts);
    assert.equal(maximumAttempts, 10);
    const sum = (delays: readonly number[]): number =>
      delays.reduce((total, delay) => total + delay, 0);
    assert.equal(sum(shortest), 75 * hour + 35 * 60_000 + 5_000);
    assert.ok(sum(shortest) > 3 * day);
    assert.ok(sum(scheduleWith(always)) < 4 * day);
    assert.throws(() => nextAttemptAt(0, now, never), { name: "BrokenInvariant" });
    // A tenth of five seconds, times half of the range of two bytes.
    assert.equal(nextAttemptAt(1, now, { bytes: () => Uint8Array.of(128, 0) }), now + 5_250);
  });

  test("chance makes each delay up to a tenth longer, and not always the same", () => {
    const shortest = scheduleWith(never);
    const drawn = Array.from({ length: 50 }, () => scheduleWith(random));
    for (const delays of drawn) {
      delays.forEach((delay, index) => {
        const least = shortest[index] ?? Number.NaN;
        assert.ok(delay >= least && delay <= least * 1.1, `${delay} after attempt ${index + 1}`);
      });
    }
    assert.ok(new Set(drawn.map((delays) => delays[8])).size > 40);
  });
});

describe("Retry-After", () => {
  test("in seconds and as a date names a moment", () => {
    assert.equal(retryAfter("120", now), now + 120_000);
    assert.equal(retryAfter(" 1 ", now), now + 1_000);
    assert.equal(retryAfter("Sat, 28 Nov 2026 12:30:00 GMT", now), now + 30 * 60_000);
  });

  test("as a date is of every month and day, to the second", () => {
    for (let month = 0; month < 12; month += 1) {
      for (const date of [1, new Date(Date.UTC(2027, month + 1, 0)).getUTCDate()]) {
        const at = Date.UTC(2027, month, date, 23, 59, 58);
        assert.equal(
          retryAfter(new Date(at).toUTCString(), instant(at - 1_000)),
          at,
          new Date(at).toUTCString(),
        );
      }
    }
  });

  test("is bounded by a day, however it is written", () => {
    assert.equal(retryAfter("999999999", now), now + longestRetryAfterMs);
    assert.equal(retryAfter("Wed, 01 Jan 2031 00:00:00 GMT", now), now + longestRetryAfterMs);
  });

  test("that is missing, over, or not of its form says nothing", () => {
    for (const header of [
      undefined,
      "",
      "0",
      "-5",
      "1.5",
      "1e3",
      "soon",
      "12345678901",
      "Sat, 28 Nov 2026 12:00:00 GMT",
      "Sat, 28 Nov 2026 13:00:00 CET",
      "Mon, 30 Feb 2027 00:00:00 GMT",
      "Sat, 28 Nox 2026 13:00:00 GMT",
      "Sat, 28 Nov 2026 25:00:00 GMT",
      "2026-11-28T13:00:00Z",
      "xSat, 28 Nov 2026 12:30:00 GMT",
      "Sat, 28 Nov 2026 12:30:00 GMTx",
      "Sat, 00 Dec 2026 12:30:00 GMT",
    ]) {
      assert.equal(retryAfter(header, now), undefined, String(header));
    }
  });
});
