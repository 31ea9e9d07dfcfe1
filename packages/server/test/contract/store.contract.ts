import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import { type Instant, instant } from "../../src/kernel/instant.ts";
import { everySlot } from "../../src/kernel/slot.ts";
import { formatMoney } from "../../src/kernel/money.ts";
import { balancesOf } from "../../src/ledger/balances.ts";
import { entryKinds, ledgerAccounts } from "../../src/ledger/journal.ts";
import type { JournalEntry } from "../../src/ledger/journal.ts";
import { queueOf } from "../../src/notification/endpoint.ts";
import { type EndpointId, notificationKinds } from "../../src/notification/events.ts";
import { type Chargeback, chargebackFacts } from "../../src/payment/chargeback.ts";
import type { PaymentId } from "../../src/payment/payment-id.ts";
import { paymentFacts, paymentNotes } from "../../src/payment/payment-machine.ts";
import type { Payment, StoredCredential } from "../../src/payment/payment.ts";
import { refundFacts } from "../../src/payment/refund.ts";
import type { Refund } from "../../src/payment/refund.ts";
import { factSources } from "../../src/stores/change.ts";
import type { AccountKey, Change, IdempotentRequest } from "../../src/stores/change.ts";
import type { ListPage, PaymentFilter, PaymentList, Store } from "../../src/stores/store.ts";
import type { StoredCard } from "../../src/vault/stored-card.ts";
import * as given from "./store-fixtures.ts";

const { merchantA, merchantB, start } = given;
const committed = { outcome: "committed" };
const stale = { outcome: "stale" };

/** Versions of a payment with impossible refunds and disputes. */
function unsoundAftermaths(payment: Payment): readonly Payment[] {
  const paid = { ...payment, authorized: 1_000n, captured: 1_000n };
  const refunded = (...refunds: readonly Refund[]): Payment =>
    given.refundedNext({ ...paid, version: 0 }, refunds);
  return [
    { ...paid, refunded: 1n },
    { ...refunded(given.newRefund(1)), refunded: 99n },
    { ...refunded(given.newRefund(1, { state: "cancelled" })), refunded: 100n },
    refunded(given.newRefund(1, { amount: 1_001n })),
    refunded(given.newRefund(1, { amount: 600n }), given.newRefund(2, { amount: 401n })),
    refunded(given.newRefund(1, { amount: 0n })),
    refunded(given.newRefund(1, { amount: -1n })),
    refunded(given.newRefund(0)),
    refunded(given.newRefund(2 ** 31)),
    refunded(given.newRefund(1.5)),
    refunded(given.newRefund(1), given.newRefund(1, { code: "other" })),
    { ...paid, chargeback: { ...given.dispute, amount: 1_001n } },
    { ...paid, chargeback: { ...given.dispute, amount: -1n } },
    { ...refunded(given.newRefund(1)), chargeback: { ...given.dispute, amount: 901n } },
  ];
}

function codesOf({
  payments,
  next,
}: PaymentList): readonly [codes: readonly string[], next: PaymentList["next"]] {
  return [payments.map(({ order }) => order.code), next];
}

/**
 * A test for each promise of store.ts and change.ts. `open` returns an empty store; the suite
 * closes it.
 */
