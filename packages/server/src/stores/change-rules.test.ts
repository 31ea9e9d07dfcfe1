import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as given from "../../test/contract/store-fixtures.ts";
import { BrokenInvariant } from "../kernel/assert.ts";
import type { Posting } from "../ledger/journal.ts";
import { type Delivery, type EndpointId, newDelivery } from "../notification/events.ts";
import type { Payment } from "../payment/payment.ts";
import { assertChangeIsSound, largestMinor } from "./change-rules.ts";
import type { Change } from "./change.ts";

const { merchantA, merchantB, start } = given;
const hook = "hook" as EndpointId;
const digest = "ab".repeat(32);

/** An empty change. */
function change(over: Partial<Change> = {}): Change {
  return { merchantId: merchantA, at: start, facts: [], entries: [], notifications: [], ...over };
}

function paymentChange(over: Partial<Payment>): Change {
  return given.paymentChange({ ...given.newPayment(1), ...over });
}

/** A change of a payment of 10.00 that was captured. */
function paidChange(over: Partial<Payment>): Change {
  return paymentChange({ authorized: 1_000n, captured: 1_000n, ...over });
}

function entryOf(...postings: readonly (readonly [currency: string, minor: bigint])[]): Change {
  const written = postings.map(([currency, minor]): Posting => ({
    account: "authorized_holds",
    currency,
    minor,
  }));
  return given.paymentChange(given.newPayment(1), {
    entries: [{ kind: "hold", postings: written }],
  });
}

/** Delivery 2 of the hook, in its second version. */
function deliveryOf(
  over: Partial<Delivery> = {},
  replaces: number | undefined = 1,
): NonNullable<Change["deliveries"]>[number] {
  const first = newDelivery(
    {
      merchantId: merchantA,
      endpoint: hook,
      number: 2,
      paymentId: given.paymentId(1),
      kind: "update",
    },
    start,
  );
  return { next: { ...first, version: 2, ...over }, replaces };
}

function deliveryChange(over: Partial<Delivery> = {}, replaces?: number): Change {
  return change({ deliveries: [deliveryOf(over, replaces)] });
}

function notified(...endpoints: readonly string[]): Change {
  return given.paymentChange(given.newPayment(1), { endpoints: endpoints as EndpointId[] });
}

const request = { key: "key", digest, claimedAt: start, answer: undefined };
const answer = { status: 200, body: "done" };
const erasure = { tokenDigest: given.tokenDigest(1), unusedSince: start };
const deliveryDeletion = { deliveries: [{ endpoint: hook, number: 2 }], endedBefore: start };
const requestDeletion = { keys: ["key"], claimedBefore: start };
const card = given.cardChange(given.newCard(1));
const account = given.accountChange(given.newAccount(merchantA), [1]);
const badDigests = [
  "",
  digest.slice(1),
  `${digest}0`,
  digest.toUpperCase(),
  `${digest.slice(1)}g`,
  `g${digest.slice(1)}`,
];

type Row = readonly [property: string, broken: readonly Change[], sound: readonly Change[]];

