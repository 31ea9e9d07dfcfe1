import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { freePort } from "../../server/test/free-port.ts";
import { Card, Cofre, CofreConnectionError, CofreRequestError } from "../src/index.ts";
import { cardNumbers, currencies, customers } from "../src/generated/test-data.ts";
import { testCard } from "../src/testing.ts";
import { order, type Setting, startSetting } from "./server.ts";

let setting: Setting;
before(async () => {
  setting = await startSetting();
});
after(() => setting[Symbol.asyncDispose]());

let orders = 0;
const newCode = (): string => `order-${(orders += 1)}`;

/** The number of authorizations that the acquirer was asked for. */
async function authorizationsOf(code: string): Promise<number> {
  const { facts } = await setting.server.payments.explain(code);
  return facts.filter(({ fact }) => fact === "authorization_sent").length;
}

describe("a request that is refused", () => {
  test("rejects with code, field and the server's text", async () => {
    const { client } = setting;
    const customer = { ...customers.pe, email: "nowhere" };
    await assert.rejects(client.charge(order(newCode(), { customer })), (error) => {
      assert.ok(error instanceof CofreRequestError);
      assert.deepEqual([error.code, error.field], ["BP-DR-17", "payment.email"]);
      assert.match(error.message, /^BP-DR-17: /);
      return true;
    });
    await assert.rejects(client.query({ code: "none" }), { code: "BP-QRY-2", field: undefined });
    await assert.rejects(client.charge(order(newCode(), { currency: "BRL" })), {
      code: "BP-DR-4",
      field: "payment.currency_code",
    });
  });

  test("with an invalid key rejects, and the error does not show the key", async () => {
    const client = setting.clientWith({ integrationKey: "test_ik_wrong" });
    await assert.rejects(client.properties(), (error: CofreRequestError) => {
      assert.equal(error.code, "BP-SA-2");
      assert.doesNotMatch(JSON.stringify(error) + error.stack, /test_ik_wrong/);
      return true;
    });
  });

  test("is not sent when an amount is not decimal text above zero", async () => {
    const { client } = setting;
    for (const amount of ["", "0", "0.00", "1e3", "-1", "1,00", 100 as unknown as string]) {
      await assert.rejects(client.charge(order(newCode(), { amount })), TypeError);
      await assert.rejects(client.capture({ code: "any", amount }), TypeError);
    }
  });
});

test("a card that is not a Card, a relative path and an invalid key are not sent", async () => {
  const { client } = setting;
  const card = { number: "4111111111111111", expires: "12/2060" } as unknown as Card;
  await assert.rejects(client.charge(order(newCode(), { card })), (error: Error) => {
    assert.ok(error instanceof TypeError);
    assert.doesNotMatch(error.message, /4111/);
    return true;
  });
  await assert.rejects(client.raw("ws/query"), TypeError);
  for (const idempotencyKey of ["", "a b", "a\nb", "é", "x".repeat(256)])
    await assert.rejects(client.raw("/ws/query", {}, { idempotencyKey }), TypeError);
});

describe("a client", () => {
  test("takes http for this machine only, unless it is allowed", () => {
    const options = { integrationKey: "key" };
    for (const url of ["http://cofre.example", "ftp://127.0.0.1", "http://127.0.0.1.example"])
      assert.throws(() => new Cofre({ ...options, url }), TypeError, url);
    for (const url of ["https://user@cofre.example", "https://cofre.example/?a=1"])
      assert.throws(() => new Cofre({ ...options, url }), TypeError, url);
    for (const url of ["http://127.0.0.1:8787", "http://localhost", "http://[::1]:1"])
      assert.doesNotThrow(() => new Cofre({ ...options, url }), url);
    assert.doesNotThrow(
      () => new Cofre({ ...options, url: "http://cofre:8787/", allowHttp: true }),
    );
    assert.throws(() => new Cofre({ integrationKey: "", url: "https://cofre.example" }), TypeError);
    assert.throws(() => setting.clientWith({ maxAttempts: 0 }), TypeError);
    assert.throws(() => setting.clientWith({ timeoutMs: Number.NaN }), TypeError);
  });
});

