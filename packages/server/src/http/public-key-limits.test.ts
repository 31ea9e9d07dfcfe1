import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant, laterBy, minute, second } from "../kernel/instant.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import type { LogEvent } from "../logging/log-event.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { Account, AccountSettings } from "../merchant/account.ts";
import { Pan } from "../vault/pan.ts";
import { passingDigests } from "../vault/passing-digest.ts";
import { WireError } from "../wire/decode/wire-error.ts";
import { PublicKeyLimits } from "./public-key-limits.ts";

type Limits = Pick<
  AccountSettings,
  "publicRequestsPerMinute" | "publicCardsPerTenMinutes" | "publicFailuresPerTenMinutes"
>;

function newLimits() {
  let now = instant(Date.UTC(2026, 10, 28, 12));
  const events: LogEvent[] = [];
  const limits = new PublicKeyLimits({
    clock: { now: () => now },
    log: { write: (event) => void events.push(event) },
    digestOf: passingDigests(new SeededRandom("digests")),
  });
  const advance = (ms: number): void => {
    now = laterBy(now, ms);
  };
  return { limits, events, advance };
}

function accountWith(limits: Partial<Limits>, id = "0a0b0c0d"): Account {
  const settings = { ...defaultAccountSettings(), ...limits };
  return { id: id as MerchantId, version: 1, name: "Shop", settings };
}

/** A number of 16 digits that passes the Luhn check; a function of `index`. */
function numbered(index: number): Pan {
  const start = `411111${String(index).padStart(9, "0")}`;
  for (let last = 0; last < 10; last += 1) {
    const pan = Pan.from(Buffer.from(`${start}${last}`));
    if (pan !== undefined) return pan;
  }
  throw new Error("one digit fits");
}

/** Milliseconds to wait; undefined if the work is allowed. */
function waitOf(work: () => unknown): number | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof WireError && error.statusCode === "COFRE-178", String(error));
    return error.retryAfterMs;
  }
}

describe("the limits of a public key", () => {
  test("an account without limits has none", () => {
    const { limits } = newLimits();
    const account = accountWith({});
    for (let index = 0; index < 5_000; index += 1) {
      const visitor = limits.visit(account, "192.0.2.1");
      visitor.card(numbered(index));
      visitor.failed();
    }
    assert.equal(limits.remembered, 0);
  });

  test("a network makes its requests of a minute at once, and one more each time that one is regained", () => {
    const { limits, advance } = newLimits();
    const account = accountWith({ publicRequestsPerMinute: 30 });
    const visit = (address: string) => waitOf(() => limits.visit(account, address));
    for (let index = 0; index < 30; index += 1) assert.equal(visit("192.0.2.1"), undefined);
    assert.equal(visit("192.0.2.1"), 2 * second);
    assert.equal(visit("::ffff:192.0.2.1"), 2 * second, "another way to write the address");
    assert.equal(visit("192.0.2.2"), undefined, "another network");
    assert.equal(
      waitOf(() => limits.visit(accountWith({}, "0e0e0e0e"), "192.0.2.1")),
      undefined,
    );
    advance(2 * second);
    assert.equal(visit("192.0.2.1"), undefined);
    assert.equal(visit("192.0.2.1"), 2 * second);
    advance(minute);
    for (let index = 0; index < 30; index += 1) assert.equal(visit("192.0.2.1"), undefined);
  });

  test("a network stores a limited number of different cards, and each of them any number of times", () => {
    const { limits, advance } = newLimits();
    const account = accountWith({ publicCardsPerTenMinutes: 5 });
    const store = (index: number) =>
      waitOf(() => limits.visit(account, "192.0.2.1").card(numbered(index)));
    for (let index = 0; index < 5; index += 1) assert.equal(store(index), undefined);
    for (let again = 0; again < 20; again += 1) assert.equal(store(again % 5), undefined);
    assert.equal(store(5), 2 * minute);
    advance(2 * minute);
    assert.equal(store(5), undefined);
    assert.equal(store(6), 2 * minute);
  });

  test("a network whose requests were refused too often waits, also with right ones", () => {
    const { limits, advance } = newLimits();
    const account = accountWith({ publicFailuresPerTenMinutes: 10 });
    const visit = () => waitOf(() => limits.visit(account, "192.0.2.1"));
    for (let index = 0; index < 10; index += 1) limits.visit(account, "192.0.2.1").failed();
    assert.equal(visit(), minute);
    advance(minute);
    for (let index = 0; index < 100; index += 1) assert.equal(visit(), undefined);
  });

  test("twenty times one network's limit holds for all networks together", () => {
    const { limits } = newLimits();
    const account = accountWith({ publicCardsPerTenMinutes: 10 });
    let stored = 0;
    for (let index = 0; index < 100_000; index += 1) {
      const address = `10.${(index >> 8) & 31}.${index & 255}.1`;
      const wait = waitOf(() => limits.visit(account, address).card(numbered(index)));
      if (wait === undefined) stored += 1;
    }
    assert.equal(stored, 200);
  });

  test("few networks are remembered, whatever the number of addresses", () => {
    const { limits } = newLimits();
    const account = accountWith({ publicRequestsPerMinute: 10_000 });
    for (let index = 0; index < 120_000; index += 1)
      limits.visit(account, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
    assert.equal(limits.remembered, 50_000);
  });

  test("are reported once a minute for an account, with the number of refusals and without an address or a card", () => {
    const { limits, events, advance } = newLimits();
    const account = accountWith({ publicCardsPerTenMinutes: 1 });
    const store = (index: number) =>
      waitOf(() => limits.visit(account, "192.0.2.1").card(numbered(index)));
    for (let index = 0; index < 9; index += 1) store(index);
    advance(minute);
    store(9);
    assert.deepEqual(events, [
      { event: "public_key_limited", limit: "cards", refused: 1, merchantId: account.id },
      { event: "public_key_limited", limit: "cards", refused: 8, merchantId: account.id },
    ]);
  });
});
