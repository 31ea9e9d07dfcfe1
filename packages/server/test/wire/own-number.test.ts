import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { temporaryFolder } from "../command.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

const pan = testCard.card_number;
const others = "5555555555554444";
/** Spellings of the card's number in a name. */
const spellings = [
  pan,
  "4111-1111-1111-1111",
  "order 4111 1111 1111 1111",
  `00${pan}`,
  `${pan}123`,
  `a${pan}b`,
  "4111\u00a01111\u00a01111\u00a01111",
  `%34${pan.slice(1)}`,
];

interface Sent {
  readonly code: unknown;
  readonly warning: string | null;
  readonly body: Record<string, unknown>;
}

async function send(
  server: TestServer,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  const response = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers,
  });
  const answered = (await response.json()) as Record<string, unknown>;
  return {
    code: answered["status_code"],
    warning: response.headers.get("x-cofre-warning"),
    body: answered,
  };
}

async function stored(server: TestServer, card_number = pan): Promise<string> {
  const card = { ...testCard, card_number };
  const { body } = await send(server, "/ws/token", {
    integration_key: integrationKey,
    country: "pe",
    payment_type_code: "creditcard",
    creditcard: card,
  });
  return String(body["token"]);
}

const of = (fields: Readonly<Record<string, unknown>>) => ({
  integration_key: integrationKey,
  ...fields,
});

/** A refund id with ten digits, as half of all refunds have. */
async function longRefundId(server: TestServer): Promise<string> {
  for (let index = 0; index < 40; index += 1) {
    const merchant_payment_code = `refunded-${index}`;
    await send(server, "/ws/direct", directBody(merchant_payment_code));
    const requested = of({
      operation: "request",
      merchant_payment_code,
      amount: "1.00",
      description: "x",
    });
    const { id } = (await send(server, "/ws/refund", requested)).body["refund"] as {
      readonly id: string;
    };
    if (id.length === 10) return id;
  }
  return assert.fail("half of all refund ids have ten digits");
}

