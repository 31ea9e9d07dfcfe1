import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import type { Connector, ConnectorCapabilities, InquiryOutcome } from "../connectors/connector.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import { decideCapture, decideReversal, decideVoid } from "../decisions/payment-decisions.ts";
import { decideRefundStep } from "../decisions/refund-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { instant, type Instant } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { Runner } from "../operations/runner.ts";
import type { Payment } from "../payment/payment.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { advanceRefund } from "./advance-refund.ts";
import { recoverPayment } from "./recover-payment.ts";

const account = given.newAccount(given.merchantA);
const lateArrivalMs = 20_000;
/** Response time of the acquirer. */
const answerMs = 1_000;

const first = given.newPayment(1);
const held = given.paidNext(first, { state: "authorized", capturedAt: undefined, captured: 0n });
const settings = { ...account.settings, partialCapture: true };

const found: Extract<InquiryOutcome, { kind: "found" }> = {
  kind: "found",
  authorization: { kind: "approved", authorizationCode: "123456", responseCode: "00" } as never,
  captured: 0n,
  voided: false,
  refunds: [],
};

const refused = { kind: "declined", responseCode: "05" } as never;

interface Case {
  readonly what: string;
  /** The payment's versions; in the last one the request may be sent until `answerBy`. */
  readonly sent: (answerBy: Instant) => readonly Payment[];
  readonly says: Partial<Connector>;
  readonly capabilities?: Partial<ConnectorCapabilities>;
  /** The state while the request may still arrive, and after that. */
  readonly open: string;
  readonly over: string;
}

const after = (change: PaymentChange): Payment => change.payment.next;
const refundOf = ({ refunds: [refund] }: Payment): string => `refund ${refund?.state}`;

const cases: readonly Case[] = [
  {
    what: "an authorization of which it knows nothing",
    sent: (answerBy) => [given.newPayment(1, { attempt: given.newAttempt({ answerBy }) })],
    says: {
      inquire: async () => ({ kind: "not_found" }),
      reverse: async () => ({ kind: "unknown_original" }),
    },
    open: "authorizing",
    over: "voided",
  },
  {
    what: "a reversal whose original it does not know",
    sent: (answerBy) => {
      const unanswered = given.newPayment(1, { attempt: given.newAttempt({ answerBy }) });
      return [unanswered, after(decideReversal(unanswered, given.start, answerBy))];
    },
    says: { reverse: async () => ({ kind: "unknown_original" }) },
    open: "reversing",
    over: "voided",
  },
  {
    what: "a capture that was not carried out",
    sent: (answerBy) => [
      first,
      held,
      after(decideCapture(held, undefined, settings, given.start, answerBy)),
    ],
    says: { inquire: async () => found },
    capabilities: { repeatsFollowUps: false },
    open: "capturing",
    over: "authorized",
  },
  {
    what: "a void that was not carried out",
    sent: (answerBy) => [first, held, after(decideVoid(held, given.start, answerBy))],
    says: { inquire: async () => found },
    capabilities: { repeatsFollowUps: false },
    open: "voiding",
    over: "authorized",
  },
  {
    what: "a refund that was not carried out",
    sent: (answerBy) => {
      const paid = given.paidNext(first);
      const requested = given.refundedNext(paid, [
        given.newRefund(7, { state: "pending", dueAt: given.start }),
      ]);
      return [
        first,
        paid,
        requested,
        after(decideRefundStep(requested, 7, settings, given.start, answerBy) ?? assert.fail()),
      ];
    },
    says: { inquire: async () => ({ ...found, captured: first.order.amount.minor }) },
    capabilities: { repeatsFollowUps: false },
    open: "refund sending",
    over: "refund pending",
  },
  {
    what: "a capture whose repeat it refuses",
    sent: (answerBy) => [
      first,
      held,
      after(decideCapture(held, undefined, settings, given.start, answerBy)),
    ],
    says: { inquire: async () => found, capture: async () => refused },
    open: "capturing",
    over: "authorized",
  },
  {
    what: "a void whose repeat it refuses",
    sent: (answerBy) => [first, held, after(decideVoid(held, given.start, answerBy))],
    says: { inquire: async () => found, void: async () => refused },
    open: "voiding",
    over: "authorized",
  },
  {
    what: "a refund whose repeat it refuses",
    sent: (answerBy) => {
      const paid = given.paidNext(first);
      const requested = given.refundedNext(paid, [
        given.newRefund(7, { state: "pending", dueAt: given.start }),
      ]);
      return [
        first,
        paid,
        requested,
        after(decideRefundStep(requested, 7, settings, given.start, answerBy) ?? assert.fail()),
      ];
    },
    says: {
      inquire: async () => ({ ...found, captured: first.order.amount.minor }),
      refund: async () => refused,
    },
    open: "refund sending",
    over: "refund cancelled",
  },
];