describe("payments", () => {
  test("of every country are paid", async () => {
    const { client } = setting;
    for (const country of Object.keys(customers) as (keyof typeof customers)[]) {
      const charged = await client.charge(
        order(newCode(), { country, currency: currencies[country], customer: customers[country] }),
      );
      assert.equal(charged.outcome, "paid", country);
      assert.equal(charged.payment.country, country);
    }
  });

  test("are authorized, captured in part, refunded, and the refund is cancelled", async () => {
    const { client, server } = setting;
    await server.settings.set({ partialCapture: true });
    const code = newCode();
    const held = await client.charge(order(code, { capture: false, userValue1: "basket 7" }));
    assert.equal(held.outcome, "authorized");
    assert.equal(held.payment.userValue1, "basket 7");
    const captured = await client.capture({ hash: held.payment.hash, amount: "40.00" });
    assert.deepEqual([captured.outcome, captured.payment.amountExt], ["paid", "40.00"]);
    const refunded = await client.refund({ code, amount: "15", refundCode: `${code}-r` });
    assert.deepEqual(
      [refunded.outcome, refunded.refund.amountExt, refunded.existing],
      ["requested", "15.00", false],
    );
    const again = await client.refund({ code, amount: "15.00", refundCode: `${code}-r` });
    assert.deepEqual([again.refund.id, again.existing], [refunded.refund.id, true]);
    await assert.rejects(client.refund({ code, amount: "16", refundCode: `${code}-r` }), {
      code: "BP-REF-11",
    });
    const undone = await client.cancelRefund({ refundCode: `${code}-r` });
    assert.equal(undone.outcome, "refund_cancelled");
  });

  test("are cancelled, and a captured one is refunded by refundOrCancel", async () => {
    const { client } = setting;
    const [held, other, captured] = [newCode(), newCode(), newCode()];
    await client.charge(order(held, { capture: false }));
    assert.equal((await client.cancel({ code: held })).outcome, "cancelled");
    assert.equal((await client.query({ code: held })).outcome, "cancelled");
    await client.charge(order(other, { capture: false }));
    assert.equal((await client.refundOrCancel({ code: other })).outcome, "cancelled");
    await client.charge(order(captured));
    const undone = await client.refundOrCancel({ code: captured, refundCode: `${captured}-r` });
    assert.equal(undone.outcome, "requested");
  });

  test("that the issuer declines have its reason", async () => {
    const { client } = setting;
    const number = cardNumbers.insufficient_funds;
    const card = new Card({
      number,
      holderName: "Ana Lima",
      expires: "12/2060",
      securityCode: "123",
    });
    const declined = await client.charge(order(newCode(), { card }));
    assert.ok(declined.outcome === "declined");
    assert.deepEqual([declined.reason, declined.mayRetry], ["insufficient_funds", false]);
    await setting.server.simulator.next({ next: "decline", reason: "acquirer_error" });
    const failed = await client.charge(order(newCode()));
    assert.ok(failed.outcome === "declined");
    assert.deepEqual([failed.reason, failed.mayRetry], ["acquirer_error", true]);
  });

  test("whose capture or cancellation the acquirer declines remain authorized", async () => {
    const { client, server } = setting;
    const code = newCode();
    await client.charge(order(code, { capture: false }));
    await server.faults.add({ kind: "decline", path: "/ws/capture", reason: "not_accepted" });
    assert.equal((await client.capture({ code })).outcome, "refused");
    await server.faults.add({ kind: "decline", path: "/ws/cancel", reason: "not_accepted" });
    assert.equal((await client.cancel({ code })).outcome, "refused");
    assert.equal((await client.query({ code })).outcome, "authorized");
  });

  test("whose outcome is unknown are pending, and then settled", async () => {
    const { client, server } = setting;
    const code = newCode();
    await server.simulator.next({ next: "lose_answer", message: "authorize" });
    const pending = await client.charge(order(code));
    assert.ok(pending.outcome === "pending");
    assert.equal(pending.approved, false);
    const world = await server.worlds.create({ seed: "settled" });
    const inWorld = setting.clientWith({ integrationKey: world.integrationKey });
    await world.simulator.next({ next: "lose_answer", message: "authorize" });
    await inWorld.charge(order(code));
    const settling = inWorld.settled({ code }, { withinMs: 20_000 });
    await world.clock.advance("1min");
    assert.equal((await settling).outcome, "paid");
  });

  test("whose capture has no answer are pending until the outcome is known", async () => {
    const { server } = setting;
    const world = await server.worlds.create({ seed: "capture" });
    const client = setting.clientWith({ integrationKey: world.integrationKey });
    const code = newCode();
    await client.charge(order(code, { capture: false }));
    await world.simulator.next({ next: "lose_answer", message: "capture" });
    const pending = await client.capture({ code });
    assert.ok(pending.outcome === "pending");
    assert.equal(pending.approved, true);
    await world.clock.advance("1min");
    assert.equal((await client.query({ code })).outcome, "paid");
  });
});

