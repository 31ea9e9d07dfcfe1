import assert from "node:assert/strict";
import { test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";

/*
 * Row 23 of the attack table: an attacker has recorded a day's requests and sends them all again,
 * in order, and then in the opposite order. No money may move twice: a payment's code charges once,
 * captures and cancellations are guarded by the payment's state, named refunds by their name.
 */

interface Sent {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const key = { integration_key: integrationKey };

/** Payments with every outcome, and the requests that follow each. */
function dayOfRequests(): Sent[] {
  const requests: Sent[] = [];
  for (let number = 0; number < 40; number += 1) {
    const code = `day-${number}`;
    const creditcard = {
      ...testCard,
      auto_capture: number % 4 === 0,
      card_number: number % 5 === 4 ? "4716909774636285" : testCard.card_number,
    };
    requests.push({ path: "/ws/direct", body: directBody(code, { creditcard }) });
    const named = { ...key, merchant_payment_code: code };
    if (number % 4 === 1) requests.push({ path: "/ws/capture", body: named });
    if (number % 4 === 2)
      requests.push({ path: "/ws/capture", body: { ...named, amount: "40.00" } });
    if (number % 4 === 3) requests.push({ path: "/ws/cancel", body: named });
    const refund = {
      ...named,
      operation: "request",
      amount: "15.00",
      description: "one",
      merchant_refund_code: `refund-${number}`,
    };
    if (number % 4 < 2) requests.push({ path: "/ws/refund", body: refund });
    if (number % 8 === 1)
      requests.push({
        path: "/ws/refundOrCancel",
        body: { ...named, description: "all", merchant_refund_code: `rest-${number}` },
      });
  }
  return requests;
}

async function moneyOf(server: TestServer): Promise<readonly string[]> {
  const money: string[] = [];
  for (let number = 0; number < 40; number += 1) {
    const { body } = await server.get("/__cofre/explain", {
      ...key,
      merchant_payment_code: `day-${number}`,
    });
    const { body: query } = await server.get("/ws/query", {
      ...key,
      merchant_payment_code: `day-${number}`,
    });
    money.push(JSON.stringify([body["state"], body["money"], body["postings"], query["payment"]]));
  }
  return money;
}

test("a day of requests that is sent again, forwards and backwards, moves no money", async (context) => {
  await using server = await startTestServer();
  const requests = dayOfRequests();
  for (const { path, body } of requests) await server.postJson(path, body);
  const before = await moneyOf(server);
  for (const again of [requests, requests.toReversed()]) {
    for (const { path, body } of again) await server.postJson(path, body);
    assert.deepEqual(await moneyOf(server), before);
  }
  context.diagnostic(`${requests.length} requests, each sent three times`);
  // The control: there was money to move.
  assert.ok(before.filter((each) => each.includes('"captured":"100.00"')).length > 10);
  assert.ok(before.some((each) => each.includes('"refunds":[{')));
});
