import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import * as given from "./store-fixtures.ts";
import { describeStoreContract } from "./store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

describeStoreContract("the embedded store on a file", () => {
  files += 1;
  return openEmbeddedStore({ file: join(folder, `store-${files}.db`) });
});

describeStoreContract("the embedded store in memory", () => openEmbeddedStore({ file: ":memory:" }));

test("a sale takes at most 450 bytes beyond its order, indexes included, and a stored card at most 400", async () => {
  const file = join(folder, "sizes.db");
  const store = await openEmbeddedStore({ file });
  const rows = 2_000;
  const numbers = Array.from({ length: rows }, (_, number) => number);
  await Promise.all(numbers.map((number) => store.commit(given.paymentChange(given.newPayment(number)))));
  await Promise.all(
    numbers.map((number) => store.commit(given.paidChange(given.newPayment(number), { facts: [given.fact({ fact: "sale_approved" })] }))),
  );
  // Digests are random in life: spread over the index they fill its pages less than when they come in order.
  const digest = (number: number) => given.tokenDigest(((number * 2_654_435_761) % 2 ** 32) + 2 ** 32);
  await Promise.all(numbers.map((number) => store.commit(given.cardChange(given.newCard(1, { tokenDigest: digest(number) })))));
  await store.close();

  const database = new DatabaseSync(file);
  const pages = (where: string): number =>
    Number(database.prepare(`SELECT sum(pgsize) AS bytes FROM dbstat WHERE ${where}`).get()?.["bytes"]);
  const orders = Number(database.prepare("SELECT sum(octet_length(order_json)) AS bytes FROM payment").get()?.["bytes"]);
  const perPayment = (pages("name GLOB '*payment*' OR name IN ('history', 'outbox')") - orders) / rows;
  const perCard = pages("name GLOB '*card*'") / rows;
  database.close();
  assert.ok(perPayment > 200 && perPayment <= 450, `${perPayment} bytes for a payment`);
  assert.ok(perCard > 200 && perCard <= 400, `${perCard} bytes for a card`);
});
