import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { IdempotentRequests } from "./idempotent-requests.ts";

const merchant = "0a0b0c0d" as MerchantId;
const digest = "ab".repeat(32);
const clock = { now: () => instant(1_000) };
const alone = { isAlone: true };

describe("requests with an Idempotency-Key", () => {
  test("run once: the same request gets the first answer again", async () => {
    const requests = new IdempotentRequests(createMemoryStore(), clock, alone);
    let runs = 0;
    const run = async (): Promise<{ status: number; body: string; keep: boolean }> => {
      runs += 1;
      return { status: 200, body: `answer ${runs}`, keep: true };
    };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => requests.answer(merchant, "key", digest, run)),
    );
    assert.equal(runs, 1);
    const first = { status: 200, body: "answer 1", keep: true };
    assert.deepEqual(answers, [
      first,
      ...Array.from({ length: 4 }, () => ({ ...first, replayed: true })),
    ]);
    // A control: another key runs.
    await requests.answer(merchant, "other key", digest, run);
    assert.equal(runs, 2);
  });

  test("are refused when the key came with another request, and belong to their merchant alone", async () => {
    const requests = new IdempotentRequests(createMemoryStore(), clock, alone);
    const run = async (): Promise<{ status: number; body: string; keep: boolean }> => ({
      status: 200,
      body: "done",
      keep: true,
    });
    await requests.answer(merchant, "key", digest, run);
    await assert.rejects(requests.answer(merchant, "key", "cd".repeat(32), run), {
      code: "request_key_reused",
    });
    await requests.answer("ffffffff" as MerchantId, "key", "cd".repeat(32), run);
  });

  test("are taken up again when the process died, or the answer was not the last word", async () => {
    const store = createMemoryStore();
    const runs: boolean[] = [];
    const run =
      (keep: boolean) => async (): Promise<{ status: number; body: string; keep: boolean }> => {
        runs.push(keep);
        return { status: 200, body: "pending", keep };
      };
    await assert.rejects(
      new IdempotentRequests(store, clock, alone).answer(merchant, "key", digest, () =>
        Promise.reject(new Error("the process dies")),
      ),
    );
    await new IdempotentRequests(store, clock, alone).answer(merchant, "key", digest, run(false));
    await new IdempotentRequests(store, clock, alone).answer(merchant, "key", digest, run(true));
    await new IdempotentRequests(store, clock, alone).answer(merchant, "key", digest, run(true));
    assert.deepEqual(runs, [false, true]);
  });

  test("are taken up again also when the clock was set back since they came", async () => {
    const store = createMemoryStore();
    const ahead = { now: () => instant(60_000) };
    await assert.rejects(
      new IdempotentRequests(store, ahead, alone).answer(merchant, "key", digest, () =>
        Promise.reject(new Error("the process dies")),
      ),
    );
    const done = async () => ({ status: 200, body: "done", keep: true });
    const requests = new IdempotentRequests(store, clock, alone);
    assert.equal((await requests.answer(merchant, "key", digest, done)).body, "done");
    assert.ok("replayed" in (await requests.answer(merchant, "key", digest, done)));
  });

  test("are refused for a moment when another process may be at work on them, and then taken up", async () => {
    const store = createMemoryStore();
    let now = instant(1_000_000);
    const node = () => new IdempotentRequests(store, { now: () => now }, { isAlone: false });
    const [first, second] = [node(), node()];
    let runs = 0;
    const pending = async () => ({ status: 200, body: `run ${(runs += 1)}`, keep: false });
    const gate = Promise.withResolvers<void>();
    const running = first.answer(merchant, "key", digest, () => gate.promise.then(pending));
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(second.answer(merchant, "key", digest, pending), {
      code: "request_key_taken",
    });
    gate.resolve();
    assert.equal((await running).body, "run 1");
    assert.equal(
      (await first.answer(merchant, "key", digest, pending)).body,
      "run 2",
      "its own has ended, and that it knows",
    );
    await assert.rejects(second.answer(merchant, "key", digest, pending), {
      code: "request_key_taken",
    });
    now = instant(now + 9_999);
    await assert.rejects(second.answer(merchant, "key", digest, pending), {
      code: "request_key_taken",
    });
    now = instant(now + 1);
    assert.equal((await second.answer(merchant, "key", digest, pending)).body, "run 3");
  });

  test("of which this process has claimed ten thousand since: the oldest is one that another process may be at work on", async () => {
    const requests = new IdempotentRequests(createMemoryStore(), clock, { isAlone: false });
    const pending = async () => ({ status: 200, body: "pending", keep: false });
    const claim = (key: number) => requests.answer(merchant, `key ${key}`, digest, pending);
    for (let key = 0; key < 10_000; key += 1) await claim(key);
    assert.equal((await claim(0)).body, "pending");
    await claim(10_000);
    await assert.rejects(claim(0), { code: "request_key_taken" });
    assert.equal((await claim(1)).body, "pending");
  });

  test("of two merchants under one key do not wait for each other", async () => {
    const requests = new IdempotentRequests(createMemoryStore(), clock, alone);
    const gate = Promise.withResolvers<void>();
    const done = { status: 200, body: "done", keep: true };
    const waits = requests.answer(merchant, "key", digest, () => gate.promise.then(() => done));
    assert.deepEqual(
      await requests.answer("ffffffff" as MerchantId, "key", digest, async () => done),
      done,
    );
    gate.resolve();
    assert.deepEqual(await waits, done);
  });

  test("are answered although the answer could not be kept", async () => {
    let commits = 0;
    const store = createMemoryStore({
      commitFault: () => ((commits += 1) === 2 ? "unavailable" : undefined),
    });
    const answer = await new IdempotentRequests(store, clock, alone).answer(
      merchant,
      "key",
      digest,
      async () => ({
        status: 200,
        body: "done",
        keep: true,
      }),
    );
    assert.equal(answer.body, "done");
  });
});