async function open({ sent, says, capabilities }: Case) {
  const time = new StillTime();
  const random = new SeededRandom("recover payment");
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    clock: time,
    random,
    environment: "test",
    create: true,
  });
  const store = createMemoryStore();
  const simulator = createSimulator({ clock: time, scheduler: time });
  /** The calls of the case, each of which takes `answerMs`; no others are expected. */
  const slowly = Object.entries(says).map(([call, answer]) => [
    call,
    async (...request: readonly never[]) => {
      await time.pass(answerMs);
      return (answer as (...request: readonly never[]) => unknown)(...request);
    },
  ]);
  const connector: Connector = {
    ...simulator,
    ...(Object.fromEntries(slowly) as Partial<Connector>),
    capabilities: { ...simulator.capabilities, lateArrivalMs, ...capabilities },
  };
  const runner = new Runner({
    clock: time,
    random,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([connector]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ what }) => assert.fail(what),
  });
  return { time, store, runner, sent };
}

describe("what the acquirer says is about the moment in which it was asked, not about that in which it answers", () => {
  for (const each of cases) {
    for (const [when, beforeMs, state] of [
      ["a millisecond before it can arrive no more", 1, each.open],
      ["when it can arrive no more", 0, each.over],
    ] as const) {
      test(`${each.what}, asked ${when}: ${state}`, async () => {
        const { time, store, runner, sent } = await open(each);
        const payments = sent(instant(time.now() + beforeMs - lateArrivalMs));
        for (const payment of payments) {
          const { outcome } = await store.commit(
            given.paymentChange({ ...payment, order: payments[0]?.order ?? payment.order }),
          );
          assert.equal(outcome, "committed");
        }
        const last = await store.paymentById(given.merchantA, first.id);
        assert.ok(last !== undefined);
        const context = runner.contextOf(account);
        const next = each.open.startsWith("refund")
          ? await advanceRefund(context, last, 7)
          : await recoverPayment(context, last);
        assert.equal(each.open.startsWith("refund") ? refundOf(next) : next.state, state);
        assert.deepEqual(await store.paymentById(given.merchantA, first.id), next);
      });
    }
  }
});

test("a clock that is set ahead while a reversal is written makes an unknown original no proof", async () => {
  const reversal = {
    what: "an authorization of which it says nothing",
    sent: (answerBy: Instant) => [given.newPayment(1, { attempt: given.newAttempt({ answerBy }) })],
    says: { reverse: async () => ({ kind: "unknown_original" }) as const },
    capabilities: { answersInquiries: false },
    open: "reversing",
    over: "voided",
  };
  const { time, store, runner, sent } = await open(reversal);
  const [payment] = sent(instant(time.now() + 1_000));
  assert.ok(payment !== undefined);
  await store.commit(given.paymentChange(payment));
  const recovering = recoverPayment(runner.contextOf(account), payment);
  await time.pass(2 * 3_600_000);
  assert.equal((await recovering).state, "reversing", "the authorization may still arrive");
});
