import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";
import { assertListedAsAll, pageLimits, searchedNames } from "./listed-as-all.ts";

if (testUrl === undefined) {
  test(
    "a list that PostgreSQL has narrowed down is that of all payments",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  // Each read of a list is followed by a pause (list-scheduler.ts).
  const ranges = pageLimits.filter((_, index) => index % 3 === 0);

  test("a list that PostgreSQL has narrowed down is that of all payments, page after page", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    await assertListedAsAll(store, ranges, searchedNames);
  });

  test("a search that is repeated reads kept texts, and finds what another node has written since", async (context) => {
    const url = await databases.create();
    const [store, other] = [await openStoreOn(url), await openStoreOn(url)];
    context.after(() => Promise.all([store.close(), other.close()]));
    const commit = async (...numbers: readonly number[]): Promise<void> => {
      const payments = numbers.map((number) =>
        given.newPayment(number, { id: given.paymentId(2 * number) }),
      );
      await Promise.all(payments.map((each) => other.commit(given.paymentChange(each))));
    };
    const found = async (text: string): Promise<readonly string[]> => {
      const page = { limit: 3_000, maxExamined: 3_000 };
      const { payments } = await store.paymentsListed(given.merchantA, { text }, page);
      return payments.map(({ id }) => id);
    };
    await commit(...Array.from({ length: 2_400 }, (_, index) => index + 1));
    const paged = given.pagePayment(2_501);
    await other.commit(given.paymentChange(paged));
    // The others get no other card any more.
    await query(url, "UPDATE payment SET state = 'captured' WHERE state <> 'opened'");
    const code = "order-24";
    const all = await found(code);
    assert.equal(all.length, 12);
    // Behind the stores' back: texts that are kept are not read again.
    await query(url, "UPDATE payment SET code = 'changed-' || no WHERE code = 'order-240'");
    assert.deepEqual(await found("changed"), []);
    assert.deepEqual(await found("bruna"), []);
    const customer = { ...paged.order.customer, name: "Bruna O'Neil" };
    const tried = { ...paged, version: 2, order: { ...paged.order, customer } };
    await other.commit(given.paymentChange(tried));
    assert.deepEqual(await found("bruna"), [paged.id], "the customer of an open page");
    await commit(2_401);
    // Between two others: the texts around it are read again.
    const older = given.newPayment(24_000, { id: given.paymentId(4_001) });
    await other.commit(given.paymentChange(older));
    const ids = [
      given.paymentId(4_802),
      older.id,
      ...all.filter((id) => id !== given.paymentId(480)),
    ];
    assert.deepEqual(await found(code), ids.toSorted().toReversed());
    assert.deepEqual(await found("order-24000"), [older.id]);
    assert.deepEqual(await found("order-24000 nobody"), []);
  });
}
