import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

/**
 * Events that an integrator triggers here and that an acquirer, an issuer or the calendar causes in
 * production.
 */

type Fields = Readonly<Record<string, unknown>>;

async function call(
  server: TestServer,
  path: string,
  fields: Fields,
): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await server.postJson(path, { integration_key: integrationKey, ...fields });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body;
}

const paymentIn = (body: Fields): Fields => body["payment"] as Fields;

describe("the sandbox", { timeout: 60_000 }, () => {
  test("leaves a charge unknown when the header asks for BP-DR-119, and learns later that it was paid", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    const response = await fetch(`${server.url}/ws/direct`, {
      method: "POST",
      headers: { "x-ebanx-simulate-internal-error": "BP-DR-119" },
      body: JSON.stringify(directBody("unknown-1")),
    });
    const payment = paymentIn((await response.json()) as Fields);
    assert.deepEqual([payment["status"], payment["pre_approved"]], ["PE", false]);

    // The second charge is an ordinary one: the header requested one lost answer.
    const second = await server.postJson("/ws/direct", directBody("unknown-2"));
    assert.equal(paymentIn(second.body)["status"], "CO");

    server.clock.advance(10 * 60_000);
    const shown = async (): Promise<unknown> =>
      paymentIn(await call(server, "/ws/query", { hash: payment["hash"] }))["status"];
    // Recovery runs once a second.
    await until("recovery has settled the payment", async () => (await shown()) !== "PE");
    assert.equal(await shown(), "CO");
  });

  test("lets refunds go their way by the clock: RE, PE, CO", async () => {
    await using server = await startTestServer();
    const { hash } = paymentIn((await server.postJson("/ws/direct", directBody("refund-1"))).body);
    await call(server, "/ws/refund", {
      operation: "request",
      hash,
      amount: "40.00",
      description: "damaged box",
    });
    const status = async (): Promise<unknown> => {
      const refunds = paymentIn(await call(server, "/ws/query", { hash }))[
        "refunds"
      ] as readonly Fields[];
      return refunds[0]?.["status"];
    };
    assert.equal(await status(), "RE");
    for (const next of ["PE", "CO"]) {
      server.clock.advance(90_000);
      await until(`the refund has the status ${next}`, async () => (await status()) === next);
    }
  });

  test("accepts a later stored-credential payment by the mandate that the initial one got, where the account is strict", async () => {
    await using server = await startTestServer();
    await call(server, "/__cofre/settings", { settings: { strictMandates: true } });
    const initial = { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" };
    const first = paymentIn(
      (await server.postJson("/ws/direct", directBody("mandate-1", { cof_info: initial }))).body,
    );
    const mandate = (first["cof_info"] as Fields)["mandate_id"];
    const later = {
      cof_type: "stored",
      initiator: "MIT",
      transType: "SCHEDULED_RECURRING",
      mandate_id: mandate,
    };
    const { card_number, card_name, card_due_date } = testCard;
    const without = { card_number, card_name, card_due_date };
    const second = await server.postJson(
      "/ws/direct",
      directBody("mandate-2", { cof_info: later, creditcard: without }),
    );
    assert.equal(paymentIn(second.body)["status"], "CO", JSON.stringify(second.body));
    // The control: the same mandate with another card.
    const other = { ...without, card_number: "5555555555554444" };
    const third = await server.postJson(
      "/ws/direct",
      directBody("mandate-3", { cof_info: later, creditcard: other }),
    );
    assert.equal(third.body["status_code"], "COFRE-28");
  });

  test("imitates the hosts local to Brazil: no tax, no customer, no pin", async () => {
    await using server = await startTestServer();
    await call(server, "/__cofre/settings", { settings: { profile: "B" } });
    const payment = paymentIn(
      (
        await server.postJson(
          "/ws/direct",
          directBody("local-1", { currency_code: "BRL", amount_total: "23.02" }),
        )
      ).body,
    );
    assert.deepEqual([payment["amount_br"], payment["amount_iof"]], ["23.02", "0.00"]);
    assert.ok(!("customer" in payment) && !("pin" in payment));
  });

  test("refuses a setting outside of settings instead of showing what was not changed", async () => {
    await using server = await startTestServer();
    const bare = await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      partialCapture: true,
    });
    assert.equal(bare.body["status_code"], "COFRE-30");
    const form = new URLSearchParams({
      integration_key: integrationKey,
      "settings[partialCapture]": "true",
    });
    const changed = (await (
      await fetch(`${server.url}/__cofre/settings`, { method: "POST", body: form })
    ).json()) as Fields;
    assert.equal((changed["settings"] as Fields)["partialCapture"], true);
  });

  test("describes every setting when it is asked to, those inside of others too", async () => {
    await using server = await startTestServer();
    const { settings, described } = (await call(server, "/__cofre/settings", {
      describe: true,
    })) as {
      readonly settings: Fields;
      readonly described: readonly (Fields & { readonly settings?: readonly Fields[] })[];
    };
    const names = (of: readonly Fields[]) => new Set(of.map(({ name }) => name));
    assert.deepEqual(names(described), new Set(Object.keys(settings)));
    for (const each of [...described, ...described.flatMap(({ settings: inside = [] }) => inside)])
      assert.match(
        `${String(each["doc"])} ${String(each["allowed"])}`,
        /^\S.+\. \S/,
        String(each["name"]),
      );
    const inside = described.find(({ name }) => name === "simulator")?.settings ?? [];
    assert.deepEqual(names(inside), new Set(Object.keys(settings["simulator"] as Fields)));
    assert.deepEqual(described.find(({ name }) => name === "taxPaidBy")?.["values"], [
      "customer",
      "merchant",
    ]);
    const chances = inside.filter(({ unit }) => unit === "thousandths");
    assert.deepEqual(
      names(chances),
      new Set(["loseAnswer", "loseRequest", "lateAnswer", "doubleRequest"]),
    );
    for (const { allowed } of chances)
      assert.match(String(allowed), /, in thousandths: 300 is 30%$/);
    assert.ok(!("described" in (await call(server, "/__cofre/settings", {}))));
  });
});
