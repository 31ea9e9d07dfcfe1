import assert from "node:assert/strict";
import { test } from "node:test";
import { directBody, integrationKey, startWorld, testCard } from "../world.ts";

test("an explanation tells every fact of a partly captured payment and accounts for every cent", async () => {
  await using world = await startWorld();
  await world.get("/__cofre/settings", { integration_key: integrationKey, "settings[partialCapture]": "1" });
  await world.postJson("/ws/direct", directBody("explained", { creditcard: { ...testCard, auto_capture: false } }));
  await world.get("/ws/capture", { integration_key: integrationKey, merchant_payment_code: "explained", amount: "40.00" });

  const { body } = await world.get("/__cofre/explain", { integration_key: integrationKey, merchant_payment_code: "explained" });

  const facts = body["facts"] as { readonly fact: string }[];
  assert.deepEqual(
    facts.map(({ fact }) => fact),
    ["authorization_sent", "authorization_approved", "capture_sent", "capture_approved"],
  );
  // 40.00 USD at 5.8300 are 233.20 BRL, and 40 % of the tax on all of it (2.22) are 0.89.
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
  assert.deepEqual(body["problems"], []);
});