describe("a name that holds the number of the card", () => {
  test("is refused as a payment's code, by number and by token, before anything is written", async () => {
    await using server = await startTestServer();
    const token = await stored(server);
    for (const code of spellings) {
      for (const creditcard of [testCard, { token, card_cvv: "123" }]) {
        assert.equal(
          (await send(server, "/ws/direct", directBody(code, { creditcard }))).code,
          "BP-DR-9",
          code,
        );
      }
      assert.equal(
        (await send(server, "/ws/query", of({ merchant_payment_code: code }))).code,
        "BP-QRY-2",
        code,
      );
    }
    // Another card's number, and texts that only look like one.
    for (const code of [others, `order-${others}`, "4111111111111112", "4111111111111129"]) {
      assert.equal(
        (
          await send(
            server,
            "/ws/direct",
            directBody(code, { creditcard: { token, card_cvv: "123" } }),
          )
        ).code,
        undefined,
        code,
      );
    }
    // The account's setting.
    await server.postJson("/__cofre/settings", of({ settings: { refuseCardLikeCodes: false } }));
    for (const creditcard of [testCard, { token, card_cvv: "123" }]) {
      const allowed = await send(
        server,
        "/ws/direct",
        directBody(`${pan}-${"token" in creditcard}`, { creditcard }),
      );
      assert.deepEqual([allowed.code, allowed.warning], [undefined, null]);
    }
  });

  test("is refused as a refund's code by the payment's card, in any request", async () => {
    await using server = await startTestServer();
    await send(server, "/ws/direct", directBody("paid"));
    await send(
      server,
      "/ws/direct",
      directBody("by-token", { creditcard: { token: await stored(server), card_cvv: "123" } }),
    );
    for (const merchant_payment_code of ["paid", "by-token"]) {
      const refund = of({
        operation: "request",
        merchant_payment_code,
        amount: "1.00",
        description: "x",
      });
      for (const merchant_refund_code of spellings) {
        for (const path of ["/ws/refund", "/ws/refundOrCancel"]) {
          assert.equal(
            (await send(server, path, { ...refund, merchant_refund_code })).code,
            "COFRE-47",
            merchant_refund_code,
          );
        }
      }
      for (const merchant_refund_code of [
        `${merchant_payment_code} ${others}`,
        `${merchant_payment_code} 4111111111111112`,
      ]) {
        assert.equal(
          (await send(server, "/ws/refund", { ...refund, merchant_refund_code })).code,
          undefined,
          merchant_refund_code,
        );
      }
    }
  });

  test("is refused as an Idempotency-Key by the card of the request, its token's or its payment's, before the key is kept", async (context) => {
    const folder = temporaryFolder(context);
    await using server = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
    const token = await stored(server);
    const { hash } = (await send(server, "/ws/direct", directBody("paid"))).body["payment"] as {
      readonly hash: string;
    };
    const refund = of({
      operation: "request",
      merchant_payment_code: "paid",
      amount: "1.00",
      description: "x",
      merchant_refund_code: "r",
    });
    const requests: readonly (readonly [path: string, body: unknown])[] = [
      ["/ws/direct", directBody("keyed")],
      ["/ws/direct", directBody("keyed", { creditcard: { token, card_cvv: "123" } })],
      ["/ws/direct", directBody("keyed", { creditcard: undefined, token })],
      ["/ws/refund", refund],
      ["/ws/refund", of({ operation: "cancel", merchant_refund_code: "r" })],
      ["/ws/refundOrCancel", refund],
      ["/ws/capture", of({ merchant_payment_code: "paid" })],
      ["/ws/capture", of({ hash: `${hash}\n` })],
      ["/ws/cancel", of({ merchant_payment_code: "paid" })],
      ["/ws/cancel", of({ merchant_payment_code: "paid\n" })],
      ["/ws/refund", of({ operation: "cancel", refund_id: await longRefundId(server) })],
    ];
    await send(server, "/ws/refund", refund);
    for (const [path, body] of requests) {
      for (const key of [pan, "4111-1111-1111-1111", `key_${pan}`, `00${pan}00`]) {
        assert.equal(
          (await send(server, path, body, { "Idempotency-Key": key })).code,
          "COFRE-151",
          `${path} ${key}`,
        );
      }
      assert.notEqual(
        (await send(server, path, body, { "Idempotency-Key": `${path.slice(4)}-${others}` })).code,
        "COFRE-151",
        path,
      );
    }
    await server.cofre.close();
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name), "latin1");
      for (const key of [pan, "4111-1111-1111-1111"])
        assert.ok(!bytes.includes(key), `${name} has ${key}`);
    }
  });

  test("is not kept as a notification address or a mandate", async () => {
    await using server = await startTestServer();
    const token = await stored(server);
    for (const [index, creditcard] of [testCard, { token, card_cvv: "123" }].entries()) {
      const own = {
        notification_url: `https://shop.example/?card=${pan}`,
        cof_info: { cof_type: "stored", mandate_id: pan },
      };
      const { body } = await send(
        server,
        "/ws/direct",
        directBody(`own-${index}`, { ...own, creditcard }),
      );
      assert.equal(body["status"], "SUCCESS");
      assert.ok(!JSON.stringify(body).includes(pan));
      const seen = await server.get("/__cofre/payment", {
        integration_key: integrationKey,
        merchant_payment_code: `own-${index}`,
      });
      assert.ok(!JSON.stringify(seen.body).includes(pan));
    }
  });
});

test("a name that only looks like a card number is kept, with a warning and a count of its own", async () => {
  await using server = await startTestServer();
  const first = await send(server, "/ws/direct", directBody(`order ${others}`));
  assert.match(first.warning ?? "", /^merchant_payment_code looks like a card number/);
  assert.equal(
    (first.body["payment"] as { readonly merchant_payment_code: string }).merchant_payment_code,
    `order ${others}`,
  );
  const refund = of({
    operation: "request",
    merchant_payment_code: `order ${others}`,
    amount: "1.00",
    description: "x",
  });
  const keyed = { "Idempotency-Key": others };
  const second = await send(
    server,
    "/ws/refund",
    { ...refund, merchant_refund_code: others },
    keyed,
  );
  assert.match(second.warning ?? "", /^merchant_refund_code looks .*, Idempotency-Key looks /);
  // The console finds it by its whole code, and shows its recorded requests.
  const listed = await server.get("/__cofre/payments", {
    integration_key: integrationKey,
    search: `order ${others}`,
  });
  assert.equal((listed.body["payments"] as unknown[]).length, 1);
  // No warning for a plain name, nor for a code that only refers to a payment.
  assert.equal((await send(server, "/ws/direct", directBody("order-1"))).warning, null);
  assert.equal(
    (await send(server, "/ws/refund", { ...refund, merchant_refund_code: "r-2" })).warning,
    null,
  );
  const { body } = await server.get("/__cofre/figures", { integration_key: integrationKey });
  assert.deepEqual(body["card_like_names"], {
    merchant_payment_code: 1,
    merchant_refund_code: 1,
    idempotency_key: 1,
  });
});
