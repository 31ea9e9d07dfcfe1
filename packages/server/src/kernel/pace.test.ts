import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { Pace } from "./pace.ts";

test("tasks begin in their order, as many in each period as it has room for", async () => {
  const time = new StillTime();
  const pace = new Pace(time, 4, 5);
  const begin = time.now();
  const begun: (readonly [task: number, afterMs: number])[] = [];
  for (let task = 0; task < 10; task += 1) pace.begin(() => begun.push([task, time.now() - begin]));
  await time.pass(20);
  assert.deepEqual(
    begun,
    [0, 0, 0, 0, 5, 5, 5, 5, 10, 10].map((afterMs, task) => [task, afterMs]),
  );
});

test("a period begins with its first task, and no timer runs when nothing is to be begun", async () => {
  const time = new StillTime();
  const pace = new Pace(time, 1, 5);
  assert.equal(time.waiting, 0);
  await pace.turn();
  assert.equal(time.waiting, 1);
  await time.pass(7);
  assert.equal(time.waiting, 0);
  const begin = time.now();
  await pace.turn();
  assert.equal(time.now() - begin, 0, "the period before is over");
  const next = pace.turn();
  await time.pass(5);
  await next;
});

test("a task that begins another leaves it to the room that remains", async () => {
  const time = new StillTime();
  const pace = new Pace(time, 2, 5);
  const begin = time.now();
  const begun: number[] = [];
  const chain = (left: number): void => {
    begun.push(time.now() - begin);
    if (left > 0) pace.begin(() => chain(left - 1));
  };
  pace.begin(() => chain(5));
  await time.pass(20);
  assert.deepEqual(begun, [0, 0, 5, 5, 10, 10]);
});
