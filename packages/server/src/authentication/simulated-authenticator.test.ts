import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { array, assert as holds, asyncProperty, constantFrom } from "fast-check";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, instant, laterBy } from "../kernel/instant.ts";
import { Pan } from "../vault/pan.ts";
import { challengeCode, SimulatedAuthenticator } from "./simulated-authenticator.ts";
import { authenticationCards, behaviours } from "./test-cards.ts";

type Step = "open" | "right" | "wrong" | "cancel" | "leave" | "wait" | "end";

const merchantId = "0000000a" as MerchantId;
const other = "0000000b" as MerchantId;

class TestClock implements Clock {
  #now = instant(1_000_000);
  now(): Instant {
    return this.#now;
  }
  advance(ms: number): void {
    this.#now = laterBy(this.#now, ms);
  }
}

function opened() {
  const clock = new TestClock();
  const authenticator = new SimulatedAuthenticator(clock, new Uint8Array(32), 100);
  const authenticate = async (digits: string) => {
    const { id } = authenticator.begin(merchantId);
    const pan = Pan.from(Buffer.from(digits));
    assert.ok(pan !== undefined, digits);
    await authenticator.authenticate({
      merchantId,
      id,
      pan,
      brand: digits.startsWith("5") ? "mastercard" : "visa",
      amount: { minor: 100n, currency: "BRL" },
      version: "2.2.0",
      challengeMs: 55_000,
    });
    return id;
  };
  const statusOf = (id: string) => authenticator.find(merchantId, id)?.status;
  return { clock, authenticator, authenticate, statusOf };
}

describe("the simulated 3-D Secure server", () => {
  for (const [digits, behaviour] of authenticationCards) {
    const { ares } = behaviours[behaviour];
    test(`answers ${ares} for ${digits} (${behaviour})`, async () => {
      const { authenticate, statusOf } = opened();
      assert.equal(statusOf(await authenticate(digits)), ares);
    });
  }

  test("answers U, and sends nothing, for a range that no directory server has", async () => {
    const { authenticator } = opened();
    const pan = Pan.from(Buffer.from("4000000000001000"));
    assert.ok(pan !== undefined);
    const { id: unknown } = authenticator.begin(merchantId);
    const amount = { minor: 100n, currency: "BRL" };
    const request = {
      merchantId,
      id: unknown,
      pan,
      brand: "visa",
      amount,
      challengeMs: 1,
    } as const;
    await authenticator.authenticate({ ...request, version: undefined });
    const found = authenticator.find(merchantId, unknown);
    assert.deepEqual([found?.status, found?.reason, found?.messages], ["U", "range_unknown", []]);
  });

  test("keeps the first outcome: after a cancellation, a time-out and a failure the right code changes nothing", async () => {
    const { clock, authenticator, authenticate, statusOf } = opened();
    const cancelled = await authenticate("4000000000001091");
    authenticator.cancelChallenge(merchantId, cancelled, "cancelled");
    const failed = await authenticate("4000000000001109");
    for (let tries = 0; tries < 3; tries += 1)
      authenticator.answerChallenge(merchantId, failed, challengeCode);
    const late = await authenticate("4000000000001091");
    const passed = await authenticate("4000000000001091");
    authenticator.answerChallenge(merchantId, passed, challengeCode);
    clock.advance(55_000);
    for (const id of [cancelled, failed, late])
      authenticator.answerChallenge(merchantId, id, challengeCode);
    authenticator.cancelChallenge(merchantId, passed, "cancelled");
    assert.deepEqual([cancelled, failed, late, passed].map(statusOf), [
      "not_completed",
      "N",
      "not_completed",
      "Y",
    ]);
    assert.equal(authenticator.find(merchantId, late)?.authenticationValue, undefined);
  });

  test("ends a challenge without a result itself, after the bank would have", async () => {
    const { clock, authenticator, authenticate, statusOf } = opened();
    const ids = await Promise.all(
      ["4000000000001133", "4000000000001141", "4000000000001158"].map((each) =>
        authenticate(each),
      ),
    );
    for (const id of ids) authenticator.answerChallenge(merchantId, id, challengeCode);
    clock.advance(57_999);
    assert.deepEqual(ids.map(statusOf), ["C", "C", "C"]);
    clock.advance(1);
    assert.deepEqual(ids.map(statusOf), ["not_completed", "not_completed", "not_completed"]);
  });

  test("has one outcome, whatever happens in which order, and Y only after the right code in time", async () => {
    const step = constantFrom<Step>("open", "right", "wrong", "cancel", "leave", "wait", "end");
    const cards = constantFrom(
      ...authenticationCards
        .filter(([, behaviour]) => behaviours[behaviour].ares === "C")
        .map(([digits]) => digits),
    );
    const rule = asyncProperty(cards, array(step, { maxLength: 12 }), async (digits, steps) => {
      const { clock, authenticator, authenticate } = opened();
      const id = await authenticate(digits);
      let known: string | undefined;
      let isPassed = false;
      for (const each of steps) {
        const isOpen = authenticator.find(merchantId, id)?.status === "C";
        if (each === "open") authenticator.openChallenge(merchantId, id);
        else if (each === "right" || each === "wrong") {
          authenticator.answerChallenge(merchantId, id, each === "right" ? challengeCode : "0");
          isPassed ||= each === "right" && isOpen;
        } else if (each === "wait") clock.advance(1_000);
        else if (each === "end") clock.advance(58_000);
        else
          authenticator.cancelChallenge(
            merchantId,
            id,
            each === "leave" ? "timed_out" : "cancelled",
          );
        const found = authenticator.find(merchantId, id);
        assert.ok(found !== undefined);
        if (known !== undefined) assert.equal(found.status, known);
        if (found.status !== "C") known = found.status;
        assert.equal(found.authenticationValue !== undefined, found.status === "Y");
        if (found.status === "Y") assert.ok(isPassed);
      }
    });
    await holds(rule, { numRuns: 2_000 });
  });

  test("keeps no more than its limit, and drops the oldest", async () => {
    const { authenticate, statusOf } = opened();
    const first = await authenticate("4000000000001000");
    for (let more = 0; more < 100; more += 1) await authenticate("4000000000001000");
    assert.equal(statusOf(first), undefined);
  });

  test("shows merchants only their own authentications", async () => {
    const { authenticator, authenticate } = opened();
    const id = await authenticate("4000000000001091");
    assert.equal(authenticator.find(other, id), undefined);
    assert.equal(authenticator.answerChallenge(other, id, challengeCode), undefined);
    assert.equal(authenticator.cancelChallenge(other, id, "cancelled"), undefined);
    assert.equal(authenticator.openChallenge(other, id), undefined);
    assert.equal(authenticator.find(merchantId, id)?.status, "C");
    const { id: mine, accessToken } = authenticator.begin(merchantId);
    assert.ok(authenticator.began(merchantId, mine, accessToken));
    assert.ok(!authenticator.began(other, mine, accessToken));
  });

  test("continues from a copy without changing the original, with the same values", async () => {
    const { clock, authenticator, authenticate, statusOf } = opened();
    const id = await authenticate("4000000000001091");
    const copy = authenticator.copy(clock);
    copy.answerChallenge(merchantId, id, challengeCode);
    assert.deepEqual([statusOf(id), copy.find(merchantId, id)?.status], ["C", "Y"]);
    authenticator.answerChallenge(merchantId, id, challengeCode);
    assert.deepEqual(authenticator.find(merchantId, id), copy.find(merchantId, id));
    assert.deepEqual(authenticator.begin(merchantId), copy.begin(merchantId));
  });
});
