import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as fc from "fast-check";
import { instant } from "../../src/kernel/instant.ts";
import { everySlot } from "../../src/kernel/slot.ts";
import type { JournalEntry } from "../../src/ledger/journal.ts";
import { paymentStates } from "../../src/payment/payment-machine.ts";
import type { ChargebackState } from "../../src/payment/chargeback.ts";
import { attemptKinds, declineReasons, reviewStates } from "../../src/payment/payment.ts";
import type { Payment, StoredCredential } from "../../src/payment/payment.ts";
import { refundStates } from "../../src/payment/refund.ts";
import type { Refund } from "../../src/payment/refund.ts";
import type { Change, CommitResult, FactRecord } from "../../src/stores/change.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { ListPage, PaymentFilter, Store } from "../../src/stores/store.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";

/**
 * Random changes and reads on the memory store and the durable ones must return the same results.
 * More sequences: `node test/contract/store-differential.test.ts 5000`.
 */
const sequences = Number(process.argv[2] ?? 300);

const memory = createMemoryStore();
const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
/**
 * The stores that are compared with the memory store: the embedded one with either writer, and
 * PostgreSQL if a test server is available.
 */
const others: readonly Store[] = [
  await openEmbeddedStore({ file: ":memory:" }),
  await openEmbeddedStore({ file: join(folder, "store.db") }),
  ...(databases === undefined ? [] : [await databases.openStore()]),
];
after(async () => {
  await Promise.all([memory, ...others].map((store) => store.close()));
  await databases?.drop();
  rmSync(folder, { recursive: true });
});

/** Numbers within a sequence; each sequence has its own merchants on the same stores. */
type Step =
  | {
      readonly kind: "payment";
      readonly merchant: number;
      readonly number: number;
      readonly code: number;
      readonly card: boolean;
    }
  | {
      readonly kind: "next";
      readonly merchant: number;
      readonly number: number;
      readonly off: number;
      readonly random: RandomPart;
    }
  | {
      readonly kind: "card";
      readonly merchant: number;
      readonly number: number;
      readonly version: number;
      readonly usedAt: number;
    }
  | {
      readonly kind: "use";
      readonly merchant: number;
      readonly number: number;
      readonly usedAt: number;
    }
  | {
      readonly kind: "account";
      readonly merchant: number;
      readonly version: number;
      readonly keys: readonly number[];
    };

interface RandomPart {
  readonly state: (typeof paymentStates)[number];
  readonly authorized: bigint;
  readonly taken: number;
  readonly statusAt: number | undefined;
  readonly attempt:
    | {
        readonly kind: (typeof attemptKinds)[number];
        readonly recheckAt: number;
        readonly checks: number;
      }
    | undefined;
  readonly reason: (typeof declineReasons)[number] | undefined;
  readonly text: string | undefined;
  readonly needsReview: boolean;
  readonly minors: readonly bigint[];
  readonly detail: FactRecord["detail"];
  readonly notifications: number;
  readonly captureBy: number | undefined;
  readonly review: (typeof reviewStates)[number];
  readonly disputed: Exclude<ChargebackState, "none"> | undefined;
  /** New states of the existing refunds; the remaining refunds keep theirs. */
  readonly moves: readonly {
    readonly state: (typeof refundStates)[number];
    readonly dueAt: number | undefined;
  }[];
  /** New refunds: numbers of their ids and codes. */
  readonly refunds: readonly {
    readonly id: number;
    readonly code: number | undefined;
    readonly state: (typeof refundStates)[number];
  }[];
  readonly network: number | undefined;
}

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const merchant = fc.integer({ min: 0, max: 1 });
const number = fc.integer({ min: 0, max: 3 });
const moment = fc.integer({ min: 0, max: 5 });
const word = fc.string({ unit: "grapheme", maxLength: 12 });
const amount = fc.oneof(fc.bigInt(0n, 20_000n), fc.bigInt(0n, 2n ** 61n));
const randomPart: fc.Arbitrary<RandomPart> = fc.record({
  state: fc.constantFrom(...paymentStates),
  authorized: amount,
  taken: fc.integer({ min: 0, max: 4 }),
  statusAt: optional(moment),
  attempt: optional(
    fc.record({ kind: fc.constantFrom(...attemptKinds), recheckAt: moment, checks: moment }),
  ),
  reason: optional(fc.constantFrom(...declineReasons)),
  text: optional(word),
  needsReview: fc.boolean(),
  minors: fc.array(fc.bigInt(-(2n ** 40n), 2n ** 40n), { maxLength: 3 }),
  detail: fc.dictionary(word, fc.oneof(word, fc.integer(), fc.boolean()), {
    maxKeys: 2,
    noNullPrototype: true,
  }),
  notifications: fc.integer({ min: 0, max: 2 }),
  captureBy: optional(moment),
  review: fc.constantFrom(...reviewStates),
  disputed: optional(fc.constantFrom("opened" as const, "credited" as const)),
  moves: fc.array(fc.record({ state: fc.constantFrom(...refundStates), dueAt: optional(moment) }), {
    maxLength: 2,
  }),
  refunds: fc.array(
    fc.record({ id: moment, code: optional(number), state: fc.constantFrom(...refundStates) }),
    { maxLength: 2 },
  ),
  network: optional(number),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("payment" as const),
    merchant,
    number,
    code: number,
    card: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("next" as const),
    merchant,
    number,
    off: fc.constantFrom(0, 0, 0, 0, -1, 1),
    random: randomPart,
  }),
  fc.record({
    kind: fc.constant("card" as const),
    merchant,
    number,
    version: fc.integer({ min: 1, max: 3 }),
    usedAt: moment,
  }),
  fc.record({ kind: fc.constant("use" as const), merchant, number, usedAt: moment }),
  fc.record({
    kind: fc.constant("account" as const),
    merchant,
    version: fc.integer({ min: 1, max: 3 }),
    keys: fc.array(number, { maxLength: 2 }),
  }),
);

