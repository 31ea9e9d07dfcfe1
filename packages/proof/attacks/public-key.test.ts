import assert from "node:assert/strict";
import { test } from "node:test";
import { documentedEndpoints } from "../../server/test/keyed-endpoints.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
} from "../../server/test/server.ts";

/*
 * Row 20 of the attack table: the public key is in every shop's page, so it is known to everyone.
 * It opens the browser operations and nothing else, under either name, and reads no data.
 */

const browserOperations = [
  "/ws/token",
  "/ws/token/setCVV",
  "/fingerprint",
  "/fingerprint/provider",
  "/fingerprint/error",
  "/ws/threedsecureserver-generateToken",
  "/ws/threedsecureserver-authentications",
  "/ws/threedsecureserver-authentication-results",
  "/ws/threedsecureserver-record",
];
const refusals = /"status_code":"(?:BP-SA-1|BP-SA-2|DA-1)"/;

test("the public key opens no operation but those of browsers", async (context) => {
  await using server = await startTestServer();
  await server.postJson("/ws/direct", directBody("of-the-shop"));
  const before = await server.get("/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: "of-the-shop",
  });
  let refused = 0;
  for (const { path, example } of documentedEndpoints()) {
    // Creates test accounts for any caller, without a key (docs/decisions/0012-worlds.md).
    if (path === "/__cofre/worlds") continue;
    if (browserOperations.includes(path) || path.endsWith("isValidPublicIntegrationKey")) continue;
    for (const name of ["integration_key", "public_integration_key", "publicIntegrationKey"]) {
      const { integration_key: _, ...rest } = example;
      const request = {
        ...rest,
        merchant_payment_code: "of-the-shop",
        [name]: publicIntegrationKey,
      };
      const post = await fetch(server.url + path, {
        method: "POST",
        body: JSON.stringify(request),
      });
      assert.match(await post.text(), refusals, `${path} by ${name}`);
      const query = new URLSearchParams({
        merchant_payment_code: "of-the-shop",
        [name]: publicIntegrationKey,
      });
      const get = await fetch(`${server.url}${path}?${query.toString()}`);
      assert.match(await get.text(), refusals, `${path} by ${name}, GET`);
      refused += 2;
    }
  }
  context.diagnostic(`${refused} requests refused`);
  assert.deepEqual(
    await server.get("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: "of-the-shop",
    }),
    before,
  );
});

test("a token that the public key has made cannot be read back, chosen or used with it", async () => {
  await using server = await startTestServer();
  const creditcard = {
    card_number: "4111111111111111",
    card_name: "Ana Lima",
    card_due_date: "12/2060",
    card_cvv: "123",
  };
  const request = {
    public_integration_key: publicIntegrationKey,
    payment_type_code: "creditcard",
    country: "br",
    creditcard,
  };
  const made = await server.postJson("/ws/token", request);
  assert.equal(made.body["status"], "SUCCESS");
  const chosen = await server.postJson("/ws/token", {
    ...request,
    token: "a-token-of-the-page".padEnd(40, "x"),
  });
  assert.equal(chosen.body["status"], "ERROR");
  const body = {
    ...directBody("by-the-page", { creditcard: { token: made.body["token"] } }),
    integration_key: publicIntegrationKey,
  };
  assert.equal((await server.postJson("/ws/direct", body)).body["status_code"], "DA-1");
  // The control: the secret key may.
  assert.equal(
    (await server.postJson("/ws/direct", { ...body, integration_key: integrationKey })).body[
      "status"
    ],
    "SUCCESS",
  );
});
