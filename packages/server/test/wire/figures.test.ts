import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

let server: TestServer;
let made = 0;

before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

type Fields = Readonly<Record<string, unknown>>;

async function ask(path: string, fields: Fields = {}): Promise<Fields> {
  const { body } = await server.postJson(path, { integration_key: integrationKey, ...fields });
  return body;
}

async function pay(payment: Fields): Promise<string> {
  const body = await ask("/ws/direct", directBody(`figures-${(made += 1)}`, payment));
  return (body["payment"] as { readonly hash: string }).hash;
}

describe("/__cofre/figures", () => {
  test("counts by hour and brand what was approved and declined, and what it came to", async () => {
    const nothing = await ask("/__cofre/figures");
    assert.deepEqual(
      [nothing["payments_read"], nothing["brands"], (nothing["periods"] as unknown[]).length],
      [0, [], 24],
    );
    const refunded = await pay({});
    await ask("/ws/refund", { operation: "request", hash: refunded, amount: "40.00" });
    await ask("/__cofre/payment", { hash: refunded, action: "chargeback" });
    await pay({ amount_total: "23", currency_code: "CLP", country: "cl", document: undefined });
    const held = await pay({ creditcard: { ...testCard, auto_capture: false } });
    await ask("/ws/cancel", { hash: held });
    server.clock.advance(3_600_000);
    await pay({ creditcard: { ...testCard, card_number: "4716909774636285" } });
    await pay({ creditcard: { ...testCard, card_number: "5555555555554444" } });
    const body = await ask("/__cofre/figures");
    assert.deepEqual(
      [body["per"], body["from"], body["to"]],
      ["hour", "2026-11-24 20:00:00", "2026-11-25 20:00:00"],
    );
    const periods = body["periods"] as readonly Fields[];
    const usd = {
      currency: "USD",
      authorized: "200.00",
      captured: "100.00",
      refunded: "40.00",
    };
    assert.deepEqual(periods.slice(-2), [
      {
        from: "2026-11-25 18:00:00",
        payments: 3,
        approved: 3,
        declined: 0,
        disputed: 1,
        amounts: [
          usd,
          { currency: "CLP", authorized: "23.00", captured: "23.00", refunded: "0.00" },
        ].toSorted((left, right) => (left.currency < right.currency ? 1 : -1)),
      },
      {
        from: "2026-11-25 19:00:00",
        payments: 2,
        approved: 1,
        declined: 1,
        disputed: 0,
        amounts: [{ currency: "USD", authorized: "100.00", captured: "100.00", refunded: "0.00" }],
      },
    ]);
    assert.deepEqual(
      (body["brands"] as readonly Fields[]).map(({ brand, payments, approved, declined }) => [
        brand,
        payments,
        approved,
        declined,
      ]),
      [
        ["visa", 4, 3, 1],
        ["mastercard", 1, 1, 0],
      ],
    );
    const short = (group: unknown, name: string) =>
      (group as readonly Fields[]).map((each) => [each[name], each["payments"]]);
    assert.deepEqual(short(body["countries"], "country"), [
      ["br", 4],
      ["cl", 1],
    ]);
    assert.deepEqual(short(body["currencies"], "currency"), [
      ["USD", 4],
      ["CLP", 1],
    ]);
    assert.deepEqual(short(body["decline_reasons"], "reason"), [["insufficient_funds", 1]]);
    assert.deepEqual([body["payments_read"], body["complete"]], [5, true]);
    const ofVisa = await ask("/__cofre/figures", { brand: "VISA", country: "BR", currency: "usd" });
    assert.deepEqual(
      [(ofVisa["total"] as Fields)["payments"], short(ofVisa["brands"], "brand")],
      [
        3,
        [
          ["visa", 3],
          ["mastercard", 1],
        ],
      ],
    );
    const days = await ask("/__cofre/figures", {
      per: "day",
      from: "2026-11-24",
      to: "2026-11-25T18:00:00Z",
    });
    assert.deepEqual(
      (days["periods"] as readonly Fields[]).map(({ from, payments }) => [from, payments]),
      [
        ["2026-11-24 00:00:00", 0],
        ["2026-11-25 00:00:00", 5],
      ],
    );
  });

  test("counts in the periods between bounds, of any length", async () => {
    const bounds = [
      "2026-11-24T03:00Z",
      "2026-11-25T18:30Z",
      "2026-11-25T19:15Z",
      "2027-01-01T03:00Z",
    ];
    const figures = await ask("/__cofre/figures", { per: "day", bounds: bounds.join(", ") });
    const every = await ask("/__cofre/figures", { per: "day" });
    const periods = figures["periods"] as readonly Fields[];
    assert.deepEqual(
      [figures["from"], figures["to"], periods.map(({ from }) => from)],
      [
        "2026-11-24 03:00:00",
        "2027-01-01 03:00:00",
        ["2026-11-24 03:00:00", "2026-11-25 18:30:00", "2026-11-25 19:15:00"],
      ],
    );
    const sum = periods.reduce((before, { payments }) => before + Number(payments), 0);
    assert.equal(sum, (every["total"] as Fields)["payments"]);
    assert.ok(periods.every(({ payments }) => typeof payments === "number"));
  });

  test("asks for the secret key, and refuses what it cannot count", async () => {
    const { body } = await server.postJson("/__cofre/figures", {
      integration_key: publicIntegrationKey,
    });
    assert.equal(body["status"], "ERROR");
    for (const [fields, code] of [
      [{ brand: "shop" }, "COFRE-56"],
      [{ per: "month" }, "COFRE-62"],
      [{ from: "yesterday" }, "COFRE-63"],
      [{ bounds: "2026-11-24" }, "COFRE-63"],
      [{ bounds: "2026-11-24,2026-11-25,tomorrow" }, "COFRE-63"],
      [{ bounds: "2026-11-24,2026-11-26,2026-11-25" }, "COFRE-63"],
      [{ bounds: "2026-11-24,2026-11-24" }, "COFRE-63"],
      [{ bounds: "1969-11-24,2026-11-24" }, "COFRE-63"],
      [
        { bounds: Array.from({ length: 102 }, (_, year) => `${1971 + year}-01-01`).join() },
        "COFRE-63",
      ],
      [{ to: "2026-13-01" }, "COFRE-63"],
      [{ from: "2026-11-25", to: "2026-11-24" }, "COFRE-63"],
      [{ per: "hour", from: "2026-11-01", to: "2026-11-05T04:00:01Z" }, "COFRE-63"],
    ] as const)
      assert.equal(
        (await ask("/__cofre/figures", fields))["status_code"],
        code,
        JSON.stringify(fields),
      );
    const most = await ask("/__cofre/figures", { from: "2026-11-01", to: "2026-11-05T04:00:00Z" });
    assert.equal((most["periods"] as unknown[]).length, 100);
  });
});

