import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brandOf } from "../../src/vault/bin.ts";
import { isTestNumber, testNumbers } from "../../src/vault/test-numbers.ts";
import { temporaryFolder } from "../command.ts";
import { numberUnder, panOf, testCards } from "../vectors/cards.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

/** Numbers of brands that are charged, and that no list of test numbers contains. */
const live = [
  "453298",
  "492912",
  "520435",
  "555666",
  "222555",
  "376123",
  "361234",
  "636368",
  "606282",
].flatMap((prefix) =>
  ["1357924", "9080706"].map((middle) =>
    numberUnder(prefix + middle, prefix.startsWith("37") ? 15 : prefix.startsWith("36") ? 14 : 16),
  ),
);

const store = (server: TestServer, card_number: string) =>
  server.postJson("/ws/token", {
    integration_key: integrationKey,
    country: "br",
    payment_type_code: "creditcard",
    creditcard: { ...testCard, card_number },
  });

const verify = (server: TestServer, card_number: string) =>
  server.postJson("/ws/verifycard", {
    integration_key: integrationKey,
    country: "br",
    payment_type_code: "creditcard",
    card: { ...testCard, card_number },
  });

describe("a card number that is not for tests", () => {
  test("is neither stored, charged nor verified by the sandbox, which names its switch", async () => {
    await using server = await startTestServer();
    for (const [index, number] of live.entries()) {
      const brand = brandOf(panOf(number));
      assert.ok(brand !== undefined && !isTestNumber(panOf(number)), number.slice(0, 6));
      const code = `live-${index}`;
      const creditcard = {
        ...testCard,
        card_number: number,
        card_cvv: brand === "amex" ? "1234" : "123",
      };
      for (const { body } of [
        await store(server, number),
        await server.postJson("/ws/direct", directBody(code, { creditcard })),
        await verify(server, number),
      ]) {
        assert.equal(
          body["status_code"],
          "BP-DR-75",
          `${number.slice(0, 6)} ${JSON.stringify(body)}`,
        );
        assert.match(String(body["status_message"]), /COFRE_SANDBOX_CARDS=any/);
        assert.ok(!JSON.stringify(body).includes(number));
      }
      const { body } = await server.get("/ws/query", {
        integration_key: integrationKey,
        merchant_payment_code: code,
      });
      assert.equal(body["status_code"], "BP-QRY-2");
    }
  });

  test("is accepted when the sandbox is set to accept any", async () => {
    await using server = await startTestServer({ environment: { COFRE_SANDBOX_CARDS: "any" } });
    for (const number of live)
      assert.equal((await store(server, number)).body["status"], "SUCCESS", number.slice(0, 6));
  });

  test("is not charged by a token that was stored before", async (context) => {
    const folder = temporaryFolder(context);
    const environment = { COFRE_DATA_DIR: folder };
    let token: unknown;
    {
      await using before = await startTestServer({
        environment: { ...environment, COFRE_SANDBOX_CARDS: "any" },
      });
      token = (await store(before, live[0] ?? "")).body["token"];
    }
    await using server = await startTestServer({ environment });
    const { body } = await server.postJson(
      "/ws/direct",
      directBody("old", { creditcard: { token, card_cvv: "123" } }),
    );
    assert.equal(body["status_code"], "BP-DR-75");
  });
});

test("published test numbers, and numbers under the ranges for tests, are taken", async () => {
  await using server = await startTestServer();
  const charged = testNumbers.filter((number) => brandOf(panOf(number)) !== undefined);
  const made = ["411111", "400000", "555555", "510510"].map((prefix) =>
    numberUnder(`${prefix}246813579`, 16),
  );
  for (const number of [...charged, ...testCards.map(([number]) => number), ...made]) {
    const { body } = await store(server, number);
    assert.equal(body["status"], "SUCCESS", `${number.slice(0, 6)} ${JSON.stringify(body)}`);
  }
});
