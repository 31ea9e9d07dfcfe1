import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { documentedErrors } from "../../src/wire/errors/error-reference.ts";
import { type ErrorRow, errorTable } from "../../src/wire/errors/error-table.ts";
import { framingErrors } from "../../src/wire/decode/framing-errors.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type Answer,
  type TestServer,
} from "../server.ts";

/**
 * Every code of docs/wire/errors.md is provoked over HTTP. The acquirer timeout is short here; only
 * the test moves the clock.
 */
const dayMs = 86_400_000;
/**
 * `worlds.test.ts` and `idempotent-requests.test.ts` provoke these: ten thousand worlds, or a second
 * node, are too much for this test.
 */
const heldByTheirErrors = ["COFRE-72", "COFRE-45"];
let server: TestServer;
let codes = 0;

type Fields = Readonly<Record<string, unknown>>;

const newCode = (): string => `errors-${(codes += 1)}`;
const post = (path: string, fields: Fields = {}): Promise<Answer> =>
  server.postJson(path, { integration_key: integrationKey, ...fields });
const direct = (payment: Fields = {}, top: Fields = {}): Promise<Answer> =>
  server.postJson("/ws/direct", { ...directBody(newCode(), payment), ...top });
const card = (changes: Fields): Promise<Answer> =>
  direct({ creditcard: { ...testCard, ...changes } });
const scenario = (number: string, payment: Fields = {}): Promise<Answer> =>
  direct({ creditcard: { ...testCard, card_number: number }, ...payment });

const page = (changes: Fields): Promise<Answer> =>
  post("/ws/request", {
    merchant_payment_code: newCode(),
    amount: "100.00",
    currency_code: "PEN",
    country: "pe",
    name: "Ana Lima",
    email: "ana.lima@example.com",
    payment_type_code: "_all",
    ...changes,
  });