export function describeStoreContract(name: string, open: () => Promise<Store>): void {
  async function opened(context: TestContext): Promise<Store> {
    const store = await open();
    context.after(() => store.close());
    return store;
  }

  /** Stores a paid payment and returns it. */
  async function storedPaid(
    store: Store,
    number: number,
    merchantId = merchantA,
  ): Promise<Payment> {
    const first = given.newPayment(number, { merchantId });
    await store.commit(given.paymentChange(first));
    await store.commit(given.paidChange(first));
    return given.paidNext(first);
  }

  describe(`${name} keeps the store contract`, () => {
    test("what is not there reads as undefined or empty", async (context) => {
      const store = await opened(context);

      assert.equal(await store.accountByKey(given.keyDigest(1)), undefined);
      assert.equal(await store.accountById(merchantA), undefined);
      assert.deepEqual(await store.accounts(), []);
      assert.equal(await store.paymentById(merchantA, given.paymentId(1)), undefined);
      assert.equal(await store.paymentByCode(merchantA, "order-1"), undefined);
      assert.deepEqual(await store.history(merchantA, given.paymentId(1)), []);
      assert.equal(await store.paymentByRefund(merchantA, { id: 1 }), undefined);
      assert.equal(await store.paymentByRefund(merchantA, { code: "refund-1" }), undefined);
      assert.equal(await store.paymentByMandate(merchantA, "123456789012345"), undefined);
      assert.deepEqual(await store.paymentsDue(start, 10), []);
      assert.deepEqual(await store.paymentsInFlight(10), []);
      assert.deepEqual(await store.paymentsListed(merchantA, {}, { limit: 10, maxExamined: 10 }), {
        payments: [],
        next: undefined,
      });
      assert.equal(await store.cardByToken(merchantA, given.tokenDigest(1)), undefined);
      assert.deepEqual(await store.notificationsOf(merchantA, 0, 10), []);
    });

    test("a payment reads as it was written, by its id and by its code, in every version", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);

      assert.deepEqual(await store.commit(given.paymentChange(first)), committed);
      assert.deepEqual(await store.paymentById(merchantA, first.id), first);
      assert.deepEqual(await store.paymentByCode(merchantA, "order-1"), first);

      assert.deepEqual(await store.commit(given.paidChange(first)), committed);
      assert.deepEqual(await store.paymentById(merchantA, first.id), given.paidNext(first));
      assert.deepEqual(await store.paymentByCode(merchantA, "order-1"), given.paidNext(first));
    });

    test("members that are undefined come back undefined", async (context) => {
      const store = await opened(context);
      const bare = given.barePayment(1);

      await store.commit(
        given.paymentChange(bare, { facts: [given.fact({ attempt: undefined, by: "recovery" })] }),
      );

      assert.deepEqual(await store.paymentById(merchantA, bare.id), bare);
      const [row] = await store.history(merchantA, bare.id);
      assert.deepEqual(row?.facts, [given.fact({ attempt: undefined, by: "recovery" })]);
    });

    test("every kind of attempt, verdict and state reads as it was written", async (context) => {
      const store = await opened(context);
      const plain = given.newPayment(1);
      let payment: Payment = { ...plain, order: { ...plain.order, connector: "first_acquirer" } };
      await store.commit(given.paymentChange(payment));
      assert.deepEqual(await store.paymentById(merchantA, payment.id), payment);
      const declined = {
        ...given.approval,
        approved: false,
        authorizationCode: undefined,
        responseCode: "51",
        adviceCode: "02",
      };
      for (const over of [
        {
          authorization: 2,
          reroutedTo: "second_acquirer-2",
          attempt: given.newAttempt({ number: 2 }),
          attempts: 2,
        },
        { authorization: 3, attempt: given.newAttempt({ number: 3 }), attempts: 3 },
        {
          state: "reversing",
          attempt: given.newAttempt({ kind: "reverse", number: 3, checks: 7 }),
          attempts: 3,
        },
        {
          state: "voiding",
          attempt: given.newAttempt({ kind: "void", number: 3, amount: 0n }),
          verdict: given.approval,
        },
        {
          state: "capturing",
          attempt: given.newAttempt({ kind: "capture", number: 4, amount: 2n ** 60n + 1n }),
        },
        {
          state: "declined",
          attempt: undefined,
          verdict: { ...declined, reason: "insufficient_funds" },
        },
        {
          verdict: {
            ...declined,
            reason: "high_risk",
            refusedBeforeIssuer: true,
            acquirerReference: undefined,
          },
        },
        { verdict: { ...given.approval, networkTransactionId: undefined } },
        {
          state: "in_review",
          review: "waiting",
          captureBy: instant(start + 345_600_000),
          authorized: 10_050n,
        },
        {
          state: "voiding",
          review: "rejected",
          attempt: given.newAttempt({ kind: "reject", answerBy: instant(start + 1) }),
        },
        { state: "authorized", review: "accepted", attempt: undefined },
        {
          state: "voiding",
          attempt: given.newAttempt({ kind: "lapse", recheckAt: instant(start + 345_700_000) }),
        },
        {
          state: "captured",
          attempt: undefined,
          captured: 10_050n,
          chargeback: { ...given.dispute, state: "opened" },
        },
        { chargeback: { ...given.dispute, state: "credited", creditedAt: instant(start + 99) } },
        { needsReview: true },
      ] as const) {
        payment = { ...payment, ...over, version: payment.version + 1 };
        assert.deepEqual(await store.commit(given.paymentChange(payment)), committed);
        assert.deepEqual(await store.paymentById(merchantA, payment.id), payment);
      }
    });

    test("no merchant sees another's payment, history or card", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      await store.commit(given.paymentChange(payment));
      await store.commit(given.paidChange(payment));
      await store.commit(given.cardChange(given.newCard(1)));

      assert.equal(await store.paymentById(merchantB, payment.id), undefined);
      assert.equal(await store.paymentByCode(merchantB, "order-1"), undefined);
      assert.deepEqual(await store.history(merchantB, payment.id), []);
      assert.equal(await store.cardByToken(merchantB, given.tokenDigest(1)), undefined);
    });

    test("cards are listed a piece at a time, and one is forgotten unless it was used meanwhile", async (context) => {
      const store = await opened(context);
      for (let number = 1; number <= 5; number += 1)
        await store.commit(given.cardChange(given.newCard(number)));
      const first = await store.cardsAfter(0, 3);
      const rest = await store.cardsAfter(first.at(-1)?.position ?? 0, 3);
      assert.deepEqual(
        [...first, ...rest].map(({ tokenDigest }) => tokenDigest),
        [1, 2, 3, 4, 5].map((number) => given.tokenDigest(number)),
      );
      const [{ merchantId, lastUsedAt } = { merchantId: merchantA, lastUsedAt: instant(0) }] =
        first;
      const erase = (number: number, unusedSince: number, merchant = merchantId) =>
        store.commit({
          merchantId: merchant,
          at: instant(start),
          cardErasure: {
            tokenDigest: given.tokenDigest(number),
            unusedSince: instant(unusedSince),
          },
          facts: [],
          entries: [],
          notifications: [],
        });
      assert.deepEqual(await erase(1, lastUsedAt), committed, "used at that very moment: it stays");
      assert.ok((await store.cardByToken(merchantId, given.tokenDigest(1))) !== undefined);
      assert.deepEqual(await erase(1, lastUsedAt + 1, merchantB), committed);
      assert.ok(
        (await store.cardByToken(merchantId, given.tokenDigest(1))) !== undefined,
        "another merchant cannot",
      );
      assert.deepEqual(await erase(1, lastUsedAt + 1), committed);
      assert.equal(await store.cardByToken(merchantId, given.tokenDigest(1)), undefined);
      assert.deepEqual(await erase(1, lastUsedAt + 1), committed, "what is gone is no conflict");
      assert.deepEqual(
        (await store.cardsAfter(0, 10)).map(({ tokenDigest }) => tokenDigest),
        [2, 3, 4, 5].map((number) => given.tokenDigest(number)),
      );
    });

    test("a merchant's own cards are listed by their tokens' digests, with nothing of the card but its mask and brand", async (context) => {
      const store = await opened(context);
      for (const number of [2, 5, 1]) await store.commit(given.cardChange(given.newCard(number)));
      await store.commit(given.cardChange(given.newCard(3, { merchantId: merchantB })));
      await store.commit(given.cardUseChange(2, start + 5_000));
      const positions = new Map(
        (await store.cardsAfter(0, 9)).map(({ tokenDigest, position }) => [tokenDigest, position]),
      );
      const shown = (number: number, over: object = {}) => {
        const { tokenDigest, brand, maskedPan, createdAt, lastUsedAt } = given.newCard(number);
        return {
          position: positions.get(tokenDigest),
          tokenDigest,
          brand,
          maskedPan,
          createdAt,
          lastUsedAt,
          ...over,
        };
      };
      assert.deepEqual(await store.cardsListed(merchantA, undefined, 2), [
        shown(1),
        shown(2, { lastUsedAt: instant(start + 5_000) }),
      ]);
      assert.deepEqual(await store.cardsListed(merchantA, given.tokenDigest(2), 2), [shown(5)]);
      assert.deepEqual(await store.cardsListed(merchantA, given.tokenDigest(5), 2), []);
    });

    test("a named request is claimed once, answered once, and seen by its merchant alone", async (context) => {
      const store = await opened(context);
      const claim = {
        key: "order-1",
        digest: "ab".repeat(32),
        claimedAt: instant(start),
        answer: undefined,
      };
      const answered = { ...claim, answer: { status: 200, body: '{"status":"SUCCESS"}' } };
      const other = { ...answered, digest: "cd".repeat(32) };
      const write = (
        next: IdempotentRequest,
        replaces: "nothing" | "claim",
        merchantId = merchantA,
      ) =>
        store.commit({
          merchantId,
          at: instant(start),
          request: { next, replaces },
          facts: [],
          entries: [],
          notifications: [],
        });

      assert.deepEqual(await write(answered, "claim"), stale, "nothing is claimed yet");
      assert.deepEqual(await write(claim, "nothing"), committed);
      assert.deepEqual(await store.namedRequest(merchantA, "order-1"), claim);
      assert.deepEqual(await write(claim, "nothing"), { outcome: "duplicate", key: "request_key" });
      assert.deepEqual(await write(other, "claim"), stale, "another request cannot answer it");
      assert.deepEqual(await write(answered, "claim"), committed);
      assert.deepEqual(await write(answered, "claim"), stale, "an answer is given once");
      assert.deepEqual(await store.namedRequest(merchantA, "order-1"), answered);
      assert.equal(await store.namedRequest(merchantB, "order-1"), undefined);
      assert.equal(await store.namedRequest(merchantA, "order-2"), undefined);
      assert.deepEqual(await write(claim, "nothing", merchantB), committed);
    });

    test("answered keys are read by their age, and are deleted unless they have no answer, are too young or are another merchant's", async (context) => {
      const store = await opened(context);
      const bare = { at: start, facts: [], entries: [], notifications: [] };
      const claim = (key: string, claimedAt: number, merchantId = merchantA) => {
        const next = {
          key,
          digest: "ab".repeat(32),
          claimedAt: instant(claimedAt),
          answer: undefined,
        };
        return store.commit({ ...bare, merchantId, request: { next, replaces: "nothing" } });
      };
      const answer = (key: string, claimedAt: number, merchantId = merchantA) => {
        const next = {
          key,
          digest: "ab".repeat(32),
          claimedAt: instant(claimedAt),
          answer: { status: 200, body: "{}" },
        };
        return store.commit({ ...bare, merchantId, request: { next, replaces: "claim" } });
      };
      const remove = (keys: readonly string[], before: number, merchantId = merchantA) =>
        store.commit({
          ...bare,
          merchantId,
          requestDeletion: { keys, claimedBefore: instant(before) },
        });
      const isThere = async (key: string, merchantId = merchantA) =>
        (await store.namedRequest(merchantId, key)) !== undefined;
      for (const [key, at] of [
        ["third", start + 3],
        ["first", start + 1],
        ["open", start],
        ["second", start + 2],
      ] as const)
        await claim(key, at);
      await claim("first", start, merchantB);
      assert.deepEqual(
        await store.answeredRequests(instant(start + 100), 10),
        [],
        "none of them has an answer",
      );
      for (const [key, at] of [
        ["third", start + 3],
        ["first", start + 1],
        ["second", start + 2],
      ] as const)
        await answer(key, at);
      await answer("first", start, merchantB);

      const ofA = (...keys: readonly string[]) =>
        keys.map((key) => ({ merchantId: merchantA, key }));
      assert.deepEqual(await store.answeredRequests(instant(start + 100), 2), [
        { merchantId: merchantB, key: "first" },
        ...ofA("first"),
      ]);
      assert.deepEqual(await store.answeredRequests(instant(start + 3), 10), [
        { merchantId: merchantB, key: "first" },
        ...ofA("first", "second"),
      ]);
      assert.deepEqual(await store.answeredRequests(start, 10), []);

      assert.deepEqual(
        await remove(["first", "second", "open", "never used"], start + 2),
        committed,
        "what stays is no conflict",
      );
      assert.deepEqual(
        await Promise.all(["first", "second", "third", "open"].map((key) => isThere(key))),
        [false, true, true, true],
      );
      assert.ok(await isThere("first", merchantB), "another merchant's key of the same name");
      assert.deepEqual(
        await remove(["first"], start + 2),
        committed,
        "what is gone is no conflict",
      );
      assert.deepEqual(await answer("first", start + 1), stale, "it is no longer claimed");
      assert.deepEqual(await claim("first", start + 9), committed, "it is as if it was never used");
      assert.deepEqual(await store.answeredRequests(instant(start + 100), 10), [
        { merchantId: merchantB, key: "first" },
        ...ofA("second", "third"),
      ]);
    });

    test("two merchants may use the same payment code and the same token", async (context) => {
      const store = await opened(context);
      const other = given.newPayment(1, { merchantId: merchantB });
      const otherCard = given.newCard(1, { merchantId: merchantB, maskedPan: "400000xxxxxx0002" });
      await store.commit(given.paymentChange(given.newPayment(1)));
      await store.commit(given.cardChange(given.newCard(1)));

      assert.deepEqual(await store.commit(given.paymentChange(other)), committed);
      assert.deepEqual(await store.commit(given.cardChange(otherCard)), committed);
      assert.deepEqual(await store.paymentByCode(merchantB, "order-1"), other);
      assert.deepEqual(await store.cardByToken(merchantB, given.tokenDigest(1)), otherCard);
    });

    test("a payment code that is taken is answered with the payment that has it, and nothing is written", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);
      await store.commit(given.paymentChange(first));
      const second = given.newPayment(2, { order: first.order });

      const result = await store.commit(
        given.paymentChange(second, {
          entries: given.saleEntries,
          notifications: [{ kind: "update", paymentId: second.id }],
        }),
      );

      assert.deepEqual(result, { outcome: "duplicate", key: "payment_code", existing: first });
      assert.equal(await store.paymentById(merchantA, second.id), undefined);
      assert.deepEqual(await store.history(merchantA, second.id), []);
      assert.deepEqual(await store.notificationsOf(merchantA, 0, 10), []);
    });

    test("a payment id that is taken is a duplicate; with a taken code too, the code is named", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);
      await store.commit(given.paymentChange(first));
      const sameId = given.newPayment(1, { order: { ...first.order, code: "another" } });

      assert.deepEqual(await store.commit(given.paymentChange(sameId)), {
        outcome: "duplicate",
        key: "payment_id",
      });
      assert.deepEqual(await store.commit(given.paymentChange(first)), {
        outcome: "duplicate",
        key: "payment_code",
        existing: first,
      });
    });

    test("a version that is no longer the stored one is stale, and nothing is written", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);
      await store.commit(given.paymentChange(first));
      await store.commit(given.paidChange(first));

      assert.deepEqual(await store.commit(given.paidChange(first)), stale);
      assert.deepEqual(await store.commit(given.paidChange({ ...first, version: 7 })), stale);
      assert.deepEqual(
        await store.commit(given.paidChange(given.newPayment(2))),
        stale,
        "there is no such payment",
      );
      assert.deepEqual(
        await store.commit(given.paidChange({ ...first, merchantId: merchantB })),
        stale,
        "it is not this merchant's",
      );
      assert.equal((await store.history(merchantA, first.id)).length, 2);
      assert.equal((await store.notificationsOf(merchantA, 0, 10)).length, 1);
    });

    test("a payment keeps the order and the time of creation of its first version", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);
      await store.commit(given.paymentChange(first));
      const changed = {
        ...given.paidNext(first),
        createdAt: instant(start + 1),
        order: { ...first.order, note: "other", code: "other" },
      };

      await store.commit(given.paymentChange(changed));

      assert.deepEqual(await store.paymentById(merchantA, first.id), given.paidNext(first));
      assert.equal(await store.paymentByCode(merchantA, "other"), undefined);
    });

    test("the order of a page is replaced by each version, and is searched and counted as it is now", async (context) => {
      const store = await opened(context);
      const first = given.pagePayment(1);
      const { page } = first.order;
      assert.ok(page !== undefined);
      await store.commit(given.paymentChange(given.newPayment(2)));
      await store.commit(given.paymentChange(first));
      assert.deepEqual(await store.paymentById(merchantA, first.id), first);
      const listed = async (text: string) =>
        codesOf(await store.paymentsListed(merchantA, { text }, { limit: 9, maxExamined: 9 }))[0];
      const brands = async () =>
        (await store.paymentFigures(merchantA, undefined, 9)).map(({ brand }) => brand);
      const due = async (ms: number) =>
        (await store.paymentsDue(instant(start + ms), 9)).map(({ order }) => order.code);
      assert.deepEqual(await listed("bruna"), []);
      assert.deepEqual(await brands(), ["visa", undefined]);
      assert.deepEqual(
        [await due(59_999), await due(60_000)],
        [["order-2"], ["order-2", "order-1"]],
      );

      const customer = { ...first.order.customer, name: "Bruna O'Neil" };
      const card = { brand: "elo", maskedPan: "636297xxxxxx7013", tokenDigest: undefined } as const;
      const tried: Payment = {
        ...first,
        version: 2,
        state: "authorizing",
        attempt: given.newAttempt({ recheckAt: instant(start + 90_000) }),
        attempts: 1,
        order: {
          ...first.order,
          code: "other",
          card,
          customer,
          connector: "first_acquirer",
          page: { ...page, tries: 1, redirectUrl: "https://shop.example/back" },
        },
      };
      const stored = { ...tried, order: { ...tried.order, code: "order-1" } };
      await store.commit(given.paymentChange(tried));
      assert.deepEqual(await store.paymentById(merchantA, first.id), stored);
      assert.deepEqual(await store.paymentByCode(merchantA, "order-1"), stored);
      assert.deepEqual(await listed("bruna"), ["order-1"]);
      assert.deepEqual(await listed("636297xxxxxx7013"), ["order-1"]);
      assert.deepEqual(await brands(), ["visa", "elo"]);
      assert.deepEqual(await due(60_000), ["order-2"]);

      const declined = {
        ...page,
        tries: 1,
        declined: "high_risk",
        refusedCards: ["636297xxxxxx7013", "411111xxxxxx1111"],
      } as const;
      const challenged: Payment = {
        ...stored,
        version: 3,
        state: "authenticating",
        attempt: undefined,
        order: {
          ...stored.order,
          page: {
            ...page,
            tries: 1,
            refusedCards: ["411111xxxxxx1111"],
            authentication: {
              id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
              startedAt: instant(start + 100),
              checks: 2,
              recheckAt: instant(start + 20_000),
              endsAt: instant(start + 720_100),
              sealedCard: Buffer.from("sealed").toString("base64"),
            },
          },
        },
      };
      await store.commit(given.paymentChange(challenged));
      assert.deepEqual(await store.paymentById(merchantA, first.id), challenged);
      assert.deepEqual([await due(19_999), await due(20_000)], [[], ["order-1"]]);

      const open: Payment = {
        ...stored,
        version: 4,
        state: "opened",
        attempt: undefined,
        order: { ...stored.order, page: declined },
      };
      await store.commit(given.paymentChange(open));
      assert.deepEqual(await store.paymentById(merchantA, first.id), open);
      assert.deepEqual(await due(60_000), ["order-2", "order-1"]);
      assert.equal(
        (await store.commit(given.paymentChange({ ...tried, version: 4 }))).outcome,
        "stale",
      );
      assert.deepEqual(await store.paymentById(merchantA, first.id), open);
    });

    test("each change appends one history row, oldest first, with its facts and entries as they were written", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      const facts = [
        given.fact({ attempt: undefined }),
        given.fact({
          fact: "authorization_approved",
          by: "recovery",
          attempt: 12,
          detail: { code: "05", late: true, count: 3, 'k"': "ü" },
        }),
        given.fact({ fact: "capture_declined", detail: { empty: "" } }),
      ];
      await store.commit(given.paymentChange(payment, { facts: [] }));
      await store.commit(given.paidChange(payment));
      await store.commit(
        given.paymentChange(given.paidNext(given.paidNext(payment)), {
          at: instant(start + 7),
          facts,
        }),
      );

      assert.deepEqual(await store.history(merchantA, payment.id), [
        { version: 1, at: start, facts: [], entries: [] },
        {
          version: 2,
          at: given.paidChange(payment).at,
          facts: given.paidChange(payment).facts,
          entries: given.saleEntries,
        },
        { version: 3, at: start + 7, facts, entries: [] },
      ]);
    });

    test("amounts are exact up to the largest that fits 64 bits, and refused beyond", async (context) => {
      const store = await opened(context);
      const largest = 2n ** 63n - 1n;
      const entry = (minor: bigint): JournalEntry => ({
        kind: "hold",
        postings: [
          { account: "authorized_holds", currency: "CLP", minor },
          { account: "cardholder_commitments", currency: "CLP", minor: -minor },
        ],
      });
      const rich = given.newPayment(1, { authorized: largest, captured: largest - 1n });
      const amount = { minor: largest, currency: "CLP" };

      const change = given.paymentChange(
        { ...rich, order: { ...rich.order, amount } },
        { entries: [entry(largest)] },
      );
      assert.deepEqual(await store.commit(change), committed);
      assert.deepEqual(await store.paymentById(merchantA, rich.id), {
        ...rich,
        order: { ...rich.order, amount },
      });
      assert.deepEqual((await store.history(merchantA, rich.id))[0]?.entries, [entry(largest)]);

      await assert.rejects(
        store.commit(given.paymentChange(given.newPayment(2, { authorized: largest + 1n }))),
        BrokenInvariant,
      );
      await assert.rejects(
        store.commit(given.paymentChange(given.newPayment(2), { entries: [entry(largest + 1n)] })),
        BrokenInvariant,
      );
    });

    test("every fact, source, kind of entry and account, and kind of notification reads as it was written", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      const facts = [...paymentFacts, ...paymentNotes, ...refundFacts, ...chargebackFacts].map(
        (fact, index) =>
          given.fact({
            fact,
            by: factSources[index % factSources.length] ?? "merchant",
            attempt: index % 3 === 0 ? undefined : 2 ** 31 - index,
          }),
      );
      const entries = entryKinds.map((kind): JournalEntry => ({
        kind,
        postings: ledgerAccounts.flatMap((account, index) => [
          { account, currency: "COP", minor: BigInt(index + 1) },
          { account, currency: "COP", minor: BigInt(-index - 1) },
        ]),
      }));
      const notifications = notificationKinds.map((kind) => ({ kind, paymentId: payment.id }));

      await store.commit(given.paymentChange(payment, { facts, entries, notifications }));

      assert.deepEqual(await store.history(merchantA, payment.id), [
        { version: 1, at: start, facts, entries },
      ]);
      assert.deepEqual(
        (await store.notificationsOf(merchantA, 0, 10)).map(({ kind }) => kind),
        notificationKinds,
      );
    });

    test("refunds read as they were written, and their payment is found by the id and by the code of each", async (context) => {
      const store = await opened(context);
      const paid = await storedPaid(store, 1);
      const at = (ms: number) => instant(start + ms);
      const sent = {
        state: "sending",
        pendingAt: at(1),
        attempts: 2,
        sentAt: at(3),
        answerBy: at(4),
        checks: 5,
      } as const;
      const versions = [
        [given.newRefund(1)],
        [
          given.newRefund(1, { state: "pending", pendingAt: at(1) }),
          given.newRefund(2 ** 31 - 1, { code: undefined, description: "" }),
        ],
        [
          given.newRefund(1, sent),
          given.newRefund(2 ** 31 - 1, {
            code: undefined,
            description: "",
            state: "cancelled",
            dueAt: undefined,
          }),
        ],
        [
          given.newRefund(1, { ...sent, state: "confirmed", confirmedAt: at(9), dueAt: undefined }),
          given.newRefund(2 ** 31 - 1, {
            code: undefined,
            state: "cancelled",
            cancelledAt: at(7),
            dueAt: undefined,
          }),
          given.newRefund(7, { amount: 9_950n, code: 'ü\' "code"' }),
        ],
      ];

      let payment = paid;
      for (const refunds of versions) {
        payment = given.refundedNext(payment, refunds);
        assert.deepEqual(await store.commit(given.paymentChange(payment)), committed);
        assert.deepEqual(await store.paymentById(merchantA, payment.id), payment);
      }

      for (const selector of [
        { id: 1 },
        { id: 2 ** 31 - 1 },
        { id: 7 },
        { code: "refund-1" },
        { code: 'ü\' "code"' },
      ]) {
        assert.deepEqual(await store.paymentByRefund(merchantA, selector), payment);
        assert.equal(
          await store.paymentByRefund(merchantB, selector),
          undefined,
          "another merchant's",
        );
      }
      assert.equal(await store.paymentByRefund(merchantA, { id: 8 }), undefined);
      assert.equal(await store.paymentByRefund(merchantA, { code: "refund-7" }), undefined);
    });

    test("a refund id that another payment has, of any merchant, undoes the whole change", async (context) => {
      const store = await opened(context);
      const first = await storedPaid(store, 1);
      await store.commit(given.paymentChange(given.refundedNext(first, [given.newRefund(5)])));
      for (const owner of [merchantA, merchantB]) {
        const second = await storedPaid(store, 2, owner);
        const before = await store.notificationsOf(merchantA, 0, 100);
        const change = given.paymentChange(
          given.refundedNext(second, [given.newRefund(6), given.newRefund(5, { code: "own" })]),
          {
            notifications: [{ kind: "refund", paymentId: second.id }],
            card: { next: given.newCard(9, { merchantId: owner }), replaces: undefined },
          },
        );

        assert.deepEqual(await store.commit(change), { outcome: "duplicate", key: "refund_id" });

        assert.deepEqual(await store.paymentById(owner, second.id), second);
        assert.equal((await store.history(owner, second.id)).length, 2);
        assert.deepEqual(await store.notificationsOf(merchantA, 0, 100), before);
        assert.equal(await store.cardByToken(owner, given.tokenDigest(9)), undefined);
        assert.equal(
          await store.paymentByRefund(owner, { id: 6 }),
          undefined,
          "the refund before it is not written either",
        );
        assert.equal(await store.paymentByRefund(owner, { code: "refund-6" }), undefined);
      }
      assert.equal((await store.paymentByRefund(merchantA, { id: 5 }))?.id, first.id);
    });

    test("a refund code stays taken, for its merchant only", async (context) => {
      const store = await opened(context);
      const taken = { outcome: "duplicate", key: "refund_code" };
      const [first, second, foreign] = [
        await storedPaid(store, 1),
        await storedPaid(store, 2),
        await storedPaid(store, 1, merchantB),
      ];
      const cancelled = given.newRefund(1, { code: "c", state: "cancelled" });
      await store.commit(given.paymentChange(given.refundedNext(first, [cancelled])));
      const again = given.newRefund(2, { code: "c" });

      assert.deepEqual(
        await store.commit(given.paymentChange(given.refundedNext(second, [again]))),
        taken,
      );
      const own = given.refundedNext({ ...first, version: 3 }, [cancelled, again]);
      assert.deepEqual(
        await store.commit(given.paymentChange(own)),
        taken,
        "nor may its own payment use it again",
      );
      const twins = [given.newRefund(3, { code: "d" }), given.newRefund(4, { code: "d" })];
      assert.deepEqual(
        await store.commit(given.paymentChange(given.refundedNext(second, twins))),
        taken,
      );
      assert.deepEqual(await store.paymentById(merchantA, second.id), second);
      assert.equal(await store.paymentByRefund(merchantA, { code: "d" }), undefined);
      assert.deepEqual(
        await store.commit(given.paymentChange(given.refundedNext(foreign, [again]))),
        committed,
      );
      assert.equal((await store.paymentByRefund(merchantB, { code: "c" }))?.merchantId, merchantB);
      assert.equal((await store.paymentByRefund(merchantA, { code: "c" }))?.id, first.id);
      const nameless = [5, 6].map((id) => given.newRefund(id, { code: undefined }));
      assert.deepEqual(
        await store.commit(given.paymentChange(given.refundedNext(second, nameless))),
        committed,
      );
    });

    test("of several conflicts the payment's version is named first, then a refund's id, its code, then the card", async (context) => {
      const store = await opened(context);
      const [first, second] = [await storedPaid(store, 1), await storedPaid(store, 2)];
      await store.commit(given.paymentChange(given.refundedNext(first, [given.newRefund(1)])));
      await store.commit(given.cardChange(given.newCard(1)));
      const card = { next: given.newCard(1), replaces: undefined };
      const answer = (refund: number, code: string, version = second.version) =>
        store.commit(
          given.paymentChange(
            given.refundedNext({ ...second, version }, [given.newRefund(refund, { code })]),
            { card },
          ),
        );

      assert.deepEqual(await answer(1, "refund-1", 1), stale);
      assert.deepEqual(await answer(1, "refund-1"), { outcome: "duplicate", key: "refund_id" });
      assert.deepEqual(await answer(2, "refund-1"), { outcome: "duplicate", key: "refund_code" });
      assert.deepEqual(await answer(2, "refund-2"), { outcome: "duplicate", key: "token" });
      assert.equal(await store.paymentByRefund(merchantA, { id: 2 }), undefined);
    });

    test("of 64 concurrent refunds of one payment one wins each version, and of 64 with one code one is written", async (context) => {
      const store = await opened(context);
      const paid = await storedPaid(store, 1);
      const refunds = Array.from({ length: 64 }, (_, index) =>
        given.newRefund(index + 1, { amount: paid.captured }),
      );
      const results = await Promise.all(
        refunds.map((refund) =>
          store.commit(given.paymentChange(given.refundedNext(paid, [refund]))),
        ),
      );
      assert.equal(results.filter(({ outcome }) => outcome === "committed").length, 1);
      assert.equal((await store.paymentById(merchantA, paid.id))?.refunded, paid.captured);
      const named = (
        await Promise.all(refunds.map(({ id }) => store.paymentByRefund(merchantA, { id })))
      ).filter((found) => found !== undefined);
      assert.equal(named.length, 1, "those that lost have left no name behind");

      const others = await Promise.all(
        Array.from({ length: 64 }, (_, index) => storedPaid(store, index + 2)),
      );
      const shared = await Promise.all(
        others.map((other, index) =>
          store.commit(
            given.paymentChange(
              given.refundedNext(other, [given.newRefund(100 + index, { code: "one" })]),
            ),
          ),
        ),
      );
      assert.equal(shared.filter(({ outcome }) => outcome === "committed").length, 1);
      assert.equal(
        shared.filter((result) => result.outcome === "duplicate" && result.key === "refund_code")
          .length,
        63,
      );
    });

    test("a mandate is found by the network transaction id of its initial payment, the newest of this merchant", async (context) => {
      const store = await opened(context);
      const initial = {
        use: "initial",
        initiator: "CIT",
        reason: "SCHEDULED_RECURRING",
        mandateId: undefined,
      } as const;
      const pay = async (
        number: number,
        credential: StoredCredential | undefined,
        networkTransactionId: string | undefined,
        over = {},
      ) => {
        const first = given.newPayment(number, over);
        const requested = { ...first, order: { ...first.order, storedCredential: credential } };
        await store.commit(given.paymentChange(requested));
        const next = given.paidNext(requested, {
          verdict: { ...given.approval, networkTransactionId },
        });
        await store.commit(given.paymentChange(next));
        return next;
      };
      await pay(1, initial, "A");
      const newest = await pay(2, initial, "A");
      await pay(3, { ...initial, use: "stored", mandateId: "A" }, "A");
      await pay(4, undefined, "A");
      const other = await pay(5, initial, "B");
      await pay(6, initial, undefined);
      await pay(1, initial, "A", { merchantId: merchantB });
      await pay(2, initial, "C", { merchantId: merchantB });
      const unanswered = given.newPayment(7);
      await store.commit(
        given.paymentChange({
          ...unanswered,
          order: { ...unanswered.order, storedCredential: initial },
        }),
      );

      assert.deepEqual(await store.paymentByMandate(merchantA, "A"), newest);
      assert.deepEqual(await store.paymentByMandate(merchantA, "B"), other);
      assert.equal(await store.paymentByMandate(merchantA, "C"), undefined);
      const refunded = given.refundedNext(newest, [given.newRefund(1)]);
      await store.commit(given.paymentChange(refunded));
      assert.deepEqual(
        await store.paymentByMandate(merchantA, "A"),
        refunded,
        "in its newest version",
      );
    });

    test("payments due are those with which the clock has business: attempts, lapses and refunds, whichever comes first", async (context) => {
      const store = await opened(context);
      const due = async (number: number, over: Partial<Payment>): Promise<void> => {
        const amounts = { authorized: 10_050n, captured: 10_050n };
        const base = given.refundedNext(
          { ...given.newPayment(number, { attempt: undefined, ...amounts }), version: 0 },
          over.refunds ?? [],
        );
        assert.deepEqual(await store.commit(given.paymentChange({ ...base, ...over })), committed);
      };
      const at = (ms: number) => instant(start + ms);
      const refund = (id: number, ms: number | undefined) =>
        given.newRefund(id, { dueAt: ms === undefined ? undefined : at(ms) });
      await due(1, {
        state: "captured",
        refunds: [refund(1, 50), refund(2, 20), refund(3, undefined)],
      });
      await due(2, { state: "authorized", captured: 0n, captureBy: at(30) });
      await due(3, { state: "in_review", captured: 0n, captureBy: at(10) });
      await due(4, {
        state: "capturing",
        captured: 0n,
        captureBy: at(1),
        attempt: given.newAttempt({ recheckAt: at(40) }),
      });
      await due(5, { state: "captured", captureBy: at(1), refunds: [refund(4, undefined)] });
      await due(6, { state: "authorized", captured: 0n, captureBy: at(1), needsReview: true });
      await due(7, { state: "captured", refunds: [refund(5, 1)], needsReview: true });
      await due(8, { state: "authorized", captured: 0n, captureBy: at(41) });
      const found = async (ms: number): Promise<string[]> =>
        (await store.paymentsDue(at(ms), 10)).map(({ order }) => order.code);

      assert.deepEqual(await found(40), ["order-3", "order-1", "order-2", "order-4"]);
      assert.deepEqual(await found(9), []);
      const [payment] = await store.paymentsDue(at(20), 2).then((payments) => payments.slice(1));
      assert.ok(payment !== undefined);
      const done = payment.refunds.map((each) => ({ ...each, dueAt: undefined }));
      await store.commit(given.paymentChange(given.refundedNext(payment, done)));
      assert.deepEqual(
        await found(40),
        ["order-3", "order-2", "order-4"],
        "a payment that is done with is not due any more",
      );
    });

    test("payments due continue behind the given one: each comes once, also of those due at one moment", async (context) => {
      const store = await opened(context);
      const dueAfter: readonly number[] = [20, 10, 20, 20, 5, 20, 20, 30, 20];
      for (const [index, ms] of dueAfter.entries()) {
        const attempt = given.newAttempt({ recheckAt: instant(start + ms) });
        const merchantId = index % 3 === 0 ? merchantB : merchantA;
        await store.commit(
          given.paymentChange(given.newPayment(index + 1, { attempt, merchantId })),
        );
      }
      const now = instant(start + 30);
      const all = await store.paymentsDue(now, 10);
      assert.deepEqual(
        all.map(({ order }) => order.code),
        [5, 2, 1, 3, 4, 6, 7, 9, 8].map((number) => `order-${number}`),
      );
      for (const limit of [1, 2, 3, 4]) {
        const seen: Payment[] = [];
        for (let page = await store.paymentsDue(now, limit); page.length > 0;) {
          seen.push(...page);
          page = await store.paymentsDue(now, limit, undefined, page.at(-1));
        }
        assert.deepEqual(seen, all, `${limit} at a time`);
      }
      // The page after the given payment is the same if that payment was completed in the meantime.
      const [, , third] = all;
      assert.ok(third !== undefined);
      await store.commit(given.paidChange(third));
      assert.deepEqual(await store.paymentsDue(now, 10, undefined, third), all.slice(3));
    });

    test("payments in flight are those with an attempt, due or not, of all merchants, without those that need review", async (context) => {
      const store = await opened(context);
      const later = given.newAttempt({ recheckAt: instant(start + 10 ** 9) });
      await store.commit(given.paymentChange(given.newPayment(1, { attempt: later })));
      await store.commit(given.paymentChange(given.newPayment(2, { merchantId: merchantB })));
      await store.commit(given.paymentChange(given.newPayment(3, { needsReview: true })));
      await store.commit(
        given.paymentChange(
          given.newPayment(4, { state: "authorized", attempt: undefined, captureBy: start }),
        ),
      );
      await store.commit(given.paymentChange(given.barePayment(5)));
      await store.commit(given.paymentChange(given.newPayment(6)));
      await store.commit(given.paidChange(given.newPayment(6)));

      const found = (await store.paymentsInFlight(10)).toSorted((left, right) =>
        left.order.code < right.order.code ? -1 : 1,
      );
      assert.deepEqual(found, [
        given.newPayment(1, { attempt: later }),
        given.newPayment(2, { merchantId: merchantB }),
      ]);
      assert.equal((await store.paymentsInFlight(1)).length, 1);
    });

    test("payments are listed newest first, page after page, of one merchant only", async (context) => {
      const store = await opened(context);
      for (const number of [3, 1, 5, 2, 4])
        await store.commit(given.paymentChange(given.newPayment(number)));
      await store.commit(given.paymentChange(given.newPayment(6, { merchantId: merchantB })));
      await store.commit(given.paidChange(given.newPayment(4)));
      const list = (page: ListPage) => store.paymentsListed(merchantA, {}, page);

      const first = await list({ limit: 2, maxExamined: 10 });
      assert.deepEqual(first, {
        payments: [given.newPayment(5), given.paidNext(given.newPayment(4))],
        next: given.paymentId(4),
      });
      assert.deepEqual(
        codesOf(await list({ limit: 2, maxExamined: 10, before: given.paymentId(4) })),
        [["order-3", "order-2"], given.paymentId(2)],
      );
      assert.deepEqual(
        codesOf(await list({ limit: 2, maxExamined: 10, before: given.paymentId(2) })),
        [["order-1"], undefined],
      );
      assert.deepEqual(
        codesOf(await list({ limit: 5, maxExamined: 5 })).at(1),
        undefined,
        "a page that ends with the last one says so",
      );
      assert.deepEqual(
        codesOf(await list({ limit: 10, maxExamined: 10, before: given.paymentId(1) })),
        [[], undefined],
      );

      await store.commit(given.paidChange(given.newPayment(5)));
      await store.commit(given.paymentChange(given.newPayment(7)));
      const { payments } = await list({ limit: 2, maxExamined: 10 });
      assert.deepEqual(
        payments,
        [given.newPayment(7), given.paidNext(given.newPayment(5))],
        "what has come and changed since the last list",
      );
    });

    test("what is counted of payments comes newest first, of one merchant only, and says what became of them", async (context) => {
      const store = await opened(context);
      for (const number of [3, 1, 2])
        await store.commit(given.paymentChange(given.newPayment(number)));
      await store.commit(given.paymentChange(given.newPayment(6, { merchantId: merchantB })));
      await store.commit(given.paidChange(given.newPayment(2)));
      const plain = given.newPayment(1);
      const verdict = {
        ...given.approval,
        approved: false,
        authorizationCode: undefined,
        responseCode: "54",
        reason: "expired_card",
      } as const;
      const declined: Payment = {
        ...plain,
        version: 2,
        state: "declined",
        attempt: undefined,
        verdict,
      };
      await store.commit(given.paymentChange(declined));
      const untouched = {
        createdAt: start,
        state: "authorizing",
        brand: "visa",
        country: "br",
        currency: "USD",
        reason: undefined,
        authorized: 0n,
        captured: 0n,
        refunded: 0n,
        disputed: false,
      };
      assert.deepEqual(await store.paymentFigures(merchantA, undefined, 2), [
        { ...untouched, id: given.paymentId(3) },
        {
          ...untouched,
          id: given.paymentId(2),
          state: "captured",
          authorized: 10_050n,
          captured: 10_050n,
        },
      ]);
      assert.deepEqual(await store.paymentFigures(merchantA, given.paymentId(2), 2), [
        { ...untouched, id: given.paymentId(1), state: "declined", reason: "expired_card" },
      ]);
      assert.deepEqual(await store.paymentFigures(merchantA, given.paymentId(1), 2), []);
    });

    test("payments are counted by state and outcome, the newest only, of one merchant", async (context) => {
      const store = await opened(context);
      const counted = (before: PaymentId | undefined, limit: number) =>
        store.paymentsCounted(merchantA, before, limit);
      assert.deepEqual(await counted(undefined, 10), []);
      const captured = { state: "captured", authorized: 900n, captured: 900n } as const;
      const chargeback: Chargeback = {
        state: "credited",
        amount: 900n,
        description: "",
        openedAt: start,
        creditedAt: start,
      };
      const all: readonly Partial<Payment>[] = [
        captured,
        { ...captured, refunded: 900n, refunds: [given.newRefund(1, { amount: 900n })] },
        { ...captured, refunded: 100n, refunds: [given.newRefund(2, { amount: 100n })] },
        { ...captured, chargeback },
        captured,
        { state: "voided" },
      ];
      for (const [index, changes] of all.entries())
        await store.commit(given.paymentChange(given.newPayment(index + 1, changes)));
      await store.commit(given.paymentChange(given.newPayment(9, { merchantId: merchantB })));
      const group = { state: "captured", refund: undefined, disputed: false, payments: 1 };
      const oldest = given.paymentId;
      assert.deepEqual(await counted(undefined, 10), [
        { ...group, state: "voided", oldest: oldest(6) },
        { ...group, disputed: true, oldest: oldest(4) },
        { ...group, refund: "partly_refunded", oldest: oldest(3) },
        { ...group, refund: "refunded", oldest: oldest(2) },
        { ...group, payments: 2, oldest: oldest(1) },
      ]);
      assert.deepEqual(await counted(oldest(6), 2), [
        { ...group, oldest: oldest(5) },
        { ...group, disputed: true, oldest: oldest(4) },
      ]);
      assert.deepEqual(await counted(oldest(1), 2), []);
    });

    test("a list reads at most as many payments as allowed, and says where to continue", async (context) => {
      const store = await opened(context);
      for (const number of [1, 2, 3, 4])
        await store.commit(given.paymentChange(given.newPayment(number)));
      await store.commit(given.paidChange(given.newPayment(1)));
      const list = (page: ListPage) =>
        store.paymentsListed(merchantA, { states: ["captured"] }, page);

      assert.deepEqual(codesOf(await list({ limit: 1, maxExamined: 3 })), [[], given.paymentId(2)]);
      assert.deepEqual(
        codesOf(await list({ limit: 1, maxExamined: 3, before: given.paymentId(2) })),
        [["order-1"], undefined],
      );
      assert.deepEqual(codesOf(await list({ limit: 1, maxExamined: 4 })), [["order-1"], undefined]);
    });

    test("payments that are due at one moment are read page after page, whatever is to be done with them", async (context) => {
      const store = await opened(context);
      const [early, together, late] = [
        instant(start + 1_000),
        instant(start + 2_000),
        instant(start + 3_000),
      ];
      const dueAt = (number: number): Instant =>
        number === 1 ? early : number <= 41 ? together : late;
      const numbers = Array.from({ length: 61 }, (_, index) => index + 1);
      for (const number of numbers) {
        const merchantId = number % 3 === 0 ? merchantB : merchantA;
        const attempt = given.newAttempt({ recheckAt: dueAt(number) });
        const inFlight = given.newPayment(number, { merchantId, attempt });
        const authorized = given.newPayment(number, {
          merchantId,
          state: "authorized",
          attempt: undefined,
          captureBy: dueAt(number),
        });
        await store.commit(given.paymentChange(number % 2 === 0 ? inFlight : authorized));
      }
      const all = await store.paymentsDue(late, 100);
      assert.deepEqual(
        all.map(({ order }) => order.code),
        numbers.map((number) => `order-${number}`),
      );
      for (const size of [1, 2, 7, 40, 41]) {
        const read: Payment[] = [];
        for (
          let page = await store.paymentsDue(late, size);
          page.length > 0;
          page = await store.paymentsDue(late, size, everySlot, read.at(-1))
        )
          read.push(...page);
        assert.deepEqual(read, all, `pages of ${size}`);
      }
      assert.equal((await store.paymentsDue(together, 100)).length, 41);
      assert.equal((await store.paymentsDue(together, 100, everySlot, all[40])).length, 0);
      assert.equal((await store.paymentsDue(instant(start), 100)).length, 0);
    });

    test("a list of hundreds, which is read in pieces, leaves out none and has none twice", async (context) => {
      const store = await opened(context);
      const count = 410;
      const numbers = Array.from({ length: count }, (_, index) => count - index);
      const isPaid = (number: number): boolean => number % 100 === 0;
      await Promise.all(
        numbers.map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
      );
      await Promise.all(
        numbers
          .filter(isPaid)
          .map((number) => store.commit(given.paidChange(given.newPayment(number)))),
      );
      for (const [limit, maxExamined] of [
        [25, 25],
        [26, 26],
        [200, 200],
        [201, 201],
        [400, 400],
        [409, 500],
        [410, 500],
        [500, 500],
        [500, 410],
      ] as const) {
        const upTo = Math.min(limit, maxExamined, count);
        const expected = numbers.slice(0, upTo).map((number) => `order-${number}`);
        const next = upTo < count ? given.paymentId(count - upTo + 1) : undefined;
        assert.deepEqual(
          codesOf(await store.paymentsListed(merchantA, {}, { limit, maxExamined })),
          [expected, next],
          `${limit} of ${maxExamined}`,
        );
      }
      const captured = (page: ListPage) =>
        store.paymentsListed(merchantA, { states: ["captured"] }, page);
      assert.deepEqual(codesOf(await captured({ limit: 2, maxExamined: 500 })), [
        ["order-400", "order-300"],
        given.paymentId(300),
      ]);
      assert.deepEqual(
        codesOf(await captured({ limit: 2, maxExamined: 500, before: given.paymentId(300) })),
        [["order-200", "order-100"], given.paymentId(100)],
      );
      assert.deepEqual(
        codesOf(await captured({ limit: 2, maxExamined: 250, before: given.paymentId(100) })),
        [[], undefined],
      );
      assert.deepEqual(codesOf(await captured({ limit: 9, maxExamined: 225 })), [
        ["order-400", "order-300", "order-200"],
        given.paymentId(186),
      ]);
    });

    test("payments are found by state, by brand, and by what a person knows of them", async (context) => {
      const store = await opened(context);
      const { order } = given.newPayment(1);
      const customer = { ...order.customer, name: "ANA LIMA", email: "Ana.Lima@example.com" };
      const other = {
        ...order,
        code: "xmas 100%_",
        customer,
        card: { ...given.cardIn(order), brand: "mastercard", maskedPan: "555555xxxxxx4444" },
      } as const;
      await store.commit(given.paymentChange(given.newPayment(1)));
      await store.commit(given.paymentChange(given.newPayment(0xabc, { order: other })));
      await store.commit(given.paymentChange(given.newPayment(0xabd, { merchantId: merchantB })));
      const found = async (filter: PaymentFilter) =>
        codesOf(await store.paymentsListed(merchantA, filter, { limit: 9, maxExamined: 9 }))[0];

      assert.deepEqual(await found({}), ["xmas 100%_", "order-1"]);
      for (const text of [
        "XMAS",
        "100%_",
        "ana lima",
        "lima@EXAMPLE",
        "4444",
        "555555xxxxxx4444",
        "Mastercard",
        given.paymentId(0xabc),
        "abc",
      ]) {
        assert.deepEqual(await found({ text }), ["xmas 100%_"], text);
      }
      // Every word must match; currency, country, amount and state are those of the payment.
      for (const text of [
        "ana 4444",
        "mastercard 5555 LIMA",
        "ana authorizing",
        `4444 ${order.country}`,
      ]) {
        assert.deepEqual(await found({ text }), ["xmas 100%_"], text);
      }
      const { amount } = order;
      for (const text of [
        amount.currency,
        formatMoney(amount),
        formatMoney(amount).replace(".", ","),
        order.country,
        "authorizing",
      ]) {
        assert.deepEqual(await found({ text }), ["xmas 100%_", "order-1"], text);
      }
      for (const text of [
        `amount:${formatMoney(amount)}`,
        "amount:>0 amount:0,01..99999999",
        `currency:${amount.currency.toLowerCase()}`,
        `COUNTRY:${order.country}`,
        "status:authorizing",
        "after:1969-12-31 before:2106-02-08",
        "before:9999-12-31",
      ])
        assert.deepEqual(await found({ text }), ["xmas 100%_", "order-1"], text);
      assert.deepEqual(await found({ text: "brand:mastercard ana" }), ["xmas 100%_"]);
      for (const text of [
        "amount:>99999999",
        "amount:<0",
        "amount:many",
        "amount:>0.001",
        "amount:>1.000",
        "before:1969-12-31",
        "after:2106-02-08",
        "after:9999-12-31",
        "status:refunded",
        "status:nonsense",
        "country:zz",
        "brand:master",
        "reason:expired_card",
        "after:soon",
      ])
        assert.deepEqual(await found({ text }), [], text);
      assert.deepEqual(
        await found({ text: `ana ${amount.currency === "PEN" ? "BRL" : "PEN"}` }),
        [],
        "a currency is not a part of a name",
      );
      for (const text of ["jose", "JOSÉ DA", "Jose\u0301", "jose@example.com"])
        assert.deepEqual(await found({ text }), ["order-1"], text);
      // Neither patterns nor fields that the search does not cover.
      for (const text of ["1_0", "order%", "8522847035", "Rua E", "85351346893", "ana order"])
        assert.deepEqual(await found({ text }), [], text);
      assert.deepEqual(await found({ brand: "visa" }), ["order-1"]);
      assert.deepEqual(await found({ brand: "visa", text: "ana" }), []);
      assert.deepEqual(await found({ states: ["authorizing"], text: "ana" }), ["xmas 100%_"]);
      assert.deepEqual(await found({ states: ["captured", "voided"] }), []);
    });

    test("attempts that are due are found, of all merchants, longest due first, without those that need review", async (context) => {
      const store = await opened(context);
      const due = (number: number, afterMs: number, over = {}): Change =>
        given.paymentChange(
          given.newPayment(number, {
            attempt: given.newAttempt({ recheckAt: instant(start + afterMs) }),
            ...over,
          }),
        );
      await store.commit(due(1, 300));
      await store.commit(due(2, 100));
      await store.commit(due(3, 200, { merchantId: merchantB }));
      await store.commit(due(4, 50, { needsReview: true }));
      await store.commit(due(5, 301));
      await store.commit(due(6, 100));
      await store.commit(given.paymentChange(given.barePayment(7)));
      await store.commit(due(8, 10));
      await store.commit(given.paidChange(given.newPayment(8)));
      const found = async (afterMs: number, limit: number): Promise<string[]> =>
        (await store.paymentsDue(instant(start + afterMs), limit)).map(({ order }) => order.code);

      assert.deepEqual(await found(300, 10), ["order-2", "order-6", "order-3", "order-1"]);
      assert.deepEqual(await found(300, 3), ["order-2", "order-6", "order-3"]);
      assert.deepEqual(await found(99, 10), []);
      const [payment] = await store.paymentsDue(instant(start + 100), 1);
      assert.deepEqual(payment, due(2, 100).payment?.next, "whole payments are returned");
    });

    test("a stored card reads as it was written, is unique by its token and replaced by version", async (context) => {
      const store = await opened(context);
      const card = given.newCard(1);
      const resealed = given.newCard(1, {
        version: 2,
        ref: Uint8Array.of(1, 2, 3),
        fingerprint: Uint8Array.of(9),
      });

      assert.deepEqual(await store.commit(given.cardChange(card)), committed);
      assert.deepEqual(await store.cardByToken(merchantA, card.tokenDigest), card);
      assert.deepEqual(await store.commit(given.cardChange(card)), {
        outcome: "duplicate",
        key: "token",
      });
      assert.deepEqual(await store.commit(given.cardChange(resealed)), committed);
      assert.deepEqual(await store.cardByToken(merchantA, card.tokenDigest), resealed);
      assert.deepEqual(await store.commit(given.cardChange(resealed)), stale);
      assert.deepEqual(
        await store.commit(given.cardChange(given.newCard(2, { version: 2 }))),
        stale,
      );
    });

    test("a card moves to another digest with its times and its place, unless that digest is taken", async (context) => {
      const store = await opened(context);
      const [before, other] = [given.newCard(1, { mac: undefined }), given.newCard(2)];
      const after = given.newCard(1, {
        tokenDigest: given.tokenDigest(900),
        version: 2,
        ref: Uint8Array.of(1, 2, 3),
      });
      await store.commit(given.cardChange(before));
      await store.commit(given.cardChange(other));
      await store.commit(given.cardUseChange(1, start + 500));
      const move = (to: StoredCard): Change => ({
        ...given.cardChange(to),
        card: { next: to, replaces: before.version, from: before.tokenDigest },
      });

      assert.deepEqual(
        await store.commit(move({ ...after, tokenDigest: other.tokenDigest })),
        stale,
      );
      assert.deepEqual(await store.cardsWithoutMac(merchantA, undefined, 10), [
        { ...before, lastUsedAt: instant(start + 500) },
      ]);
      assert.deepEqual(await store.cardsWithoutMac(merchantA, before.tokenDigest, 10), []);
      assert.deepEqual(await store.cardsWithoutMac(merchantB, undefined, 10), []);
      assert.deepEqual(await store.commit(move(after)), committed);
      assert.deepEqual(await store.commit(move(after)), stale);
      assert.deepEqual(await store.cardByToken(merchantA, after.tokenDigest), {
        ...after,
        lastUsedAt: instant(start + 500),
      });
      assert.equal(await store.cardByToken(merchantA, before.tokenDigest), undefined);
      assert.deepEqual(await store.cardsWithoutMac(merchantA, undefined, 10), []);
      const places = (await store.cardsAfter(0, 10)).map(({ tokenDigest }) => tokenDigest);
      assert.deepEqual(places, [after.tokenDigest, other.tokenDigest]);
    });

    test("an integration key without a MAC is given one, and a key with one is taken", async (context) => {
      const store = await opened(context);
      const [account, mac] = [
        given.newAccount(merchantA),
        Uint8Array.from({ length: 32 }, (_, index) => index),
      ];
      const key = { digest: given.keyDigest(1), grants: "secret" } as const;
      const change = (version: number, added: AccountKey): Change => ({
        ...given.accountChange(account, []),
        account: {
          next: { ...account, version },
          replaces: version === 1 ? undefined : version - 1,
          keys: [added],
        },
      });
      const taken = { outcome: "duplicate", key: "account_key" };

      assert.deepEqual(await store.commit(change(1, key)), committed);
      assert.deepEqual(await store.accountKeys(), [
        { ...key, merchantId: merchantA, mac: undefined },
      ]);
      assert.deepEqual(await store.commit(change(2, key)), taken);
      assert.deepEqual(await store.commit(change(2, { ...key, grants: "public", mac })), taken);
      assert.deepEqual(await store.commit(change(2, { ...key, mac })), committed);
      assert.deepEqual(await store.commit(change(3, { ...key, mac })), taken);
      assert.deepEqual((await store.accountByKey(key.digest))?.mac, mac);
      assert.deepEqual(await store.accountKeys(), [{ ...key, merchantId: merchantA, mac }]);
    });

    test("a card's last use never moves back, whichever change comes last, and the use of a missing card is not a conflict", async (context) => {
      const store = await opened(context);
      await store.commit(given.cardChange(given.newCard(1)));
      const lastUse = async (): Promise<number | undefined> =>
        (await store.cardByToken(merchantA, given.tokenDigest(1)))?.lastUsedAt;

      assert.deepEqual(await store.commit(given.cardUseChange(1, start + 500)), committed);
      assert.equal(await lastUse(), start + 500);
      await store.commit(given.cardUseChange(1, start + 400));
      assert.equal(await lastUse(), start + 500);
      const resealed = given.newCard(1, { version: 2, createdAt: instant(start + 9) });
      assert.deepEqual(
        await store.commit(given.cardChange(resealed)),
        committed,
        "a use is no new version",
      );
      assert.equal(
        await lastUse(),
        start + 500,
        "a card that was read before the use is written after it",
      );
      assert.equal((await store.cardByToken(merchantA, given.tokenDigest(1)))?.createdAt, start);
      await store.commit(given.cardUseChange(1, start + 900, merchantB));
      assert.equal(await lastUse(), start + 500, "another merchant's use");
      assert.deepEqual(await store.commit(given.cardUseChange(77, start)), committed);
    });

    test("a payment that stores its card is written with it, or neither is", async (context) => {
      const store = await opened(context);
      const both = (number: number, card: number): Change => ({
        ...given.paymentChange(given.newPayment(number)),
        card: { next: given.newCard(card), replaces: undefined },
        cardUse: { tokenDigest: given.tokenDigest(card), at: instant(start + 5) },
      });

      assert.deepEqual(await store.commit(both(1, 1)), committed);
      assert.equal(
        (await store.cardByToken(merchantA, given.tokenDigest(1)))?.lastUsedAt,
        start + 5,
      );
      assert.deepEqual(await store.commit(both(2, 1)), { outcome: "duplicate", key: "token" });
      assert.equal(await store.paymentById(merchantA, given.paymentId(2)), undefined);
      assert.deepEqual(await store.history(merchantA, given.paymentId(2)), []);
      assert.deepEqual(await store.commit(both(1, 2)), {
        outcome: "duplicate",
        key: "payment_code",
        existing: given.newPayment(1),
      });
      assert.equal(await store.cardByToken(merchantA, given.tokenDigest(2)), undefined);
    });

    test("of changes that are written together each brings with it all that belongs to it", async (context) => {
      const store = await opened(context);
      const shop = "shop" as EndpointId;
      const plain = (number: number): Change => given.paymentChange(given.newPayment(number));
      const notified = [{ kind: "update" as const, paymentId: given.paymentId(4) }];
      const changes = [
        plain(1),
        { ...plain(2), card: { next: given.newCard(2), replaces: undefined } },
        plain(3),
        { ...plain(4), notifications: notified, endpoints: [shop] },
        plain(5),
      ];

      assert.deepEqual(
        await Promise.all(changes.map((change) => store.commit(change))),
        changes.map(() => committed),
      );

      assert.deepEqual(await store.cardByToken(merchantA, given.tokenDigest(2)), given.newCard(2));
      const due = await store.deliveriesDue(
        { merchantId: merchantA, queue: queueOf(shop) },
        start,
        10,
      );
      assert.deepEqual(
        due.map(({ paymentId, number }) => [paymentId, number]),
        [[given.paymentId(4), 1]],
      );
      for (const number of [1, 2, 3, 4, 5])
        assert.ok((await store.paymentById(merchantA, given.paymentId(number))) !== undefined);
    });

    test("of changes of different kinds that are written together each gets its own result", async (context) => {
      const store = await opened(context);
      await store.commit(given.paymentChange(given.newPayment(1)));
      await store.commit(given.cardChange(given.newCard(1)));
      const taken = { outcome: "duplicate", key: "payment_code", existing: given.newPayment(1) };
      const changes: readonly (readonly [change: Change, result: object])[] = [
        [given.paymentChange(given.newPayment(1)), taken],
        [given.cardChange(given.newCard(2)), committed],
        [given.paymentChange(given.newPayment(2)), committed],
        [given.cardChange(given.newCard(1)), { outcome: "duplicate", key: "token" }],
        [given.paymentChange(given.newPayment(3)), committed],
        [given.paymentChange(given.newPayment(1, { version: 3 })), stale],
        [given.accountChange(given.newAccount(merchantA), [1]), committed],
      ];

      const results = await Promise.all(changes.map(([change]) => store.commit(change)));

      assert.deepEqual(
        results,
        changes.map(([, result]) => result),
      );
    });

    test("of payments with one id that are written together one is, whatever their codes", async (context) => {
      const store = await opened(context);
      const first = given.newPayment(1);
      const twin = { ...first, order: { ...first.order, code: "another" } };

      const results = await Promise.all(
        [first, twin].map((payment) => store.commit(given.paymentChange(payment))),
      );

      assert.deepEqual(results, [committed, { outcome: "duplicate", key: "payment_id" }]);
      assert.equal(await store.paymentByCode(merchantA, "another"), undefined);
      assert.equal((await store.history(merchantA, first.id)).length, 1);
    });

    test("an account is found by each of its keys, with what the key grants, and listed by id", async (context) => {
      const store = await opened(context);
      const account = given.newAccount(merchantB);

      assert.deepEqual(await store.commit(given.accountChange(account, [1, 2])), committed);
      assert.deepEqual(
        await store.commit(given.accountChange(given.newAccount(merchantA), [4])),
        committed,
      );
      assert.deepEqual(await store.accountByKey(given.keyDigest(1)), {
        account,
        grants: "public",
        mac: undefined,
      });
      assert.deepEqual(await store.accountByKey(given.keyDigest(2)), {
        account,
        grants: "secret",
        mac: undefined,
      });
      assert.deepEqual(
        (await store.accounts()).map(({ id }) => id),
        [merchantA, merchantB],
      );

      assert.deepEqual(await store.accountById(merchantB), account);
      const renamed = given.newAccount(merchantB, { version: 2, name: "Renamed" });
      assert.deepEqual(await store.commit(given.accountChange(renamed, [6])), committed);
      assert.deepEqual(await store.accountByKey(given.keyDigest(1)), {
        account: renamed,
        grants: "public",
        mac: undefined,
      });
      assert.deepEqual(await store.accountById(merchantB), renamed);
      assert.deepEqual(await store.accountByKey(given.keyDigest(6)), {
        account: renamed,
        grants: "secret",
        mac: undefined,
      });
    });

    test("an account or a key that is taken, and an old version of an account, change nothing", async (context) => {
      const store = await opened(context);
      await store.commit(given.accountChange(given.newAccount(merchantA), [1]));

      const again = given.accountChange(given.newAccount(merchantA), [2]);
      assert.deepEqual(await store.commit(again), { outcome: "duplicate", key: "account" });
      const takenKey = given.accountChange(given.newAccount(merchantB), [2, 1]);
      assert.deepEqual(await store.commit(takenKey), { outcome: "duplicate", key: "account_key" });
      const doubledKey = given.accountChange(given.newAccount(merchantB), [2, 2]);
      assert.deepEqual(await store.commit(doubledKey), {
        outcome: "duplicate",
        key: "account_key",
      });
      const old = given.accountChange(given.newAccount(merchantA, { version: 3 }), [2]);
      assert.deepEqual(await store.commit(old), stale);
      assert.equal(await store.accountByKey(given.keyDigest(2)), undefined);
      assert.equal((await store.accounts()).length, 1);
    });

    test("a change that breaks a rule is a broken invariant and leaves nothing behind", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      const unbalanced: JournalEntry = {
        kind: "hold",
        postings: [{ account: "authorized_holds", currency: "USD", minor: 1n }],
      };
      const mixed: JournalEntry = {
        kind: "hold",
        postings: [
          { account: "authorized_holds", currency: "USD", minor: 1n },
          { account: "cardholder_commitments", currency: "BRL", minor: -1n },
        ],
      };
      const broken: readonly Change[] = [
        given.paymentChange({ ...payment, authorized: 1n, captured: 2n }),
        given.paymentChange({ ...payment, authorized: -1n, captured: -1n }),
        given.paymentChange({ ...payment, authorized: 1n, captured: -1n }),
        ...unsoundAftermaths(payment).map((next) => given.paymentChange(next)),
        given.paymentChange(payment, { entries: [unbalanced] }),
        given.paymentChange(payment, { entries: [mixed] }),
        given.paymentChange(payment, { merchantId: merchantB }),
        given.paymentChange(payment, {
          notifications: [{ kind: "update", paymentId: given.paymentId(2) }],
        }),
        given.paymentChange(payment, { payment: { next: payment, replaces: 1 } }),
        given.paymentChange(payment, {
          payment: { next: { ...payment, version: 3 }, replaces: 1 },
        }),
        { merchantId: merchantA, at: start, facts: [given.fact()], entries: [], notifications: [] },
        { ...given.cardChange(given.newCard(1)), merchantId: merchantB },
      ];

      for (const change of broken) await assert.rejects(store.commit(change), BrokenInvariant);

      assert.equal(await store.paymentById(merchantA, payment.id), undefined);
      assert.deepEqual(
        await store.commit(given.paymentChange(payment)),
        committed,
        "the sound change is taken",
      );
    });

    test("what is handed out and what was handed in are never the same objects", async (context) => {
      const store = await opened(context);
      const ref = Uint8Array.of(1, 2, 3);
      const facts = [given.fact()];
      await store.commit(given.cardChange(given.newCard(1, { ref })));
      await store.commit(given.paymentChange(given.newPayment(1), { facts }));
      const digest = given.tokenDigest(1);

      ref.fill(0);
      facts.pop();
      (await store.cardByToken(merchantA, digest))?.ref.fill(0);
      const rows = await store.history(merchantA, given.paymentId(1));
      if (Array.isArray(rows)) rows.pop();

      assert.deepEqual((await store.cardByToken(merchantA, digest))?.ref, Uint8Array.of(1, 2, 3));
      assert.equal((await store.history(merchantA, given.paymentId(1)))[0]?.facts.length, 1);
    });

    test("of 64 concurrent changes of one payment, one wins each version", async (context) => {
      const store = await opened(context);
      let payment = given.newPayment(1);
      await store.commit(given.paymentChange(payment));
      for (let round = 0; round < 5; round += 1) {
        const rivals = Array.from({ length: 64 }, (_, number) =>
          given.paidNext(payment, { attempts: number }),
        );
        const results = await Promise.all(
          rivals.map((next) =>
            store.commit(given.paymentChange(next, { entries: given.saleEntries })),
          ),
        );

        const winners = rivals.filter((_, index) => results[index]?.outcome === "committed");
        assert.equal(winners.length, 1);
        assert.equal(results.filter(({ outcome }) => outcome === "stale").length, 63);
        const stored = await store.paymentById(merchantA, payment.id);
        assert.deepEqual(stored, winners[0]);
        assert.ok(stored !== undefined);
        payment = stored;
      }
      const history = await store.history(merchantA, payment.id);
      assert.equal(history.length, 6);
      const receivable = balancesOf(history.flatMap(({ entries }) => entries)).find(
        ({ account }) => account === "acquirer_receivable",
      );
      assert.equal(receivable?.minor, 5n * 51_686n);
    });

    test("of 64 concurrent payments with one code, one is written and the others are shown it", async (context) => {
      const store = await opened(context);
      const { order } = given.newPayment(1);
      const rivals = Array.from({ length: 64 }, (_, number) => given.newPayment(number, { order }));

      const results = await Promise.all(
        rivals.map((payment) => store.commit(given.paymentChange(payment))),
      );

      const winner = await store.paymentByCode(merchantA, order.code);
      assert.ok(winner !== undefined);
      assert.equal(results.filter(({ outcome }) => outcome === "committed").length, 1);
      const shown = results.filter(
        (result) => result.outcome === "duplicate" && result.key === "payment_code",
      );
      assert.equal(shown.length, 63);
      for (const result of shown)
        assert.deepEqual(result, { outcome: "duplicate", key: "payment_code", existing: winner });
    });

    test("a change without a conflict is not failed by its neighbours", async (context) => {
      const store = await opened(context);
      await store.commit(given.paymentChange(given.newPayment(0)));
      const changes = Array.from({ length: 40 }, (_, number) =>
        number % 2 === 0
          ? given.paymentChange(given.newPayment(0))
          : given.paymentChange(given.newPayment(number), { entries: given.saleEntries }),
      );

      const results = await Promise.all(changes.map((change) => store.commit(change)));

      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        changes.map((_, number) => (number % 2 === 0 ? "duplicate" : "committed")),
      );
    });

    test("close lets accepted changes finish, and then everything rejects as closed", async (context) => {
      const store = await opened(context);
      const accepted = store.commit(given.paymentChange(given.newPayment(1)));
      await store.close();

      assert.deepEqual(await accepted, committed);
      const closed = { name: "StoreError", code: "closed" };
      await assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), closed);
      await assert.rejects(store.paymentById(merchantA, given.paymentId(1)), closed);
      await assert.rejects(store.accounts(), closed);
      await store.close();
    });
  });
}
