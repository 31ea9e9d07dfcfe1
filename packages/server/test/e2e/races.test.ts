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

const rounds = 25;

describe("requests that race over HTTP", () => {
  test("of two captures one takes the money, and the other learns that it has been captured", async () => {
    await using server = await startTestServer();
    for (let round = 0; round < rounds; round += 1) {
      const hash = await authorize(server, `capture-capture-${round}`);
      const answers = await Promise.all([capture(server, hash), capture(server, hash)]);
      assert.deepEqual(outcomes(answers), ["BP-CAP-4", "CO"]);
    }
  });

  test("of a capture and a cancellation one wins, and the other gets the payment's new state", async () => {
    await using server = await startTestServer();
    const seen = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const hash = await authorize(server, `capture-cancel-${round}`);
      const calls = [() => capture(server, hash), () => cancel(server, hash)];
      const order = round % 2 === 0 ? calls : calls.toReversed();
      const answers = outcomes(await Promise.all(order.map((call) => call())));
      assert.ok(["BP-CAN-3 CO", "BP-CAP-3 CA"].includes(answers.join(" ")), answers.join(" "));
      seen.add(answers.join(" "));
      const after = await server.get("/ws/query", { integration_key: integrationKey, hash });
      assert.equal(outcomes([after])[0], answers[1]);
    }
    assert.equal(seen.size, 2, "each wins sometimes");
  });

  test("of many payments with one code one is made, and the others are refused", async () => {
    await using server = await startTestServer();
    for (let round = 0; round < rounds; round += 1) {
      const code = `same-code-${round}`;
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => server.postJson("/ws/direct", directBody(code))),
      );
      const results = outcomes(answers);
      assert.deepEqual(results, ["BP-DR-0", "BP-DR-0", "BP-DR-0", "BP-DR-0", "BP-DR-0", "CO"]);
    }
  });

  test("of many cards under one chosen token one is stored", async () => {
    await using server = await startTestServer();
    const token = "chosen-token-of-the-merchant-0123456789";
    const body = {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      country: "br",
      token,
      creditcard: testCard,
    };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => server.postJson("/ws/token", body)),
    );
    const stored = answers.filter(({ body }) => body["status"] === "SUCCESS");
    const refused = answers.filter(({ body }) => body["status_code"] === "BP-DR-65");
    assert.deepEqual([stored.length, refused.length], [1, 5]);
  });
});

async function authorize(server: TestServer, code: string): Promise<string> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
  );
  return String(paymentOf(body)["hash"]);
}

function capture(server: TestServer, hash: string): Promise<Answer> {
  return server.get("/ws/capture", { integration_key: integrationKey, hash });
}

function cancel(server: TestServer, hash: string): Promise<Answer> {
  return server.get("/ws/cancel", { integration_key: integrationKey, hash });
}

/** The payment's status of each success, the code of each error, sorted. */
function outcomes(answers: readonly Answer[]): string[] {
  return answers
    .map(({ body }) =>
      String(body["status"] === "SUCCESS" ? paymentOf(body)["status"] : body["status_code"]),
    )
    .toSorted();
}

function paymentOf(body: Record<string, unknown>): Record<string, unknown> {
  return body["payment"] as Record<string, unknown>;
}
