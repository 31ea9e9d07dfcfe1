import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  type Answer,
  type TestServer,
} from "../server.ts";

describe("a payment above the amount that the account lets through", () => {
  test("waits for a reviewer, who takes the money", async () => {
    await using server = await startTestServer();
    await settings(server);
    assert.deepEqual(
      shown(await pay(server, "small", "99.00")),
      ["CO", true, false],
      "a control: less is paid at once",
    );
    assert.deepEqual(shown(await pay(server, "large", "101.00")), ["PE", true, false]);
    assert.deepEqual(shown(await act(server, "large", "accept_review")), ["CO", true, false]);
  });

  test("is given up when the reviewer refuses", async () => {
    await using server = await startTestServer();
    await settings(server);
    await pay(server, "refused", "101.00");
    const rejected = await act(server, "refused", "reject_review");
    assert.deepEqual(shown(rejected), ["CA", false, false]);
    assert.match(
      JSON.stringify(rejected.body),
      /"code":"NOK","description":"High risk transaction"/,
    );
  });
});

async function settings(server: TestServer): Promise<void> {
  await server.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[reviewAboveUsd]": "100",
  });
}

function pay(server: TestServer, code: string, amount: string): Promise<Answer> {
  return server.postJson("/ws/direct", directBody(code, { amount_total: amount }));
}

function act(server: TestServer, code: string, action: string): Promise<Answer> {
  return server.postJson("/__cofre/payment", {
    integration_key: integrationKey,
    merchant_payment_code: code,
    action,
  });
}

function shown({ body }: Answer): readonly unknown[] {
  const payment = body["payment"] as Record<string, unknown>;
  return [payment["status"], payment["pre_approved"], payment["capture_available"]];
}
