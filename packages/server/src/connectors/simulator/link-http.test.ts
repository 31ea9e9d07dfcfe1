import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as openRequest } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { freePort } from "../../../test/free-port.ts";
import { cardOf } from "../../../test/vectors/cards.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { laterBy } from "../../kernel/instant.ts";
import { systemClock } from "../../kernel/system-clock.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import type { SimulatorBehaviour } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import type { AuthorizeRequest, Connector } from "../connector.ts";
import { startAcquirerServer } from "./acquirer-server.ts";
import { connectSimulator } from "./link-http.ts";
import { capabilitiesOf, defaultPersonality } from "./personality.ts";

const ports = { clock: systemClock, scheduler: systemScheduler };
const merchantId = "0000000a" as MerchantId;

function requestWith(deadlineMs: number): AuthorizeRequest {
  return {
    merchantId,
    reference: "a-1",
    deadline: laterBy(systemClock.now(), deadlineMs),
    settings: defaultAccountSettings(),
    amount: { minor: 100_00n, currency: "BRL" },
    capture: false,
    instalments: 1,
    country: "br",
    descriptor: "SHOP",
    card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
    storedCredential: undefined,
    threeDSecure: undefined,
  };
}

function authorize(connector: Connector, deadlineMs = 30_000, fault?: SimulatorBehaviour["fault"]) {
  const request = requestWith(deadlineMs);
  const { settings } = request;
  const simulator: SimulatorBehaviour =
    fault === undefined ? settings.simulator : { ...settings.simulator, fault };
  return connector.authorize(
    { ...request, settings: { ...settings, simulator } },
    { card: cardOf("4111111111111111"), cvv: undefined, cryptogram: undefined },
  );
}