/** For each property, changes that break it and similar ones that are still sound. */
const rows: readonly Row[] = [
  [
    "a merchant id is 8 hex characters",
    ["0000000", "000000000", "0000000G", "ABCDEF00"].map((id) =>
      change({ merchantId: id as typeof merchantA }),
    ),
    [change()],
  ],
  [
    "facts, journal entries and notifications belong to a payment",
    [
      change({ facts: [given.fact()] }),
      change({ entries: given.saleEntries }),
      change({ notifications: [{ kind: "update", paymentId: given.paymentId(1) }] }),
    ],
    [
      given.paymentChange(given.newPayment(1), {
        notifications: [{ kind: "update", paymentId: given.paymentId(1) }],
      }),
    ],
  ],
  [
    "a notification belongs to the payment of its change",
    [
      given.paymentChange(given.newPayment(1), {
        notifications: [{ kind: "update", paymentId: given.paymentId(2) }],
      }),
    ],
    [],
  ],
  [
    "a change belongs to one merchant",
    [
      given.paymentChange(given.newPayment(1), { merchantId: merchantB }),
      { ...card, merchantId: merchantB },
      { ...account, merchantId: merchantB },
      deliveryChange({ merchantId: merchantB }),
    ],
    [card, account, deliveryChange()],
  ],
  [
    "a version follows the one that it replaces",
    [
      given.paymentChange(given.newPayment(1), {
        payment: { next: given.newPayment(1), replaces: 1 },
      }),
      given.paymentChange(given.newPayment(1), {
        payment: { next: given.newPayment(1, { version: 3 }), replaces: 1 },
      }),
      { ...card, card: { next: given.newCard(1), replaces: 1 } },
      { ...account, account: { next: given.newAccount(merchantA), replaces: 1, keys: [] } },
      deliveryChange({ version: 3 }),
    ],
    [given.paymentChange(given.newPayment(1, { version: 2 })), deliveryChange({ version: 7 }, 6)],
  ],
  [
    "a token's digest is 64 hex characters",
    badDigests.flatMap((each) => {
      const tokenDigest = each as typeof erasure.tokenDigest;
      return [
        given.cardChange(given.newCard(1, { tokenDigest })),
        change({ cardUse: { tokenDigest, at: start } }),
        change({ cardErasure: { ...erasure, tokenDigest } }),
      ];
    }),
    [given.cardUseChange(1, start), change({ cardErasure: erasure })],
  ],
  [
    "a card is forgotten by a change of its own",
    [
      given.paymentChange(given.newPayment(1), { cardErasure: erasure }),
      { ...card, cardErasure: erasure },
      { ...given.cardUseChange(1, start), cardErasure: erasure },
      { ...account, cardErasure: erasure },
      change({ request: { next: request, replaces: "nothing" }, cardErasure: erasure }),
    ],
    [],
  ],
  [
    "keys are deleted that were claimed before a moment",
    [change({ requestDeletion: { keys: ["key-1"], claimedBefore: Number.NaN as typeof start } })],
    [change({ requestDeletion: { keys: ["key-1"], claimedBefore: start } })],
  ],
  [
    "keys are deleted by a change of their own",
    [
      given.paymentChange(given.newPayment(1), { requestDeletion }),
      { ...card, requestDeletion },
      { ...given.cardUseChange(1, start), requestDeletion },
      { ...account, requestDeletion },
      { ...deliveryChange({}), requestDeletion },
      change({ request: { next: request, replaces: "nothing" }, requestDeletion }),
    ],
    [change({ requestDeletion })],
  ],
  [
    "deliveries are deleted that ended before a moment",
    [
      change({
        deliveryDeletion: { ...deliveryDeletion, endedBefore: Number.NaN as typeof start },
      }),
    ],
    [change({ deliveryDeletion })],
  ],
  [
    "deliveries are deleted by a change of their own",
    [
      given.paymentChange(given.newPayment(1), { deliveryDeletion }),
      { ...card, deliveryDeletion },
      { ...given.cardUseChange(1, start), deliveryDeletion },
      { ...account, deliveryDeletion },
      { ...deliveryChange({}), deliveryDeletion },
      change({ request: { next: request, replaces: "nothing" }, deliveryDeletion }),
    ],
    [],
  ],
  [
    "a named request is a change of its own",
    [given.paymentChange(given.newPayment(1)), card, given.cardUseChange(1, start), account].map(
      (other) => ({
        ...other,
        request: { next: request, replaces: "nothing" },
      }),
    ),
    [],
  ],
  [
    "a request's digest is 64 hex characters",
    badDigests.map((each) =>
      change({ request: { next: { ...request, digest: each }, replaces: "nothing" } }),
    ),
    [],
  ],
  [
    "a request is claimed first and answered then",
    [
      change({ request: { next: { ...request, answer }, replaces: "nothing" } }),
      change({ request: { next: request, replaces: "claim" } }),
    ],
    [
      change({ request: { next: request, replaces: "nothing" } }),
      change({ request: { next: { ...request, answer }, replaces: "claim" } }),
    ],
  ],
  [
    "a key's digest is 64 hex characters",
    badDigests.map((each) => {
      const keys = [given.keyDigest(1), each as ReturnType<typeof given.keyDigest>].map((key) => ({
        digest: key,
        grants: "secret" as const,
      }));
      return change({ account: { next: given.newAccount(merchantA), replaces: undefined, keys } });
    }),
    [],
  ],
  [
    "an endpoint's name is of letters, digits and dashes",
    ["", "1", "-a", "A", "a_b", "a b", "a\n", `a${"b".repeat(64)}`].flatMap((name) => [
      notified(name),
      deliveryChange({ endpoint: name as EndpointId }),
    ]),
    [notified("a", "b-1", `a${"b".repeat(63)}`)],
  ],
  ["an endpoint is listed once", [notified("a", "b", "a")], [notified()]],
  [
    "what is gathered for an endpoint is for it",
    [
      { ...notified("hook"), batchFor: [hook, "other" as EndpointId] },
      change({ batchFor: [hook] }),
    ],
    [{ ...notified("other", "hook"), batchFor: [hook] }],
  ],
  [
    "notifications are counted from 1",
    [0, -1, 1.5, 2 ** 53].map((number) => deliveryChange({ number })),
    [deliveryChange({ number: 1 }), deliveryChange({ number: 2 ** 53 - 1 })],
  ],
  [
    "a payment id is 48 hex characters",
    ["0".repeat(47), "0".repeat(49), "G".repeat(48)].flatMap((text) => {
      const id = text as Payment["id"];
      return [paymentChange({ id }), deliveryChange({ paymentId: id })];
    }),
    [],
  ],
  [
    "attempts are counted from 0",
    [-1, 0.5, 2 ** 53].map((attempts) => deliveryChange({ attempts })),
    [deliveryChange({ attempts: 1 })],
  ],
  [
    "a message is named by the lowest number in it",
    [-1, 0.5, 3].map((message) => deliveryChange({ message })),
    [0, 1, 2].map((message) => deliveryChange({ message })),
  ],
  [
    "a change moves a delivery once",
    [change({ deliveries: [deliveryOf(), deliveryOf()] })],
    [
      change({
        deliveries: [
          deliveryOf(),
          deliveryOf({ number: 3 }),
          deliveryOf({ endpoint: "other" as EndpointId }),
        ],
      }),
    ],
  ],
  ["what was captured is not negative", [paymentChange({ captured: -1n })], []],
  [
    "no more is captured than was authorized",
    [paymentChange({ authorized: 9n, captured: 10n })],
    [paymentChange({ authorized: 10n, captured: 10n }), paymentChange({ authorized: 10n })],
  ],
  [
    "an amount fits 64 bits",
    [
      paymentChange({ authorized: largestMinor + 1n }),
      paymentChange({
        order: {
          ...given.newPayment(1).order,
          amount: { minor: largestMinor + 1n, currency: "USD" },
        },
      }),
      paymentChange({ attempt: given.newAttempt({ amount: largestMinor + 1n }) }),
      entryOf(["USD", -largestMinor - 1n], ["USD", largestMinor], ["USD", 1n]),
      entryOf(["USD", largestMinor + 1n], ["USD", -largestMinor], ["USD", -1n]),
    ],
    [
      paymentChange({ authorized: largestMinor, captured: largestMinor }),
      paymentChange({
        order: { ...given.newPayment(1).order, amount: { minor: largestMinor, currency: "USD" } },
      }),
      paymentChange({ attempt: given.newAttempt({ amount: largestMinor }) }),
      entryOf(["USD", largestMinor], ["USD", -largestMinor]),
    ],
  ],
  [
    "the amount of an attempt is not negative",
    [paymentChange({ attempt: given.newAttempt({ amount: -1n }) })],
    [
      paymentChange({ attempt: given.newAttempt({ amount: 0n }) }),
      paymentChange({ attempt: undefined }),
    ],
  ],
  [
    "what was refunded is the sum of the refunds",
    [paidChange({ refunded: 1n }), paidChange({ refunded: -1n })],
    [paidChange({})],
  ],
  [
    "what was refunded is the sum of the refunds that are not cancelled",
    [
      paidChange({ refunds: [given.newRefund(1)], refunded: 99n }),
      paidChange({ refunds: [given.newRefund(1)], refunded: 101n }),
      paidChange({ refunds: [given.newRefund(1, { state: "cancelled" })], refunded: 100n }),
      paidChange({
        refunds: [given.newRefund(1), given.newRefund(2, { state: "cancelled" })],
        refunded: 200n,
      }),
    ],
    [
      paidChange({
        refunds: [given.newRefund(1), given.newRefund(2, { amount: 900n, state: "confirmed" })],
        refunded: 1_000n,
      }),
      paidChange({
        refunds: [given.newRefund(1, { state: "cancelled" }), given.newRefund(2)],
        refunded: 100n,
      }),
    ],
  ],
  [
    "what was charged back is not negative",
    [paidChange({ chargeback: { ...given.dispute, amount: -1n } })],
    [paidChange({ chargeback: { ...given.dispute, amount: 0n } })],
  ],
  [
    "no more is refunded and charged back than was captured",
    [
      paidChange({ refunds: [given.newRefund(1, { amount: 1_001n })], refunded: 1_001n }),
      paidChange({
        refunds: [given.newRefund(1)],
        refunded: 100n,
        chargeback: { ...given.dispute, amount: 901n },
      }),
    ],
    [
      paidChange({
        refunds: [given.newRefund(1)],
        refunded: 100n,
        chargeback: { ...given.dispute, amount: 900n },
      }),
      // A credited dispute no longer counts.
      paidChange({
        refunds: [given.newRefund(1)],
        refunded: 100n,
        chargeback: { ...given.dispute, state: "credited", amount: 901n },
      }),
    ],
  ],
  [
    "a refund's id is a whole number from 1 to 2^31 - 1",
    [0, 1.5, 2 ** 31].map((id) => paidChange({ refunds: [given.newRefund(id)], refunded: 100n })),
    [1, 2 ** 31 - 1].map((id) => paidChange({ refunds: [given.newRefund(id)], refunded: 100n })),
  ],
  [
    "a refund is above zero",
    [0n, -1n].map((amount) =>
      paidChange({ refunds: [given.newRefund(1, { amount })], refunded: amount }),
    ),
    [paidChange({ refunds: [given.newRefund(1, { amount: 1n })], refunded: 1n })],
  ],
  [
    "the refunds of a payment have different ids",
    [
      paidChange({
        refunds: [given.newRefund(1), given.newRefund(1, { code: "other" })],
        refunded: 200n,
      }),
    ],
    [],
  ],
  [
    "a currency is three upper-case letters",
    ["", "US", "USDX", "usd", "AUSD", "USD "].map((currency) =>
      entryOf([currency, 1n], [currency, -1n]),
    ),
    [entryOf()],
  ],
  [
    "the postings of a journal entry sum to zero in each currency",
    [
      entryOf(["USD", 1n]),
      entryOf(["USD", 1n], ["BRL", -1n]),
      entryOf(["USD", 1n], ["USD", 1n], ["USD", -1n]),
    ],
    [entryOf(["USD", 1n], ["BRL", 5n], ["USD", 1n], ["USD", -2n], ["BRL", -5n])],
  ],
];

describe("every store demands of a change that", () => {
  for (const [property, broken, sound] of rows) {
    test(property, () => {
      for (const each of broken)
        assert.throws(() => assertChangeIsSound(each), new BrokenInvariant(property));
      for (const each of sound) assertChangeIsSound(each);
    });
  }

  test("what is cancelled of a refund is kept exactly too, up to the largest signed number of 64 bits", () => {
    assert.equal(largestMinor, 9_223_372_036_854_775_807n);
    const refunds = [given.newRefund(1, { state: "cancelled", amount: largestMinor + 1n })];
    assert.throws(
      () => assertChangeIsSound(paidChange({ refunds })),
      new BrokenInvariant("an amount fits 64 bits"),
    );
  });
});