/** A step that does little more than add one refund. */
function refunding(number: number, id: number, code: number): Step {
  const random: RandomPart = {
    state: "captured",
    authorized: 20_000n,
    taken: 4,
    statusAt: 1,
    attempt: undefined,
    reason: undefined,
    text: undefined,
    needsReview: false,
    minors: [],
    detail: {},
    notifications: 0,
    captureBy: undefined,
    review: "none",
    disputed: undefined,
    moves: [],
    refunds: [{ id, code, state: "requested" }],
    network: undefined,
  };
  return { kind: "next", merchant: 0, number, off: 0, random };
}

const paid = [0, 1].map((number): Step => ({
  kind: "payment",
  merchant: 0,
  number,
  code: number,
  card: false,
}));

/**
 * Two refunds with one id, and two with one code: 300 random sequences have hardly three of either,
 * and one run in twelve has none.
 */
const clashes: readonly (readonly Step[])[] = [
  [...paid],
  [refunding(0, 0, 0), refunding(1, 1, 1)],
  [refunding(0, 1, 2)],
  [refunding(0, 2, 1)],
];

let sequence = 0;

/** The change of a step, computed from the content of the memory store. */
async function changeOf(step: Step, base: number): Promise<Change | undefined> {
  const merchantId = given.merchantId(base + step.merchant);
  switch (step.kind) {
    case "payment": {
      const model =
        step.code % 2 === 0 ? given.newPayment(step.number) : given.barePayment(step.number);
      const next = {
        ...model,
        merchantId,
        order: {
          ...model.order,
          code: `code ${step.code}`,
          storedCredential: credentialOf(step.number),
        },
      };
      const card = { next: given.newCard(step.number, { merchantId }), replaces: undefined };
      return given.paymentChange(next, step.card ? { card } : {});
    }
    case "next":
      return nextChange(step, merchantId, base);
    case "card":
      return given.cardChange(
        given.newCard(step.number, {
          merchantId,
          version: step.version,
          lastUsedAt: instant(given.start + step.usedAt),
        }),
      );
    case "use":
      return given.cardUseChange(step.number, given.start + step.usedAt, merchantId);
    case "account":
      return given.accountChange(
        given.newAccount(merchantId, { version: step.version, name: `name ${step.version}` }),
        step.keys.map((key) => base * 10 + key),
      );
    default:
      return undefined;
  }
}

