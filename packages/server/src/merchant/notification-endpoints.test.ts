import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import type { EndpointId } from "../notification/events.ts";
import {
  endpointsOf,
  endpointsSwitched,
  endpointsWithout,
  withOffTimes,
} from "./notification-endpoints.ts";
import { defaultAccountSettings } from "./settings.ts";

const shop = { id: "shop", url: "https://shop.example/", enabled: true, secretVersion: 1 };
const now = instant(1_800_000_000_000);
const plain = { ...defaultAccountSettings(), notificationEndpoints: [shop] };
const both = { ...plain, notificationUrl: "https://old.example/" };
const old = { id: "account-url", url: "https://old.example/", enabled: true, secretVersion: 1 };

describe("who is notified of an account's payments", () => {
  test("its endpoints, and its one address when it has one", () => {
    assert.deepEqual(endpointsOf(plain), [shop]);
    assert.deepEqual(endpointsOf(both), [shop, old]);
  });

  test("none that has answered 410, whichever it is, and the others all the same", () => {
    const gone = endpointsWithout(both, "account-url" as EndpointId, now);
    assert.deepEqual(endpointsOf({ ...both, notificationEndpoints: gone }), [
      shop,
      { ...old, goneAt: now },
    ]);
    const shopGone = endpointsWithout(both, "shop" as EndpointId, now);
    assert.deepEqual(shopGone, [{ ...shop, goneAt: now }]);
    assert.deepEqual(endpointsWithout(both, "other" as EndpointId, now), [shop]);
  });

  test("a disabled endpoint keeps the time since when it is disabled, whatever else is changed", () => {
    const later = instant(now + 1_000);
    const off = { ...shop, enabled: false };
    const since = [{ ...off, offAt: now }];
    assert.deepEqual(withOffTimes([off], [shop], now), since);
    assert.deepEqual(withOffTimes([{ ...off, offAt: instant(1) }, old], since, later), [
      ...since,
      old,
    ]);
    assert.deepEqual(withOffTimes([off], [], now), since, "a new endpoint");
    assert.deepEqual(withOffTimes([off], [off], now), [off], "the time is unknown");
    assert.deepEqual(withOffTimes([{ ...shop, offAt: now }], since, later), [shop]);
  });

  test("an endpoint that is enabled again receives notifications again, also the account's one address", () => {
    assert.equal(endpointsSwitched(both, "other", true), undefined);
    for (const id of ["shop", "account-url"]) {
      const gone = {
        ...both,
        notificationEndpoints: endpointsWithout(both, id as EndpointId, now),
      };
      const off = { ...gone, notificationEndpoints: endpointsSwitched(gone, id, false) ?? [] };
      const seen = endpointsOf(off).find((each) => each.id === id);
      assert.equal(seen?.enabled, false);
      assert.equal(seen.goneAt, now, "why it was off before is kept");
      const on = { ...off, notificationEndpoints: endpointsSwitched(off, id, true) ?? [] };
      assert.deepEqual(endpointsOf(on), [shop, old]);
    }
  });
});
