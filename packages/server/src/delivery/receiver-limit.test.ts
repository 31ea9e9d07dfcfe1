import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AttemptResult, ReceiverLimit } from "./receiver-limit.ts";

/**
 * Sends as many messages at a time as the limit allows, until the receiver has answered `total`. It
 * has `workers`, each of which takes `serviceMs` per message.
 */
function serve(
  limit: ReceiverLimit,
  workers: number,
  serviceMs: () => number,
  total: number,
  answer: () => AttemptResult = () => "good",
): number {
  const free = Array.from({ length: workers }, () => 0);
  const underWay: { readonly doneAt: number; readonly end: () => void }[] = [];
  let now = 0;
  for (let answered = 0; answered < total; answered += 1) {
    while (limit.inFlight < limit.max) {
      const worker = free.indexOf(Math.min(...free));
      const [begunAt, doneAt] = [now, Math.max(now, free[worker] ?? 0) + serviceMs()];
      free[worker] = doneAt;
      const passage = limit.acquire();
      const end = (): void => {
        passage.release();
        passage.stored(answer(), doneAt - begunAt);
      };
      underWay.push({ doneAt, end });
    }
    underWay.sort((left, right) => left.doneAt - right.doneAt);
    const next = underWay.shift();
    now = next?.doneAt ?? now;
    next?.end();
  }
  for (const { end } of underWay) end();
  return (total * 1_000) / now;
}

/** Pseudo-random numbers between 0 and 1, the same in each run. */
function chance(): () => number {
  let seed = 7;
  return () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe("how many messages a receiver is given at a time", () => {
  test("is eight at first", () => {
    assert.equal(new ReceiverLimit().max, 8);
  });

  test("grows while its answers are quick, up to a bound", () => {
    const limit = new ReceiverLimit();
    assert.ok(serve(limit, 1_000, () => 300, 5_000) > 300);
    assert.equal(limit.max, 128);
  });

  test("does not grow without being used", () => {
    const limit = new ReceiverLimit();
    for (let count = 0; count < 1_000; count += 1) {
      const passage = limit.acquire();
      passage.release();
      passage.stored("good", 10);
    }
    assert.equal(limit.max, 8);
  });

  test("grows as well where answers take now 50 ms and now 500", () => {
    const [limit, random] = [new ReceiverLimit(), chance()];
    serve(limit, 1_000, () => 50 + random() * 450, 5_000);
    assert.ok(limit.max > 60, `${limit.max}`);
  });

  test("comes near to what a receiver with few workers can do at once, which stays busy", () => {
    const limit = new ReceiverLimit();
    serve(limit, 10, () => 100, 1_500);
    assert.ok(serve(limit, 10, () => 100, 1_500) > 95);
    assert.ok(limit.max >= 10 && limit.max <= 30, `${limit.max}`);
  });

  test("falls and rises again when a receiver becomes slower for another reason", () => {
    const limit = new ReceiverLimit();
    serve(limit, 1_000, () => 50, 3_000);
    serve(limit, 1_000, () => 400, 3_000);
    assert.equal(limit.max, 128);
  });

  test("is halved once for all that were under way when the receiver said that it has too much to do", () => {
    const limit = new ReceiverLimit();
    serve(limit, 1_000, () => 50, 3_000);
    const passages = Array.from({ length: 100 }, () => limit.acquire());
    for (const passage of passages) {
      passage.release();
      passage.stored("too_many", 50);
    }
    assert.equal(limit.max, 64);
  });

  test("falls to one where everything fails, and grows from there", () => {
    const limit = new ReceiverLimit();
    serve(
      limit,
      1_000,
      () => 50,
      300,
      () => "failed",
    );
    assert.equal(limit.max, 1);
    serve(limit, 1_000, () => 50, 300);
    assert.ok(limit.max > 4);
  });

  test("is not touched by one failure in twenty", () => {
    const [limit, random] = [new ReceiverLimit(), chance()];
    serve(
      limit,
      1_000,
      () => 50,
      3_000,
      () => (random() < 0.05 ? "failed" : "good"),
    );
    assert.ok(limit.max > 60, `${limit.max}`);
  });

  test("regards nothing of how quick a receiver was before it was left alone", () => {
    const limit = new ReceiverLimit();
    serve(limit, 1_000, () => 10, 300);
    limit.reset();
    // It is slow now, whatever its load. If 10 ms were still its best, the limit would be cut.
    for (let count = 0; count < 20; count += 1) {
      const before = limit.max;
      serve(limit, 1_000, () => 300, 16);
      assert.ok(limit.max >= before, `${before} to ${limit.max}`);
    }
    assert.ok(limit.max > 60, `${limit.max}`);
  });

  test("begins again at eight when the receiver is back", () => {
    const limit = new ReceiverLimit();
    serve(
      limit,
      1_000,
      () => 50,
      300,
      () => "failed",
    );
    limit.reset();
    assert.equal(limit.max, 8);
  });
});