async function nextChange(
  step: Step & { kind: "next" },
  merchantId: Change["merchantId"],
  base: number,
): Promise<Change | undefined> {
  const stored = await memory.paymentById(merchantId, given.paymentId(step.number));
  const version = (stored?.version ?? 1) + step.off;
  if (version < 1) return undefined;
  const { random } = step;
  const at = (ms: number | undefined) => (ms === undefined ? undefined : instant(given.start + ms));
  const model = given.newPayment(step.number, { merchantId });
  // A payment that does not exist yet may exist at the commit: its order stays the same, the
  // model's is only read for the mandate.
  const before = stored ?? {
    ...model,
    order: { ...model.order, storedCredential: credentialOf(step.number) },
  };
  const refunds = refundsAfter(before.refunds, random, base);
  const { refunded } = given.refundedNext(before, refunds);
  const disputed =
    random.disputed === undefined
      ? undefined
      : { ...given.dispute, state: random.disputed, amount: random.authorized / 8n };
  // Enough is captured for all refunds and the dispute.
  const least = refunded + (disputed?.amount ?? 0n);
  const captured = [least, (random.authorized * BigInt(random.taken)) / 4n].reduce((one, other) =>
    one > other ? one : other,
  );
  const next = {
    ...before,
    version: version + 1,
    state: random.state,
    statusAt: at(random.statusAt),
    capturedAt: at(random.statusAt),
    captureBy: at(random.captureBy),
    authorized: captured > random.authorized ? captured : random.authorized,
    captured,
    refunded,
    refunds,
    chargeback: disputed,
    review: random.review,
    ...(random.disputed === undefined ? {} : { authorization: version + 1, reroutedTo: "other" }),
    attempt:
      random.attempt === undefined
        ? undefined
        : given.newAttempt({
            ...random.attempt,
            recheckAt: instant(given.start + random.attempt.recheckAt),
          }),
    verdict:
      random.reason === undefined
        ? undefined
        : {
            ...given.approval,
            reason: random.reason,
            approved: false,
            acquirerReference: random.text,
            networkTransactionId:
              random.network === undefined ? undefined : `network ${random.network}`,
          },
    needsReview: random.needsReview,
  };
  const entries = random.minors.map((minor): JournalEntry => ({
    kind: minor < 0n ? "release" : "hold",
    postings: [
      { account: "authorized_holds", currency: "USD", minor },
      { account: "cardholder_commitments", currency: "USD", minor: -minor },
    ],
  }));
  const facts = [
    given.fact({ detail: random.detail }),
    given.fact({ fact: "void_declined", attempt: random.attempt?.checks, by: "clock" }),
    ...random.refunds.map(({ id }) =>
      given.fact({ fact: "refund_requested", attempt: id, by: "operator" }),
    ),
  ];
  const notifications = Array.from({ length: random.notifications }, () => ({
    kind: "update" as const,
    paymentId: next.id,
  }));
  return given.paymentChange(next, { facts, entries, notifications });
}

/** Two payments of a sequence may give a mandate, one follows another, one has no mandate. */
function credentialOf(number: number): StoredCredential | undefined {
  if (number === 3) return undefined;
  return {
    use: number === 1 ? "stored" : "initial",
    initiator: "CIT",
    reason: "CUSTOMER_COF",
    mandateId: undefined,
  };
}

function refundsAfter(
  before: readonly Refund[],
  { moves, refunds }: RandomPart,
  base: number,
): readonly Refund[] {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : instant(given.start + ms));
  const moved = before.map((refund, index) => {
    const move = moves[index];
    return move === undefined
      ? refund
      : { ...refund, state: move.state, dueAt: at(move.dueAt), checks: index };
  });
  const added = refunds.map(({ id, code, state }) =>
    given.newRefund(refundId(base, id), {
      code: code === undefined ? undefined : `refund ${code}`,
      state,
      dueAt: at(id),
    }),
  );
  const fresh = added.filter(({ id }, index) =>
    [...before, ...added.slice(0, index)].every((other) => other.id !== id),
  );
  return [...moved, ...fresh];
}

/** Ids are shared by all merchants of a sequence. */
function refundId(base: number, number: number): number {
  return base * 10 + number;
}

/**
 * A duplicate code returns its payment as of the answer, which may be after later changes of the
 * same batch, so only the id is compared.
 */
function comparable(result: CommitResult): unknown {
  return result.outcome === "duplicate" && result.key === "payment_code"
    ? { ...result, existing: result.existing.id }
    : result;
}

function keyOf({ merchantId, id }: Payment): string {
  return merchantId + id;
}

