import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { minute, second } from "../kernel/instant.ts";
import { RecoveryPace } from "./recovery-pace.ts";

function given(load: () => number) {
  const time = new StillTime();
  const pace = new RecoveryPace({ scheduler: time, elapsedMs: () => time.now(), loopLoad: load });
  let begun = 0;
  /** Begins all that may begin, for as long as the time passes. */
  const begin = (): void => {
    while (pace.take()) begun += 1;
    pace.whenRoom(begin);
  };
  const begunIn = async (ms: number): Promise<number> => {
    const before = begun;
    await time.pass(ms);
    return begun - before;
  };
  return { time, pace, begin, begunIn };
}

describe("the pace of recovery", () => {
  test("lets sixteen begin at once, and 250 a second after them", async () => {
    const { time, pace } = given(() => 0.6);
    let atOnce = 0;
    while (pace.take()) atOnce += 1;
    assert.equal(atOnce, 16);
    await time.pass(4);
    assert.equal(pace.take(), true);
    assert.equal(pace.take(), false);
    await time.pass(minute);
    for (atOnce = 0; pace.take();) atOnce += 1;
    assert.equal(atOnce, 16, "a long pause leaves room for no more");
  });

  test("stays as it is while the event loop has neither too much nor too little to do", async () => {
    const { begin, begunIn } = given(() => 0.6);
    begin();
    const begun = await begunIn(10 * second);
    assert.ok(begun >= 2_400 && begun <= 2_500, `${begun} in ten seconds`);
  });

  test("falls while the event loop is busy, but not below 50 a second, and grows again", async () => {
    let load = 0.95;
    const { pace, begin, begunIn } = given(() => load);
    assert.equal(pace.isSlow, false);
    begin();
    await begunIn(5 * second);
    const least = await begunIn(10 * second);
    assert.ok(least >= 450 && least <= 500, `${least} in ten seconds of a busy event loop`);
    assert.equal(pace.isSlow, true);
    load = 0.1;
    await begunIn(10 * second);
    const most = await begunIn(second);
    assert.ok(most >= 2_000 && most <= 5_000, `${most} in a second of an idle event loop`);
    assert.equal(pace.isSlow, false);
  });

  test("falls also while it is not what limits recovery", async () => {
    let load = 0.1;
    const { time, pace, begin, begunIn } = given(() => load);
    begin();
    await begunIn(10 * second);
    pace.stop();
    load = 0.95;
    // Sixteen at a time that take long: fewer than the pace allows.
    for (let passed = 0; passed < 5 * second; passed += 25) {
      await time.pass(25);
      assert.equal(pace.take(), true);
    }
    begin();
    const begun = await begunIn(second);
    assert.ok(begun <= 100, `${begun} in a second`);
  });

  test("begins slowly after a pause, however fast it was before", async () => {
    let load = 0.1;
    const { time, pace, begin, begunIn } = given(() => load);
    begin();
    await begunIn(10 * second);
    pace.stop();
    load = 0.6;
    await time.pass(minute);
    begin();
    const begun = await begunIn(second);
    assert.ok(begun >= 240 && begun <= 260, `${begun} in a second`);
  });

  test("is not judged by the time before anything waited", async () => {
    const { time, begin, begunIn } = given(() => (time.now() < begunAt + 100 ? 1 : 0.6));
    await time.pass(minute);
    const begunAt = time.now();
    begin();
    const begun = await begunIn(second);
    assert.ok(begun >= 230, `${begun} in a second`);
  });

  test("answers one call when there is room, and keeps the room for it", async () => {
    const { time, pace } = given(() => 0.6);
    while (pace.take());
    let resumed = 0;
    pace.whenRoom(() => (resumed += 1));
    pace.whenRoom(() => (resumed += 100));
    await time.pass(3);
    assert.equal(pace.take(), false);
    await time.pass(1);
    assert.equal(resumed, 1);
    assert.equal(pace.take(), true);
  });

  test("answers nothing after it is stopped", async () => {
    const { time, pace } = given(() => 0.6);
    while (pace.take());
    pace.whenRoom(() => assert.fail("it is stopped"));
    pace.stop();
    await time.pass(minute);
    assert.equal(time.waiting, 0);
  });
});