/** A server that returns capabilities but is otherwise not an acquirer. */
async function impostor(context: TestContext, listener: RequestListener) {
  const server = createServer((request, response) => {
    if (request.url === "/capabilities")
      response.end(JSON.stringify(capabilitiesOf(defaultPersonality)));
    else listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const connector = await connectSimulator({
    ...ports,
    address: `http://127.0.0.1:${address.port}`,
  });
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  context.after(async () => {
    connector.close();
    await close();
  });
  return { connector, close };
}

test("an inquiry reports as many references of refunds as the acquirer takes, each as long as it may be", async (context) => {
  const server = await startAcquirerServer({ ...ports, port: 0 });
  const connector = await connectSimulator({
    ...ports,
    address: `http://127.0.0.1:${server.port}`,
  });
  context.after(async () => {
    connector.close();
    await server.close();
  });
  const request = requestWith(30_000);
  const card = { card: cardOf("4111111111111111"), cvv: undefined, cryptogram: undefined };
  const sale = await connector.authorize({ ...request, capture: true }, card);
  assert.ok(sale.kind === "approved");
  const followUp = {
    ...request,
    original: { ...request, ...sale },
    amount: { minor: 1n, currency: "BRL" },
  };
  const references = Array.from({ length: 400 }, (_, number) => `r-${number}`.padEnd(64, "x"));
  for (const reference of references)
    assert.equal((await connector.refund({ ...followUp, reference })).kind, "approved");

  const inquiry = await connector.inquire(followUp);
  assert.ok(inquiry.kind === "found");
  assert.deepEqual(inquiry.refunds, references);
});

describe("whatever is not an explicit answer is unknown", () => {
  const approval = {
    kind: "approved",
    authorizationCode: "123456",
    responseCode: "00",
    acquirerReference: "000000000001",
    networkTransactionId: "000000000123456",
  };

  test("control: an explicit answer is taken", async (context) => {
    const { connector } = await impostor(context, (_, response) =>
      response.end(JSON.stringify(approval)),
    );
    assert.deepEqual(await authorize(connector), approval);
  });

  const garbage: Readonly<Record<string, string>> = {
    nothing: "",
    "no JSON": "approved",
    "a list": "[]",
    "no object": "null",
    "another kind": JSON.stringify({ ...approval, kind: "perhaps" }),
    "an approval without a code": JSON.stringify({ ...approval, authorizationCode: undefined }),
    "an approval with a number for a code": JSON.stringify({
      ...approval,
      authorizationCode: 123456,
    }),
    "a decline for no reason": JSON.stringify({
      kind: "declined",
      reason: "mood",
      responseCode: "05",
      refusedBeforeIssuer: false,
    }),
    "too much": `${" ".repeat(70_000)}${JSON.stringify(approval)}`,
  };
  for (const [name, body] of Object.entries(garbage)) {
    test(`garbled: ${name}`, async (context) => {
      const { connector } = await impostor(context, (_, response) => response.end(body));
      assert.deepEqual(await authorize(connector), { kind: "unknown", cause: "garbled" });
    });
  }

  test("garbled: an approval with a status that is not 200", async (context) => {
    const { connector } = await impostor(context, (_, response) =>
      response.writeHead(503).end(JSON.stringify(approval)),
    );
    assert.deepEqual(await authorize(connector), { kind: "unknown", cause: "garbled" });
  });

  test("connection: cut before an answer, and the request was sent once", async (context) => {
    let requests = 0;
    const { connector } = await impostor(context, (request) => {
      requests += 1;
      request.socket.destroy();
    });
    assert.deepEqual(await authorize(connector), { kind: "unknown", cause: "connection" });
    assert.equal(requests, 1);
  });

  test("connection: cut in the middle of an approval", async (context) => {
    const { connector } = await impostor(context, (_, response) => {
      const text = JSON.stringify(approval);
      response.writeHead(200, { "content-length": text.length });
      response.write(text.slice(0, -1), () => response.destroy());
    });
    assert.deepEqual(await authorize(connector), { kind: "unknown", cause: "connection" });
  });

  test("connection: no server listens any more", async (context) => {
    const { connector, close } = await impostor(context, () => undefined);
    await close();
    assert.deepEqual(await authorize(connector), { kind: "unknown", cause: "connection" });
  });

  test("timeout: silence until the deadline, before and in the middle of an answer", async (context) => {
    const silent = await impostor(context, () => undefined);
    assert.deepEqual(await authorize(silent.connector, 50), { kind: "unknown", cause: "timeout" });

    const stuck = await impostor(context, (_, response) => void response.write("{"));
    assert.deepEqual(await authorize(stuck.connector, 50), { kind: "unknown", cause: "timeout" });
  });
});

test("a connector is not created when no server answers", async () => {
  await assert.rejects(
    connectSimulator({ ...ports, address: `http://127.0.0.1:${await freePort()}` }),
    /could not be reached/,
  );
});

describe("the acquirer's server", () => {
  const { settings, ...request } = requestWith(30_000);
  const message = JSON.stringify({
    ...request,
    simulator: settings.simulator,
    amount: { minor: "10000", currency: "BRL" },
    expiry: { expiryMonth: 12, expiryYear: 2060 },
  });
  const card = (digits: string) => Buffer.concat([Buffer.of(digits.length), Buffer.from(digits)]);
  const bad: readonly (readonly [name: string, method: string, path: string, body: Buffer])[] = [
    ["an unknown path", "POST", "/refund", Buffer.from("{}")],
    ["another method", "PUT", "/authorize", Buffer.from("{}")],
    ["no body", "POST", "/authorize", Buffer.alloc(0)],
    ["no card number", "POST", "/authorize", Buffer.concat([card(""), Buffer.from(message)])],
    [
      "a card number that fails the check digit",
      "POST",
      "/authorize",
      Buffer.concat([card("4111111111111112"), Buffer.from(message)]),
    ],
    ["a length beyond the body", "POST", "/authorize", Buffer.of(200, 0x34)],
    ["a card and no message", "POST", "/authorize", card("4111111111111111")],
    [
      "an amount that is a number",
      "POST",
      "/authorize",
      Buffer.concat([card("4111111111111111"), Buffer.from(message.replace('"10000"', "10000"))]),
    ],
    [
      "a merchant that is none",
      "POST",
      "/authorize",
      Buffer.concat([card("4111111111111111"), Buffer.from(message.replace(merchantId, "A"))]),
    ],
    [
      "a month that is none",
      "POST",
      "/authorize",
      Buffer.concat([
        card("4111111111111111"),
        Buffer.from(message.replace('"expiryMonth":12', '"expiryMonth":13')),
      ]),
    ],
    ["a capture without an original", "POST", "/capture", Buffer.from(message)],
    [
      "an instruction that is none",
      "POST",
      "/instruct",
      Buffer.from(JSON.stringify({ merchantId, next: "explode", times: 1 })),
    ],
    [
      "an instruction for never",
      "POST",
      "/instruct",
      Buffer.from(JSON.stringify({ merchantId, next: "lose_answer", times: 0 })),
    ],
    ["a body beyond 8 KiB", "POST", "/capture", Buffer.alloc(8_193, 0x20)],
  ];

  test("control: the message that the bad ones are made of is good", async (context) => {
    const port = await started(context);
    const { status, text } = await speak(
      port,
      "POST",
      "/authorize",
      Buffer.concat([card("4111111111111111"), Buffer.from(message)]),
    );
    assert.equal(status, 200);
    assert.match(text, /"kind":"approved"/);
  });

  for (const [name, method, path, body] of bad) {
    test(`${name} is refused without an echo`, async (context) => {
      const port = await started(context);
      const { status, text } = await speak(port, method, path, body);
      assert.equal(status, 400);
      assert.doesNotMatch(text, /\d{6}/);
    });
  }

  test("its answer takes the account's latency", async (context) => {
    const slept: number[] = [];
    const scheduler = {
      ...systemScheduler,
      sleep: async (ms: number) => {
        slept.push(ms);
      },
    };
    const server = await startAcquirerServer({ clock: systemClock, scheduler, port: 0 });
    context.after(() => server.close());
    const slow = message.replace('"latencyMs":0', '"latencyMs":250');
    const { status } = await speak(
      server.port,
      "POST",
      "/authorize",
      Buffer.concat([card("4111111111111111"), Buffer.from(slow)]),
    );
    assert.equal(status, 200);
    assert.deepEqual(slept, [250]);
  });

  test("a request's own fault happens there", async (context) => {
    const connector = await connectSimulator({
      ...ports,
      address: `http://127.0.0.1:${await started(context)}`,
    });
    context.after(() => connector.close());
    const declined = await authorize(connector, 30_000, { decline: "high_risk" });
    assert.ok(declined.kind === "declined" && declined.reason === "high_risk");
    assert.deepEqual(await authorize(connector, 100, "lose_request"), {
      kind: "unknown",
      cause: "timeout",
    });
    // An unknown fault makes the message malformed.
    const exploding: unknown = "explode";
    assert.deepEqual(await authorize(connector, 30_000, exploding as "lose_answer"), {
      kind: "unknown",
      cause: "garbled",
    });
  });

  test("declines debit payments as the account's rules say", async (context) => {
    const connector = await connectSimulator({
      ...ports,
      address: `http://127.0.0.1:${await started(context)}`,
    });
    context.after(() => connector.close());
    const settings = { ...defaultAccountSettings(), requireDebitThreeDSecure: true };
    const outcome = await connector.authorize(
      { ...requestWith(30_000), settings, paymentType: "debit" },
      { card: cardOf("4111111111111111"), cvv: undefined, cryptogram: undefined },
    );
    assert.ok(outcome.kind === "declined" && outcome.reason === "three_d_secure_required");
  });

  test("sends none of the account's settings but the simulator's", async (context) => {
    const bodies: Buffer[] = [];
    const { connector } = await impostor(context, (request, response) => {
      request.on("data", (piece: Buffer) => bodies.push(piece)).on("end", () => response.end("{}"));
    });
    const settings = { ...defaultAccountSettings(), notificationUrl: "https://shop.example/hook" };
    const { deadline, reference, amount } = requestWith(30_000);
    const original = {
      reference,
      amount,
      authorizationCode: undefined,
      acquirerReference: undefined,
    };
    await connector.void({ merchantId, reference: "a-2", deadline, settings, original, amount });
    const sent = Buffer.concat(bodies).toString();
    assert.ok(sent.includes('"simulator":{"seed":'));
    assert.ok(!sent.includes("shop.example"));
  });

  test("refuses a reference that named another request before", async (context) => {
    const connector = await connectSimulator({
      ...ports,
      address: `http://127.0.0.1:${await started(context)}`,
    });
    context.after(() => connector.close());
    const held = await authorize(connector);
    assert.ok(held.kind === "approved");
    const { authorizationCode, acquirerReference } = held;
    const { amount, reference, deadline, settings } = requestWith(30_000);
    const original = { reference, amount, authorizationCode, acquirerReference };
    const followUp = { merchantId, reference: "a-2", deadline, settings, original, amount };
    assert.deepEqual(await connector.void(followUp), { kind: "approved" });
    assert.deepEqual(await connector.capture(followUp), { kind: "declined", responseCode: "94" });
    assert.deepEqual(await connector.void(followUp), { kind: "approved" });
  });

  test("an instruction that it refuses rejects at the connector", async (context) => {
    const connector = await connectSimulator({
      ...ports,
      address: `http://127.0.0.1:${await started(context)}`,
    });
    context.after(() => connector.close());
    await connector.instruct(merchantId, {
      next: { decline: "high_risk" },
      times: 1,
      message: "authorize",
    });
    await assert.rejects(connector.instruct(merchantId, { next: "lose_answer", times: 0 }));

    const outcome = await authorize(connector);
    assert.ok(outcome.kind === "declined" && outcome.reason === "high_risk");
  });
});

async function started(context: TestContext): Promise<number> {
  const server = await startAcquirerServer({ ...ports, port: 0 });
  context.after(() => server.close());
  return server.port;
}

/** Sends one request on its own connection. */
async function speak(
  port: number,
  method: string,
  path: string,
  body: Buffer,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const request = openRequest({
    port,
    host: "127.0.0.1",
    method,
    path,
    agent: false,
    headers: { "content-length": body.length },
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on("response", resolve).on("error", reject).end(body);
  const response = await promise;
  response.setEncoding("utf8");
  let text = "";
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode, text };
}
