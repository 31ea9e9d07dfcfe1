import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { freePort } from "../free-port.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

const two = {
  COFRE_CONNECTORS: JSON.stringify([simulatorOf("main"), simulatorOf("backup")]),
  COFRE_ACQUIRER_TIMEOUT_MS: "100",
};

function simulatorOf(name: string): Readonly<Record<string, string>> {
  return { name, kind: "simulator" };
}

describe("an account's routes", () => {
  const rows: readonly (readonly [what: string, route: object, fits: object, differs: object])[] = [
    ["brand", { brands: ["mastercard"] }, { creditcard: mastercard() }, {}],
    [
      "BIN of eight digits",
      { bins: ["55555555"] },
      { creditcard: mastercard() },
      { creditcard: testCard },
    ],
    ["currency", { currencies: ["BRL"] }, { currency_code: "BRL" }, {}],
    [
      "country",
      { countries: ["mx"] },
      { country: "mx", currency_code: "MXN", amount_total: "900.00", document: "" },
      {},
    ],
    ["least amount", { fromUsd: 200 }, { amount_total: "200.00" }, { amount_total: "199.99" }],
    ["highest amount", { belowUsd: 200 }, { amount_total: "199.99" }, { amount_total: "200.00" }],
  ];
  for (const [what, route, fits, differs] of rows) {
    test(`choose the acquirer by ${what}, and what fits none goes to the first`, async () => {
      await using server = await startTestServer({ environment: two });
      await routes(server, [{ ...route, connectors: ["backup"] }]);
      // The second acquirer declines every request.
      await instruct(server, "backup", {
        next: "decline",
        reason: "insufficient_funds",
        message: "authorize",
        times: 9,
      });
      assert.equal((await pay(server, "fits", fits))["status"], "CA");
      assert.equal((await pay(server, "differs", differs))["status"], "CO");
    });
  }

  test("are read in order: the first that fits counts", async () => {
    await using server = await startTestServer({ environment: two });
    await routes(server, [{ connectors: ["main"], brands: ["visa"] }, { connectors: ["backup"] }]);
    await instruct(server, "backup", {
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
      times: 9,
    });
    assert.equal((await pay(server, "visa"))["status"], "CO");
    assert.equal((await pay(server, "mastercard", { creditcard: mastercard() }))["status"], "CA");
  });

  test("keep a BIN as it was written, with the zero that it begins with", async () => {
    await using server = await startTestServer({ environment: two });
    const requested = [
      { connectors: ["main"], bins: ["0123", "00000000", "0", "4111"], fromUsd: 5 },
    ];
    await routes(server, requested);
    const { body } = await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
    });
    assert.deepEqual((body["settings"] as Record<string, unknown>)["routes"], requested);
  });

  test("that name an acquirer that is not there, or that are none, are refused and change nothing", async () => {
    await using server = await startTestServer({ environment: two });
    const wrong = [
      [{ connectors: ["nowhere"] }],
      [{ connectors: [] }],
      [{ connectors: ["main", "main"] }],
      [{ brands: ["visa"] }],
      [{ connectors: ["main"], brands: ["sausage"] }],
      [{ connectors: ["main"], bins: ["41x"] }],
      [{ connectors: ["main"], fromUsd: 200, belowUsd: 200 }],
      [{ connectors: ["main"], colour: "red" }],
      "main",
    ];
    for (const value of wrong) {
      const { body } = await server.postJson("/__cofre/settings", {
        integration_key: integrationKey,
        settings: { routes: value },
      });
      assert.match(String(body["status_code"]), /^COFRE-31$/, JSON.stringify(value));
    }
    const { body } = await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
    });
    assert.deepEqual((body["settings"] as Record<string, unknown>)["routes"], []);
  });
});