test("/__cofre/figures of a world in the first days shows only existing periods", async () => {
  const { body } = await server.postJson("/__cofre/worlds", { clock: "1970-01-02T00:30:00Z" });
  const { integration_key: key } = body["world"] as { readonly integration_key: string };
  for (const [per, periods] of [
    ["hour", 24],
    ["day", 2],
  ] as const) {
    const figures = await ask("/__cofre/figures", { integration_key: key, per });
    assert.equal((figures["periods"] as unknown[]).length, periods, JSON.stringify(figures));
  }
});

describe("/__cofre/tokens", () => {
  const list = async (fields: Fields = {}) => {
    const body = await ask("/__cofre/tokens", fields);
    return [
      (body["tokens"] as readonly Fields[]).map((each) => each["masked_card_number"]),
      body["found"],
      body["next"],
    ];
  };

  test("lists stored cards newest first, and nothing that opens or names one", async () => {
    const store = async (token: string, card_number: string): Promise<void> => {
      server.clock.advance(60_000);
      const body = await ask("/ws/token", {
        payment_type_code: "creditcard",
        country: "br",
        token,
        creditcard: { ...testCard, card_number },
      });
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    };
    const tokens = ["a", "b", "c"].map((letter) => `tokens-of-this-very-test-${letter.repeat(16)}`);
    for (const [index, number] of [
      "5555555555554444",
      "4111111111111111",
      "4716909774636285",
    ].entries())
      await store(tokens[index] ?? "", number);
    assert.deepEqual(await list(), [
      ["471690xxxxxx6285", "411111xxxxxx1111", "555555xxxxxx4444"],
      3,
      null,
    ]);
    assert.deepEqual(await list({ limit: 1 }), [["471690xxxxxx6285"], 3, null]);
    assert.deepEqual(await list({ brand: "Visa" }), [
      ["471690xxxxxx6285", "411111xxxxxx1111"],
      2,
      null,
    ]);
    assert.deepEqual(await list({ card: "4444" }), [["555555xxxxxx4444"], 1, null]);
    assert.deepEqual(await list({ card: "4111 1111 1111 1111" }), [["411111xxxxxx1111"], 1, null]);
    assert.deepEqual(await list({ card: "1111 11" }), [[], 0, null]);

    server.clock.advance(3_600_000);
    await pay({ creditcard: { token: tokens[0] } });
    const { body, text } = await read();
    assert.deepEqual((body["tokens"] as readonly Fields[]).at(-1), {
      brand: "mastercard",
      masked_card_number: "555555xxxxxx4444",
      created_at: "2026-11-25 19:14:28",
      last_used_at: "2026-11-25 20:16:28",
      expires_at: "2028-01-25 20:16:28",
    });
    for (const token of tokens) assert.ok(!text.includes(token));
    assert.doesNotMatch(text, /[0-9a-f]{32}/, "nor its digest");
  });

  async function read(): Promise<{ readonly body: Fields; readonly text: string }> {
    const response = await fetch(`${server.url}/__cofre/tokens`, {
      method: "POST",
      body: JSON.stringify({ integration_key: integrationKey }),
    });
    const text = await response.text();
    return { body: JSON.parse(text) as Fields, text };
  }

  test("asks for the secret key, and refuses what it cannot read", async () => {
    const { body } = await server.postJson("/__cofre/tokens", {
      integration_key: publicIntegrationKey,
    });
    assert.equal(body["status"], "ERROR");
    for (const [fields, code] of [
      [{ limit: 0 }, "COFRE-64"],
      [{ limit: 1_001 }, "COFRE-64"],
      [{ after: "x" }, "COFRE-64"],
      [{ brand: "shop" }, "COFRE-56"],
    ] as const)
      assert.equal(
        (await ask("/__cofre/tokens", fields))["status_code"],
        code,
        JSON.stringify(fields),
      );
    assert.deepEqual((await list({ after: "f".repeat(64) }))[1], 0);
  });
});
