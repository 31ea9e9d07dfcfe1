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
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;

async function sale(server: TestServer, code: string): Promise<string> {
  const { body } = await server.postJson("/ws/direct", directBody(code));
  return String(paymentIn(body)["hash"]);
}

function refund(
  server: TestServer,
  hash: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return server.get("/ws/refund", {
    integration_key: integrationKey,
    operation: "request",
    hash,
    description: "x",
    ...fields,
  });
}

const paymentIn = (body: Fields): Fields => body["payment"] as Fields;

async function refundsOf(server: TestServer, hash: string): Promise<readonly Fields[]> {
  const { body } = await server.get("/ws/query", { integration_key: integrationKey, hash });
  return paymentIn(body)["refunds"] as readonly Fields[];
}

async function having(server: TestServer, settings: Fields): Promise<void> {
  const { body } = await server.postJson("/__cofre/settings", {
    integration_key: integrationKey,
    settings,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

function outcomes(answers: readonly Answer[]): readonly string[] {
  return answers.map(({ body }) => String(body["status_code"] ?? body["status"])).toSorted();
}

describe("refunds over HTTP", { timeout: 60_000 }, () => {
  test("that race give back what was paid and not a cent more", async () => {
    await using server = await startTestServer();
    for (let round = 0; round < 10; round += 1) {
      const hash = await sale(server, `race-${round}`);
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => refund(server, hash, { amount: "30.00" })),
      );
      const codes = outcomes(answers);
      assert.deepEqual(codes, [
        "BP-REF-5",
        "BP-REF-5",
        "BP-REF-5",
        "SUCCESS",
        "SUCCESS",
        "SUCCESS",
      ]);
      assert.equal((await refundsOf(server, hash)).length, 3);
    }
  });

  test("with one merchant_refund_code at the same time are one refund", async () => {
    await using server = await startTestServer();
    const hash = await sale(server, "same-code");
    const fields = { amount: "1.00", merchant_refund_code: "back-1" };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => refund(server, hash, fields)),
    );
    const codes = outcomes(answers);
    assert.deepEqual(codes, ["BP-REF-11", "BP-REF-11", "BP-REF-11", "BP-REF-11", "SUCCESS"]);
  });

  for (const strict of [false, true]) {
    test(`that are pending ${strict ? "cannot be taken back where the account is strict" : "can still be taken back"}`, async () => {
      await using server = await startTestServer();
      await having(server, { refundPendingMinutes: 1_440, strictRefundCancel: strict });
      const hash = await sale(server, "pending");
      await refund(server, hash, { amount: "1.00", merchant_refund_code: "back-1" });
      server.clock.advance(61_000);
      await until(
        "the refund is pending",
        async () => (await refundsOf(server, hash))[0]?.["status"] === "PE",
      );
      const { body } = await server.get("/ws/refund", {
        integration_key: integrationKey,
        operation: "cancel",
        merchant_refund_code: "back-1",
      });
      assert.equal(body["status_code"], strict ? "BP-REF-10" : undefined);
      assert.equal((await refundsOf(server, hash))[0]?.["status"], strict ? "PE" : "CA");
    });
  }

  test("that the acquirer declines are CA, and their amount is free again", async () => {
    await using server = await startTestServer();
    const hash = await sale(server, "declined");
    const decline = { next: "decline", reason: "not_accepted", message: "refund" };
    await server.postJson("/__cofre/simulator", { integration_key: integrationKey, ...decline });
    await refund(server, hash, { amount: "100.00" });
    const isCancelled = async (): Promise<boolean> => {
      server.clock.advance(61_000);
      return (await refundsOf(server, hash))[0]?.["status"] === "CA";
    };
    // A job runs once a second.
    await until("the refund is cancelled", isCancelled, { everyMs: 50 });
    assert.equal((await refund(server, hash, { amount: "100.00" })).body["status"], "SUCCESS");
  });
});

describe("a card's use over HTTP", () => {
  test("is a verification too: a token that is verified lives 14 months from then", async () => {
    await using server = await startTestServer();
    const { body } = await server.postJson("/ws/token", {
      integration_key: integrationKey,
      creditcard: { ...testCard, card_due_date: "12/2040" },
    });
    const { token } = body;
    const verify = (): Promise<Answer> =>
      server.postJson("/ws/verifycard", {
        integration_key: integrationKey,
        country: "br",
        card: { token },
      });
    const thirteenMonthsMs = 395 * 86_400_000;
    for (let use = 0; use < 3; use += 1) {
      server.clock.advance(thirteenMonthsMs);
      assert.equal((await verify()).body["status"], "SUCCESS");
    }
    // The control: two months longer, unused.
    server.clock.advance(thirteenMonthsMs + 62 * 86_400_000);
    assert.equal((await verify()).body["status_code"], "BP-DR-64");
  });
});
