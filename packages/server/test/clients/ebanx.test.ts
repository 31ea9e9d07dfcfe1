import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { directBody, integrationKey, startWorld, testCard, type World } from "../world.ts";

/** The part of the public npm package `ebanx` that is used here; it has no types of its own. */
interface EbanxClient {
  configure(settings: { readonly integrationKey: string; readonly testMode: boolean }): void;
  readonly settings: { getEndPoint(): string };
  token(parameters: unknown, callback: Callback): void;
  direct(parameters: unknown, callback: Callback): void;
  capture(parameters: unknown, callback: Callback): void;
  query(parameters: unknown, callback: Callback): void;
  cancel(parameters: unknown, callback: Callback): void;
}
type Callback = (error: Error | null | undefined, body: string) => void;
type Answer = { readonly [name: string]: Answer | undefined };

describe("the npm package ebanx 1.5", () => {
  let world: World;
  let ebanx: EbanxClient;

  before(async () => {
    world = await startWorld();
    const createClient = createRequire(import.meta.url)("ebanx") as () => EbanxClient;
    ebanx = createClient();
    ebanx.configure({ integrationKey, testMode: true });
    // The host is a constant in the client; this is its one seam (clients.md 3).
    ebanx.settings.getEndPoint = () => `${world.url}/`;
  });

  after(async () => {
    await world[Symbol.asyncDispose]();
  });

  const call = (operation: "token" | "direct" | "capture" | "query" | "cancel", parameters: unknown): Promise<Answer> =>
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
    const charged = await call("direct", payment("ebanx-token", { creditcard: { token: token["token"] } }));
    assert.equal(charged["status"], "SUCCESS");
    assert.equal(charged["payment"]?.["status"], "CO");
  });

  test("authorizes, asks, and captures by hash", async () => {
    const authorized = await call("direct", payment("ebanx-auth", { creditcard: { ...testCard, auto_capture: false } }));
    assert.equal(authorized["payment"]?.["status"], "PE");
    const hash = authorized["payment"]["hash"];
    assert.equal((await call("query", { hash }))["payment"]?.["capture_available"], true);
    assert.equal((await call("capture", { hash }))["payment"]?.["status"], "CO");
    assert.equal((await call("query", { merchant_payment_code: "ebanx-auth" }))["payment"]?.["status"], "CO");
    assert.equal((await call("capture", { hash }))["status_code"], "BP-CAP-4");
  });

  test("captures by the merchant's code", async () => {
    await call("direct", payment("ebanx-by-code", { creditcard: { ...testCard, auto_capture: false } }));
    assert.equal((await call("capture", { merchant_payment_code: "ebanx-by-code" }))["payment"]?.["status"], "CO");
  });

  test("cancels an authorization", async () => {
    const authorized = await call("direct", payment("ebanx-cancel", { creditcard: { ...testCard, auto_capture: false } }));
    const cancelled = await call("cancel", { hash: authorized["payment"]?.["hash"] });
    assert.equal(cancelled["operation"], "cancel");
    assert.equal(cancelled["payment"]?.["status"], "CA");
  });

  test("is told of a decline as a success that is cancelled", async () => {
    const declined = await call("direct", payment("ebanx-declined", { creditcard: { ...testCard, card_number: "4716909774636285" } }));
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
