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
 * Some clients put the whole request into `request_body`, in a form. Others put it into JSON, or
 * name its fields one by one. A server that ignores it there captures everything where a part was
 * requested.
 */

type Fields = Readonly<Record<string, unknown>>;

const json = (fields: Fields): RequestInit => ({
  method: "POST",
  body: JSON.stringify(fields),
  headers: { "content-type": "application/json" },
});
const form = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  body: new URLSearchParams(fields),
});

async function ask(
  server: TestServer,
  path: string,
  init: RequestInit,
  query = "",
): Promise<Fields> {
  return (await (await fetch(`${server.url}${path}${query}`, init)).json()) as Fields;
}

const paymentIn = (answer: Fields): Fields => (answer["payment"] ?? {}) as Fields;

/** The same fields beside and inside `request_body`, in each shape that a request may have. */
const shapes: Readonly<
  Record<
    string,
    (
      beside: Readonly<Record<string, string>>,
      inner: Readonly<Record<string, string>>,
    ) => RequestInit
  >
> = {
  "a string in JSON": (beside, inner) => json({ ...beside, request_body: JSON.stringify(inner) }),
  "an object in JSON": (beside, inner) => json({ ...beside, request_body: inner }),
  "a string in a string": (beside, inner) =>
    json({ ...beside, request_body: JSON.stringify({ request_body: JSON.stringify(inner) }) }),
  "fields of a form": (beside, inner) =>
    form({
      ...beside,
      ...Object.fromEntries(
        Object.entries(inner).map(([name, value]) => [`request_body[${name}]`, value]),
      ),
    }),
  "JSON in a field of a form": (beside, inner) =>
    form({ ...beside, "request_body[request_body]": JSON.stringify(inner) }),
  "JSON in a form": (beside, inner) => form({ ...beside, request_body: JSON.stringify(inner) }),
  "JSON in JSON in a form": (beside, inner) =>
    form({ ...beside, request_body: JSON.stringify({ request_body: JSON.stringify(inner) }) }),
};

describe("a request whose request_body is", () => {
  for (const [shape, request] of Object.entries(shapes)) {
    test(`${shape}: a part is captured, a refund is of its amount, and an operation is not passed over`, async () => {
      await using server = await startTestServer();
      await server.postJson("/__cofre/settings", {
        integration_key: integrationKey,
        settings: { partialCapture: true },
      });
      await server.postJson(
        "/ws/direct",
        directBody("held", { creditcard: { ...testCard, auto_capture: false } }),
      );
      const named = { integration_key: integrationKey, merchant_payment_code: "held" };

      const captured = await ask(server, "/ws/capture", request(named, { amount: "40.00" }));
      assert.deepEqual(
        [paymentIn(captured)["status"], paymentIn(captured)["amount_ext"]],
        ["CO", "40.00"],
        JSON.stringify(captured),
      );

      const made = {
        operation: "request",
        amount: "10.00",
        description: "x",
        merchant_refund_code: "r-1",
      };
      const refunded = await ask(server, "/ws/refund", request(named, made));
      assert.equal(
        (refunded["refund"] as Fields | undefined)?.["amount_ext"],
        "10.00",
        JSON.stringify(refunded),
      );
      const back = await ask(
        server,
        "/ws/refund",
        request({ ...named, merchant_refund_code: "r-1" }, { operation: "cancel" }),
      );
      assert.equal((back["refund"] as Fields | undefined)?.["status"], "CA", JSON.stringify(back));

      // The whole request, with a card, in the shape.
      const whole = directBody("whole");
      const wrapped = json({ request_body: JSON.stringify(whole) });
      assert.equal(paymentIn(await ask(server, "/ws/direct", wrapped))["status"], "CO");
    });

    test(`${shape}: another value beside it is refused, and nothing is captured`, async () => {
      await using server = await startTestServer();
      await server.postJson(
        "/ws/direct",
        directBody("held", { creditcard: { ...testCard, auto_capture: false } }),
      );
      const named = { integration_key: integrationKey, merchant_payment_code: "held" };
      const refused = await ask(
        server,
        "/ws/capture",
        request({ ...named, amount: "100.00" }, { amount: "40.00" }),
      );
      assert.equal(refused["status_code"], "COFRE-6");
      const query = await server.get("/ws/query", named);
      assert.equal(paymentIn(query.body)["status"], "PE");
      // An equal value is not a conflict; for a field that moves no money the inner one counts.
      const agreed = await ask(
        server,
        "/ws/capture",
        request({ ...named, amount: "100.00", note: "beside" }, { amount: "100.00", note: "in" }),
      );
      assert.equal(paymentIn(agreed)["status"], "CO", JSON.stringify(agreed));
    });
  }

  test("within something else: its amount is seen, and refused", async () => {
    await using server = await startTestServer();
    await server.postJson(
      "/ws/direct",
      directBody("held", { creditcard: { ...testCard, auto_capture: false } }),
    );
    const named = { integration_key: integrationKey, merchant_payment_code: "held" };
    const part = JSON.stringify({ amount: "40.00" });
    for (const request of [
      json({ ...named, data: { request_body: part } }),
      json({ ...named, data: { request_body: { amount: "40.00" } } }),
      json({ ...named, data: [{ request_body: part }] }),
      form({ ...named, "data[request_body]": part }),
      form({ ...named, "data[request_body][amount]": "40.00" }),
    ]) {
      assert.equal((await ask(server, "/ws/capture", request))["status_code"], "BP-CAP-6");
    }
  });

  test("no object: it is refused, unless it is empty", async () => {
    await using server = await startTestServer();
    await server.postJson(
      "/ws/direct",
      directBody("held", { creditcard: { ...testCard, auto_capture: false } }),
    );
    const named = { integration_key: integrationKey, merchant_payment_code: "held" };
    const refused: readonly (readonly [code: string, request: RequestInit])[] = [
      ["COFRE-1", json({ ...named, request_body: "amount=40.00" })],
      ["COFRE-1", json({ ...named, request_body: '{"amount":"40.00"' })],
      ["COFRE-7", json({ ...named, request_body: ["amount"] })],
      ["COFRE-7", json({ ...named, request_body: '["amount"]' })],
      ["COFRE-7", json({ ...named, request_body: 40 })],
      ["COFRE-7", form({ ...named, "request_body[]": "40" })],
      ["COFRE-7", form({ ...named, "request_body[0]": '{"operation":"cancel"}' })],
      ["COFRE-3", json({ ...named, request_body: deep(20) })],
    ];
    for (const [code, request] of refused)
      assert.equal((await ask(server, "/ws/capture", request))["status_code"], code);
    for (const nothing of ["", "[]", " ", "{}", [], {}, null]) {
      const answer = await ask(server, "/ws/query", json({ ...named, request_body: nothing }));
      assert.equal(paymentIn(answer)["status"], "PE", JSON.stringify(nothing));
    }
  });

  /** Nested objects, each in its own request_body. */
  function deep(levels: number): Fields {
    return levels === 0 ? { amount: "40.00" } : { request_body: deep(levels - 1) };
  }
});
