import assert from "node:assert/strict";
import { test } from "node:test";
import { directBody, integrationKey, startTestServer, testCard } from "../server.ts";

test("an explanation shows every fact of a partly captured payment and accounts for every cent", async () => {
  await using server = await startTestServer();
  await server.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[partialCapture]": "1",
  });
  await server.postJson(
    "/ws/direct",
    directBody("explained", { creditcard: { ...testCard, auto_capture: false } }),
  );
  await server.get("/ws/capture", {
    integration_key: integrationKey,
    merchant_payment_code: "explained",
    amount: "40.00",
  });

  const { body } = await server.get("/__cofre/explain", {
    integration_key: integrationKey,
    merchant_payment_code: "explained",
  });

  const facts = body["facts"] as { readonly fact: string }[];
  assert.deepEqual(
    facts.map(({ fact }) => fact),
    ["authorization_sent", "authorization_approved", "capture_sent", "capture_approved"],
  );
  // 40.00 USD at 5.8300 are 233.20 BRL, and 40 % of the tax on the whole amount (2.22) are 0.89.
  assert.deepEqual(body["money"], [
    {
      currency: "USD",
      held: "0.00",
      captured: "40.00",
      released: "60.00",
      refunded: "0.00",
      chargedBack: "0.00",
      taxed: "0.00",
      payable: "40.00",
    },
    {
      currency: "BRL",
      held: "0.00",
      captured: "234.09",
      released: "351.13",
      refunded: "0.00",
      chargedBack: "0.00",
      taxed: "0.89",
      payable: "233.20",
    },
  ]);
  assert.deepEqual(body["price"], [
    {
      part: "payment",
      amount: "100.00",
      currency: "USD",
      local: "585.22",
      local_currency: "BRL",
      rate: "5.8300",
      gross: "583.00",
      tax: "2.22",
      text: "100.00 USD at a rate of 5.8300 are 583.00 BRL, rounded half up; with a tax of 2.22 BRL the customer pays 585.22 BRL.",
    },
    {
      part: "captured",
      amount: "40.00",
      currency: "USD",
      local: "234.09",
      local_currency: "BRL",
      rate: "5.8300",
      gross: "233.20",
      tax: "0.89",
      text: "40.00 USD at a rate of 5.8300 are 233.20 BRL, rounded half up; with a tax of 0.89 BRL the customer pays 234.09 BRL.",
    },
  ]);
  assert.deepEqual(body["problems"], []);
});

test("an explanation says how every amount came about, for each currency, tax and return", async () => {
  await using server = await startTestServer();
  const priceOf = async (code: string): Promise<readonly string[]> => {
    const { body } = await server.get("/__cofre/explain", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    const { body: timeline } = await server.get("/__cofre/timeline", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    assert.deepEqual(timeline["price"], body["price"]);
    return (body["price"] as { readonly text: string }[]).map(({ text }) => text);
  };
  const chargeback = (code: string) =>
    server.get("/__cofre/payment", {
      integration_key: integrationKey,
      merchant_payment_code: code,
      action: "chargeback",
      description: "no",
    });
  await server.postJson("/ws/direct", directBody("disputed"));
  const { body } = await server.get("/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: "disputed",
  });
  const { hash } = body["payment"] as { readonly hash: string };
  await server.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[refundRequestedMinutes]": "0",
    "settings[refundPendingMinutes]": "0",
  });
  await server.get("/ws/refund", {
    integration_key: integrationKey,
    operation: "request",
    hash,
    amount: "0.01",
    description: "a cent",
  });
  await chargeback("disputed");
  const disputed = await priceOf("disputed");
  assert.equal(disputed.length, 3);
  assert.match(
    disputed[2] ?? "",
    /^(?:99\.99|100\.00) USD of the captured 100\.00 USD went back: the same share of 585\.22 BRL, 585\.\d\d BRL\.$/,
  );

  await server.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[taxPaidBy]": "merchant",
  });
  await server.postJson("/ws/direct", directBody("borne"));
  assert.deepEqual(
    (await priceOf("borne")).at(0),
    "100.00 USD at a rate of 5.8300 are 583.00 BRL, rounded half up; the merchant bears the tax of 2.22 BRL.",
  );
  await server.postJson("/ws/direct", directBody("local", { currency_code: "BRL" }));
  assert.match((await priceOf("local")).at(0) ?? "", /^100\.00 BRL, not converted; /);
});

test("an explanation names the party that is expected to bear fraud, also of a stored card", async () => {
  await using server = await startTestServer();
  const proof = { threeds_eci: "02", threeds_cryptogram: "AAABBEg0VhI0VniQEjRWAAAAAAA=" };
  const mastercard = { ...testCard, card_number: "5555555555554444" };
  const { body: stored } = await server.postJson("/ws/token", {
    integration_key: integrationKey,
    payment_type_code: "creditcard",
    creditcard: mastercard,
  });
  const { token } = stored as { readonly token: string };
  const charged: Readonly<Record<string, object>> = {
    plain: mastercard,
    authenticated: { ...mastercard, ...proof },
    stored: { token, card_cvv: "123", ...proof },
    // The indicator of Mastercard on a Visa card.
    foreign: { ...testCard, ...proof },
  };
  const seen: Record<string, unknown> = {};
  for (const [code, creditcard] of Object.entries(charged)) {
    await server.postJson("/ws/direct", directBody(code, { creditcard }));
    const { body } = await server.get("/__cofre/explain", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    seen[code] = body["expected_liability"];
  }
  assert.deepEqual(seen, {
    plain: "merchant",
    authenticated: "issuer",
    stored: "issuer",
    foreign: "merchant",
  });

  const dispute = (code: string) =>
    server.postJson("/__cofre/payment", {
      integration_key: integrationKey,
      merchant_payment_code: code,
      action: "chargeback",
      reason: "FRAUD",
    });
  assert.equal((await dispute("stored")).body["status_code"], "COFRE-176");
  assert.equal((await dispute("plain")).body["status"], "SUCCESS");
});
