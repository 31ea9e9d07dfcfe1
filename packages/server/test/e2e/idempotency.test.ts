import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
}

async function send(server: TestServer, path: string, body: unknown, key: string): Promise<Sent> {
  const response = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Idempotency-Key": key },
  });
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.get("idempotent-replayed") === "true",
  };
}

function codeOf({ text }: Sent): unknown {
  return (JSON.parse(text) as Record<string, unknown>)["status_code"];
}

describe("an Idempotency-Key", () => {
  test("replays the answer of a payment, whatever the encoding, and refuses another request under the key", async () => {
    await using server = await startTestServer();
    const first = await send(server, "/ws/direct", directBody("named"), "key-1");
    const again = await send(server, "/WS/direct/", directBody("named"), "key-1");
    assert.deepEqual([first.replayed, again.replayed, again.text], [false, true, first.text]);

    const form = await fetch(`${server.url}/ws/direct`, {
      method: "POST",
      headers: { "Idempotency-Key": "key-1" },
      body: new URLSearchParams({ request_body: JSON.stringify(directBody("named")) }),
    });
    assert.equal(await form.text(), first.text);

    assert.equal(
      codeOf(
        await send(server, "/ws/direct", directBody("named", { amount_total: "101.00" }), "key-1"),
      ),
      "COFRE-44",
    );
    const otherCard = directBody("named", {
      creditcard: { ...testCard, card_number: "4111115666052208" },
    });
    assert.equal(codeOf(await send(server, "/ws/direct", otherCard, "key-1")), "COFRE-44");
    // Without the key it is the second payment with its code.
    assert.equal(
      (await server.postJson("/ws/direct", directBody("named"))).body["status_code"],
      "BP-DR-0",
    );
  });

  test("makes one refund of many sendings at once", async () => {
    await using server = await startTestServer();
    await server.postJson("/ws/direct", directBody("refunded"));
    const refund = {
      integration_key: integrationKey,
      operation: "request",
      merchant_payment_code: "refunded",
      amount: "10.00",
      description: "x",
    };
    const sent = await Promise.all(
      Array.from({ length: 8 }, () => send(server, "/ws/refund", refund, "refund-key")),
    );
    assert.equal(new Set(sent.map(({ text }) => text)).size, 1);
    assert.equal(sent.filter(({ replayed }) => !replayed).length, 1);
    const query = await server.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: "refunded",
    });
    assert.equal(
      (query.body["payment"] as { readonly refunds: readonly unknown[] }).refunds.length,
      1,
    );
    // A control: without a key each request is a separate refund.
    await Promise.all(Array.from({ length: 2 }, () => server.postJson("/ws/refund", refund)));
    const after = await server.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: "refunded",
    });
    assert.equal(
      (after.body["payment"] as { readonly refunds: readonly unknown[] }).refunds.length,
      3,
    );
  });

  test("replays the answers of capture and cancel", async () => {
    await using server = await startTestServer();
    for (const [verb, code] of [
      ["capture", "named-capture"],
      ["cancel", "named-cancel"],
    ] as const) {
      await server.postJson(
        "/ws/direct",
        directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
      );
      const body = { integration_key: integrationKey, merchant_payment_code: code };
      const first = await send(server, `/ws/${verb}`, body, `${verb}-key`);
      assert.match(first.text, /"status":"SUCCESS"\}$/);
      const again = await send(server, `/ws/${verb}`, body, `${verb}-key`);
      assert.deepEqual([again.replayed, again.text], [true, first.text]);
    }
  });

  test("does not freeze an outcome that was open, nor keep a token", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    await server.postJson("/__cofre/simulator", {
      integration_key: integrationKey,
      next: "lose_answer",
      message: "authorize",
    });
    const pending = await send(server, "/ws/direct", directBody("open"), "open-key");
    assert.match(pending.text, /"status":"PE"/);
    const again = await send(server, "/ws/direct", directBody("open"), "open-key");
    assert.equal(again.replayed, false);
    assert.match(again.text, /"merchant_payment_code":"open"/);

    const body = directBody("with-token", { create_token: true });
    const token = (
      JSON.parse((await send(server, "/ws/direct", body, "token-key")).text) as {
        payment: { token?: string };
      }
    ).payment.token;
    assert.match(token ?? "", /^[0-9a-f]{128}$/);
    const replay = await send(server, "/ws/direct", body, "token-key");
    assert.match(replay.text, /"status":"CO"/);
    assert.ok(!replay.text.includes(token ?? "none"));
  });

  test("does not get another request's payment that took the code while nothing was done", async () => {
    await using server = await startTestServer();
    const failed = await fetch(`${server.url}/ws/direct`, {
      method: "POST",
      headers: { "Idempotency-Key": "first-key", "x-ebanx-simulate-internal-error": "503" },
      body: JSON.stringify(directBody("taken")),
    });
    assert.notEqual(failed.status, 200);
    const other = directBody("taken", { amount_total: "250.00" });
    assert.equal((await server.postJson("/ws/direct", other)).body["status"], "SUCCESS");
    assert.equal(
      codeOf(await send(server, "/ws/direct", directBody("taken"), "first-key")),
      "BP-DR-0",
    );
  });

  test("does not contain the number of the card, because it is stored unchanged; an account that allows such codes allows it", async () => {
    await using server = await startTestServer();
    for (const key of [
      "4111111111111111",
      "order-4111111111111111",
      "4111-1111-1111-1111",
      "4111_1111_1111_1111",
      "%34111111111111111",
      "994111111111111111123",
    ]) {
      assert.equal(
        codeOf(await send(server, "/ws/direct", directBody("carded"), key)),
        "COFRE-151",
        key,
      );
    }
    for (const key of [
      "4111111111111112",
      "order-5555555555554444",
      "c0ffeec0ffee5555555555554444c0ffee",
    ]) {
      assert.notEqual(
        codeOf(await send(server, "/ws/direct", directBody(`fine ${key}`), key)),
        "COFRE-151",
        key,
      );
    }
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { refuseCardLikeCodes: false },
    });
    const first = await send(server, "/ws/direct", directBody("carded"), "4111111111111111");
    assert.equal(codeOf(first), undefined);
    // A key that was accepted has its answer, even if the account no longer allows such keys.
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { refuseCardLikeCodes: true },
    });
    assert.equal(
      (await send(server, "/ws/direct", directBody("carded"), "4111111111111111")).text,
      first.text,
    );
  });

  test("has between 1 and 255 characters", async () => {
    await using server = await startTestServer();
    assert.equal(
      codeOf(await send(server, "/ws/direct", directBody("long-key"), "k".repeat(256))),
      "COFRE-46",
    );
    assert.equal(
      codeOf(await send(server, "/ws/direct", directBody("blank-key"), "two words")),
      "COFRE-46",
    );
  });
});
