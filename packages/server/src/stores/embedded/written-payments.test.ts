import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Worker } from "node:worker_threads";
import * as given from "../../../test/contract/store-fixtures.ts";
import type { Payment } from "../../payment/payment.ts";
import type { Change } from "../change.ts";
import { messageOf } from "../change-message.ts";
import type { RunningStore } from "../store.ts";
import { openEmbeddedStore } from "./embedded-store.ts";
import { WrittenPayments } from "./written-payments.ts";

const { merchantA, merchantB, paymentId } = given;
const committed = { outcome: "committed" };
const stale = { outcome: "stale" };

/** As the store calls it before a change is sent to the writer. */
function submitted(payments: WrittenPayments, change: Change) {
  const message = messageOf(change);
  const [merchant, , part] = message;
  assert.ok(part !== undefined);
  return payments.submitted(merchant, part);
}

function written(payments: WrittenPayments, change: Change): void {
  submitted(payments, change).isCommitted = true;
}

/** Payment versions as recovery, the clock, reviewers, jobs and merchants write them. */
function histories(): readonly (readonly Payment[])[] {
  const first = given.newPayment(1);
  const paid = given.paidNext(first);
  const refunded = given.refundedNext(paid, [
    given.newRefund(1),
    given.newRefund(2, { code: undefined }),
  ]);
  const disputed: Payment = {
    ...refunded,
    version: refunded.version + 1,
    chargeback: given.dispute,
  };
  const undone: Payment = {
    ...disputed,
    version: disputed.version + 1,
    refunds: [],
    refunded: 0n,
    chargeback: undefined,
  };
  const bare = given.barePayment(2);
  const reviewed: Payment = {
    ...given.paidNext(bare),
    state: "in_review",
    review: "waiting",
    needsReview: true,
  };
  const rerouted: Payment = {
    ...given.newPayment(3),
    version: 2,
    attempt: given.newAttempt({ number: 2 }),
    attempts: 2,
    authorization: 2,
    reroutedTo: "other",
  };
  const retried: Payment = { ...rerouted, version: 3, authorization: 3, attempts: 3 };
  const initial = given.newPayment(4);
  const credential = {
    use: "initial",
    initiator: "CIT",
    reason: "SCHEDULED_RECURRING",
    mandateId: undefined,
  } as const;
  const mandate: Payment = {
    ...initial,
    order: { ...initial.order, storedCredential: credential },
  };
  return [
    [first, paid, refunded, disputed, undone],
    [bare, reviewed],
    [given.newPayment(3), rerouted, retried],
    [mandate, given.paidNext(mandate)],
  ];
}

test("each version of a payment is found as it was written, and not before it is durable", () => {
  for (const versions of histories()) {
    const payments = new WrittenPayments();
    for (const payment of versions) {
      const change = submitted(payments, given.paymentChange(payment));
      assert.equal(
        payments.find(merchantA, payment.id),
        undefined,
        "the file may have this version already",
      );
      change.isCommitted = true;
      assert.deepEqual(payments.find(merchantA, payment.id), payment);
    }
  }
});

test("what is found is a copy for each that asks", () => {
  const payments = new WrittenPayments();
  written(payments, given.paymentChange(given.newPayment(1)));
  const [one, other] = [
    payments.find(merchantA, paymentId(1)),
    payments.find(merchantA, paymentId(1)),
  ];
  assert.notEqual(one, other);
  assert.notEqual(one?.order, other?.order);
});

test("a change that is not known to be durable leaves nothing to be found", () => {
  const payments = new WrittenPayments();
  const first = given.newPayment(1);
  written(payments, given.paymentChange(first));
  submitted(payments, given.paymentChange(given.paidNext(first)));
  assert.equal(payments.find(merchantA, first.id), undefined);
  const third = given.paidNext(given.paidNext(first));
  written(payments, given.paymentChange(third));
  assert.equal(payments.find(merchantA, first.id), undefined, "its order is not known any more");
});

test("of several changes under way the last one counts, whichever is acknowledged first", () => {
  const payments = new WrittenPayments();
  const first = given.newPayment(1);
  const [second, third] = [given.paidNext(first), given.paidNext(given.paidNext(first))];
  written(payments, given.paymentChange(first));
  const changes = [
    submitted(payments, given.paymentChange(second)),
    submitted(payments, given.paymentChange(third)),
  ];
  for (const change of changes) {
    change.isCommitted = true;
    assert.equal(payments.find(merchantA, first.id), undefined);
  }
});

test("the order of a first version that was refused is not taken for that of the payment with the same id", () => {
  const payments = new WrittenPayments();
  submitted(payments, given.paymentChange(given.newPayment(1)));
  written(payments, given.paymentChange(given.paidNext(given.newPayment(1))));
  assert.equal(payments.find(merchantA, paymentId(1)), undefined);
});

test("a payment is found by its own merchant, and a change of another one's with the same id takes its place", () => {
  const payments = new WrittenPayments();
  const [mine, theirs] = [given.newPayment(1), given.newPayment(1, { merchantId: merchantB })];
  written(payments, given.paymentChange(mine));
  assert.equal(payments.find(merchantB, mine.id), undefined);
  written(payments, given.paymentChange(given.paidNext(theirs)));
  assert.equal(payments.find(merchantA, mine.id), undefined);
  assert.equal(
    payments.find(merchantB, mine.id),
    undefined,
    "not with the order of the other merchant's payment",
  );
});

