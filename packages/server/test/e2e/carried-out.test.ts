import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

/**
 * The answer to a request is lost, something changes, and the same request is sent again. A client
 * takes a refusal to mean that nothing was done, so the second answer must report the effect of the
 * first request: BP-DR-0 without an Idempotency-Key, the payment with one.
 */

type Fields = Readonly<Record<string, unknown>>;

const chosen = "a-token-of-the-shop-0123456789-abcdef";
const dayMs = 86_400_000;

/** Returns the answer as JSON; undefined when the connection was cut. */
async function send(
  server: TestServer,
  path: string,
  body: unknown,
  key?: string,
): Promise<Fields | undefined> {
  const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
  try {
    const response = await fetch(server.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers,
    });
    return (await response.json()) as Fields;
  } catch {
    return undefined;
  }
}

async function succeeded(answer: Promise<Fields | undefined>): Promise<Fields> {
  const fields = await answer;
  assert.equal(fields?.["status"], "SUCCESS", JSON.stringify(fields));
  return fields ?? {};
}

const admin = (server: TestServer, path: string, fields: Fields): Promise<Fields> =>
  succeeded(send(server, `/__cofre/${path}`, { integration_key: integrationKey, ...fields }));

/** Executes the request, and loses its answer. */
async function loseAnswer(
  server: TestServer,
  path: string,
  body: unknown,
  key: string | undefined,
): Promise<void> {
  await admin(server, "faults", { add: { kind: "drop_after_commit", times: 1 } });
  assert.equal(await send(server, path, body, key), undefined);
}

const about = (code: string, fields: Fields = {}): Fields => ({
  integration_key: integrationKey,
  merchant_payment_code: code,
  ...fields,
});
const payment = (answer: Fields | undefined): Fields => (answer?.["payment"] ?? {}) as Fields;
const hold = (server: TestServer, code: string): Promise<Fields> =>
  succeeded(
    send(
      server,
      "/ws/direct",
      directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
    ),
  );

