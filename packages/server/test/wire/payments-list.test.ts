import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { freePort } from "../free-port.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

interface Listed {
  readonly hash: string;
  readonly merchant_payment_code: string;
}

let server: TestServer;
const hashes: string[] = [];

before(async () => {
  server = await startTestServer();
  for (const index of [0, 1, 2, 3, 4]) {
    const changes = index === 3 ? { name: "João Cão", email: "joao@example.com" } : {};
    const { body } = await server.postJson("/ws/direct", directBody(`list-${index}`, changes));
    hashes.push((body["payment"] as Listed).hash);
    server.clock.advance(1);
  }
});
after(() => server[Symbol.asyncDispose]());

async function list(
  fields: Readonly<Record<string, unknown>>,
): Promise<{ readonly codes: readonly string[]; readonly next: unknown }> {
  const { body } = await server.postJson("/__cofre/payments", {
    integration_key: integrationKey,
    ...fields,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return {
    codes: (body["payments"] as Listed[]).map((payment) => payment.merchant_payment_code),
    next: body["next"],
  };
}

describe("/__cofre/payments", () => {
  test("asks for the secret key", async () => {
    const { body } = await server.postJson("/__cofre/payments", {
      integration_key: publicIntegrationKey,
    });
    assert.equal(body["status"], "ERROR");
    assert.equal(
      (await fetch(`${server.url}/__cofre/payments`)).headers.get("access-control-allow-origin"),
      null,
    );
  });

  test("lists newest first, a page at a time", async () => {
    assert.deepEqual(await list({ limit: 2 }), { codes: ["list-4", "list-3"], next: hashes[3] });
    assert.deepEqual(await list({ limit: 2, before: hashes[3] }), {
      codes: ["list-2", "list-1"],
      next: hashes[1],
    });
    assert.deepEqual(await list({ limit: 2, before: hashes[1] }), {
      codes: ["list-0"],
      next: null,
    });
  });

  test("finds what a person knows of a payment", async () => {
    assert.deepEqual((await list({ search: "joao cao" })).codes, ["list-3"]);
    assert.deepEqual((await list({ search: hashes[1] })).codes, ["list-1"]);
    assert.deepEqual((await list({ search: "list-2" })).codes, ["list-2"]);
    assert.deepEqual(
      (await list({ search: "1111", state: "captured, voided", brand: "visa", limit: 1 })).codes,
      ["list-4"],
    );
    assert.deepEqual((await list({ search: "list-2", state: "voided" })).codes, []);
    assert.deepEqual((await list({ search: "list-2", brand: "elo" })).codes, []);
  });

  test("a searched card number is masked first, and finds the payments of such cards", async () => {
    assert.equal((await list({ search: "4111 1111 1111 1111" })).codes.length, 5);
    assert.equal((await list({ search: "4111111111111111" })).codes.length, 5);
    assert.equal((await list({ search: "4111111111111129" })).codes.length, 0);
  });

  test("shows both amounts, what became of them, and of the card what a mask shows", async () => {
    const { body } = await server.postJson("/__cofre/payments", {
      integration_key: integrationKey,
      search: "list-4",
    });
    const [payment] = body["payments"] as Record<string, unknown>[];
    const { hash, amount_br: local, ...rest } = payment ?? {};
    assert.equal(hash, hashes[4]);
    assert.match(String(local), /^\d+\.\d\d$/);
    assert.deepEqual(rest, {
      merchant_payment_code: "list-4",
      state: "captured",
      status: "CO",
      open_date: "2026-11-25 18:13:28",
      amount_ext: "100.00",
      currency_ext: "USD",
      currency_br: "BRL",
      authorized: "100.00",
      captured: "100.00",
      refunded: "0.00",
      brand: "visa",
      masked_card_number: "411111xxxxxx1111",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      country: "br",
      instalments: "1",
      expected_liability: "merchant",
      charged_back: false,
      disputed: false,
      in_flight: false,
      needs_review: false,
    });
  });

  test("a word with an operator is compared with that member alone", async () => {
    const declined = directBody("words-1", {
      creditcard: { ...testCard, card_number: "4716909774636285" },
      amount_total: "250.50",
    });
    const held = directBody("words-2", { creditcard: { ...testCard, auto_capture: false } });
    await server.postJson("/ws/direct", declined);
    server.clock.advance(1);
    await server.postJson("/ws/direct", held);
    const all = ["words-2", "list-4", "list-3", "list-2", "list-1", "list-0"];
    for (const [search, expected] of [
      ["status:declined", ["words-1"]],
      ["status:authorized words", ["words-2"]],
      ["reason:insufficient_funds", ["words-1"]],
      ["reason:insufficient", ["words-1"]],
      ["reason:expired_card", []],
      ["amount:100", all],
      ["amount:100,00", all],
      ["amount:<=100 amount:>=100", all],
      ["amount:>100", ["words-1"]],
      ["amount:100.01..250.50", ["words-1"]],
      // The digits of this range pass the check of card numbers.
      ["amount:30.00..20000000.00 words", ["words-2", "words-1"]],
      ["amount:<100", []],
      ["currency:usd brand:visa country:br status:declined", ["words-1"]],
      ["currency:usd words", ["words-2", "words-1"]],
      ["BRL words", ["words-2", "words-1"]],
      // As `amount:`, it is compared with the requested amount, and not with the local one.
      ["currency:brl", []],
      ["after:2026-11-25T18:13:28.004Z list", ["list-4"]],
      ["before:2026-11-25T18:13:28.002Z", ["list-1", "list-0"]],
    ] as const)
      assert.deepEqual((await list({ search })).codes, expected, search);
    const { body } = await server.postJson("/__cofre/payments", {
      integration_key: integrationKey,
      search: "words",
    });
    const [authorized, refused] = body["payments"] as Record<string, unknown>[];
    assert.equal(refused?.["decline_reason"], "insufficient_funds");
    assert.equal(authorized?.["decline_reason"], undefined);
    assert.match(String(authorized?.["capture_by"]), /^2026-11-\d\d \d\d:\d\d:\d\d$/);
  });

  test("counts payments by state, and those of which money went back", async () => {
    const back = { integration_key: integrationKey, operation: "request" };
    await server.postJson("/ws/refund", { ...back, hash: hashes[0], amount: "40.00" });
    await server.postJson("/ws/refund", { ...back, hash: hashes[1], amount: "100.00" });
    await server.postJson("/__cofre/payment", {
      integration_key: integrationKey,
      hash: hashes[2],
      action: "chargeback",
    });
    const count = (value: string) =>
      server.postJson("/__cofre/payments", { integration_key: integrationKey, count: value });
    const { body } = await count("states");
    assert.deepEqual(body, {
      payments: [],
      next: null,
      counts: {
        authorized: 1,
        declined: 1,
        captured: 5,
        disputed: 1,
        refunded: 1,
        partly_refunded: 1,
      },
      payments_read: 7,
      complete: true,
      status: "SUCCESS",
    });
    assert.equal((await count("brands")).body["status_message"], "Parameter count must be states");
  });
});

test("/__cofre/notifications lists one payment alone on request", async () => {
  const notificationEndpoints = [{ id: "shop", url: "http://127.0.0.1:3/nobody" }];
  await server.postJson("/__cofre/settings", {
    integration_key: integrationKey,
    settings: { notificationEndpoints },
  });
  const { body: made } = await server.postJson("/ws/direct", directBody("told"));
  const { hash } = made["payment"] as Listed;
  const { body } = await server.postJson("/__cofre/notifications", {
    integration_key: integrationKey,
    hash,
  });
  const reported = body["notifications"] as {
    readonly hash: string;
    readonly deliveries: readonly { readonly endpoint: string }[];
  }[];
  assert.deepEqual(
    reported.map((each) => [each.hash, each.deliveries.map(({ endpoint }) => endpoint)]),
    [[hash, ["shop"]]],
  );
  const none = await server.postJson("/__cofre/notifications", {
    integration_key: integrationKey,
    hash: "0".repeat(48),
  });
  assert.deepEqual(none.body["notifications"], []);
});

describe("the notifications of listed payments", () => {
  test("are counted in receivers, and late after a minute", async () => {
    await using own = await startTestServer();
    const read = async (): Promise<unknown> => {
      const { body } = await own.postJson("/__cofre/payments", { integration_key: integrationKey });
      return (body["payments"] as { readonly notified?: unknown }[]).map(
        ({ notified }) => notified,
      );
    };
    await own.postJson("/ws/direct", directBody("not-notified"));
    // Nothing listens there.
    const url = `http://127.0.0.1:${await freePort()}/`;
    const notificationEndpoints = ["shop", "erp"].map((id) => ({ id, url }));
    const { body } = await own.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationEndpoints },
    });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    own.clock.advance(1);
    await own.postJson("/ws/direct", directBody("notified"));
    const counted = { receivers: 2, delivered: 0, failed: 0 };
    assert.deepEqual(await read(), [{ ...counted, late: false }, undefined]);
    own.clock.advance(60_000);
    assert.deepEqual(await read(), [{ ...counted, late: false }, undefined]);
    own.clock.advance(1);
    assert.deepEqual(await read(), [{ ...counted, late: true }, undefined]);
  });
});
