import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import type { Change } from "../stores/change.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { StoreError } from "../stores/store.ts";
import { commitDecision, read } from "./commit.ts";
import { PaymentCodeTaken } from "./payment-code-taken.ts";

const { merchantA, merchantB, start } = given;
const digest = "ab".repeat(32);

/** A store with these changes, and a decision whose calls are counted. */
async function storeWith(...changes: readonly Change[]) {
  const store = createMemoryStore();
  for (const change of changes)
    assert.deepEqual(await store.commit(change), { outcome: "committed" });
  let decisions = 0;
  const commit = (change: Change | undefined) =>
    commitDecision(store, async () => {
      decisions += 1;
      return change;
    });
  return { store, commit, decisions: () => decisions };
}

function claimed(merchantId = merchantA): Change {
  const next = { key: "key", digest, claimedAt: start, answer: undefined };
  return {
    merchantId,
    at: start,
    facts: [],
    entries: [],
    notifications: [],
    request: { next, replaces: "nothing" },
  };
}

describe("a decision", () => {
  test("is committed once, and is what came of it; there may be nothing to write", async () => {
    const { store, commit, decisions } = await storeWith();
    const change = given.paymentChange(given.newPayment(1));
    assert.equal(await commit(change), change);
    assert.ok((await store.paymentById(merchantA, given.paymentId(1))) !== undefined);
    assert.equal(decisions(), 1);
    assert.equal(await commit(undefined), undefined);
    assert.equal(decisions(), 2);
  });

  test("is made again whenever another change was faster, eight times in all", async () => {
    const store = createMemoryStore();
    const first = given.newPayment(1);
    await store.commit(given.paymentChange(first));
    const stale = given.paymentChange({ ...first, version: 3 });
    const sound = given.paymentChange({ ...first, version: 2 });
    let decisions = 0;
    const decidedAfter = (others: number) => async () =>
      (decisions += 1) > others ? sound : stale;
    await assert.rejects(commitDecision(store, decidedAfter(8)), {
      name: "ServiceError",
      code: "payment_in_flight",
    });
    assert.equal(decisions, 8);
    decisions = 0;
    assert.equal(await commitDecision(store, decidedAfter(7)), sound);
  });

  test("is made again when a refund's id is drawn twice", async () => {
    const paid = given.paidNext(given.newPayment(2));
    const { store, commit, decisions } = await storeWith(
      ...given.lifeOf(1),
      given.paymentChange(given.newPayment(2)),
      given.paidChange(given.newPayment(2)),
    );
    const refunded = (id: number) =>
      given.paymentChange(given.refundedNext(paid, [given.newRefund(id, { code: "another" })]));
    await assert.rejects(commit(refunded(2)), { code: "payment_in_flight" });
    assert.equal(decisions(), 8);
    let ids = 1;
    assert.ok((await commitDecision(store, async () => refunded((ids += 1)))) !== undefined);
    assert.equal(ids, 3);
  });

  test("is refused once for good when what is to be unique is taken", async () => {
    const stored = given.newPayment(1);
    const { commit, decisions } = await storeWith(
      ...given.lifeOf(1),
      given.cardChange(given.newCard(1)),
      given.accountChange(given.newAccount(merchantA), [1]),
      claimed(),
    );
    const taken = await commit(
      given.paymentChange({ ...given.newPayment(9), order: stored.order }),
    ).catch((error: unknown) => error);
    assert.ok(taken instanceof PaymentCodeTaken);
    assert.deepEqual([taken.code, taken.existing.id], ["payment_code_taken", stored.id]);
    await assert.rejects(commit(given.cardChange(given.newCard(1))), { code: "token_taken" });
    await assert.rejects(commit(claimed()), { code: "request_key_taken" });
    const again = given.refundedNext(
      given.refundedNext(given.paidNext(stored), [given.newRefund(2)]),
      [given.newRefund(2), given.newRefund(3, { code: "refund-2" })],
    );
    await assert.rejects(commit(given.paymentChange(again)), { code: "refund_code_taken" });
    const invariant = new BrokenInvariant("identifiers drawn at random are unique");
    await assert.rejects(commit(given.accountChange(given.newAccount(merchantA), [])), invariant);
    await assert.rejects(commit(given.accountChange(given.newAccount(merchantB), [1])), invariant);
    await assert.rejects(
      commit(given.paymentChange({ ...stored, order: { ...stored.order, code: "another" } })),
      invariant,
    );
    assert.equal(decisions(), 7);
  });

  test("of which the store does not know whether it was written is unknown; anything else that it says is that nothing was", async () => {
    for (const [fault, code] of [
      ["unavailable", "store_unavailable"],
      ["overloaded", "store_unavailable"],
      ["commit_unknown_not_applied", "outcome_unknown"],
      ["commit_unknown_applied", "outcome_unknown"],
    ] as const) {
      let commits = 0;
      const store = createMemoryStore({
        commitFault: () => {
          commits += 1;
          return fault;
        },
      });
      const change = given.paymentChange(given.newPayment(1));
      await assert.rejects(
        commitDecision(store, async () => change),
        { name: "ServiceError", code },
      );
      assert.equal(commits, 1);
    }
  });

  test("that breaks a rule of the store is broken, and no store's failure", async () => {
    const { commit } = await storeWith();
    await assert.rejects(
      commit(given.paymentChange({ ...given.newPayment(1), captured: 1n })),
      BrokenInvariant,
    );
  });
});

describe("a read", () => {
  test("is what was read, or that the store is not to be had; any other failure is a broken invariant", async () => {
    assert.equal(await read(Promise.resolve(1)), 1);
    for (const code of ["unavailable", "closed"] as const) {
      await assert.rejects(read(Promise.reject(new StoreError(code))), {
        name: "ServiceError",
        code: "store_unavailable",
      });
    }
    await assert.rejects(read(Promise.reject(new StoreError("timed_out"))), {
      name: "ServiceError",
      code: "read_timed_out",
    });
    await assert.rejects(read(Promise.reject(new TypeError("a fault"))), BrokenInvariant);
  });
});