test("a payment is kept until another one takes its place, and there are 256 places", () => {
  const payments = new WrittenPayments();
  const numbers = Array.from({ length: 1_000 }, (_, number) => number + 1);
  for (const number of numbers) written(payments, given.paymentChange(given.newPayment(number)));
  const kept = numbers.filter(
    (number) => payments.find(merchantA, paymentId(number)) !== undefined,
  );
  assert.deepEqual(kept, numbers.slice(-256), "the end of their ids counts up");
  written(payments, given.paymentChange(given.newPayment(1_000 + 0x1000)));
  assert.equal(payments.find(merchantA, paymentId(1_000)), undefined);
});

test("a change that left when others came is not found when it is acknowledged", () => {
  const payments = new WrittenPayments();
  const late = submitted(payments, given.paymentChange(given.newPayment(1)));
  for (let number = 2; number < 300; number += 1)
    written(payments, given.paymentChange(given.newPayment(number)));
  late.isCommitted = true;
  assert.equal(payments.find(merchantA, paymentId(1)), undefined);
});

async function openedIn(
  context: TestContext,
): Promise<{ readonly store: RunningStore; readonly file: string; readonly worker: Worker }> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store.db");
  const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  return { store, file, worker: await started };
}

/**
 * Whether the store answers a read by id without its file: the version in the file is changed
 * without the store.
 */
async function isKept(store: RunningStore, file: string, number: number): Promise<boolean> {
  const database = new DatabaseSync(file);
  const row = `id = unhex('${paymentId(number)}')`;
  const { version } = database.prepare(`SELECT version FROM payment WHERE ${row}`).get() ?? {};
  database.exec(`UPDATE payment SET version = 77 WHERE ${row}`);
  const payment = await store.paymentById(merchantA, paymentId(number));
  database.exec(`UPDATE payment SET version = ${Number(version)} WHERE ${row}`);
  database.close();
  return payment?.version === Number(version);
}

test("a store reads the same from memory as the next process reads from the file", async (context) => {
  const { store, file } = await openedIn(context);
  for (const versions of histories()) {
    for (const payment of versions) {
      assert.deepEqual(await store.commit(given.paymentChange(payment)), committed);
      assert.ok(
        await isKept(store, file, Number.parseInt(payment.id, 16)),
        "control: it is read from memory",
      );
      assert.deepEqual(await store.paymentById(merchantA, payment.id), payment);
      assert.deepEqual(
        await store.paymentByCode(merchantA, payment.order.code),
        payment,
        "the code is looked for in the file",
      );
    }
  }
  const read = await Promise.all(
    histories().map(([payment]) => store.paymentById(merchantA, payment?.id ?? paymentId(0))),
  );
  await store.close();

  const next = await openEmbeddedStore({ file });
  context.after(() => next.close());
  for (const [index, [payment]] of histories().entries()) {
    assert.deepEqual(await next.paymentById(merchantA, payment?.id ?? paymentId(0)), read[index]);
    assert.ok(
      !(await isKept(next, file, index + 1)),
      "control: a store that was just opened reads the file",
    );
  }
});

test("a change that is stale, or of a payment whose id or code is taken, is followed by a read of the file", async (context) => {
  const { store, file } = await openedIn(context);
  const first = given.newPayment(1);
  await store.commit(given.paymentChange(first));
  const second = given.paidNext(first);
  await store.commit(given.paymentChange(second));
  const again = given.newPayment(1, { order: { ...first.order, code: "another" } });
  const later: Payment = { ...second, version: 9 };
  for (const { change, answer } of [
    { change: given.paymentChange(second), answer: stale },
    { change: given.paymentChange(later), answer: stale },
    { change: given.paymentChange(again), answer: { outcome: "duplicate", key: "payment_id" } },
  ]) {
    assert.deepEqual(await store.commit(change), answer);
    assert.ok(!(await isKept(store, file, 1)));
    assert.deepEqual(await store.paymentById(merchantA, first.id), second);
  }
  const taken = given.newPayment(2, { order: first.order });
  assert.deepEqual(await store.commit(given.paymentChange(taken)), {
    outcome: "duplicate",
    key: "payment_code",
    existing: second,
  });
  assert.equal(await store.paymentById(merchantA, taken.id), undefined);
});

test("while a change is under way and when its outcome is unknown, the file is read", async (context) => {
  const { store, file, worker } = await openedIn(context);
  const first = given.newPayment(1);
  await store.commit(given.paymentChange(first));
  assert.ok(await isKept(store, file, 1), "control: kept before");
  const change = assert.rejects(store.commit(given.paymentChange(given.paidNext(first))), {
    code: "commit_unknown",
  });
  await worker.terminate();
  await change;
  const database = new DatabaseSync(file);
  const version = Number(database.prepare("SELECT version FROM payment").get()?.["version"]);
  database.close();
  assert.equal(
    (await store.paymentById(merchantA, first.id))?.version,
    version,
    "whichever version it is that the file has",
  );
  assert.ok(!(await isKept(store, file, 1)));
});

test("no statement of the embedded store writes payments but the two behind a store's commit", () => {
  const folder = new URL(".", import.meta.url);
  const writing = readdirSync(folder)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .filter((name) =>
      /\b(?:INTO|UPDATE|DELETE FROM) payment\b/.test(readFileSync(new URL(name, folder), "utf8")),
    );
  assert.deepEqual(
    writing,
    ["change-writer.ts"],
    "another path must go through WrittenPayments too",
  );
});
