import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../server/test/command.ts";
import { directBody, integrationKey, startTestServer, testCard } from "../../server/test/server.ts";

/*
 * A card number in texts that are stored unmasked: the name of a request, and every text of the
 * settings. It is refused, and is in no byte of the data directory. Free texts of payments are
 * masked, which other tests check; this test also fills their fields.
 */

const number = "5555555555554444";
const written = [
  number,
  `x-${number}`,
  "5555-5555-5555-4444",
  "5555 5555 5555 4444",
  `%35${number.slice(1)}`,
];

test("names and settings that are kept hold no card number, in the answers or on disk", async (context) => {
  const folder = temporaryFolder(context);
  await using server = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
  const refused: unknown[] = [];
  for (const [index, text] of written.entries()) {
    const settings = [
      { notificationUrl: `https://example.com/${text}` },
      { responseUrl: `https://example.com/?c=${text}` },
      { imageUrl: `https://example.com/${text}` },
      { acquirerName: text },
      { descriptor: text },
      { receiptEmail: `${text}@example.com` },
      { simulator: { seed: text } },
      { notificationEndpoints: [{ id: "shop", url: `https://example.com/${text}` }] },
      { routes: [{ name: text, connectors: ["simulator"] }] },
      { [text]: "true" },
    ];
    for (const each of settings) {
      for (const path of ["/__cofre/settings", "/__cofre/worlds"]) {
        const { body } = await server.postJson(
          path,
          path.endsWith("worlds")
            ? { settings: each }
            : { integration_key: integrationKey, settings: each },
        );
        assert.ok(!JSON.stringify(body).includes(text), JSON.stringify(each));
        refused.push(body["status_code"]);
      }
    }
    // Keys are compared with the card of their request: docs/decisions/0007.
    const creditcard = { ...testCard, card_number: number };
    for (const path of ["/ws/direct", "/ws/capture", "/ws/cancel", "/ws/refund"]) {
      await fetch(server.url + path, {
        method: "POST",
        headers: { "Idempotency-Key": text },
        body: JSON.stringify(
          directBody(`named-${index}`, { note: text, order_number: text, creditcard }),
        ),
      });
    }
    await server.postJson(
      "/ws/direct",
      directBody(`plain-${index}`, { note: text, order_number: `control-${index}`, name: text }),
    );
  }
  assert.deepEqual(new Set(refused), new Set(["COFRE-31"]));
  await server.cofre.close();
  const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  assert.ok(
    kept.some((text) => text.includes("control-0")),
    "control: what is kept is found",
  );
  for (const text of written) assert.ok(!kept.some((bytes) => bytes.includes(text)), text);
});
