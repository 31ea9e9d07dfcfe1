import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { instant } from "../../src/kernel/instant.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { allSlots } from "../../src/kernel/slot-assignment.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { sandboxEgress } from "../../src/delivery/address-guard.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { createEgress } from "../../src/delivery/egress.ts";
import { batchingTargets, noChaos } from "../../src/notification/endpoint.ts";
import type { EndpointId } from "../../src/notification/events.ts";
import { openNotificationKeys } from "../../src/delivery/notification-keys.ts";
import { createSigner } from "../../src/delivery/signature.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import * as given from "../contract/store-fixtures.ts";

/**
 * A process that commits notifications and sends them until it is killed: `--file`, `--url`,
 * `--first` number of a payment, `--count`, and `--epoch`.
 */
const { values } = parseArgs({
  options: {
    file: { type: "string" },
    url: { type: "string" },
    first: { type: "string" },
    count: { type: "string" },
    epoch: { type: "string" },
    hashes: { type: "string" },
  },
});
const { file = "", url = "", first = "1", count = "0", epoch = "0", hashes = "1" } = values;
const vector = JSON.parse(
  readFileSync(new URL("../vectors/notification.json", import.meta.url), "utf8"),
) as { readonly kept: unknown };
const random = new SystemRandom();
const store = await openEmbeddedStore({ file });
const keys = await openNotificationKeys({
  storage: {
    load: async () => Buffer.from(JSON.stringify(vector.kept)),
    save: async (content) => content,
  },
  environment: "sandbox",
  random,
  clock: systemClock,
});
// A retry that is due after hours waits for a second at most. All processes of a run share one
// clock.
const start = Number(epoch);
const hurriedClock = { now: () => instant(start + (systemClock.now() - start) * 20_000) };
const hurried: Scheduler = {
  ...systemScheduler,
  after: (ms, task) => systemScheduler.after(ms / 50, task),
};
const endpoints = [
  { id: "shop", url, enabled: true, secretVersion: 1, hashesPerCall: Number(hashes) },
];
const targets = ["shop" as EndpointId];
const dispatcher = new Dispatcher({
  store,
  accounts: {
    settingsOf: async () => ({ endpoints, chaos: noChaos }),
    disable: async () => undefined,
  },
  sender: createEgress({ policy: sandboxEgress, scheduler: systemScheduler }),
  sign: createSigner(keys),
  installation: keys.certificate.fingerprint,
  clock: hurriedClock,
  random,
  scheduler: hurried,
  slotAssignment: allSlots,
  report: () => undefined,
  alarm: (what) => process.stdout.write(`alarm ${what}\n`),
});
dispatcher.start();
process.stdout.write("ready\n");
for (let number = Number(first); number < Number(first) + Number(count); number += 1) {
  const plain = given.newPayment(number);
  let payment = { ...plain, order: { ...plain.order, notificationUrl: undefined } };
  await store.commit(given.paymentChange(payment));
  for (const kind of ["update", "refund", "chargeback"] as const) {
    payment = { ...payment, version: payment.version + 1 };
    const at = hurriedClock.now();
    await store.commit(
      given.paymentChange(payment, {
        at,
        notifications: [{ kind, paymentId: payment.id }],
        endpoints: targets,
        batchFor: batchingTargets(endpoints, targets),
      }),
    );
    dispatcher.nudge(payment.merchantId, targets);
  }
}
process.stdout.write("committed\n");
