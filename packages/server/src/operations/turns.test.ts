import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Turns } from "./turns.ts";

/** A task that ends on request and reports its start. */
class Task {
  readonly #end = Promise.withResolvers<string>();
  hasBegun = false;
  hasWaited: boolean | undefined;

  readonly run = (hasWaited: boolean): Promise<string> => {
    this.hasBegun = true;
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

describe("turns", () => {
  test("of one key come one after another, in the order in which they were asked for; of another key at once", async () => {
    const turns = new Turns();
    const [first, second, third, other] = tasks(4) as [Task, Task, Task, Task];
    const begun = (): readonly boolean[] =>
      [first, second, third, other].map(({ hasBegun }) => hasBegun);
    const taken = [
      turns.take("a", first.run),
      turns.take("a", second.run),
      turns.take("a", third.run),
      turns.take("b", other.run),
    ];
    assert.deepEqual(begun(), [true, false, false, true]);
    first.end();
    assert.equal(await taken[0], "done");
    assert.deepEqual(begun(), [true, true, false, true]);
    second.end();
    await taken[1];
    assert.deepEqual(begun(), [true, true, true, true]);
    const waited = [first, second, third, other].map(({ hasWaited }) => hasWaited);
    assert.deepEqual(
      waited,
      [false, true, true, false],
      "each task can tell whether another one came before it",
    );
    third.end();
    other.end();
    await Promise.all(taken);
  });

  test("go on after one that failed, of which its own taker hears alone", async () => {
    const turns = new Turns();
    const [first, second] = tasks(2) as [Task, Task];
    const [failing, next] = [turns.take("a", first.run), turns.take("a", second.run)];
    first.fail();
    await assert.rejects(failing, { message: "failed" });
    second.end();
    assert.equal(await next, "done");
  });

  test("are refused when as many as may be there are there, and given again for each that has ended", async () => {
    const turns = new Turns(2);
    const [first, second, third, fourth, late] = tasks(5) as [Task, Task, Task, Task, Task];
    const taken = [turns.take("a", first.run), turns.take("a", second.run)];
    await assert.rejects(turns.take("a", late.run), { code: "payment_in_flight" });
    first.end();
    await taken[0];
    taken.push(turns.take("a", third.run));
    await assert.rejects(turns.take("a", late.run), { code: "payment_in_flight" });
    second.end();
    await taken[1];
    taken.push(turns.take("a", fourth.run));
    await assert.rejects(turns.take("a", late.run), { code: "payment_in_flight" });
    third.end();
    fourth.end();
    await Promise.all(taken);
    assert.ok(!late.hasBegun);
  });

  test("are 32 of one key unless a number is given", async () => {
    const turns = new Turns();
    const all = tasks(32);
    const taken = all.map(({ run }) => turns.take("a", run));
    await assert.rejects(turns.take("a", new Task().run), { code: "payment_in_flight" });
    for (const task of all) task.end();
    await Promise.all(taken);
  });

  test("leave nothing behind: the next one of the key begins at once", async () => {
    const turns = new Turns();
    const [first, second, next] = tasks(3) as [Task, Task, Task];
    const taken = [turns.take("a", first.run), turns.take("a", second.run)];
    first.end();
    second.end();
    await Promise.all(taken);
    const last = turns.take("a", next.run);
    assert.ok(next.hasBegun);
    next.end();
    await last;
  });
});
