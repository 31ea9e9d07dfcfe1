import assert from "node:assert/strict";
import { hour, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { SendOutcome } from "../../src/delivery/sender.ts";
import type { Payment } from "../../src/payment/payment.ts";
import type { CommitFault } from "../../src/stores/memory/memory-store.ts";
import { merchantA, merchantB } from "../contract/store-fixtures.ts";
import { Chance } from "../support/chance.ts";
import {
  deliveriesOf,
  endpoint,
  ok,
  DeliveryHarness,
  type Received,
  status,
} from "./delivery-harness.ts";

const faultsPerMille = 300;

const faults: readonly { readonly outcome: SendOutcome; readonly afterMs: number }[] = [
  { outcome: status(500), afterMs: 30 },
  { outcome: status(503, "20"), afterMs: 30 },
  { outcome: status(429, "5"), afterMs: 5 },
  { outcome: status(302), afterMs: 10 },
  { outcome: status(404), afterMs: 10 },
  { outcome: { kind: "failed", cause: "connection" }, afterMs: 3 },
  { outcome: { kind: "failed", cause: "answer" }, afterMs: 3 },
  // Handled, but too late for the sender to receive the answer.
  { outcome: ok, afterMs: hour },
];
const storeFaults: readonly CommitFault[] = [
  "unavailable",
  "overloaded",
  "stale",
  "commit_unknown_not_applied",
  "commit_unknown_applied",
  "commit_unknown_applied_late",
  "slow",
];

/**
 * Payments of two accounts change and send notifications, to three endpoints and to their own
 * addresses, while receivers fail 30 % of the time, commits fail 2 % of the time, and the sender is
 * killed at a random step every few hundred. After the faults all notifications must have been
 * delivered: none early, repeats with the same id, each payment in order.
 */
export async function faultedRun(events: number, seed: number): Promise<void> {
  const chance = new Chance(seed);
  let quiet = false;
  const harness = new DeliveryHarness({
    seed,
    answer: () => {
      const fault =
        !quiet && chance.happens(faultsPerMille) ? faults[chance.below(faults.length)] : undefined;
      return fault ?? { outcome: ok, afterMs: chance.between(1, 60) };
    },
    store: {
      commitFault: ({ payment }) => {
        const fault =
          !quiet && chance.happens(20) ? storeFaults[chance.below(storeFaults.length)] : undefined;
        // Time is paused while the test itself commits.
        return fault === "slow" && payment !== undefined ? undefined : fault;
      },
      readFails: () => !quiet && chance.happens(5),
      slowMs: 20,
    },
  });
  harness.account(merchantA, [endpoint("shop"), endpoint("books")]);
  harness.account(merchantB, [endpoint("other")]);

  let kills = 0;
  harness.step = () => !quiet && chance.happens(3);
  const reviveSoon = async (): Promise<void> => {
    if (harness.isRunning) return;
    kills += 1;
    await harness.run(chance.between(0, 3) * second);
    harness.start();
  };
  harness.start();

  const payments: Payment[] = [];
  let reported = 0;
  while (reported < events) {
    const merchantId: MerchantId = chance.happens(600) ? merchantA : merchantB;
    const at = chance.below(Math.max(1, payments.length));
    const known = chance.happens(500) ? payments[at] : undefined;
    const payment =
      known ??
      (await harness.payment(
        merchantId,
        chance.happens(200) ? `https://order${chance.below(5)}.example/` : undefined,
      ));
    const next = await harness.notify(payment);
    if (next === undefined) {
      // The commit's outcome is unknown: the payment is read again, as an operation would.
      const stored = await harness.reread(payment);
      if (known !== undefined) payments[at] = stored;
    } else {
      reported += 1;
      if (known === undefined) payments.push(next);
      else payments[at] = next;
    }
    if (reported % 8 === 0) await harness.run(chance.between(10, 300));
    await reviveSoon();
  }
  quiet = true;
  await reviveSoon();
  await harness.run(4 * hour);
  await harness.stop();

  const received = harness.received.filter(({ answered }) => answered === ok);
  const deliveries = [
    ...(await deliveriesOf(harness.store, merchantA)),
    ...(await deliveriesOf(harness.store, merchantB)),
  ];
  assert.ok(deliveries.length > events);
  assert.deepEqual(new Set(deliveries.map(({ state }) => state)), new Set(["delivered"]));

  // All notifications arrived: each delivery is identified by number and address, and each
  // payment's hash matches the number.
  assert.equal(new Set(received.map(key)).size, deliveries.length);
  const committed = new Map<string, string>();
  for (const merchantId of [merchantA, merchantB]) {
    const rows = await harness.store.notificationsOf(merchantId, 0, 1_000_000);
    assert.deepEqual(
      rows.map(({ number }) => number),
      rows.map((_, index) => index + 1),
      "numbers have no gap",
    );
    for (const { number, paymentId } of rows) committed.set(`${merchantId} ${number}`, paymentId);
  }
  assert.equal(harness.early, 0, "none before its commit");
  for (const { merchantId, number, paymentId } of deliveries)
    assert.equal(committed.get(`${merchantId} ${number}`), paymentId);

  // Repeats have the same id, and no two messages share one.
  const ids = new Map<string, string>();
  for (const message of harness.received) {
    assert.equal(ids.get(key(message)) ?? message.id, message.id);
    ids.set(key(message), message.id);
  }
  assert.equal(new Set(ids.values()).size, ids.size);

  // A payment's next message is never started before the previous one was received.
  const numbers = new Map<string, number>();
  for (const { hash, url, number } of harness.received) {
    const before = numbers.get(`${url} ${hash}`) ?? 0;
    assert.ok(number >= before, "a payment's notifications come in order");
    numbers.set(`${url} ${hash}`, number);
  }

  const repeats = harness.received.length - deliveries.length;
  assert.ok(kills > events / 200, `control: ${kills} kills`);
  assert.ok(repeats > events / 10, `control: ${repeats} repeats`);
  assert.ok(received.length > deliveries.length, "control: some were heard twice");
  assert.deepEqual(harness.alarms, []);
}

function key({ url, number, hash }: Received): string {
  return `${url} ${hash} ${number}`;
}
