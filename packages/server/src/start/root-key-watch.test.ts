import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEvent } from "../logging/log-event.ts";
import type { RootKeyFailure } from "../vault/key-provider.ts";
import { RootKeyWatch } from "./root-key-watch.ts";

type State = "ok" | RootKeyFailure;

/** Runs the watch over these results of health checks; the waits between them, and the log. */
async function watched(states: readonly State[]) {
  const events: LogEvent[] = [];
  const waits: number[] = [];
  const checked = Promise.withResolvers<void>();
  const left = [...states];
  const confirmed: string[] = [];
  let elapsed = 0;
  const watch = new RootKeyWatch({
    provider: {
      keyId: "transit:transit/cofre",
      health: async () => left.shift() ?? "ok",
    },
    log: { write: (event) => void events.push(event) },
    scheduler: {
      after: () => () => undefined,
      async sleep(ms, signal) {
        waits.push(ms);
        elapsed += ms;
        if (left.length > 0) return;
        checked.resolve();
        await new Promise((_, reject) => signal?.addEventListener("abort", reject));
      },
    },
    elapsedMs: () => elapsed,
    confirmed: async (state) => void confirmed.push(`${state} ${elapsed / 1_000}`),
  });
  watch.start();
  await checked.promise;
  await watch.stop();
  return { events, waits, confirmed };
}

test("each change of the root key's state is logged once, and a failure is checked more often", async () => {
  const { events, waits } = await watched([
    "ok",
    "unavailable",
    "unavailable",
    "unauthorized",
    "ok",
    "denied",
    "ok",
  ]);
  const keyId = "transit:transit/cofre";
  assert.deepEqual(events, [
    { event: "root_key_unusable", keyId, failure: "unavailable" },
    { event: "root_key_unusable", keyId, failure: "unauthorized" },
    { event: "root_key_usable", keyId },
    { event: "root_key_unusable", keyId, failure: "denied" },
    { event: "root_key_usable", keyId },
  ]);
  assert.deepEqual(waits, [60_000, 10_000, 10_000, 10_000, 60_000, 10_000, 60_000]);
});

test("a root key that is always usable is not logged", async () => {
  assert.deepEqual((await watched(["ok", "ok"])).events, []);
});

test("a check during which the watch is stopped is not logged", async () => {
  const asked = Promise.withResolvers<AbortSignal | undefined>();
  const events: LogEvent[] = [];
  const watch = new RootKeyWatch({
    provider: {
      keyId: "transit:transit/cofre",
      async health(signal?: AbortSignal) {
        asked.resolve(signal);
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        return "unavailable" as const;
      },
    },
    log: { write: (event) => void events.push(event) },
    scheduler: { after: () => () => undefined, sleep: async () => undefined },
    elapsedMs: () => 0,
    confirmed: async () => assert.fail("nothing is confirmed"),
  });
  watch.start();
  await asked.promise;
  await watch.stop();
  assert.deepEqual(events, []);
});

const times = (count: number, state: State): readonly State[] =>
  Array.from({ length: count }, () => state);

test("only a key that is denied, or usable, at each check of two minutes is confirmed", async () => {
  const steady = async (...states: readonly State[]) => (await watched(states)).confirmed;
  // A check each ten seconds.
  assert.deepEqual(await steady(...times(12, "denied")), []);
  assert.deepEqual(await steady(...times(14, "denied")), ["denied 120", "denied 130"]);
  assert.deepEqual(await steady(...times(12, "denied"), "ok", ...times(12, "denied")), []);
  assert.deepEqual(await steady(...times(12, "denied"), "unavailable", ...times(12, "denied")), []);
  assert.deepEqual(await steady(...times(40, "unauthorized")), []);
  assert.deepEqual(await steady(...times(40, "unavailable")), []);
  assert.deepEqual(await steady(...times(40, "wrong")), []);
  // A check each minute.
  assert.deepEqual(await steady("denied", "ok", "ok", "ok", "ok"), ["ok 130", "ok 190"]);
});
