import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import { decideRefundCancel, decideRefundNotDone } from "../decisions/refund-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
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

const id = 7;
const account = given.newAccount(given.merchantA);

/**
 * A refund that is being sent, and that another process changes before the acquirer's approval
 * arrives.
 */
async function sendLate(meanwhile: (sent: Payment) => readonly PaymentChange[]) {
  const time = new StillTime();
  const random = new SeededRandom("advance refund");
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    clock: time,
    random,
    environment: "test",
    create: true,
  });
  const store = createMemoryStore();
  const first = given.newPayment(1);
  const paid = given.paidNext(first);
  const refund = given.newRefund(id, {
    state: "pending",
    attempts: 0,
    amount: 100n,
    dueAt: time.now(),
  });
  await store.commit(given.paymentChange({ ...first, order: paid.order }));
  await store.commit(given.paymentChange(paid));
  const payment = given.refundedNext(paid, [refund]);
  await store.commit(given.paymentChange(payment));
  const alarms: string[] = [];
  const runner = new Runner({
    clock: time,
    random,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([
      {
        ...createSimulator({ clock: time, scheduler: time }),
        refund: async () => {
          const sent = await store.paymentById(given.merchantA, first.id);
          assert.ok(sent !== undefined);
          for (const change of meanwhile(sent))
            assert.equal((await store.commit(change)).outcome, "committed");
          return { kind: "approved" };
        },
      },
    ]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ kind }) => void alarms.push(kind),
  });
  const after = await advanceRefund(runner.contextOf(account), payment, id);
  return {
    refund: after.refunds.find((each) => each.id === id),
    needsReview: after.needsReview,
    alarms,
  };
}

function notDone(sent: Payment): PaymentChange {
  const change = decideRefundNotDone(sent, id, 1, given.start);
  assert.ok(change !== undefined);
  return change;
}

test("a refund whose approval comes in time is confirmed, without an alarm", async () => {
  const { refund, alarms } = await sendLate(() => []);
  assert.deepEqual([refund?.state, alarms], ["confirmed", []]);
});

test("a refund whose approval comes when it was taken for never done is confirmed, and not sent again", async () => {
  const { refund, needsReview, alarms } = await sendLate((sent) => [notDone(sent)]);
  assert.deepEqual(
    [refund?.state, refund?.attempts, refund?.dueAt, needsReview],
    ["confirmed", 1, undefined, false],
  );
  assert.deepEqual(alarms, ["approval_came_late"]);
});

test("a refund whose approval comes when the merchant has taken it back is left to people", async () => {
  const { refund, needsReview, alarms } = await sendLate((sent) => {
    const waits = notDone(sent);
    return [waits, decideRefundCancel(waits.payment.next, id, account.settings, given.start)];
  });
  assert.deepEqual(
    [refund?.state, needsReview, alarms],
    ["cancelled", true, ["approval_came_late"]],
  );
});
