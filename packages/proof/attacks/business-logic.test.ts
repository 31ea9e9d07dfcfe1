import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../../server/test/server.ts";

/*
 * Row 13 of the attack table: well-formed requests for what is not allowed: more than there is,
 * less than nothing, in the wrong order. The simulation checks that no sequence of requests breaks
 * an invariant; here each request is tested once, by its name.
 */

const key = { integration_key: integrationKey };

async function pay(server: TestServer, code: string, capture: boolean): Promise<void> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { ...testCard, auto_capture: capture } }),
  );
  assert.equal(body["status"], "SUCCESS");
}

async function moneyOf(server: TestServer, code: string): Promise<string> {
  const { body } = await server.get("/__cofre/explain", { ...key, merchant_payment_code: code });
  return JSON.stringify([body["state"], body["money"], body["postings"]]);
}

async function refusedWithout(
  server: TestServer,
  code: string,
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const before = await moneyOf(server, code);
  const answer = await server.postJson(path, { ...key, merchant_payment_code: code, ...body });
  assert.equal(answer.body["status"], "ERROR", JSON.stringify([path, body, answer.body]));
  assert.equal(await moneyOf(server, code), before);
}

const noAmounts = [
  "-1.00",
  "-0.01",
  "0",
  "0.00",
  "1e3",
  "1e-2",
  "0.001",
  "NaN",
  "Infinity",
  "1,00",
  "0x10",
  "１.00",
  " 1.00 1",
  "99999999999999999999",
];

describe("an amount", () => {
  test("that is invalid is not captured", async () => {
    await using server = await startTestServer();
    await server.get("/__cofre/settings", { ...key, "settings[partialCapture]": "true" });
    await pay(server, "held", false);
    // Zero means the whole amount here, like a missing amount: some clients always send it
    // (docs/wire/parity.md).
    const amounts = [...noAmounts.filter((amount) => !/^[0.]+$/.test(amount)), "100.01"];
    for (const amount of amounts) await refusedWithout(server, "held", "/ws/capture", { amount });
    // The control: a part of the held amount can be captured.
    assert.equal(
      (
        await server.postJson("/ws/capture", {
          ...key,
          merchant_payment_code: "held",
          amount: "99.99",
        })
      ).body["status"],
      "SUCCESS",
    );
  });

  test("that is invalid is not refunded, and never more than was captured", async () => {
    await using server = await startTestServer();
    await pay(server, "paid", true);
    const refund = { operation: "request", description: "x" };
    for (const amount of [...noAmounts, "100.01"])
      await refusedWithout(server, "paid", "/ws/refund", { ...refund, amount });
    const half = { ...key, merchant_payment_code: "paid", ...refund, amount: "60.00" };
    assert.equal((await server.postJson("/ws/refund", half)).body["status"], "SUCCESS");
    await refusedWithout(server, "paid", "/ws/refund", { ...refund, amount: "60.00" });
  });

  test("that is invalid is not charged", async () => {
    await using server = await startTestServer();
    for (const [index, amount_total] of noAmounts.entries()) {
      const { body } = await server.postJson(
        "/ws/direct",
        directBody(`none-${index}`, { amount_total }),
      );
      assert.equal(body["status"], "ERROR", amount_total);
    }
  });
});

describe("out of turn", () => {
  test("nothing follows a cancellation", async () => {
    await using server = await startTestServer();
    await pay(server, "given-up", false);
    assert.equal(
      (await server.postJson("/ws/cancel", { ...key, merchant_payment_code: "given-up" })).body[
        "status"
      ],
      "SUCCESS",
    );
    await refusedWithout(server, "given-up", "/ws/capture", {});
    await refusedWithout(server, "given-up", "/ws/refund", {
      operation: "request",
      amount: "1.00",
      description: "x",
    });
    await refusedWithout(server, "given-up", "/__cofre/payment", { action: "chargeback" });
  });

  test("nothing is given back of what the issuer has taken back", async () => {
    await using server = await startTestServer();
    await pay(server, "disputed", true);
    const disputed = await server.postJson("/__cofre/payment", {
      ...key,
      merchant_payment_code: "disputed",
      action: "chargeback",
    });
    assert.equal(disputed.body["status"], "SUCCESS");
    await refusedWithout(server, "disputed", "/ws/refund", {
      operation: "request",
      amount: "1.00",
      description: "x",
    });
    await refusedWithout(server, "disputed", "/ws/cancel", {});
  });

  test("a paid payment is not paid, held or cancelled again, and its currency stays", async () => {
    await using server = await startTestServer();
    await pay(server, "paid", true);
    await refusedWithout(server, "paid", "/ws/capture", {});
    await refusedWithout(server, "paid", "/ws/direct", {
      ...directBody("paid", { currency_code: "BRL", amount_total: "1.00" }),
    });
    const before = await moneyOf(server, "paid");
    // A currency beside an amount is ignored: the payment's own applies.
    await server.postJson("/ws/refund", {
      ...key,
      merchant_payment_code: "paid",
      operation: "request",
      amount: "1.00",
      currency_code: "BRL",
      description: "x",
    });
    assert.equal(await moneyOf(server, "paid"), before);
    assert.match(before, /"currency":"USD"/);
  });
});
