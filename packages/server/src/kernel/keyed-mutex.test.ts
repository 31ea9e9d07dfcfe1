import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KeyedMutex } from "./keyed-mutex.ts";

/** A task that ends on request and reports its start. */
class Task {
  readonly #end = Promise.withResolvers<string>();
  hasStarted = false;
  hasWaited: boolean | undefined;

  readonly run = (hasWaited: boolean): Promise<string> => {
    this.hasStarted = true;
    this.hasWaited = hasWaited;
    return this.#end.promise;
  };

  end(): void {
    this.#end.resolve("done");
  }

  fail(): void {
    this.#end.reject(new Error("failed"));
  }
}

function tasks(count: number): readonly Task[] {
  return Array.from({ length: count }, () => new Task());
}

const refusal = () => new Error("full");

describe("keyed mutex", () => {
  test("tasks of one key run one at a time, in the order of the calls; tasks of another key start at once", async () => {
    const mutex = new KeyedMutex();
    const [first, second, third, other] = tasks(4) as [Task, Task, Task, Task];
    const started = (): readonly boolean[] =>
      [first, second, third, other].map(({ hasStarted }) => hasStarted);
    const results = [
      mutex.runExclusive("a", first.run),
      mutex.runExclusive("a", second.run),
      mutex.runExclusive("a", third.run),
      mutex.runExclusive("b", other.run),
    ];
    assert.deepEqual(started(), [true, false, false, true]);
    first.end();
    assert.equal(await results[0], "done");
    assert.deepEqual(started(), [true, true, false, true]);
    second.end();
    await results[1];
    assert.deepEqual(started(), [true, true, true, true]);
    const waited = [first, second, third, other].map(({ hasWaited }) => hasWaited);
    assert.deepEqual(
      waited,
      [false, true, true, false],
      "each task gets whether it has waited for another",
    );
    third.end();
    other.end();
    await Promise.all(results);
  });

  test("the next task runs after a failure, which rejects only its own call", async () => {
    const mutex = new KeyedMutex();
    const [first, second] = tasks(2) as [Task, Task];
    const [failing, next] = [
      mutex.runExclusive("a", first.run),
      mutex.runExclusive("a", second.run),
    ];
    first.fail();
    await assert.rejects(failing, { message: "failed" });
    second.end();
    assert.equal(await next, "done");
  });

  test("a task is refused while the queue is full, and accepted once another has ended", async () => {
    const mutex = new KeyedMutex({ maximumWaiting: 2, refusal });
    const [first, second, third, fourth, late] = tasks(5) as [Task, Task, Task, Task, Task];
    const results = [mutex.runExclusive("a", first.run), mutex.runExclusive("a", second.run)];
    await assert.rejects(mutex.runExclusive("a", late.run), { message: "full" });
    first.end();
    await results[0];
    results.push(mutex.runExclusive("a", third.run));
    await assert.rejects(mutex.runExclusive("a", late.run), { message: "full" });
    second.end();
    await results[1];
    results.push(mutex.runExclusive("a", fourth.run));
    await assert.rejects(mutex.runExclusive("a", late.run), { message: "full" });
    third.end();
    fourth.end();
    await Promise.all(results);
    assert.ok(!late.hasStarted);
  });

  test("without a limit, any number of tasks wait", async () => {
    const mutex = new KeyedMutex();
    const all = tasks(1_000);
    const results = all.map(({ run }) => mutex.runExclusive("a", run));
    for (const task of all) task.end();
    await Promise.all(results);
    assert.ok(all.every(({ hasStarted }) => hasStarted));
  });

  test("an idle key keeps no state: its next task starts at once", async () => {
    const mutex = new KeyedMutex();
    const [first, second, next] = tasks(3) as [Task, Task, Task];
    const results = [mutex.runExclusive("a", first.run), mutex.runExclusive("a", second.run)];
    first.end();
    second.end();
    await Promise.all(results);
    const last = mutex.runExclusive("a", next.run);
    assert.ok(next.hasStarted);
    next.end();
    await last;
  });
});
