import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

/** Runs tasks that end when the test says so. */
function started(limit: ConcurrencyLimit) {
  const running: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const run = (name: string, signal?: AbortSignal): Promise<string> => {
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    const task = () => {
      running.push(name);
      return end.promise;
    };
    return limit.run(task, () => `${name} refused`, signal);
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.resolve(`${name} done`);
    await new Promise(setImmediate);
  };
  const fail = async (name: string): Promise<void> => {
    ends.get(name)?.reject(new Error(name));
    await new Promise(setImmediate);
  };
  return { running, run, end, fail };
}

describe("a concurrency limit", () => {
  test("runs the first tasks at once, in the same turn, and the others in their order", async () => {
    const { running, run, end } = started(new ConcurrencyLimit(2, 10));
    const all = ["a", "b", "c", "d"].map((name) => run(name));
    assert.deepEqual(running, ["a", "b"]);
    await end("b");
    assert.deepEqual(running, ["a", "b", "c"]);
    await end("a");
    assert.deepEqual(running, ["a", "b", "c", "d"]);
    await end("c");
    await end("d");
    assert.deepEqual(await Promise.all(all), ["a done", "b done", "c done", "d done"]);
  });

  test("refuses a task when too many wait", async () => {
    const { running, run, end } = started(new ConcurrencyLimit(1, 1));
    const [first, second, third] = [run("a"), run("b"), run("c")];
    assert.equal(await third, "c refused");
    await end("a");
    await end("b");
    assert.deepEqual([await first, await second], ["a done", "b done"]);
    assert.deepEqual(running, ["a", "b"]);
    const none = started(new ConcurrencyLimit(1, 0));
    void none.run("a");
    assert.equal(await none.run("b"), "b refused");
  });

  test("drops a waiting task that is aborted, and does not stop a running one", async () => {
    const { running, run, end } = started(new ConcurrencyLimit(1, 10));
    const controller = new AbortController();
    const first = run("a", controller.signal);
    const [second, third] = [run("b", controller.signal), run("c")];
    assert.equal(await run("d", AbortSignal.abort()), "d refused");
    controller.abort();
    assert.equal(await second, "b refused");
    await end("a");
    assert.equal(await first, "a done");
    assert.deepEqual(running, ["a", "c"]);
    await end("c");
    assert.equal(await third, "c done");
  });

  test("frees the slot of a task that fails, whose error the caller gets", async () => {
    const { running, run, end, fail } = started(new ConcurrencyLimit(1, 10));
    const failing = assert.rejects(run("a"), { message: "a" });
    const second = run("b");
    await fail("a");
    await failing;
    assert.deepEqual(running, ["a", "b"]);
    await end("b");
    assert.equal(await second, "b done");
    const third = run("c");
    assert.deepEqual(running, ["a", "b", "c"], "the slot is free again");
    await end("c");
    assert.equal(await third, "c done");
  });

  test("rejects with what the refusal throws", async () => {
    const limit = new ConcurrencyLimit(1, 0);
    const end = Promise.withResolvers<void>();
    const running = limit.run(
      () => end.promise,
      () => undefined,
    );
    const busy = () => {
      throw new Error("busy");
    };
    await assert.rejects(
      limit.run(async () => undefined, busy),
      { message: "busy" },
    );
    end.resolve();
    await running;
  });
});