const listings: readonly (readonly [PaymentFilter, ListPage])[] = [
  [{}, { limit: 2, maxExamined: 3 }],
  [{ states: ["captured", "authorized"] }, { limit: 2, maxExamined: 3 }],
  [{ text: "CODE 1" }, { limit: 1, maxExamined: 10, before: given.paymentId(3) }],
  [{ text: "silva code status:captured after:1970-01-01" }, { limit: 1, maxExamined: 3 }],
  [
    { states: [], outcomes: ["refunded", "partly_refunded"] },
    { limit: 2, maxExamined: 2 },
  ],
];

async function everything(store: Store, base: number): Promise<unknown> {
  const numbers = [0, 1, 2, 3];
  const ofMerchants = [0, 1].map(async (which) => {
    const id = given.merchantId(base + which);
    return Promise.all([
      ...numbers.map((each) => store.paymentById(id, given.paymentId(each))),
      ...numbers.map((each) => store.paymentByCode(id, `code ${each}`)),
      ...numbers.map((each) => store.history(id, given.paymentId(each))),
      ...numbers.map((each) => store.cardByToken(id, given.tokenDigest(each))),
      ...numbers.map((each) => store.accountByKey(given.keyDigest(base * 10 + each))),
      ...[0, 1, 2, 3, 4, 5].map((each) => store.paymentByRefund(id, { id: refundId(base, each) })),
      ...numbers.map((each) => store.paymentByRefund(id, { code: `refund ${each}` })),
      ...numbers.map((each) => store.paymentByMandate(id, `network ${each}`)),
      store.paymentFigures(id, undefined, 3),
      store.paymentsCounted(id, undefined, 3),
      // Positions grow with or without gaps.
      store
        .cardsListed(id, undefined, 3)
        .then((cards) => cards.map(({ position: _position, ...rest }) => rest)),
      ...listings.map(([filter, page]) => store.paymentsListed(id, filter, page)),
      store
        .notificationsOf(id, 0, 1_000)
        .then((rows) => rows.map(({ sequence: _sequence, ...rest }) => rest)),
    ]);
  });
  const inFlight = (await store.paymentsInFlight(1_000_000)).toSorted((left, right) =>
    keyOf(left) < keyOf(right) ? -1 : 1,
  );
  // The due payments at once, and again page by page and slot by slot.
  const now = instant(given.start + 3);
  const whole = await store.paymentsDue(now, 50);
  const odd = new Set(Array.from(everySlot).filter((slot) => slot % 2 === 1));
  const pages = [
    await store.paymentsDue(now, 2, odd),
    await store.paymentsDue(now, 3, everySlot, whole[1]),
    whole,
  ];
  return [await Promise.all(ofMerchants), pages, inFlight];
}

const compared = `the memory store, the embedded store${databases === undefined ? "" : " and the PostgreSQL store"}`;

test(`${compared} give the same answers to ${sequences} random sequences`, async () => {
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { maxLength: 12 }),
      async (batches) => {
        sequence += 1;
        const base = sequence * 2;
        for (const steps of batches) {
          const sent = await Promise.all(steps.map((each) => changeOf(each, base)));
          const changes = sent.filter((change) => change !== undefined);
          const expected = await Promise.all(changes.map((change) => memory.commit(change)));
          for (const store of others) {
            const actual = await Promise.all(changes.map((change) => store.commit(change)));
            assert.deepEqual(actual.map(comparable), expected.map(comparable));
          }
          for (const result of expected) {
            const outcome = result.outcome === "duplicate" ? result.key : result.outcome;
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          }
        }
        const expected = await everything(memory, base);
        for (const store of others) assert.deepEqual(await everything(store, base), expected);
      },
    ),
    { numRuns: sequences, examples: [[clashes.map((steps) => [...steps])]] },
  );
  for (const store of others) {
    const accounts = await memory.accounts();
    assert.deepEqual(await store.accounts(), accounts);
    assert.deepEqual(await Promise.all(accounts.map(({ id }) => store.accountById(id))), accounts);
  }
  // Control: the sequences reached every answer that a commit can give.
  assert.deepEqual(
    [...outcomes.keys()].toSorted(),
    [
      "account",
      "account_key",
      "committed",
      "payment_code",
      "payment_id",
      "refund_code",
      "refund_id",
      "stale",
      "token",
    ],
    JSON.stringify([...outcomes]),
  );
});
