import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { RateLimit } from "./rate-limit.ts";

test("tasks begin in their order, as many in each period as it has room for", async () => {
  const time = new StillTime();
  const rateLimit = new RateLimit(time, 4, 5);
  const begin = time.now();
  const started: (readonly [task: number, afterMs: number])[] = [];
  for (let task = 0; task < 10; task += 1)
    rateLimit.run(() => started.push([task, time.now() - begin]));
  await time.pass(20);
  assert.deepEqual(
    started,
    [0, 0, 0, 0, 5, 5, 5, 5, 10, 10].map((afterMs, task) => [task, afterMs]),
  );
});

test("a period begins with its first task, and no timer runs when nothing is to be begun", async () => {
  const time = new StillTime();
  const rateLimit = new RateLimit(time, 1, 5);
  assert.equal(time.waiting, 0);
  await rateLimit.acquire();
  assert.equal(time.waiting, 1);
  await time.pass(7);
  assert.equal(time.waiting, 0);
  const begin = time.now();
  await rateLimit.acquire();
  assert.equal(time.now() - begin, 0, "the period before is over");
  const next = rateLimit.acquire();
  await time.pass(5);
  await next;
});

test("a task that begins another leaves it to the room that remains", async () => {
  const time = new StillTime();
  const rateLimit = new RateLimit(time, 2, 5);
  const begin = time.now();
  const started: number[] = [];
  const chain = (left: number): void => {
    started.push(time.now() - begin);
    if (left > 0) rateLimit.run(() => chain(left - 1));
  };
  rateLimit.run(() => chain(5));
  await time.pass(20);
  assert.deepEqual(started, [0, 0, 5, 5, 10, 10]);
});
