import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

/** The part of the public npm package `ebanx` that is used here; it has no types of its own. */
interface EbanxClient {
  configure(settings: { readonly integrationKey: string; readonly testMode: boolean }): void;
  readonly settings: { getEndPoint(): string };
  readonly token: Call;
  readonly direct: Call;
  readonly capture: Call;
  readonly query: Call;
  readonly cancel: Call;
  readonly refund: Call;
  readonly refundOrCancel: Call;
  readonly exchange: Call;
  readonly zipcode: Call;
  readonly documentBalance: Call;
  readonly request: Call;
  readonly print: Call;
}
type Call = (parameters: unknown, callback: Callback) => void;
type CallName = Exclude<keyof EbanxClient, "configure" | "settings">;
type Callback = (error: Error | null | undefined, body: string) => void;
type Answer = { readonly [name: string]: Answer | undefined };

describe("the npm package ebanx 1.5", () => {
  let server: TestServer;
  let ebanx: EbanxClient;

  before(async () => {
    server = await startTestServer();
    const createClient = createRequire(import.meta.url)("ebanx") as () => EbanxClient;
    ebanx = createClient();
    ebanx.configure({ integrationKey, testMode: true });
    // The host is a constant in the client; this is its one seam (clients.md 3).
    ebanx.settings.getEndPoint = () => `${server.url}/`;
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  const call = (operation: CallName, parameters: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      ebanx[operation](parameters, (error, body) => {
        if (error === null || error === undefined) resolve(JSON.parse(body) as Answer);
        else reject(error);
      });
    });
  const payment = (code: string, changes: Readonly<Record<string, unknown>> = {}): unknown => ({
    payment: directBody(code, changes)["payment"],
    mode: "full",
  });

  test("stores a card and charges its token", async () => {
    const token = await call("token", { payment_type_code: "visa", creditcard: testCard });
    assert.equal(token["status"], "SUCCESS");
    assert.equal(token["masked_card_number"], "411111xxxxxx1111");
    const charged = await call(
      "direct",
      payment("ebanx-token", { creditcard: { token: token["token"] } }),
    );
    assert.equal(charged["status"], "SUCCESS");
    assert.equal(charged["payment"]?.["status"], "CO");
  });

  test("authorizes, asks, and captures by hash", async () => {
    const authorized = await call(
      "direct",
      payment("ebanx-auth", { creditcard: { ...testCard, auto_capture: false } }),
    );
    assert.equal(authorized["payment"]?.["status"], "PE");
    const hash = authorized["payment"]["hash"];
    assert.equal((await call("query", { hash }))["payment"]?.["capture_available"], true);
    assert.equal((await call("capture", { hash }))["payment"]?.["status"], "CO");
    assert.equal(
      (await call("query", { merchant_payment_code: "ebanx-auth" }))["payment"]?.["status"],
      "CO",
    );
    assert.equal((await call("capture", { hash }))["status_code"], "BP-CAP-4");
  });

  test("captures by the merchant's code", async () => {
    await call(
      "direct",
      payment("ebanx-by-code", { creditcard: { ...testCard, auto_capture: false } }),
    );
    assert.equal(
      (await call("capture", { merchant_payment_code: "ebanx-by-code" }))["payment"]?.["status"],
      "CO",
    );
  });

  test("cancels an authorization", async () => {
    const authorized = await call(
      "direct",
      payment("ebanx-cancel", { creditcard: { ...testCard, auto_capture: false } }),
    );
    const cancelled = await call("cancel", { hash: authorized["payment"]?.["hash"] });
    assert.equal(cancelled["operation"], "cancel");
    assert.equal(cancelled["payment"]?.["status"], "CA");
  });

  test("gives part of a payment back, takes a refund back, and gives back the rest", async () => {
    const { payment: paid } = await call("direct", payment("ebanx-refund"));
    const hash = paid?.["hash"];
    const first = await call("refund", {
      operation: "request",
      hash,
      amount: 40,
      description: "item returned & refunded",
    });
    assert.equal(first["operation"], "refund");
    assert.equal(first["refund"]?.["status"], "RE");
    assert.equal(first["refund"]["amount_ext"], "40.00");
    assert.equal(first["refund"]["description"], "item returned & refunded");
    const taken = await call("refund", { operation: "cancel", refund_id: first["refund"]["id"] });
    assert.equal(taken["refund"]?.["status"], "CA");
    const rest = await call("refundOrCancel", { hash, description: "customer gave up" });
    assert.equal(rest["operation"], "refund");
    assert.equal(rest["refund"]?.["amount_ext"], "100.00");
    assert.equal(rest["payment"]?.["status"], "CO");
    const more = await call("refund", {
      operation: "request",
      hash,
      amount: 1,
      description: "again",
    });
    assert.equal(more["status"], "ERROR");
  });

  test("gives an authorization up by refundOrCancel", async () => {
    const authorized = await call(
      "direct",
      payment("ebanx-give-up", { creditcard: { ...testCard, auto_capture: false } }),
    );
    const given = await call("refundOrCancel", {
      hash: authorized["payment"]?.["hash"],
      description: "customer gave up",
    });
    assert.equal(given["operation"], "cancel");
    assert.equal(given["payment"]?.["status"], "CA");
  });

  test("asks what a dollar is worth, where a zip code is, and what a document may still spend", async () => {
    assert.equal(
      (await call("exchange", { currency_code: "USD" }))["currency_rate"]?.["rate"],
      "5.8300",
    );
    assert.equal((await call("zipcode", { zipcode: "61919-230" }))["zipcode"]?.["state"], "CE");
    const balance = await call("documentBalance", {
      currency_code: "USD",
      document: "853.513.468-93",
    });
    assert.equal(balance["document_balance"]?.["document"], "85351346893");
  });

  test("opens a hosted page, and is refused by name for the call that comes later", async () => {
    const page = {
      currency_code: "BRL",
      amount: 100,
      name: "Ana",
      email: "ana@example.com",
      payment_type_code: "_all",
    };
    const request = await call("request", { ...page, merchant_payment_code: "ebanx-page" });
    assert.equal(request["payment"]?.["status"], "OP");
    assert.match(JSON.stringify(request), /\/checkout\/\?hash=[0-9a-f]{48}/);
    const { status, status_code: code } = await call("print", { hash: "0".repeat(48) });
    assert.deepEqual([status, code], ["ERROR", "COFRE-23"]);
  });

  test("gets a decline as a success that is cancelled", async () => {
    const declined = await call(
      "direct",
      payment("ebanx-declined", { creditcard: { ...testCard, card_number: "4716909774636285" } }),
    );
    assert.equal(declined["status"], "SUCCESS");
    assert.equal(declined["payment"]?.["status"], "CA");
    assert.equal(declined["payment"]["transaction_status"]?.["code"], "NOK");
    assert.equal(declined["payment"]["transaction_status"]["description"], "Insufficient funds");
  });

  test("gets an error envelope for an unknown payment", async () => {
    const unknown = await call("query", { hash: "0".repeat(48) });
    assert.equal(unknown["status"], "ERROR");
    assert.equal(typeof unknown["status_code"], "string");
  });
});