describe("cards", () => {
  test("are stored, charged by their token with a security code, and verified", async () => {
    const { client } = setting;
    const stored = await client.tokenize({ card: testCard(), country: "pe" });
    assert.equal(stored.maskedCardNumber, "411111xxxxxx1111");
    await client.setCvv(stored.token, "123");
    const paid = await client.charge(order(newCode(), { card: { token: stored.token } }));
    assert.equal(paid.outcome, "paid");
    const card = new Card({ token: stored.token, securityCode: "123" });
    assert.equal((await client.charge(order(newCode(), { card }))).outcome, "paid");
    assert.deepEqual(await client.verifyCard({ card: testCard(), country: "pe" }), {
      outcome: "valid",
      reason: undefined,
      mandateId: undefined,
    });
    const created = await client.charge(order(newCode(), { createToken: true }));
    assert.ok(created.payment.token !== undefined);
  });

  test("by network token are charged", async () => {
    const card = new Card({
      networkToken: new TextEncoder().encode("4111111111111111"),
      expires: "12/2060",
      cryptogram: "AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    });
    assert.equal((await setting.client.charge(order(newCode(), { card }))).outcome, "paid");
  });
});

describe("other calls", () => {
  test("exchange, properties, resendNotification and raw", async () => {
    const { client, server } = setting;
    const rate = await client.exchange({ currency: "USD", base: "BRL" });
    assert.deepEqual([rate.code, rate.baseCode], ["USD", "BRL"]);
    assert.equal((await client.properties()).urlResponse, null);
    const code = newCode();
    await client.charge(order(code));
    assert.equal((await client.resendNotification({ code })).outcome, "paid");
    const answer = await client.raw("/ws/token", {
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: testCard(),
    });
    assert.equal(answer["masked_card_number"], "411111xxxxxx1111");
    const refundOnce = (fields: Readonly<Record<string, unknown>>) =>
      client.raw("/ws/refund", fields, { idempotencyKey: `${code}-refund` });
    await server.faults.add({ kind: "drop_after_commit", path: "/ws/refund" });
    const refund = {
      merchant_payment_code: code,
      operation: "request",
      amount: "1",
      description: "",
    };
    await refundOnce(refund);
    assert.equal((await client.query({ code })).payment.refunds?.length, 1);
    await assert.rejects(client.raw("/ws/refund", { merchant_payment_code: code }), {
      code: "BP-REF-3",
    });
    const warnings: string[] = [];
    const warned = setting.clientWith({ onWarning: (warning) => warnings.push(warning) });
    await server.settings.set({ strictAmounts: false });
    await warned.charge(order(newCode(), { amount: "10.005" }));
    assert.match(warnings.join(), /rounded/);
  });
});

describe("a failure on the way", () => {
  const kinds = [
    "fail_before_commit",
    "unavailable",
    "throttle",
    "drop_before_commit",
    "drop_after_commit",
    "error_after_commit",
    "garbage_after_commit",
  ] as const;
  for (const kind of kinds)
    test(`${kind}: the payment, its capture and its refund are made once`, async () => {
      const { client, server } = setting;
      await server.settings.set({ partialCapture: true });
      const code = newCode();
      for (const path of ["/ws/direct", "/ws/capture", "/ws/refund"])
        await server.faults.add({ kind, path, times: 2 });
      const held = await client.charge(order(code, { capture: false }));
      assert.equal(held.outcome, "authorized");
      assert.equal(await authorizationsOf(code), 1);
      assert.equal((await client.capture({ code, amount: "60" })).outcome, "paid");
      const refunded = await client.refund({ code, amount: "1", refundCode: `${code}-r` });
      assert.equal(refunded.outcome, "requested");
      const { payment } = await client.query({ code });
      assert.equal(payment.refunds?.length, 1);
      assert.deepEqual(await server.faults.list(), [], "control: all faults were injected");
    });

  test("stall_in_body: an answer that stops in its middle is limited in time", async () => {
    const { server } = setting;
    const client = setting.clientWith({ timeoutMs: 40_000, runtime: { after: soon } });
    const code = newCode();
    await server.faults.add({ kind: "stall_in_body", path: "/ws/direct", delayMs: 60_000 });
    const charged = await client.charge(order(code));
    assert.equal(charged.outcome, "paid");
    assert.equal(await authorizationsOf(code), 1);
  });

  test("429 and 503 are waited for as long as Retry-After says", async () => {
    const { client, server, waits } = setting;
    for (const kind of ["throttle", "unavailable"] as const) {
      waits.length = 0;
      await server.faults.add({ kind, path: "/ws/exchange" });
      await client.exchange({ currency: "USD", base: "BRL" });
      assert.deepEqual(waits, [1_000]);
    }
  });

  test("a wait that is longer than the client allows ends the call", async () => {
    const client = setting.clientWith({ maxWaitMs: 500 });
    await setting.server.faults.add({ kind: "throttle", path: "/ws/exchange" });
    await assert.rejects(client.exchange({ currency: "USD" }), (error: CofreConnectionError) => {
      assert.ok(error instanceof CofreConnectionError);
      assert.deepEqual([error.sent, error.code, error.attempts], ["no", "COFRE-12", 1]);
      return true;
    });
  });

  test("waits grow, and their number is limited", async () => {
    const { server, waits, clientWith } = setting;
    waits.length = 0;
    await server.faults.add({ kind: "drop_before_commit", path: "/ws/exchange", times: 0 });
    const client = clientWith({ maxAttempts: 4 });
    await assert.rejects(client.exchange({ currency: "USD" }), (error: CofreConnectionError) => {
      assert.deepEqual([error.sent, error.attempts], ["maybe", 4]);
      return true;
    });
    await server.faults.clear();
    assert.equal(waits.length, 3);
    for (const [index, base] of [250, 500, 1_000].entries()) {
      const wait = waits[index] ?? 0;
      assert.ok(wait >= base / 2 && wait <= base, `${wait} of ${base}`);
    }
  });

  test("a server that is not there certainly received nothing", async () => {
    const port = await freePort();
    const client = setting.clientWith({ url: `http://127.0.0.1:${port}`, maxAttempts: 2 });
    await assert.rejects(client.charge(order(newCode())), (error: CofreConnectionError) => {
      assert.deepEqual([error.sent, error.reason, error.attempts], ["no", "ECONNREFUSED", 2]);
      return true;
    });
  });

  test("verifyCard and a token of the shop's choice are not sent again", async () => {
    const { client, server } = setting;
    const lost = { name: "CofreConnectionError", sent: "maybe", attempts: 1 };
    await server.faults.add({ kind: "drop_after_commit", path: "/ws/verifycard" });
    await assert.rejects(client.verifyCard({ card: testCard(), country: "pe" }), lost);
    await server.faults.add({ kind: "drop_after_commit", path: "/ws/token" });
    const token = "token-of-the-shop".padEnd(40, "x");
    await assert.rejects(client.tokenize({ card: testCard(), country: "pe", token }), lost);
    await server.faults.add({ kind: "drop_after_commit", path: "/ws/token" });
    assert.ok((await client.tokenize({ card: testCard(), country: "pe" })).token.length > 31);
  });

  test("a cancelled call ends at once", async () => {
    const { client, server } = setting;
    const cancelling = new AbortController();
    await server.faults.add({ kind: "slow", path: "/ws/direct", delayMs: 100_000 });
    const charging = client.charge(order(newCode()), { signal: cancelling.signal });
    setTimeout(() => cancelling.abort(), 50);
    const cancelled = { sent: "maybe", reason: "cancelled", attempts: 1 };
    await assert.rejects(charging, cancelled);
    const signal = AbortSignal.abort();
    await assert.rejects(client.charge(order(newCode()), { signal }), {
      ...cancelled,
      sent: "no",
    });
  });
});

/** Ends limits of attempts too. */
function soon(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms > 1_000 ? 300 : 10);
  return () => clearTimeout(timer);
}

describe("an order that is charged again", () => {
  test("returns the payment that exists", async () => {
    const { client } = setting;
    const code = newCode();
    const first = await client.charge(order(code));
    const again = await client.charge(order(code, { amount: "100" }));
    assert.deepEqual([again.outcome, again.existing], ["paid", true]);
    assert.equal(again.payment.hash, first.payment.hash);
    assert.equal(await authorizationsOf(code), 1);
  });

  test("is refused when its amount, currency, country, instalments or customer differ", async () => {
    const { client } = setting;
    const code = newCode();
    await client.charge(order(code));
    const others = [
      { amount: "99.99" },
      { amount: "1000.00" },
      { currency: "USD" },
      { country: "ec", currency: "USD", customer: customers.ec },
      { instalments: 2 },
      { customer: { ...customers.pe, email: "someone.else@example.com" } },
    ] as const;
    for (const other of others)
      await assert.rejects(
        client.charge(order(code, other)),
        { code: "BP-DR-0", field: "payment.merchant_payment_code" },
        JSON.stringify(other),
      );
    assert.equal(await authorizationsOf(code), 1);
  });

  test("is captured and cancelled again with the same result, and not with another one", async () => {
    const { client, server } = setting;
    await server.settings.set({ partialCapture: true });
    const [captured, cancelled] = [newCode(), newCode()];
    for (const code of [captured, cancelled]) await client.charge(order(code, { capture: false }));
    for (const amount of ["40", "40.00", undefined]) {
      const { outcome, payment } = await client.capture({ code: captured, amount });
      assert.deepEqual([outcome, payment.amountExt], ["paid", "40.00"]);
    }
    await assert.rejects(client.capture({ code: captured, amount: "41" }), { code: "BP-CAP-4" });
    await assert.rejects(client.cancel({ code: captured }), { code: "BP-CAN-3" });
    for (const time of [1, 2])
      assert.equal((await client.cancel({ code: cancelled })).outcome, "cancelled", String(time));
    await assert.rejects(client.capture({ code: cancelled }), { code: "BP-CAP-3" });
  });

  test("is not refused because another request was in progress", async () => {
    const { server, clientWith } = setting;
    const world = await server.worlds.create({ seed: "busy" });
    const { integrationKey } = world;
    const code = newCode();
    const client = clientWith({ integrationKey });
    await client.charge(order(code, { capture: false }));
    await world.simulator.next({ next: "lose_request", message: "capture" });
    assert.equal((await client.capture({ code })).outcome, "pending");
    const other = clientWith({ integrationKey, maxAttempts: 1 });
    assert.equal((await other.cancel({ code })).outcome, "pending", "the capture is in progress");
    const meanwhile = clientWith({
      integrationKey,
      maxAttempts: 1,
      runtime: {
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (url.endsWith("/ws/cancel")) await world.clock.advance("2h");
          return response;
        },
      },
    });
    // The capture has ended when the payment is queried: nothing was cancelled, nor refused.
    await assert.rejects(meanwhile.cancel({ code }), { sent: "no", code: "COFRE-20" });
    assert.equal((await client.query({ code })).outcome, "paid");
  });

  test("does not count as not sent when the query after it fails", async () => {
    const { server, clientWith } = setting;
    const code = newCode();
    const client = clientWith({ maxAttempts: 1 });
    await client.charge(order(code));
    await server.faults.add({ kind: "throttle", path: "/ws/query" });
    await assert.rejects(client.charge(order(code)), { sent: "maybe", code: "COFRE-12" });
  });
});
