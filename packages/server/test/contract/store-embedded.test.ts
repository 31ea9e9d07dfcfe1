import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { instant } from "../../src/kernel/instant.ts";
import type { Payment } from "../../src/payment/payment.ts";
import * as given from "./store-fixtures.ts";
import { describeStoreContract } from "./store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

describeStoreContract("the embedded store on a file", () => {
  files += 1;
  return openEmbeddedStore({ file: join(folder, `store-${files}.db`) });
});

describeStoreContract("the embedded store in memory", () =>
  openEmbeddedStore({ file: ":memory:" }),
);

test("a sale takes at most 450 bytes beyond its order, indexes included, and a stored card at most 400", async () => {
  const file = join(folder, "sizes.db");
  const store = await openEmbeddedStore({ file });
  const rows = 2_000;
  const numbers = Array.from({ length: rows }, (_, number) => number);
  // Orders of all lengths, because only a few fit on a page, and the unused rest of a page is
  // counted separately.
  const payment = (number: number): Payment => {
    const whole = given.newPayment(number);
    return { ...whole, order: { ...whole.order, note: "x".repeat((number * 7_919) % 400) } };
  };
  await Promise.all(numbers.map((number) => store.commit(given.paymentChange(payment(number)))));
  const facts = [given.fact({ fact: "sale_approved" })];
  const captureBy = instant(given.start + 345_600_000);
  await Promise.all(
    numbers.map((number) => {
      const next = given.paidNext(payment(number), { captureBy });
      return store.commit(
        given.paidChange(payment(number), { payment: { next, replaces: 1 }, facts }),
      );
    }),
  );
  // Real digests are random: spread over the index they fill its pages less than ordered ones.
  const digest = (number: number) =>
    given.tokenDigest(((number * 2_654_435_761) % 2 ** 32) + 2 ** 32);
  await Promise.all(
    numbers.map((number) =>
      store.commit(given.cardChange(given.newCard(1, { tokenDigest: digest(number) }))),
    ),
  );
  await store.close();

  const database = new DatabaseSync(file);
  const pages = (where: string): number =>
    Number(
      database.prepare(`SELECT sum(pgsize) AS bytes FROM dbstat WHERE ${where}`).get()?.["bytes"],
    );
  const orders = Number(
    database.prepare("SELECT sum(octet_length(order_json)) AS bytes FROM payment").get()?.["bytes"],
  );
  const left = Number(
    database.prepare("SELECT sum(unused) AS bytes FROM dbstat WHERE name = 'payment'").get()?.[
      "bytes"
    ],
  );
  const perPayment =
    (pages("name GLOB '*payment*' OR name IN ('history', 'outbox', 'refund')") - orders - left) /
    rows;
  const perCard = pages("name GLOB '*card*'") / rows;
  const rare = ["payment_mandate", "refund", "refund_code", "payment_due"].map((name) =>
    pages(`name = '${name}'`),
  );
  database.close();
  assert.deepEqual(
    rare,
    [4096, 4096, 4096, 4096],
    "an ordinary sale leaves no row in any of these",
  );
  assert.ok(perPayment > 200 && perPayment <= 450, `${perPayment} bytes for a payment`);
  assert.ok(perCard > 200 && perCard <= 400, `${perCard} bytes for a card`);
});

test("a cryptogram that was left on 3-D Secure data by mistake is not written", async () => {
  const file = join(folder, "cryptogram.db");
  const store = await openEmbeddedStore({ file });
  const payment = given.newPayment(1);
  const threeDSecure = {
    eci: "05",
    version: "2.2.0",
    transactionId: undefined,
    xid: undefined,
    cryptogram: "Q1JZUFRPR1JBTQ==",
  };
  const requested = { ...payment, order: { ...payment.order, threeDSecure } };

  await store.commit(given.paymentChange(requested));
  const stored = await store.paymentById(given.merchantA, payment.id);
  await store.close();

  assert.deepEqual(stored?.order.threeDSecure, {
    eci: "05",
    version: "2.2.0",
    transactionId: undefined,
    xid: undefined,
  });
  const bytes = readFileSync(file);
  assert.ok(bytes.includes("2.2.0"), "control: the rest can be found in the file");
  assert.ok(!bytes.includes(threeDSecure.cryptogram));
});

test("lists for people leave the event loop to requests: a piece in a turn, whichever list it belongs to", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  const numbers = Array.from({ length: 500 }, (_, number) => number + 1);
  await Promise.all(
    numbers.map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
  );
  const turnsUntil = async (work: Promise<unknown>): Promise<number> => {
    const read = { isOver: false };
    void work.finally(() => (read.isOver = true));
    let turns = 0;
    for (; !read.isOver && turns < 10_000; turns += 1)
      await new Promise((resolve) => setImmediate(resolve));
    return turns;
  };
  const searchFor = (text: string) =>
    store.paymentsListed(given.merchantA, { text }, { limit: 10, maxExamined: 2_000 });
  // Amounts are compared with those of the whole payment.
  const search = () => searchFor("amount:>1000000");
  const one = await turnsUntil(search());
  assert.ok(one >= 20, `${one} turns for 500 payments`);
  const tested = await turnsUntil(searchFor("not there"));
  assert.ok(tested >= 2, `${tested} turns for 500 payments whose texts are searched`);
  const four = await turnsUntil(
    Promise.all([
      search(),
      search(),
      search(),
      store.paymentFigures(given.merchantA, undefined, 500),
    ]),
  );
  assert.ok(four >= 60, `${four} turns for three searches and a count`);
  const counted = await turnsUntil(store.paymentsCounted(given.merchantA, undefined, 500));
  assert.ok(counted >= 1, `${counted} turns for a count, beside which requests are served`);
  assert.ok(
    (await turnsUntil(store.paymentById(given.merchantA, given.newPayment(1).id))) <= 1,
    "control: a payment takes none",
  );
});

test("a store that is closed while a list is read refuses the rest of it", async () => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  await Promise.all(
    [1, 2, 3].map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
  );
  const list = store.paymentsListed(given.merchantA, {}, { limit: 10, maxExamined: 10 });
  const closed = store.close();
  await assert.rejects(list, { code: "closed" });
  await closed;
});
