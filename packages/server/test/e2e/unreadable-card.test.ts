import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { directBody, integrationKey, startTestServer, testCard } from "../server.ts";

// Earlier the merchant received an internal error and the log had no entry, so the operator, who
// could have restored the keys, was not notified.
test("a stored card that does not open raises an alarm and marks no payment; one that opens raises none", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "cofre-unreadable-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const environment = { COFRE_DATA_DIR: directory };
  const charge = (code: string) => directBody(code, { creditcard: { token: "a".repeat(32) } });
  {
    await using server = await startTestServer({ environment });
    const body = {
      integration_key: integrationKey,
      country: "br",
      payment_type_code: "creditcard",
      token: "a".repeat(32),
      creditcard: testCard,
    };
    assert.equal((await server.postJson("/ws/token", body)).body["status"], "SUCCESS");
    assert.equal((await server.postJson("/ws/direct", charge("opens"))).body["status"], "SUCCESS");
    assert.deepEqual(
      server.events.filter(({ event }) => event === "alarm"),
      [],
    );
  }
  const database = new DatabaseSync(join(directory, "cofre.db"));
  database.exec("UPDATE card SET ref = zeroblob(length(ref))");
  database.close();

  await using server = await startTestServer({ environment, seed: "after" });
  const refused = await server.postJson("/ws/direct", charge("does-not-open"));
  assert.equal(refused.body["status_code"], "COFRE-14");
  const [alarm, ...more] = server.events.filter(({ event }) => event === "alarm");
  assert.deepEqual(more, []);
  assert.ok(alarm?.event === "alarm");
  assert.equal(alarm.kind, "card_not_readable");
  assert.match(alarm.merchantId ?? "", /^[0-9a-f]{8}$/);
  assert.equal(alarm.paymentId, undefined);
});
