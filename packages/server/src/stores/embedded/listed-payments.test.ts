import assert from "node:assert/strict";
import { test } from "node:test";
import {
  assertListedAsAll,
  pageLimits,
  searchedNames,
} from "../../../test/contract/listed-as-all.ts";
import * as given from "../../../test/contract/store-fixtures.ts";
import { openEmbeddedStore } from "./embedded-store.ts";

test("a list that SQLite has narrowed down is that of all payments, page after page", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  await assertListedAsAll(store, pageLimits, [...searchedNames, "lone \ud800 João"]);
});

test("a search that is repeated finds what has changed and come since, also among older payments", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  const commit = async (...numbers: readonly number[]): Promise<void> => {
    for (const number of numbers)
      await store.commit(
        given.paymentChange(given.newPayment(number, { id: given.paymentId(2 * number) })),
      );
  };
  const found = async (text: string): Promise<readonly string[]> => {
    const page = { limit: 2_000, maxExamined: 2_000 };
    const { payments } = await store.paymentsListed(given.merchantA, { text }, page);
    return payments.map(({ id }) => id);
  };
  await commit(...Array.from({ length: 1_200 }, (_, index) => index + 1));
  const code = "order-";
  const all = await found(code);
  assert.equal(all.length, 1_200);
  assert.deepEqual(await found(code), all, "the same again");
  await commit(1_201);
  const older = given.newPayment(1_300, { id: given.paymentId(1_001) });
  await store.commit(given.paymentChange(older));
  const ids = [given.paymentId(2_402), ...all, older.id].toSorted().toReversed();
  assert.deepEqual(await found(code), ids);
  assert.deepEqual(await found("captured"), []);
  const paid = given.newPayment(600, { id: given.paymentId(1_200) });
  await store.commit(given.paidChange(paid));
  assert.deepEqual(await found("captured"), [paid.id]);
  assert.deepEqual(await found(`${code} status:captured`), [paid.id]);
});
