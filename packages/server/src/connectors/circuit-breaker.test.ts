import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { hour, laterBy } from "../kernel/instant.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { withCircuitBreaker } from "./circuit-breaker.ts";
import type { AuthorizeRequest, Connector } from "./connector.ts";
import { createSimulator } from "./simulator/simulator-connector.ts";

const merchantId = "0000000a" as MerchantId;
const timeoutMs = 10_000;

function given(maxInFlight = 1_000) {
  const time = new StillTime();
  const simulator = createSimulator({ clock: time, scheduler: time });
  const events: string[] = [];
  // A separate clock for the circuit, which can be set back.
  let backMs = 0;
  const clock = { now: () => laterBy(time.now(), -backMs) };
  const setBack = (ms: number): void => void (backMs = ms);
  const connector = withCircuitBreaker(simulator, {
    name: "acquirer",
    clock,
    maxInFlight,
    report: ({ kind }) => events.push(kind),
  });
  let number = 0;
  const request = (): AuthorizeRequest => ({
    merchantId,
    reference: `payment-${(number += 1)}-1`,
    deadline: laterBy(time.now(), timeoutMs),
    settings: defaultAccountSettings(),
    amount: { minor: 100n, currency: "USD" },
    capture: true,
    instalments: 1,
    country: "br",
    descriptor: "",
    card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
    storedCredential: undefined,
    threeDSecure: undefined,
  });
  const authorize = async (over: Connector = connector) =>
    (
      await over.authorize(request(), {
        card: cardOf("4111111111111111"),
        cvv: undefined,
        cryptogram: undefined,
      })
    ).kind;
  /** Authorizes concurrently; every answer is lost. */
  const lose = async (count: number): Promise<readonly string[]> => {
    simulator.instruct(merchantId, { next: "lose_request", times: count });
    const pending = Array.from({ length: count }, () => authorize());
    await time.pass(timeoutMs);
    return Promise.all(pending);
  };
  return { time, simulator, connector, events, request, authorize, lose, setBack };
}

test("an acquirer that answers 19 of 20 times is never left alone; one that is silent 20 times in a row is", async () => {
  const { authorize, lose, events } = given();
  for (let round = 0; round < 3; round += 1) {
    await lose(19);
    assert.equal(await authorize(), "approved");
  }
  assert.deepEqual(events, []);

  await lose(20);
  assert.deepEqual(events, ["open"]);
  assert.equal(await authorize(), "not_sent");
});

test("while it rests nothing is sent to it, and an inquiry is unknown at once", async () => {
  const { authorize, lose, connector, simulator, request } = given();
  await lose(20);
  const before = simulator.books();
  assert.equal(await authorize(), "not_sent");
  const { amount, ...others } = request();
  const original = {
    reference: "payment-1-1",
    amount,
    authorizationCode: undefined,
    acquirerReference: undefined,
  };
  assert.deepEqual(await connector.inquire({ ...others, original }), {
    kind: "unknown",
    cause: "connection",
  });
  assert.deepEqual(await connector.capture({ ...others, amount, original }), {
    kind: "unknown",
    cause: "connection",
  });
  assert.deepEqual(simulator.books(), before);
});

test("after its rest one is let through; silence makes the rest longer, an answer ends it", async () => {
  const { authorize, lose, time, events, simulator } = given();
  await lose(20);
  await time.pass(5_000);
  // One probe is sent and waits; the others are not sent.
  simulator.instruct(merchantId, { next: "lose_request", times: 1 });
  const probe = authorize();
  assert.equal(await authorize(), "not_sent");
  await time.pass(timeoutMs);
  assert.equal(await probe, "unknown");

  await time.pass(9_999);
  assert.equal(await authorize(), "not_sent");
  await time.pass(1);
  assert.equal(await authorize(), "approved");
  assert.deepEqual(events, ["open", "closed"]);
  assert.equal(await authorize(), "approved");
});

test("those that were under way when the rest began do not make it longer", async () => {
  const { authorize, lose, time } = given();
  await lose(200);
  await time.pass(5_000);
  assert.equal(await authorize(), "approved");
});

test("only a bounded number wait for one acquirer; the next is certainly not sent", async () => {
  const { authorize, simulator, time } = given(2);
  simulator.instruct(merchantId, { next: "lose_request", times: 2 });
  const waiting = [authorize(), authorize()];
  assert.equal(await authorize(), "not_sent");
  await time.pass(timeoutMs);
  assert.deepEqual(await Promise.all(waiting), ["unknown", "unknown"]);
  assert.equal(await authorize(), "approved");
});

test("a clock that is set back during a rest does not make it longer", async () => {
  const { authorize, lose, setBack } = given();
  await lose(20);
  assert.equal(await authorize(), "not_sent");
  setBack(hour);
  assert.equal(await authorize(), "approved");
});