async function raw(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(server.url + path, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A capture of a payment that does not exist, with an Idempotency-Key. */
function named(key: string, hash: string): Promise<Answer> {
  const body = JSON.stringify({ integration_key: integrationKey, hash });
  return raw("/ws/capture", { method: "POST", body, headers: { "Idempotency-Key": key } });
}

async function hashOf(answer: Promise<Answer>): Promise<string> {
  const { body } = await answer;
  const { hash } = (body["payment"] ?? {}) as { readonly hash?: string };
  assert.ok(hash !== undefined, JSON.stringify(body));
  return hash;
}

const sale = (): Promise<string> => hashOf(direct());
const hold = (): Promise<string> => hashOf(card({ auto_capture: false }));
const waiting = (): Promise<string> => hashOf(direct({ manual_review: true }));
const refund = (hash: string, fields: Fields = {}): Promise<Answer> =>
  post("/ws/refund", { operation: "request", hash, amount: "1", ...fields });
const act = (hash: string, action: string, fields: Fields = {}): Promise<Answer> =>
  post("/__cofre/payment", { hash, action, ...fields });

async function done(answer: Promise<Answer>): Promise<void> {
  const { body } = await answer;
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

/** Changes what the acquirer does with the next message. */
const instruct = (next: Fields): Promise<void> => done(post("/__cofre/simulator", next));

async function newWorld(): Promise<string> {
  const { body } = await post("/__cofre/worlds");
  return (body["world"] as { readonly integration_key: string }).integration_key;
}

async function inWorld(path: string, fields: Fields): Promise<Answer> {
  return post(path, { integration_key: await newWorld(), ...fields });
}

/** Runs with other settings of the account, which are restored. */
async function having(settings: Fields, back: Fields, ask: () => Promise<Answer>): Promise<Answer> {
  await done(post("/__cofre/settings", { settings }));
  try {
    return await ask();
  } finally {
    await done(post("/__cofre/settings", { settings: back }));
  }
}

const long = (characters: number): string => "x".repeat(characters);
const networkToken = {
  network_token_pan: testCard.card_number,
  network_token_expire_date: "12/2060",
  network_token_cryptogram: "AAAA",
};

const provocations: Readonly<Record<string, () => Promise<Answer>>> = {
  "BP-SA-1": () => server.get("/ws/query"),
  "BP-SA-2": () => server.get("/ws/query", { integration_key: "nonsense" }),
  "DA-1": () => direct({}, { integration_key: "nonsense" }),

  "BP-DR-0": async () => {
    await sale();
    return server.postJson("/ws/direct", directBody(`errors-${codes}`));
  },
  "BP-DR-1": () => direct({}, { mode: "simple" }),
  "BP-DR-2": () => direct({}, { payment: null }),
  "BP-DR-3": () => direct({ currency_code: "" }),
  "BP-DR-4": () => direct({ currency_code: "GBP" }),
  "BP-DR-5": () => direct({ amount_total: "1e2" }),
  "BP-DR-6": () => direct({ amount_total: "0.00" }),
  "BP-DR-7": () => direct({ amount_total: "10000.01" }),
  "BP-DR-8": () => direct({ amount_itens: "99", amount_shipping: "2" }),
  "BP-DR-9": () => direct({ merchant_payment_code: null }),
  "BP-DR-10": () => direct({ merchant_payment_code: long(41) }),
  "BP-DR-11": () => direct({ order_number: long(41) }),
  "BP-DR-12": () => direct({ user_value_3: long(21) }),
  "BP-DR-13": () => direct({ name: "" }),
  "BP-DR-14": () => direct({ name: long(101) }),
  "BP-DR-15": () => direct({ email: "" }),
  "BP-DR-16": () => direct({ email: `${long(90)}@example.com` }),
  "BP-DR-17": () => direct({ email: "nobody" }),
  "BP-DR-20": () => direct({ birth_date: "1979-04-12" }),
  "BP-DR-21": () => direct({ birth_date: "12/04/2020" }),
  "BP-DR-22": () => direct({ document: "" }),
  "BP-DR-23": () => direct({ document: "85351346894" }),
  "BP-DR-24": () => direct({ zipcode: "" }),
  "BP-DR-25": () => direct({ address: "" }),
  "BP-DR-26": () => direct({ street_number: long(31) }),
  "BP-DR-27": () => direct({ city: "" }),
  "BP-DR-28": () => direct({ state: "" }),
  "BP-DR-29": () => direct({ state: "XX" }),
  "BP-DR-31": () => direct({ phone_number: "" }),
  "BP-DR-32": () => direct({ phone_number: "1234567" }),
  "BP-DR-33": () => direct({ instalments: "some" }),
  "BP-DR-34": () => direct({ instalments: 13 }),
  "BP-DR-35": () => direct({ payment_type_code: "shells" }),
  "BP-DR-36": () => direct({ payment_type_code: "boleto" }),
  "BP-DR-38": () => direct({ payment_type_code: "_all" }),
  "BP-DR-41": () => direct({ person_type: "robot" }),
  "BP-DR-42": () => direct({ person_type: "business" }),
  "BP-DR-43": () =>
    direct({ person_type: "business", responsible: { document: "32593371000111" } }),
  "BP-DR-48": () => direct({ creditcard: null }),
  "BP-DR-49": () => card({ card_number: "" }),
  "BP-DR-51": () => card({ card_name: "" }),
  "BP-DR-52": () => card({ card_name: long(51) }),
  "BP-DR-54": () => card({ card_cvv: "" }),
  "BP-DR-55": () => card({ card_cvv: "12345" }),
  "BP-DR-56": () => card({ card_due_date: "" }),
  "BP-DR-57": () => card({ card_due_date: "12-2030" }),
  "BP-DR-58": () => card({ card_due_date: "13/2030" }),
  "BP-DR-59": () => card({ card_due_date: "12/2099" }),
  "BP-DR-61": () => direct({ create_token: true, creditcard: networkToken }),
  "BP-DR-62": () =>
    having({ createToken: false }, { createToken: true }, () => direct({ create_token: true })),
  "BP-DR-64": () => direct({ creditcard: { token: long(128) } }),
  "BP-DR-65": async () => {
    const chosen = { token: `errors-${long(40)}`, creditcard: testCard, country: "br" };
    await done(post("/ws/token", chosen));
    return post("/ws/token", chosen);
  },
  "BP-DR-66": () => direct({ create_token: true, token: long(31) }),
  "BP-DR-67": () => card({ card_due_date: "10/2026" }),
  "BP-DR-75": () => card({ card_number: "4111111111111112" }),
  "BP-DR-76": () => direct({ country: { code: "br" } }),
  "BP-DR-77": () => direct({ country: "xx" }),
  "BP-DR-83": () => scenario("4000000000002222"),
  "BP-DR-95": () => card({ card_name: testCard.card_number }),
  "BP-DR-97": () => scenario("4000000000002206", { instalments: 2 }),
  "BP-DR-100": () => scenario("4000000000002214", { instalments: 2 }),
  "BP-DR-101": () => scenario("4000000000002230"),
  "BP-DR-102": () => scenario("4000000000002248"),
  "BP-DR-136": () =>
    direct({ creditcard: { ...networkToken, network_token_expire_date: "13/2030" } }),

  "BP-CAP-1": () => post("/ws/capture"),
  "BP-CAP-2": () => post("/ws/capture", { hash: "0".repeat(48) }),
  "BP-CAP-3": async () => {
    const hash = await hold();
    await done(post("/ws/cancel", { hash }));
    return post("/ws/capture", { hash });
  },
  "BP-CAP-4": async () => post("/ws/capture", { hash: await sale() }),
  "BP-CAP-5": async () => post("/ws/capture", { hash: await waiting() }),
  "BP-CAP-6": async () => post("/ws/capture", { hash: await hold(), amount: "100.01" }),
  "BP-CAP-7": async () => {
    const hash = await hold();
    await instruct({ next: "decline", reason: "not_accepted", message: "capture" });
    return post("/ws/capture", { hash });
  },
  "BP-CAP-11": async () => post("/ws/capture", { hash: await hold(), amount: "99.99" }),

  "BP-CAN-1": () => post("/ws/cancel"),
  "BP-CAN-2": () => post("/ws/cancel", { merchant_payment_code: "nobody's" }),
  "BP-CAN-3": async () => post("/ws/cancel", { hash: await sale() }),
  "BP-CAN-4": async () => {
    const hash = await hold();
    await instruct({ next: "decline", reason: "not_accepted", message: "void" });
    return post("/ws/cancel", { hash });
  },

  "BP-REF-1": () => post("/ws/refund", { operation: "request", amount: 1 }),
  "BP-REF-2": () => refund("00", { operation: "confirm" }),
  "BP-REF-3": () => refund("00", { amount: 0 }),
  "BP-REF-4": async () => refund(await sale(), { amount: "1,5" }),
  "BP-REF-5": async () => refund(await sale(), { amount: "100.01" }),
  "BP-REF-6": () => refund("00", { description: long(1_501) }),
  "BP-REF-7": async () => refund(await hold()),
  "BP-REF-8": () => post("/ws/refund", { operation: "cancel", refund_id: 0 }),
  "BP-REF-9": () => post("/ws/refund", { operation: "cancel", refund_id: 20_001 }),
  "BP-REF-10": async () => {
    const mine = { merchant_refund_code: newCode() };
    await done(refund(await sale(), mine));
    await done(post("/ws/refund", { operation: "cancel", ...mine }));
    return post("/ws/refund", { operation: "cancel", ...mine });
  },
  "BP-REF-11": async () => {
    const [hash, mine] = [await sale(), { merchant_refund_code: newCode() }];
    await done(refund(hash, mine));
    return refund(hash, mine);
  },
  "BP-REF-12": async () => {
    const hash = await sale();
    await done(post("/ws/refundOrCancel", { hash }));
    return refund(hash);
  },
  "BP-REF-CAN-2": () => refund("0".repeat(48)),

  "BP-QRY-1": () => post("/ws/query"),
  "BP-QRY-2": () => post("/ws/query", { hash: "0".repeat(48) }),
  "BP-R-1": () => page({ currency_code: "" }),
  "BP-R-2": () => page({ amount: "" }),
  "BP-R-3": () => page({ merchant_payment_code: "" }),
  "BP-R-4": () => page({ name: "" }),
  "BP-R-5": () => page({ email: "ana" }),
  "BP-R-6": () => page({ payment_type_code: "" }),
  "BP-R-7": () => page({ payment_type_code: "boleto" }),
  "BP-R-8": () => page({ payment_type_code: "barter" }),
  "BP-R-9": () => page({ amount: "0" }),
  "BP-R-10": () => page({ amount: "0.10" }),
  "BP-R-11": () => page({ payment_type_code: "debitcard", instalments: "3" }),
  "BP-R-12": () => page({ instalments: "49" }),
  "BP-R-13": () => page({ amount: "10.00", instalments: "20" }),
  "BP-R-18": () => page({ person_type: "robot" }),
  "BP-R-20": () => page({ due_date: "2026-11-30" }),
  "BP-R-21": () => page({ due_date: "24/11/2026" }),
  "BP-R-22": () => page({ due_date: "26/12/2030" }),
  "BP-R-23": () => page({ currency_code: "BRL" }),
  "BP-R-28": () => page({ instalments: "many" }),
  "BP-R-32": () => page({ amount: "10000000" }),
  "BP-ZIP-1": () => post("/ws/zipcode"),
  "BP-ZIP-2": () => post("/ws/zipcode", { zipcode: "123" }),
  "BP-ZIP-3": () => post("/ws/zipcode", { zipcode: "01310-100" }),

  "COFRE-1": () => raw("/ws/query", { method: "POST", body: '{"hash":' }),
  "COFRE-2": () => raw("/ws/query", { method: "POST", body: long(300_000) }),
  "COFRE-3": () =>
    raw("/ws/query", { method: "POST", body: `${'{"a":'.repeat(200)}1${"}".repeat(200)}` }),
  "COFRE-4": () =>
    raw("/ws/query", {
      method: "POST",
      body: JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, 1]))),
    }),
  "COFRE-5": () => raw("/ws/query", { method: "POST", body: JSON.stringify({ [long(5_000)]: 1 }) }),
  "COFRE-6": () => raw("/ws/query?hash=1&hash=2", {}),
  "COFRE-7": () => raw("/ws/query", { method: "POST", body: "[1]" }),
  "COFRE-164": () => raw("/ws/query?description=Jos%E9", {}),
  "COFRE-8": () => {
    const body = `request_body={"integration_key":"${integrationKey}","payment":{"name":"Ana & Lima"}}`;
    return having({ strictForms: true }, { strictForms: false }, () =>
      raw("/ws/direct", { method: "POST", body }),
    );
  },
  "COFRE-9": () => raw("/ws/nothing", {}),
  "COFRE-10": () => raw("/ws/query", { method: "PUT", body: "{}" }),
  "COFRE-11": () => raw("/nothing", {}),
  "COFRE-20": async () => {
    const hash = await hold();
    await instruct({ next: "lose_request", message: "capture" });
    await post("/ws/capture", { hash });
    return post("/ws/cancel", { hash });
  },
  "COFRE-21": () =>
    raw("/ws/direct", {
      method: "POST",
      headers: { "x-ebanx-simulate-internal-error": "503" },
      body: JSON.stringify(directBody(newCode())),
    }),
  "COFRE-22": async () => {
    const hash = await hold();
    await instruct({ next: "lose_answer", message: "capture" });
    return post("/ws/capture", { hash });
  },
  "COFRE-23": () => post("/ws/print"),
  "COFRE-24": async () => {
    const hash = await sale();
    server.clock.advance(2 * dayMs);
    return having({ refundWindowDays: 1 }, { refundWindowDays: 0 }, () => refund(hash));
  },
  "COFRE-25": async () => {
    const hash = await sale();
    await done(act(hash, "chargeback"));
    return refund(hash);
  },
  "COFRE-26": () => direct({ cof_info: { cof_type: "again" } }),
  "COFRE-27": () => card({ threeds_eci: "03" }),
  "COFRE-28": () =>
    having({ strictMandates: true }, { strictMandates: false }, () =>
      direct({ cof_info: { cof_type: "stored", mandate_id: "1234" } }),
    ),
  "COFRE-29": async () => post("/ws/everest/resendNotification", { hash: await hold() }),
  "COFRE-30": () => post("/__cofre/settings", { settings: "all" }),
  "COFRE-31": () => post("/__cofre/settings", { settings: { nothing: 1 } }),
  "COFRE-32": () => post("/__cofre/simulator", { next: "explode" }),
  "COFRE-33": () => post("/__cofre/simulator", { next: "lose_answer", message: "explode" }),
  "COFRE-34": () => post("/__cofre/simulator", { next: "lose_answer", times: 0 }),
  "COFRE-35": () =>
    post("/__cofre/simulator", { next: "decline", reason: "timeout", message: "reverse" }),
  "COFRE-50": () => post("/__cofre/simulator", { next: "lose_answer", connector: "nowhere" }),
  "COFRE-36": () => act("00", "explode"),
  "COFRE-37": async () => act(await hold(), "accept_review"),
  "COFRE-38": async () => act(await hold(), "chargeback"),
  "COFRE-176": async () => {
    const authenticated = card({
      threeds_eci: "05",
      threeds_cryptogram: "AAABBEg0VhI0VniQEjRWAAAAAAA=",
    });
    return act(await hashOf(authenticated), "chargeback", { reason: "fraud" });
  },
  "COFRE-179": () =>
    server.postJson("/ws/threedsecureserver-authentications", {
      publicIntegrationKey,
    }),
  "COFRE-190": () => page({ country: "xx" }),
  "COFRE-178": () =>
    having({ publicFailuresPerTenMinutes: 1 }, { publicFailuresPerTenMinutes: 0 }, async () => {
      const fields = {
        public_integration_key: publicIntegrationKey,
        token: "none",
        card_cvv: "123",
      };
      await server.postJson("/ws/token/setCVV", fields);
      return server.postJson("/ws/token/setCVV", fields);
    }),
  "COFRE-177": async () => act(await sale(), "chargeback", { reason: "bored" }),
  "COFRE-39": () => post("/ws/merchantIntegrationProperties/edit", { image: "nowhere" }),
  "COFRE-40": () => post("/ws/exchange"),
  "COFRE-41": () => post("/ws/exchange", { currency_code: "JPY" }),
  "COFRE-43": async () => {
    const hash = await sale();
    for (let refunds = 0; refunds < 100; refunds += 1) await done(refund(hash, { amount: "0.01" }));
    return refund(hash, { amount: "0.01" });
  },
  "COFRE-90": () => post("/__cofre/faults", { add: { kind: "explode" } }),
  "COFRE-91": () => post("/__cofre/faults", { add: { kind: "slow", times: 1_001 } }),
  "COFRE-92": () => post("/__cofre/faults", { add: { kind: "slow", path: "/ws/dirct" } }),
  "COFRE-93": () =>
    post("/__cofre/faults", { add: { kind: "slow", merchant_payment_code: "4111111111111111" } }),
  "COFRE-94": () => post("/__cofre/faults", { add: { kind: "throttle", delay_ms: 1 } }),
  "COFRE-95": () => post("/__cofre/faults", { add: { kind: "decline" } }),
  "COFRE-96": async () => {
    const fault = { kind: "throttle", merchant_payment_code: "nobody's" };
    for (let count = 0; count < 100; count += 1)
      await done(post("/__cofre/faults", { add: fault }));
    const answer = await post("/__cofre/faults", { add: fault });
    await done(post("/__cofre/faults", { clear: "all" }));
    return answer;
  },
  "COFRE-97": () => post("/__cofre/faults", { clear: "f1" }),
  "COFRE-98": () => post("/__cofre/faults", { add: { kind: "slow" }, clear: "all" }),
  "COFRE-99": () => post("/__cofre/faults", { add: { kind: "slow", delay: 1 } }),
  "COFRE-55": () => post("/__cofre/payments", { state: "captured, lost" }),
  "COFRE-56": () => post("/__cofre/payments", { brand: "shop" }),
  "COFRE-170": () => post("/__cofre/views", { save: "4111 1111 1111 1111" }),
  "COFRE-171": () => post("/__cofre/views", { delete: "no such view" }),
  "COFRE-172": async () => {
    for (let count = 0; count < 50; count += 1)
      await done(post("/__cofre/views", { save: `view ${count}` }));
    const answer = await post("/__cofre/views", { save: "one more" });
    for (let count = 0; count < 50; count += 1)
      await done(post("/__cofre/views", { delete: `view ${count}` }));
    return answer;
  },
  "COFRE-173": async () => {
    for (const name of ["one", "other"]) await done(post("/__cofre/views", { save: name }));
    return post("/__cofre/views", { rename: "one", name: "other" });
  },
  "COFRE-174": () => post("/__cofre/views", { save: "a view", from: "yesterday" }),
  "COFRE-175": () => post("/__cofre/views", { save: "a view", delete: "a view" }),
  "COFRE-57": () => post("/__cofre/payments", { limit: 101 }),
  "COFRE-150": () =>
    raw("/__cofre/worlds", { headers: { origin: "https://attacker.example.com" } }),
  "COFRE-58": () => post("/__cofre/payments", { count: "brands" }),
  "COFRE-70": () => post("/__cofre/worlds", { colour: "green" }),
  "COFRE-71": () => post("/__cofre/worlds", { new_integration_key: integrationKey }),
  "COFRE-73": () => post("/__cofre/worlds", { clock: "yesterday" }),
  "COFRE-74": () => post("/__cofre/clock", { advance: "4d" }),
  "COFRE-75": async () => inWorld("/__cofre/world", { action: "explode" }),
  "COFRE-76": async () => {
    const key = await newWorld();
    for (let kept = 0; kept < 10; kept += 1)
      await done(
        post("/__cofre/world", { integration_key: key, action: "snapshot", name: `at-${kept}` }),
      );
    return post("/__cofre/world", { integration_key: key, action: "snapshot", name: "one-more" });
  },
  "COFRE-77": async () => inWorld("/__cofre/world", { action: "restore", name: "never" }),
  "COFRE-78": async () => inWorld("/__cofre/clock", { advance: "4d", run: true }),
  "COFRE-85": () => post("/__cofre/requests", { after: "the last" }),
  "COFRE-86": () => post("/__cofre/requests", { order: "oldest" }),
  "COFRE-60": () => post("/__cofre/notifications", { order: "newest", state: "lost" }),
  "COFRE-61": () => post("/__cofre/notifications", { order: "newest", limit: 101 }),
  "COFRE-145": () => post("/__cofre/notifications", { enable: "nobody" }),
  "COFRE-146": () => post("/__cofre/notifications", { number: 999_999 }),
  "COFRE-62": () => post("/__cofre/figures", { per: "week" }),
  "COFRE-63": () => post("/__cofre/figures", { from: "2026-01-01", to: "2026-02-01" }),
  "COFRE-64": () => post("/__cofre/tokens", { limit: 1_001 }),
  "COFRE-48": () => post("/__cofre/notifications", { replay: "everything" }),
  "COFRE-44": async () => {
    await named("catalogue", "00");
    return named("catalogue", "01");
  },
  "COFRE-47": async () => refund(await sale(), { merchant_refund_code: "4111111111111111" }),
  "COFRE-151": async () => named("order-4111111111111111", await sale()),
  "COFRE-46": () => named("two words", "00"),
  "COFRE-42": () => post("/ws/documentbalance", { currency_code: "USD" }),
};

