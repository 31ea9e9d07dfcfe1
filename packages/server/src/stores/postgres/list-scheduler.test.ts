import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { StillTime } from "../../../test/contract/connector-harness.ts";
import { ListScheduler } from "./list-scheduler.ts";

function given() {
  const time = new StillTime();
  const begin = time.now();
  const places = new ListScheduler(["first", "second"], time, () => time.now());
  const begun: (readonly [place: string, atMs: number])[] = [];
  const read = (tookMs: number) =>
    places.run(async (place) => {
      begun.push([place, time.now() - begin]);
      await time.sleep(tookMs);
      return place;
    });
  /** Lets requested reads begin before time passes. */
  const pass = async (ms: number) => {
    await setImmediate();
    await time.pass(ms);
  };
  return { places, begun, read, pass };
}

test("reads go one after the other, and rest twice as long as each took", async () => {
  const { begun, read, pass } = given();
  const reads = Promise.all([read(4), read(10), read(1), read(1)]);
  await pass(200);
  assert.deepEqual(await reads, ["first", "first", "first", "first"]);
  assert.deepEqual(
    begun.map(([, atMs]) => atMs),
    [0, 12, 42, 45],
  );
});

test("a read that nothing ran before begins at once", async () => {
  const { begun, read, pass } = given();
  void read(2);
  await pass(20);
  void read(2);
  await pass(20);
  assert.deepEqual(
    begun.map(([, atMs]) => atMs),
    [0, 20],
  );
});

test("the rest after a read is at most 100 ms, and a slow read lets the next one begin after 50 ms on the other place", async () => {
  const { begun, read, pass } = given();
  void read(2_000);
  void read(49);
  void read(1_000);
  void read(1);
  await pass(3_000);
  assert.deepEqual(begun, [
    ["first", 0],
    ["second", 50],
    ["second", 197],
    ["second", 1_197],
  ]);
});

test("while both places have a slow read, the others wait for a place", async () => {
  const { begun, read, pass } = given();
  void read(1_000);
  void read(400);
  void read(1);
  await pass(2_000);
  assert.deepEqual(begun, [
    ["first", 0],
    ["second", 50],
    ["second", 450],
  ]);
});

test("a read that fails makes room like any other", async () => {
  const { places, begun, read, pass } = given();
  await assert.rejects(
    places.run(() => Promise.reject(new Error("planted"))),
    /planted/,
  );
  void read(1);
  await pass(10);
  assert.equal(begun.length, 1);
});

test("reads beyond those that may wait are refused as overloaded, and those that wait are refused when the store closes", async () => {
  const { places, read, pass } = given();
  const running = read(10);
  const waiting = Promise.allSettled(Array.from({ length: 1_024 }, () => read(1)));
  await assert.rejects(read(1), { name: "StoreError", code: "overloaded" });
  places.close();
  const codes = (await waiting).map((result) =>
    result.status === "rejected" ? (result.reason as { code?: string }).code : result.status,
  );
  assert.deepEqual(new Set(codes), new Set(["closed"]));
  await pass(10);
  assert.equal(await running, "first");
  await assert.rejects(read(1), { name: "StoreError", code: "closed" });
});
