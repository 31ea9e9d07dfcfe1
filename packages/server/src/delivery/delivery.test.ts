import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { merchantA, paymentId, start } from "../../test/contract/store-fixtures.ts";
import { day, laterBy, minute, second } from "../kernel/instant.ts";
import { maximumAttempts } from "../notification/backoff.ts";
import { decideDelivery, decideRemoved, deliveryChange } from "./delivery.ts";
import { urlEndpoint } from "../notification/endpoint.ts";
import { type Delivery, type EndpointId, newDelivery } from "../notification/events.ts";
import type { SendOutcome } from "./sender.ts";

/** Randomness that adds no delay. */
const random = { bytes: (length: number) => new Uint8Array(length) };
const now = laterBy(start, 1 * minute);

function deliveryOf(over: Partial<Delivery> = {}): Delivery {
  const of = {
    merchantId: merchantA,
    endpoint: "shop" as EndpointId,
    number: 3,
    paymentId: paymentId(1),
    kind: "update",
  } as const;
  return { ...newDelivery(of, start), version: 4, attempts: 2, outcome: "503", ...over };
}

const decide = (outcome: SendOutcome, over?: Partial<Delivery>) =>
  decideDelivery(deliveryOf(over), outcome, now, random);
const answered = (status: number, retryAfter?: string): SendOutcome => ({
  kind: "answered",
  status,
  retryAfter,
});

describe("an attempt at a delivery", () => {
  test("has delivered it when the answer is 200 to 299, whatever rest was asked for", () => {
    for (const status of [200, 204, 299]) {
      assert.deepEqual(decide(answered(status, "60")), {
        next: deliveryOf({
          version: 5,
          attempts: 3,
          outcome: String(status),
          state: "delivered",
          dueAt: now,
        }),
        verdict: "delivered",
        notBefore: undefined,
      });
    }
  });

  test("is made again after any other answer, and after none", () => {
    const again = { verdict: "retry", notBefore: undefined };
    for (const status of [199, 300, 302, 400, 404, 409, 411, 500, 503]) {
      const next = deliveryOf({
        version: 5,
        attempts: 3,
        outcome: String(status),
        dueAt: laterBy(now, 30 * minute),
      });
      assert.deepEqual(decide(answered(status)), { ...again, next });
    }
    const { next } = decide({ kind: "failed", cause: "timeout" });
    assert.deepEqual([next.outcome, next.attempts, next.state], ["failed_timeout", 3, "waiting"]);
  });

  test("leaves the receiver the rest that it asks for, and never less than the schedule's", () => {
    const rests = (retryAfter: string) => {
      const { next, verdict, notBefore } = decide(answered(503, retryAfter));
      return [verdict, next.dueAt - now, notBefore === undefined ? undefined : notBefore - now];
    };
    assert.deepEqual(rests("60"), ["retry", 30 * minute, 60 * second]);
    assert.deepEqual(rests("1800"), ["retry", 30 * minute, 30 * minute]);
    assert.deepEqual(rests("1801"), ["retry", 1_801 * second, 1_801 * second]);
    assert.deepEqual(rests("9999999"), ["retry", day, day]);
  });

  test("was the last one of the schedule: it has failed, and is asked for no more", () => {
    const last = decide(answered(500, "60"), { attempts: maximumAttempts - 1 });
    assert.deepEqual(
      [last.verdict, last.next.state, last.next.attempts, last.next.dueAt],
      ["failed", "failed", maximumAttempts, now],
    );
    assert.equal(last.notBefore, laterBy(now, 60 * second));
    assert.equal(decide(answered(500), { attempts: maximumAttempts - 2 }).verdict, "retry");
  });

  test("has found the receiver gone: it waits, uncounted, for the endpoint to be switched on; a payment's own address has no switch", () => {
    assert.deepEqual(decide(answered(410)), {
      next: deliveryOf({ version: 5, outcome: "410", dueAt: now }),
      verdict: "gone",
      notBefore: undefined,
    });
    const endpoint = urlEndpoint("https://order.example/17");
    assert.deepEqual(decide(answered(410), { endpoint }), {
      next: deliveryOf({
        version: 5,
        attempts: 3,
        outcome: "410",
        state: "failed",
        dueAt: now,
        endpoint,
      }),
      verdict: "failed",
      notBefore: undefined,
    });
  });
});

test("a delivery whose endpoint was taken away has failed without an attempt", () => {
  assert.deepEqual(
    decideRemoved(deliveryOf(), now),
    deliveryOf({ version: 5, state: "failed", outcome: "endpoint_removed", dueAt: now }),
  );
});

test("the change of deliveries replaces the versions before, and what is new replaces nothing", () => {
  const [first, second] = [deliveryOf(), deliveryOf({ number: 4, version: 1 })];
  assert.deepEqual(deliveryChange(now, first, second), {
    merchantId: merchantA,
    at: now,
    facts: [],
    entries: [],
    notifications: [],
    deliveries: [
      { next: first, replaces: 3 },
      { next: second, replaces: undefined },
    ],
  });
});
