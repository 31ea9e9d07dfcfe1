import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant, laterBy, minute, second } from "../kernel/instant.ts";
import { SignInLimits, type AllowedAttempt } from "./sign-in-limits.ts";

function newLimits() {
  let now = instant(Date.UTC(2026, 10, 28, 12));
  const clock = {
    now: () => now,
    advance: (ms: number) => {
      now = laterBy(now, ms);
    },
  };
  const limits = new SignInLimits(clock);
  const taken = (address: string, browser?: string): AllowedAttempt => {
    const allowed = limits.take(address, browser);
    assert.ok(!("waitMs" in allowed), `${address} is held back`);
    return allowed;
  };
  const wait = (address: string, browser?: string): number => {
    const allowed = limits.take(address, browser);
    assert.ok("waitMs" in allowed, `${address} is not held back`);
    return allowed.waitMs;
  };
  return { limits, clock, taken, wait };
}

describe("the limits of attempts to sign in", () => {
  test("attempts that were made while the clock was hours ahead block no user when it is set back", () => {
    const { clock, taken, wait } = newLimits();
    clock.advance(2 * 60 * minute);
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    for (let attempts = 0; attempts < 10; attempts += 1) taken("192.0.2.2", "known");
    clock.advance(-2 * 60 * minute);
    assert.equal(taken("192.0.2.2", "known").isKnown, true);
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    assert.equal(wait("192.0.2.1"), 30 * second, "control: there are no more than usual");
  });

  test("a network has twenty attempts and one more every half minute, and gets the time to wait", () => {
    const { clock, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    assert.equal(wait("192.0.2.1"), 30 * second);
    clock.advance(20 * second);
    assert.equal(wait("192.0.2.1"), 10 * second);
    clock.advance(10 * second);
    taken("192.0.2.1");
    assert.equal(wait("192.0.2.1"), 30 * second);
    clock.advance(60 * minute);
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    assert.equal(wait("192.0.2.1"), 30 * second);
  });

  test("all addresses of one IPv6 network are one, and so are the ways to write an address", () => {
    const { taken, wait } = newLimits();
    for (let attempts = 0; attempts < 20; attempts += 1) taken(`2001:db8:1:2:${attempts}:0:0:1`);
    wait("2001:DB8:1:2::9");
    taken("2001:db8:1:3::9");
    for (let attempts = 0; attempts < 20; attempts += 1)
      taken(attempts % 2 === 0 ? "192.0.2.1" : "::ffff:192.0.2.1");
    wait("::FFFF:192.0.2.1");
  });

  test("all together have a hundred and one more every two seconds", () => {
    const { clock, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 100; attempts += 1) taken(`192.0.2.${attempts}`);
    assert.equal(wait("198.51.100.1"), 2 * second);
    clock.advance(2 * second);
    taken("198.51.100.1");
    assert.equal(wait("198.51.100.2"), 2 * second);
  });

  test("an attempt that was right, or not checked, is returned", () => {
    const { limits, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 1_000; attempts += 1) taken("192.0.2.1").succeeded();
    for (let attempts = 0; attempts < 1_000; attempts += 1) taken("192.0.2.1").notEvaluated();
    for (let attempts = 0; attempts < 1_000; attempts += 1)
      taken("192.0.2.1", "known").notEvaluated();
    for (let attempts = 0; attempts < 1_000; attempts += 1) taken("192.0.2.1", "known").succeeded();
    assert.equal(limits.remembered, 0);
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    wait("192.0.2.1");
  });

  test("a known browser has ten in a row of its own, and is a stranger for half an hour then", () => {
    const { clock, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 100; attempts += 1) taken(`192.0.2.${attempts}`);
    for (let attempts = 0; attempts < 10; attempts += 1)
      assert.equal(taken("192.0.2.1", "known").isKnown, true);
    assert.equal(wait("192.0.2.1", "known"), 2 * second);
    assert.equal(taken("192.0.2.1", "another").isKnown, true);
    clock.advance(30 * minute - 1);
    assert.equal(taken("192.0.2.1", "known").isKnown, false);
    clock.advance(1);
    assert.equal(taken("192.0.2.1", "known").isKnown, true);
  });

  test("what is given back is one try, and takes nothing from those that were wrong", () => {
    const { limits, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 10; attempts += 1) taken("192.0.2.1");
    taken("192.0.2.1").succeeded();
    for (let attempts = 0; attempts < 10; attempts += 1) taken("192.0.2.1");
    assert.equal(wait("192.0.2.1"), 30 * second);
    for (let attempts = 0; attempts < 9; attempts += 1) taken("198.51.100.1", "known");
    taken("198.51.100.1", "known").notEvaluated();
    assert.equal(taken("198.51.100.1", "known").isKnown, true);
    assert.equal(taken("198.51.100.1", "known").isKnown, false, "ten were wrong");
    assert.equal(limits.remembered, 3);
  });

  test("networks that have all of their tries again are forgotten when a thousand are remembered, and no others", () => {
    const { limits, clock, taken, wait } = newLimits();
    const network = (number: number): string => `10.0.${number >> 8}.${number & 255}`;
    for (let number = 0; number < 1_000; number += 1) {
      taken(network(number));
      clock.advance(2 * second);
    }
    assert.equal(limits.remembered, 1_000);
    for (let attempts = 0; attempts < 19; attempts += 1) taken(network(999));
    assert.equal(limits.remembered, 14, "those of the last half minute");
    assert.equal(wait(network(999)), 28 * second);
  });

  test("of more than ten thousand browsers the one that tried longest ago is forgotten", () => {
    const { limits, taken } = newLimits();
    for (let attempts = 0; attempts < 9; attempts += 1) taken("192.0.2.1", "first");
    for (let number = 1; number < 10_000; number += 1) taken("192.0.2.1", `browser ${number}`);
    assert.equal(limits.remembered, 10_000);
    taken("192.0.2.1", "first");
    taken("192.0.2.1", "another");
    assert.equal(limits.remembered, 10_000);
    assert.equal(taken("192.0.2.1", "first").isKnown, false, "it has tried of late, and rests");
  });

  test("of a million addresses and a hundred thousand browsers few are remembered", () => {
    const { limits, clock } = newLimits();
    for (let attempts = 0; attempts < 1_000_000; attempts += 1) {
      limits.take(
        `10.${(attempts >> 16) & 255}.${(attempts >> 8) & 255}.${attempts & 255}`,
        undefined,
      );
      if (attempts % 1_000 === 0) clock.advance(1 * second);
    }
    assert.ok(limits.remembered < 1_100, `${limits.remembered}`);
    for (let attempts = 0; attempts < 100_000; attempts += 1)
      limits.take("192.0.2.1", `browser ${attempts}`);
    assert.ok(limits.remembered < 11_100, `${limits.remembered}`);
  });

  test("a clock that is corrected by seconds delays no user longer than a full measure", () => {
    const { clock, taken, wait } = newLimits();
    for (let attempts = 0; attempts < 20; attempts += 1) taken("192.0.2.1");
    clock.advance(-30 * second);
    assert.equal(wait("192.0.2.1"), 30 * second);
    clock.advance(60 * second);
    taken("192.0.2.1");
  });
});