describe("an acquirer that certainly did nothing", () => {
  const bothWays = [{ connectors: ["main", "backup"] }];

  test("gives way to the next one, and all that follows goes there", async () => {
    await using server = await startTestServer({ environment: two });
    await routes(server, bothWays);
    await instruct(server, "main", {
      next: "decline",
      reason: "no_acquirer_response",
      message: "authorize",
    });
    const paid = await pay(server, "rerouted", {
      creditcard: { ...testCard, auto_capture: false },
    });
    assert.deepEqual([paid["status"], paid["pre_approved"]], ["PE", true]);
    const [rerouted, ...others] = (await facts(server, paid)).filter(
      ({ fact }) => fact === "authorization_rerouted",
    );
    assert.deepEqual(
      [rerouted?.["connector"], rerouted?.["cause"], others.length],
      ["backup", "91", 0],
    );
    const [sent] = await facts(server, paid);
    assert.deepEqual([sent?.["fact"], sent?.["connector"]], ["authorization_sent", "main"]);

    // The main acquirer would decline, but gets no request. A void, however, is sent to the
    // acquirer that has the authorization.
    await instruct(server, "main", { next: "decline", reason: "not_accepted", times: 9 });
    const captured = await server.get("/ws/capture", {
      integration_key: integrationKey,
      hash: String(paid["hash"]),
    });
    assert.equal((captured.body["payment"] as Record<string, unknown>)["status"], "CO");
    const refund = {
      hash: String(paid["hash"]),
      amount: "100.00",
      description: "all of it",
      operation: "request",
    };
    const refunded = await server.postJson("/ws/refund", {
      integration_key: integrationKey,
      ...refund,
    });
    assert.equal(refunded.body["status"], "SUCCESS", JSON.stringify(refunded.body));
  });

  test("control: an issuer's no is not asked for again elsewhere", async () => {
    await using server = await startTestServer({ environment: two });
    await routes(server, bothWays);
    await instruct(server, "main", {
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
    });
    assert.equal((await pay(server, "declined"))["status"], "CA");
  });

  test("is declined with the last one's answer when none approves it", async () => {
    await using server = await startTestServer({ environment: two });
    await routes(server, bothWays);
    await instruct(server, "main", {
      next: "decline",
      reason: "no_acquirer_response",
      message: "authorize",
    });
    await instruct(server, "backup", {
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
    });
    const paid = await pay(server, "nobody");
    assert.equal(paid["status"], "CA");
    assert.match(
      JSON.stringify(paid["transaction_status"]),
      /"code":"NOK","description":"Insufficient funds"/,
    );
  });

  test("is never given up for another while its answer is unknown", async () => {
    for (const next of ["lose_request", "lose_answer"]) {
      await using server = await startTestServer({ environment: two });
      await routes(server, bothWays);
      await instruct(server, "main", { next, message: "authorize" });
      const paid = await pay(server, next);
      assert.equal(paid["status"], "PE");
      assert.ok(!(await facts(server, paid)).some(({ fact }) => fact === "authorization_rerouted"));
    }
  });

  test("because no server listens there: the payment goes elsewhere at once, or is refused as not sent", async () => {
    const dead = {
      name: "dead",
      kind: "upstream",
      url: `http://127.0.0.1:${await freePort()}`,
      integrationKey: "test_ik_dead",
    };
    await using server = await startTestServer({
      environment: { ...two, COFRE_CONNECTORS: JSON.stringify([dead, simulatorOf("main")]) },
    });
    await routes(server, [{ connectors: ["dead", "main"], brands: ["visa"] }]);
    assert.equal((await pay(server, "elsewhere"))["status"], "CO");

    const refused = await pay(server, "nowhere", { creditcard: mastercard() });
    assert.equal(refused["status"], "CA");
    assert.match(
      JSON.stringify(refused["transaction_status"]),
      /"code":"RETRY","description":"No response from acquirer"/,
    );

    const verified = await server.postJson("/ws/verifycard", {
      integration_key: integrationKey,
      payment_type_code: "creditcard",
      country: "br",
      creditcard: mastercard(),
    });
    assert.match(
      JSON.stringify(verified.body),
      /"code":"RETRY","description":"No response from acquirer"/,
    );
  });
});

function mastercard(): object {
  return { ...testCard, card_number: "5555555555554444" };
}

async function routes(server: TestServer, value: readonly object[]): Promise<void> {
  const { body } = await server.postJson("/__cofre/settings", {
    integration_key: integrationKey,
    settings: { routes: value },
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

async function instruct(server: TestServer, connector: string, instruction: object): Promise<void> {
  const { body } = await server.postJson("/__cofre/simulator", {
    integration_key: integrationKey,
    connector,
    ...instruction,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

async function pay(
  server: TestServer,
  code: string,
  changes: object = {},
): Promise<Record<string, unknown>> {
  const { body } = await server.postJson("/ws/direct", directBody(code, { ...changes }));
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body["payment"] as Record<string, unknown>;
}

async function facts(
  server: TestServer,
  payment: Record<string, unknown>,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { body } = await server.get("/__cofre/explain", {
    integration_key: integrationKey,
    hash: String(payment["hash"]),
  });
  return body["facts"] as readonly Readonly<Record<string, unknown>>[];
}
