import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { directBody, integrationKey, startWorld, type Answer, type World } from "../world.ts";

describe("a payment above the amount that the account lets through", () => {
  test("waits for a reviewer, who takes the money", async () => {
    await using world = await startWorld();
    await settings(world);
    assert.deepEqual(
      shown(await pay(world, "small", "99.00")),
      ["CO", true, false],
      "a control: less is paid at once",
    );
    assert.deepEqual(shown(await pay(world, "large", "101.00")), ["PE", true, false]);
    assert.deepEqual(shown(await act(world, "large", "accept_review")), ["CO", true, false]);
  });

  test("is given up when the reviewer refuses", async () => {
    await using world = await startWorld();
    await settings(world);
    await pay(world, "refused", "101.00");
    const rejected = await act(world, "refused", "reject_review");
    assert.deepEqual(shown(rejected), ["CA", false, false]);
    assert.match(
      JSON.stringify(rejected.body),
      /"code":"NOK","description":"High risk transaction"/,
    );
  });
});

async function settings(world: World): Promise<void> {
  await world.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[reviewAboveUsd]": "100",
  });
}

function pay(world: World, code: string, amount: string): Promise<Answer> {
  return world.postJson("/ws/direct", directBody(code, { amount_total: amount }));
}

function act(world: World, code: string, action: string): Promise<Answer> {
  return world.postJson("/__cofre/payment", {
    integration_key: integrationKey,
    merchant_payment_code: code,
    action,
  });
}

function shown({ body }: Answer): readonly unknown[] {
  const payment = body["payment"] as Record<string, unknown>;
  return [payment["status"], payment["pre_approved"], payment["capture_available"]];
}
