import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { type Place, Places } from "./places.ts";

const [one, other, third] = ["00000001", "00000002", "00000003"] as [
  MerchantId,
  MerchantId,
  MerchantId,
];
const limits = { max: 8, maxPerAccount: 2, maxForWorlds: 4 };

const stillClock = { now: () => instant(0) };

/** A wait, and the function that ends it. */
function waiting(): { readonly wait: Promise<void>; readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: promise, end: resolve };
}

describe("places for work", () => {
  test("are left to one account up to its share, and given back", () => {
    const places = new Places(limits, stillClock);
    const taken = [places.take(), places.take()];
    for (const place of taken) assert.equal(place.assign(one, false), undefined);
    const refused = places.take();
    assert.equal(refused.assign(one, false), "in_flight_of_account");
    refused.leave();
    assert.equal(
      places.take().assign(other, false),
      undefined,
      "control: another account has its own share",
    );
    taken[0]?.leave();
    assert.equal(places.take().assign(one, false), undefined);
    assert.equal(places.taken, 3);
  });

  test("are left to all worlds together up to their share, and beyond it to accounts", () => {
    const places = new Places(limits, stillClock);
    for (const world of [one, one, other, other])
      assert.equal(places.take().assign(world, true), undefined);
    assert.equal(places.take().assign(third, true), "in_flight_of_worlds");
    assert.equal(places.take().assign(third, false), undefined);
    assert.equal(places.isFull, false);
  });

  test("are free while their requests wait for something simulated, one wait within another too, and taken again afterwards", async () => {
    const places = new Places(limits, stillClock);
    const waits = Array.from({ length: 5 }, waiting);
    const waited = waits.map(({ wait }) => {
      const place = places.take();
      assert.equal(place.assign(one, true), undefined);
      const both = place.while(place.while(wait));
      return both.then(() => place);
    });
    assert.equal(places.taken, 0);
    let isEmpty = false;
    const empty = places.empty().then(() => (isEmpty = true));
    for (const { end } of waits) end();
    const resumed = await Promise.all(waited);
    assert.equal(places.taken, 5, "what waited goes on");
    assert.equal(places.take().assign(one, true), "in_flight_of_account");
    assert.equal(isEmpty, false, "control: who waits is under way");
    for (const place of resumed) place.leave();
    assert.equal(places.taken, 1);
    places.giveUp();
    await empty;
  });

  test("are counted right of a request that is cut off while it waits, whatever its wait does afterwards", async () => {
    const places = new Places(limits, stillClock);
    for (let request = 0; request < 3; request += 1) {
      const { wait, end } = waiting();
      const place = places.take();
      place.assign(one, true);
      const waited = place.while(wait);
      place.leave();
      end();
      await waited;
      assert.equal(places.taken, 0);
    }
    await places.empty();
    // The account, the worlds and the waiting requests have the same room as before: no more and no
    // less.
    const held = [places.take(), places.take(), places.take()];
    assert.deepEqual(
      held.map((place) => place.assign(one, true)),
      [undefined, undefined, "in_flight_of_account"],
    );
    assert.deepEqual(
      [other, other, third].map((merchantId) => places.take().assign(merchantId, true)),
      [undefined, undefined, "in_flight_of_worlds"],
    );
  });

  test("are kept by requests that wait where too many do already", () => {
    const places = new Places({ ...limits, maxPerAccount: 100 }, stillClock);
    for (let request = 0; request < 12; request += 1) {
      const place = places.take();
      place.assign(one, false);
      void place.while(waiting().wait);
    }
    assert.equal(places.taken, 4, "of one account as many wait as there are places");
    for (const merchant of [other, third, "00000004", "00000005"] as MerchantId[]) {
      for (let request = 0; request < 8; request += 1) {
        const place = places.take();
        place.assign(merchant, false);
        void place.while(waiting().wait);
      }
    }
    assert.equal(places.taken, 12, "and of all together four times as many");
  });

  test("of a request without an account are kept while it waits", async () => {
    const places = new Places(limits, stillClock);
    const { wait, end } = waiting();
    const place = places.take();
    const waited = place.while(wait);
    assert.equal(places.taken, 1);
    end();
    await waited;
    place.leave();
    await places.empty();
    assert.equal(places.taken, 0);
  });
});

describe("places that accounts share", () => {
  /** Sixteen places, with a clock that the test moves. */
  function given() {
    let nowMs = 1_000_000;
    const places = new Places(
      { max: 16, maxPerAccount: undefined, maxForWorlds: 8 },
      { now: () => instant(nowMs) },
    );
    /** Sends a request, which stays in progress if it gets a place. */
    const ask = (merchantId: MerchantId, isWorld = false): Place | undefined => {
      if (places.isFull) return undefined;
      const place = places.take();
      if (place.assign(merchantId, isWorld) === undefined) return place;
      place.leave();
      return undefined;
    };
    const askFor = (merchantId: MerchantId, times: number, isWorld = false): Place[] =>
      Array.from({ length: times }, () => ask(merchantId, isWorld)).filter(
        (place) => place !== undefined,
      );
    return { places, ask, askFor, pass: (ms: number) => (nowMs += ms) };
  }

  // Regression: a deployment with one account had a quarter of its places.
  test("are all the only account's, except for a reserve", () => {
    const { places, askFor } = given();
    assert.equal(askFor(one, 20).length, 14);
    assert.equal(places.isFull, false);
  });

  test("are free for another account at once, and further ones as requests of the first end", () => {
    const { ask, askFor } = given();
    const held = askFor(one, 20);
    assert.equal(askFor(other, 20).length, 2, "the reserve");
    for (const place of held.splice(0, 5)) {
      place.leave();
      assert.equal(ask(one), undefined, "the first has more than its share");
      assert.notEqual(ask(other), undefined);
    }
    assert.deepEqual(
      [held.length, askFor(other, 1).length],
      [9, 0],
      "now both have waited for places, and the second has half of 14",
    );
  });

  test("are shared equally by the accounts that send requests, and each has a quarter however many they are", () => {
    const { ask, askFor, places } = given();
    const accounts = [
      "00000001",
      "00000002",
      "00000003",
      "00000004",
      "00000005",
      "00000006",
    ] as MerchantId[];
    for (const account of accounts) ask(account);
    assert.deepEqual(
      accounts.map((account) => askFor(account, 20).length),
      [3, 3, 3, 1, 0, 0],
    );
    assert.equal(places.isFull, true);
  });

  test("are the first account's again when the other has sent nothing for ten seconds, also after the clock was set back", () => {
    for (const ms of [10_000, -60_000]) {
      const { ask, askFor, pass } = given();
      ask(other)?.leave();
      assert.equal(askFor(one, 20).length, 7);
      pass(ms > 0 ? ms - 1 : 0);
      assert.equal(ask(one), undefined);
      pass(ms > 0 ? 1 : ms);
      assert.equal(askFor(one, 20).length, 7, String(ms));
    }
  });

  test("are at most half the worlds', also when one world alone sends requests", () => {
    const { askFor } = given();
    assert.equal(askFor(one, 20, true).length, 8);
    assert.equal(askFor(other, 20).length, 7);
  });

  test("are one where there is only one", () => {
    const places = new Places({ max: 1, maxPerAccount: undefined, maxForWorlds: 1 }, stillClock);
    assert.equal(places.take().assign(one, false), undefined);
  });
});