describe("a charge whose answer was lost is not refused as if nothing had been done", () => {
  interface Case {
    readonly name: string;
    readonly body: (code: string) => Fields;
    readonly before?: (server: TestServer) => Promise<unknown>;
    readonly meanwhile?: (server: TestServer) => Promise<unknown>;
    /** The refusal of another payment with the same content: the control. */
    readonly control: string;
  }

  const storedCard = { creditcard: { token: chosen } };
  const keep = (server: TestServer): Promise<Fields> =>
    succeeded(
      send(server, "/ws/token", {
        integration_key: integrationKey,
        country: "br",
        token: chosen,
        creditcard: testCard,
      }),
    );
  const settings = (change: Fields) => (server: TestServer) =>
    admin(server, "settings", { settings: change });

  const cases: readonly Case[] = [
    {
      name: "when it stored its card under a token of the shop's choice",
      body: (code) => directBody(code, { create_token: true, token: chosen }),
      control: "BP-DR-65",
    },
    {
      name: "when the token that it used has expired",
      before: keep,
      body: (code) => directBody(code, storedCard),
      meanwhile: async (server) => server.clock.advance(500 * dayMs),
      control: "BP-DR-64",
    },
    {
      name: "when its card has expired",
      body: (code) => directBody(code, { creditcard: { ...testCard, card_due_date: "12/2026" } }),
      meanwhile: async (server) => server.clock.advance(60 * dayMs),
      control: "BP-DR-67",
    },
    {
      name: "when the account may no longer store cards",
      body: (code) => directBody(code, { create_token: true }),
      meanwhile: settings({ createToken: false }),
      control: "BP-DR-62",
    },
    {
      name: "when the account asks for mandates now",
      body: (code) =>
        directBody(code, {
          cof_info: {
            cof_type: "stored",
            initiator: "CIT",
            sequence_type: "UNSCHEDULED",
            mandate_id: "123456789012345",
          },
        }),
      meanwhile: settings({ strictMandates: true }),
      control: "COFRE-28",
    },
  ];

  for (const { name, body, before, meanwhile, control } of cases) {
    for (const key of [undefined, "lost-key"]) {
      test(`${name}, ${key === undefined ? "without a key" : "under a key"}`, async () => {
        await using server = await startTestServer();
        await before?.(server);
        await loseAnswer(server, "/ws/direct", body("lost"), key);
        await meanwhile?.(server);
        const again = await send(server, "/ws/direct", body("lost"), key);
        if (key === undefined)
          assert.equal(again?.["status_code"], "BP-DR-0", JSON.stringify(again));
        else
          assert.deepEqual(
            [payment(again)["status"], payment(again)["merchant_payment_code"]],
            ["CO", "lost"],
            JSON.stringify(again),
          );
        // With another key it is another request.
        const stranger = await send(server, "/ws/direct", body("lost"), "another-key");
        assert.equal(stranger?.["status_code"], "BP-DR-0");
        const other = await send(server, "/ws/direct", body("another"));
        assert.equal(other?.["status_code"], control, JSON.stringify(other));
      });
    }
  }

  test("and a request for something else that breaks a rule is refused for that, though its code is taken", async () => {
    await using server = await startTestServer();
    await succeeded(send(server, "/ws/direct", directBody("taken")));
    const expired = { creditcard: { ...testCard, card_due_date: "12/2020" } };
    const refusalOf = async (changes: Fields): Promise<unknown> =>
      (await send(server, "/ws/direct", directBody("taken", { ...expired, ...changes })))?.[
        "status_code"
      ];
    assert.equal(await refusalOf({}), "BP-DR-0");
    for (const other of [
      { amount_total: "100.01" },
      { currency_code: "BRL" },
      { name: "Bia Reis" },
      { email: "bia@example.com" },
      { name: "" },
    ]) {
      assert.notEqual(await refusalOf(other), "BP-DR-0", JSON.stringify(other));
    }
    // If it violates no rule it is another payment with the same code.
    assert.equal(
      (await send(server, "/ws/direct", directBody("taken", { amount_total: "100.01" })))?.[
        "status_code"
      ],
      "BP-DR-0",
    );
  });

  test("and a token of the shop's choice comes with its payment", async () => {
    await using server = await startTestServer();
    const body = directBody("lost", { create_token: true, token: chosen });
    await loseAnswer(server, "/ws/direct", body, "lost-key");
    assert.equal(payment(await send(server, "/ws/direct", body, "lost-key"))["token"], chosen);
    // A control: a payment whose token another request took during the acquirer's call leaves the
    // token out of its answer.
    await admin(server, "settings", { settings: { simulator: { latencyMs: 150 } } });
    const late = directBody("late", { create_token: true, token: chosen.toUpperCase() });
    await admin(server, "faults", {
      add: { kind: "drop_after_commit", path: "/ws/direct", times: 1 },
    });
    const [lost] = await Promise.all([
      send(server, "/ws/direct", late, "late-key"),
      new Promise((resolve) => setTimeout(resolve, 50)).then(() =>
        succeeded(
          send(server, "/ws/token", {
            integration_key: integrationKey,
            country: "br",
            token: chosen.toUpperCase(),
            creditcard: testCard,
          }),
        ),
      ),
    ]);
    assert.equal(lost, undefined);
    const found = payment(await send(server, "/ws/direct", late, "late-key"));
    assert.deepEqual([found["status"], found["token"]], ["CO", undefined]);
  });
});

