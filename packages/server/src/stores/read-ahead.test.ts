import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { ManualScheduler } from "../../test/manual-scheduler.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { openEmbeddedStore } from "./embedded/embedded-store.ts";
import { ReadAhead } from "./read-ahead.ts";

const { merchantA, merchantB } = given;
const page = { limit: 10, maxExamined: 2_000 };

/** Reads two pieces per account, and waits for the test before each. */
function ahead(read: (merchant: MerchantId, before?: string) => Promise<string | undefined>) {
  const scheduler = new ManualScheduler();
  const reads: string[] = [];
  const reader = new ReadAhead(async (merchant, before) => {
    reads.push(`${merchant === merchantA ? "A" : "B"} ${before ?? "top"}`);
    return read(merchant, before);
  }, scheduler);
  const pass = async () => {
    scheduler.release();
    await setImmediate();
  };
  return { reader, reads, pass };
}
const twoPieces = async (_merchant: MerchantId, before?: string) =>
  before === undefined ? "5" : undefined;

test("an account that was listed is read once, a piece after each pause", async () => {
  const { reader, reads, pass } = ahead(twoPieces);
  reader.listed(merchantA);
  assert.deepEqual(reads, [], "the list itself is answered first");
  await pass();
  reader.listed(merchantA);
  reader.listed(merchantB);
  assert.deepEqual(reads, ["A top"]);
  for (let round = 0; round < 3; round += 1) await pass();
  assert.deepEqual(reads, ["A top", "A 5"]);
  reader.listed(merchantA);
  reader.listed(merchantB);
  for (let round = 0; round < 3; round += 1) await pass();
  assert.deepEqual(reads, ["A top", "A 5", "B top", "B 5"]);
});

test("a failed read is the last one of its account, and none follows after closing", async () => {
  const failing = ahead(async () => {
    throw new Error("the file cannot be read");
  });
  failing.reader.listed(merchantA);
  for (let round = 0; round < 3; round += 1) await failing.pass();
  assert.deepEqual(failing.reads, ["A top"]);
  failing.reader.listed(merchantB);
  await failing.pass();
  assert.deepEqual(failing.reads, ["A top", "B top"]);
  const closed = ahead(twoPieces);
  closed.reader.listed(merchantA);
  await closed.pass();
  closed.reader.close();
  closed.reader.listed(merchantB);
  for (let round = 0; round < 3; round += 1) await closed.pass();
  assert.deepEqual(closed.reads, ["A top"]);
});

/** A store with 1,200 payments of Maria Silva, and the file behind it. */
async function storeOf(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "cofre-ahead-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "cofre.db");
  const scheduler = new ManualScheduler();
  const store = await openEmbeddedStore({ file, scheduler });
  context.after(() => store.close());
  const numbers = Array.from({ length: 1_200 }, (_, index) => index + 1);
  await Promise.all(
    numbers.map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
  );
  /** Behind the store's back: what it has read already it does not read again. */
  const change = () => {
    const database = new DatabaseSync(file);
    database.exec("UPDATE payment SET code = 'changed-' || code");
    database.close();
  };
  const found = async (text: string) =>
    (await store.paymentsListed(merchantA, { text }, page)).payments.length;
  return { store, scheduler, change, found };
}

test("a search by a word reads no texts again that were read after the list was opened", async (context) => {
  const { store, scheduler, change, found } = await storeOf(context);
  await store.paymentsListed(merchantA, {}, page);
  for (let round = 0; round < 20; round += 1) {
    scheduler.release();
    await setImmediate();
    await setImmediate();
  }
  change();
  assert.equal(await found("changed"), 0);
});

test("control: without a list before it, the search reads them", async (context) => {
  const { change, found } = await storeOf(context);
  change();
  assert.equal(await found("changed"), 10);
});