/**
 * A placeholder matches one of its row's choices, which may have placeholders of their own, or
 * anything.
 */
function patternOf(message: string, choices: NonNullable<ErrorRow["choices"]> = {}): string {
  return message
    .split(/(\{\w+\})/)
    .map((part) => {
      if (!part.startsWith("{")) return escaped(part);
      const values = choices[part.slice(1, -1)];
      return values === undefined
        ? ".+"
        : `(?:${values.map((value) => patternOf(String(value))).join("|")})`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

describe("the catalogue of errors", () => {
  before(async () => {
    server = await startTestServer({
      seed: "errors",
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  for (const { code, httpStatuses, condition, tested } of documentedErrors) {
    if (tested !== "by request") continue;
    test(`${code}: ${condition}`, async () => {
      const provoke = provocations[code];
      assert.ok(provoke !== undefined, "the test has a request that provokes the code");
      const { status, body } = await provoke();
      assert.equal(body["status_code"], code, JSON.stringify(body));
      const { message, choices }: ErrorRow = errorTable[code];
      assert.match(String(body["status_message"]), new RegExp(`^${patternOf(message, choices)}$`));
      assert.equal(status, httpStatuses[0]);
    });
  }

  test("has no request for a code that no request provokes", () => {
    const provoked = new Set<string>(
      documentedErrors.filter(({ tested }) => tested === "by request").map(({ code }) => code),
    );
    assert.deepEqual(
      Object.keys(provocations).filter((code) => !provoked.has(code)),
      [],
    );
  });

  test("has another test for each code that no single request can provoke", () => {
    const here = fileURLToPath(import.meta.url);
    const packages = join(here, "../../../..");
    const files = globSync("{server/{src,test},proof}/**/*.{test,lane}.ts", { cwd: packages }).map(
      (file) => join(packages, file),
    );
    const tests = files.filter((file) => file !== here).map((file) => readFileSync(file, "utf8"));
    const held = new Set([
      ...tests.flatMap((text) => text.match(/\bCOFRE-\d+|\bBP-DR-119\b/g) ?? []),
      ...heldByTheirErrors,
    ]);
    // The test of requests that are not HTTP names them by their kind, and covers every kind.
    for (const code of Object.values(framingErrors)) held.add(code);
    const elsewhere = documentedErrors
      .filter(({ tested }) => tested === "elsewhere")
      .map(({ code }) => code);
    assert.ok(elsewhere.length > 20);
    assert.deepEqual(
      elsewhere.filter((code) => !held.has(code)),
      [],
    );
  });

  test("has for each message about one field the name of that field", () => {
    // Messages about two parameters.
    const two = new Set([
      "COFRE-57",
      "COFRE-60",
      "COFRE-61",
      "COFRE-64",
      "COFRE-71",
      "COFRE-85",
      "COFRE-86",
      "COFRE-145",
    ]);
    let count = 0;
    for (const { code, example, field, tested } of documentedErrors) {
      const named = /^(?:Field|Parameter) (\S+)/.exec(example)?.[1];
      if (named === undefined || tested === "never sent" || two.has(code)) continue;
      count += 1;
      assert.ok(field !== undefined && `.${field}`.endsWith(`.${named}`), `${code}: ${field}`);
    }
    assert.ok(count > 60, String(count));
  });

  test("has choices for placeholders of the message and field only, and the first one in the example", () => {
    for (const { code, example, field: exampleField = "" } of documentedErrors) {
      const { message, field = "", choices = {} }: ErrorRow = errorTable[code];
      for (const name of Object.keys(choices))
        assert.ok(`${message} ${field}`.includes(`{${name}}`), `${code}: ${name}`);
      assert.doesNotMatch(example + exampleField, /[{}]/, code);
    }
  });
});
