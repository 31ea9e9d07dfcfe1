import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { day, hour, type Instant, instant, laterBy, minute } from "../kernel/instant.ts";
import { type SlotAssignment, allSlots } from "../kernel/slot-assignment.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { Cvv } from "../vault/pan.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { CardExpiryJob } from "./card-expiry-job.ts";
import { SlotLeaseKeeper } from "./slot-lease-keeper.ts";

const merchantId = "0a0b0c0d" as MerchantId;
const scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
const digest = (number: number): TokenDigest =>
  number.toString(16).padStart(64, "0") as TokenDigest;

async function storeCard(store: Store, number: number, lastUsedAt: Instant): Promise<void> {
  const card = {
    merchantId,
    tokenDigest: digest(number),
    version: 1,
    ref: new Uint8Array(8),
    fingerprint: new Uint8Array(32),
    brand: "visa",
    maskedPan: "411111xxxxxx1111",
    createdAt: lastUsedAt,
    lastUsedAt,
    mac: undefined,
  } as const;
  const result = await store.commit({
    merchantId,
    at: lastUsedAt,
    card: { next: card, replaces: undefined },
    facts: [],
    entries: [],
    notifications: [],
  });
  assert.equal(result.outcome, "committed");
}

describe("the job that forgets cards", () => {
  test("deletes those that were not used for 14 calendar months and an hour, to the millisecond, and no other", async () => {
    const store = createMemoryStore();
    // Fourteen months after the last of December is the end of February.
    const endOfYear = instant(Date.UTC(2026, 11, 31, 12));
    await storeCard(store, 1, endOfYear);
    await storeCard(store, 2, instant(endOfYear + 1));
    let now = instant(Date.UTC(2028, 1, 29, 13) - 1);
    const reports: number[] = [];
    const job = new CardExpiryJob({
      store,
      scheduler,
      slotAssignment: allSlots,
      clock: { now: () => now },
      report: ({ deleted }) => void reports.push(deleted),
    });

    await job.runOnce();
    assert.ok((await store.cardByToken(merchantId, digest(1))) !== undefined);

    now = instant(Date.UTC(2028, 1, 29, 13));
    await job.runOnce();
    assert.equal(await store.cardByToken(merchantId, digest(1)), undefined);
    assert.ok((await store.cardByToken(merchantId, digest(2))) !== undefined);
    assert.deepEqual(reports, [1]);
  });

  test("forgets no more when it is stopped among those that it has read", async () => {
    let stopsAt: Promise<void> | undefined;
    const store = createMemoryStore({
      onApplied: ({ cardErasure }) => void (cardErasure !== undefined && (stopsAt ??= job.stop())),
    });
    const now = instant(Date.UTC(2026, 10, 28));
    const job = new CardExpiryJob({
      store,
      scheduler,
      slotAssignment: allSlots,
      clock: { now: () => now },
      report: () => undefined,
    });
    for (const number of [1, 2, 3]) await storeCard(store, number, instant(Date.UTC(2025, 0, 1)));
    await job.runDue();
    await stopsAt;
    assert.deepEqual(
      (await store.cardsAfter(0, 10)).map(({ tokenDigest }) => tokenDigest),
      [digest(2), digest(3)],
    );
  });

  test("spares a card that is used while the job reads it", async () => {
    const store = createMemoryStore();
    const used = instant(Date.UTC(2025, 0, 1));
    const now = instant(Date.UTC(2026, 10, 28));
    await storeCard(store, 1, used);
    const racing: Store = new Proxy(store, {
      get: (target, name: keyof Store) =>
        name !== "cardsAfter"
          ? (target[name] as (...values: never[]) => unknown).bind(target)
          : async (position: number, limit: number) => {
              const cards = await target.cardsAfter(position, limit);
              await target.commit({
                merchantId,
                at: now,
                cardUse: { tokenDigest: digest(1), at: now },
                facts: [],
                entries: [],
                notifications: [],
              });
              return cards;
            },
    });
    await new CardExpiryJob({
      store: racing,
      scheduler,
      slotAssignment: allSlots,
      clock: { now: () => now },
      report: () => undefined,
    }).runOnce();
    assert.equal((await store.cardByToken(merchantId, digest(1)))?.lastUsedAt, now);
  });

  test("goes through more cards than it reads at once", async () => {
    const store = createMemoryStore();
    const used = instant(Date.UTC(2025, 0, 1));
    for (let number = 1; number <= 2_500; number += 1)
      await storeCard(store, number, instant(used + (number % 2) * 700 * 86_400_000));
    let deleted = 0;
    const clock = { now: () => instant(Date.UTC(2026, 10, 28)) };
    const job = new CardExpiryJob({
      store,
      scheduler,
      slotAssignment: allSlots,
      clock,
      report: (progress) => (deleted = progress.deleted),
    });
    await job.runOnce();
    assert.equal(deleted, 1_250);
    assert.equal((await store.cardsAfter(0, 10_000)).length, 1_250);
  });

  test("forgets security codes that are over their time each minute, also where another process forgets the cards", async (context) => {
    const time = new StillTime();
    const cvvCache = new CvvCache(new SystemRandom());
    const noSlots: SlotAssignment = { ...allSlots, leases: () => new Map() };
    const job = new CardExpiryJob({
      store: createMemoryStore(),
      cvvCache,
      scheduler: time,
      clock: time,
      slotAssignment: noSlots,
      report: () => undefined,
    });
    job.start();
    context.after(() => job.stop());
    const cvv = Cvv.from(Buffer.from("123"));
    assert.ok(cvv !== undefined);
    cvvCache.put(merchantId, digest(1), cvv, time.now());

    await time.pass(14 * minute);
    assert.equal(cvvCache.size, 1);
    await time.pass(3 * minute);
    assert.equal(cvvCache.size, 0, "it stayed until the next code came");
  });

  test("deletes nothing for an hour after the clock was set ahead, when a card cannot come back", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore();
    await storeCard(store, 1, instant(time.now() - 400 * day));
    let aheadMs = 0;
    const job = new CardExpiryJob({
      store,
      clock: { now: () => laterBy(time.now(), aheadMs) },
      elapsedMs: () => Number(time.now()),
      scheduler: time,
      slotAssignment: allSlots,
      report: () => undefined,
    });
    job.start();
    context.after(() => job.stop());
    const isThere = async (): Promise<boolean> =>
      (await store.cardByToken(merchantId, digest(1))) !== undefined;

    await time.pass(2 * hour);
    aheadMs = 60 * day;
    await time.pass(59 * minute);
    assert.ok(await isThere());
    aheadMs = 0;
    await time.pass(2 * day);
    assert.ok(await isThere(), "the wrong time was corrected");

    aheadMs = 60 * day;
    await time.pass(2 * day);
    assert.equal(await isThere(), false, "control: a clock that stays so is believed");
  });

  test("is done by one of several processes, once a day, and again when another becomes the one", async (context) => {
    const time = new StillTime();
    const store = createMemoryStore({ clock: time });
    const rounds: string[] = [];
    const node = async (name: string) => {
      const keeper = new SlotLeaseKeeper({
        store,
        node: name,
        scheduler: time,
        elapsedMs: () => Number(time.now()),
        report: () => undefined,
      });
      await keeper.start();
      const counted = {
        cardsAfter: (position: number, limit: number) => {
          rounds.push(name);
          return store.cardsAfter(position, limit);
        },
        commit: store.commit.bind(store),
        eraseRemains: store.eraseRemains.bind(store),
      };
      const job = new CardExpiryJob({
        store: counted,
        scheduler: time,
        clock: time,
        slotAssignment: keeper,
        report: () => undefined,
      });
      job.start();
      const stop = async (): Promise<void> => {
        await job.stop();
        await keeper.stop();
      };
      context.after(stop);
      return stop;
    };
    const stopFirst = await node("a".repeat(16));
    await node("b".repeat(16));
    await time.pass(10 * minute);
    assert.deepEqual(rounds, ["a".repeat(16)]);
    await time.pass(day);
    assert.deepEqual(rounds, ["a".repeat(16), "a".repeat(16)]);
    await stopFirst();
    await time.pass(10 * minute);
    assert.deepEqual(rounds, ["a".repeat(16), "a".repeat(16), "b".repeat(16)]);
  });
});
