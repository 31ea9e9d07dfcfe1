import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Answer,
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

const environment = { COFRE_ACQUIRER_TIMEOUT_MS: "100" };
const tenMinutes = 600_000;

describe("an acquirer whose answer does not come", () => {
  test("leaves a sale pending, and recovery finds that it was approved", async () => {
    await using server = await startTestServer({ environment });
    await instruct(server, "lose_answer", "authorize");
    const pending = paymentOf(await server.postJson("/ws/direct", directBody("lost-sale")));
    assert.deepEqual(
      [pending["status"], pending["pre_approved"], pending["capture_available"]],
      ["PE", false, false],
    );

    assert.equal((await settled(server, "lost-sale", "CO"))["pre_approved"], true);
    // The client that lost the answer sends the request again: it receives the result, and is never
    // charged twice.
    const again = await server.postJson("/ws/direct", directBody("lost-sale"));
    assert.equal(again.body["status_code"], "BP-DR-0");
    assert.match(String(again.body["status_message"]), /status is CO/);
  });

  test("leaves a sale pending that the acquirer never received, and recovery makes it void", async () => {
    await using server = await startTestServer({ environment });
    await instruct(server, "lose_request", "authorize");
    assert.equal(
      paymentOf(await server.postJson("/ws/direct", directBody("lost-request")))["status"],
      "PE",
    );
    await settled(server, "lost-request", "CA");
  });

  test("to a capture leaves the payment pending, and recovery finds that the money was taken", async () => {
    await using server = await startTestServer({ environment });
    const authorized = paymentOf(
      await server.postJson(
        "/ws/direct",
        directBody("lost-capture", { creditcard: { ...testCard, auto_capture: false } }),
      ),
    );
    await instruct(server, "lose_answer", "capture");
    const hash = String(authorized["hash"]);
    const capture = await server.get("/ws/capture", { integration_key: integrationKey, hash });
    assert.equal(capture.body["status"], "ERROR");
    const query = paymentOf(
      await server.get("/ws/query", { integration_key: integrationKey, hash }),
    );
    assert.deepEqual([query["status"], query["capture_available"]], ["PE", false]);
    await settled(server, "lost-capture", "CO");
  });

  test("to a cancellation leaves the payment pending, and recovery finds that it was given up", async () => {
    await using server = await startTestServer({ environment });
    const authorized = paymentOf(
      await server.postJson(
        "/ws/direct",
        directBody("lost-void", { creditcard: { ...testCard, auto_capture: false } }),
      ),
    );
    await instruct(server, "lose_answer", "void");
    const cancel = await server.get("/ws/cancel", {
      integration_key: integrationKey,
      hash: String(authorized["hash"]),
    });
    assert.equal(cancel.body["status"], "ERROR");
    await settled(server, "lost-void", "CA");
  });
});

async function instruct(server: TestServer, next: string, message: string): Promise<void> {
  const { body } = await server.postJson("/__cofre/simulator", {
    integration_key: integrationKey,
    next,
    message,
  });
  assert.equal(body["status"], "SUCCESS");
}

/** Moves the clock until recovery's job, which runs once a second, has settled the payment. */
async function settled(
  server: TestServer,
  code: string,
  status: string,
): Promise<Record<string, unknown>> {
  let payment: Record<string, unknown> = {};
  for (let look = 0; look < 100; look += 1) {
    payment = paymentOf(
      await server.get("/ws/query", {
        integration_key: integrationKey,
        merchant_payment_code: code,
      }),
    );
    if (payment["status"] !== "PE") break;
    server.clock.advance(tenMinutes);
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
  assert.equal(payment["status"], status);
  return payment;
}

function paymentOf(answer: Answer): Record<string, unknown> {
  assert.equal(answer.body["status"], "SUCCESS", JSON.stringify(answer.body));
  return answer.body["payment"] as Record<string, unknown>;
}