describe("a request under a key takes only its own work for its own", () => {
  test("a partial capture that did nothing is refused when another one captured everything", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "200" },
    });
    await admin(server, "settings", { settings: { partialCapture: true } });
    await hold(server, "held");
    await admin(server, "simulator", { next: "lose_answer", message: "capture" });
    assert.equal((await send(server, "/ws/capture", about("held")))?.["status_code"], "COFRE-22");
    const part = about("held", { amount: "40.00" });
    assert.equal((await send(server, "/ws/capture", part, "part"))?.["status_code"], "COFRE-20");
    await settled(server, "held", "CO");
    assert.equal((await send(server, "/ws/capture", part, "part"))?.["status_code"], "BP-CAP-4");
    // The refusal is final.
    assert.equal((await send(server, "/ws/capture", part, "part"))?.["status_code"], "BP-CAP-4");
  });

  test("a capture, a cancellation and both by refundOrCancel that were carried out are answered again", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "200" },
    });
    await admin(server, "settings", { settings: { partialCapture: true } });
    for (const [index, [path, fields, status]] of (
      [
        ["/ws/capture", { amount: "40.00" }, "CO"],
        ["/ws/cancel", {}, "CA"],
        ["/ws/refundOrCancel", { description: "x" }, "CA"],
      ] as const
    ).entries()) {
      const code = `held-${index}`;
      await hold(server, code);
      // No answer was stored: the acquirer's was lost, and recovery resolved the outcome.
      await admin(server, "simulator", {
        next: "lose_answer",
        message: path === "/ws/capture" ? "capture" : "void",
      });
      assert.equal(
        (await send(server, path, about(code, fields), `key-${index}`))?.["status_code"],
        "COFRE-22",
      );
      await settled(server, code, status);
      const again = await send(server, path, about(code, fields), `key-${index}`);
      assert.equal(payment(again)["status"], status, JSON.stringify(again));
      // A control: another request is refused, with a key too.
      assert.equal(
        (await send(server, path, about(code, fields), `stranger-${index}`))?.["status"],
        "ERROR",
      );
    }
  });

  test("a cancellation that did nothing is refused when another one gave the payment up", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "200" },
    });
    await hold(server, "held");
    await admin(server, "simulator", { next: "lose_answer", message: "void" });
    assert.equal((await send(server, "/ws/cancel", about("held")))?.["status_code"], "COFRE-22");
    assert.equal(
      (await send(server, "/ws/cancel", about("held"), "late"))?.["status_code"],
      "COFRE-20",
    );
    assert.equal(
      (await send(server, "/ws/refundOrCancel", about("held"), "both"))?.["status_code"],
      "COFRE-20",
    );
    await settled(server, "held", "CA");
    assert.equal(
      (await send(server, "/ws/cancel", about("held"), "late"))?.["status_code"],
      "BP-CAN-3",
    );
    assert.equal(
      (await send(server, "/ws/refundOrCancel", about("held"), "both"))?.["status_code"],
      "BP-CAN-3",
    );
  });
});

/** Recovery runs on its own timer: the clock is advanced until it has resolved the outcome. */
async function settled(server: TestServer, code: string, status: string): Promise<void> {
  for (let time = 0; time < 100; time += 1) {
    const { body } = await server.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: code,
    });
    if (payment(body)["status"] === status) return;
    server.clock.advance(10_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${code} did not become ${status}`);
}

describe("a refund that was made is returned before any reason that would refuse it now", () => {
  const refund = (code: string): Fields =>
    about(code, {
      operation: "request",
      amount: "100.00",
      description: "x",
      merchant_refund_code: `${code}-r`,
    });

  test("by its code, when nothing is left, the window is over, or the issuer took the money", async () => {
    await using server = await startTestServer();
    for (const code of ["whole", "late", "disputed"])
      await succeeded(send(server, "/ws/direct", directBody(code)));
    const part = { ...refund("disputed"), amount: "10.00" };
    for (const body of [refund("whole"), { ...refund("late"), amount: "10.00" }, part])
      await loseAnswer(server, "/ws/refund", body, undefined);
    assert.equal((await send(server, "/ws/refund", refund("whole")))?.["status_code"], "BP-REF-11");
    await admin(server, "payment", { merchant_payment_code: "disputed", action: "chargeback" });
    assert.equal((await send(server, "/ws/refund", part))?.["status_code"], "BP-REF-11");
    await admin(server, "settings", { settings: { refundWindowDays: 1 } });
    server.clock.advance(3 * dayMs);
    assert.equal(
      (await send(server, "/ws/refund", { ...refund("late"), amount: "10.00" }))?.["status_code"],
      "BP-REF-11",
    );
    // The control: a refund with another code is refused for its own reason.
    assert.equal(
      (await send(server, "/ws/refund", { ...refund("late"), merchant_refund_code: "new" }))?.[
        "status_code"
      ],
      "COFRE-24",
    );
  });

  test("under its key, a refund that was cancelled is returned again, and not another request's", async () => {
    await using server = await startTestServer();
    await succeeded(send(server, "/ws/direct", directBody("paid")));
    await succeeded(send(server, "/ws/refund", refund("paid")));
    const back = {
      integration_key: integrationKey,
      operation: "cancel",
      merchant_refund_code: "paid-r",
    };
    await admin(server, "faults", { add: { kind: "drop_after_commit", times: 1 } });
    assert.equal(await send(server, "/ws/refund", back, "back"), undefined);
    assert.equal((await send(server, "/ws/refund", back, "back"))?.["status"], "SUCCESS");
    assert.equal(
      (await send(server, "/ws/refund", back, "stranger"))?.["status_code"],
      "BP-REF-10",
    );
  });
});
