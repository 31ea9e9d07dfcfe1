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
        if (left.length > 0) return;
        checked.resolve();
        await new Promise((_, reject) => signal?.addEventListener("abort", reject));
      },
    },
  });
  watch.start();
  await checked.promise;
  await watch.stop();
  return { events, waits };
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
  });
  watch.start();
  await asked.promise;
  await watch.stop();
  assert.deepEqual(events, []);
});
