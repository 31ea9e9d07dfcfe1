import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

describe("requests with a public key", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ environment: { COFRE_CLIENT_IP_HEADER: "x-real-ip" } });
    const settings = { publicRequestsPerMinute: 6, publicCardsPerTenMinutes: 2 };
    await server.postJson("/__cofre/settings", { integration_key: integrationKey, settings });
  });
  after(async () => server[Symbol.asyncDispose]());

  const store = async (address: string, card_number: string, key: object) => {
    const response = await fetch(`${server.url}/ws/token`, {
      method: "POST",
      headers: { "x-real-ip": address },
      body: JSON.stringify({ ...key, country: "br", card: { ...testCard, card_number } }),
    });
    const { status_code } = (await response.json()) as { readonly status_code?: string };
    return { code: status_code ?? "stored", response };
  };
  const visitor = { public_integration_key: publicIntegrationKey };
  const shop = { integration_key: integrationKey };
  const cards = ["4111111111111111", "5555555555554444", "4242424242424242"] as const;

  test("are refused when a network tries too many cards, and a page of another origin can read until when", async () => {
    for (const card of [cards[0], cards[1], cards[0]])
      assert.equal((await store("192.0.2.1", card, visitor)).code, "stored");
    const { code, response } = await store("192.0.2.1", cards[2], visitor);
    assert.deepEqual([code, response.status], ["COFRE-178", 429]);
    assert.equal(response.headers.get("Retry-After"), "300");
    assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
    assert.equal(response.headers.get("Access-Control-Expose-Headers"), "Retry-After");
  });

  test("of another network and with the secret key are not affected", async () => {
    assert.equal((await store("192.0.2.2", cards[2], visitor)).code, "stored");
    for (let index = 0; index < 20; index += 1)
      assert.equal((await store("192.0.2.1", cards[2], shop)).code, "stored");
  });

  test("count whatever their endpoint and answer", async () => {
    const codes: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      const { body } = await server.postJson("/ws/token/setCVV", { ...visitor, token: "none" });
      codes.push(String(body["status_code"]));
    }
    assert.deepEqual(codes, [...Array<string>(6).fill("BP-DR-54"), "COFRE-178"]);
  });

  test("with both keys are the shop's", async () => {
    for (let index = 0; index < 20; index += 1)
      assert.equal((await store("192.0.2.9", cards[0], { ...shop, ...visitor })).code, "stored");
  });
});
