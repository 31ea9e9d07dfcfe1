import { minute } from "../kernel/instant.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import { read } from "./commit.ts";
import { defineOperation } from "./operation.ts";

/** How far the notifications of a payment were delivered, in receivers. */
export interface Notified {
  readonly receivers: number;
  /** Those that accepted every notification of the payment. */
  readonly delivered: number;
  /** Those with a delivery that has finally failed. */
  readonly failed: number;
  /** A delivery has been waiting for more than a minute. */
  readonly late: boolean;
}

const lateAfterMs = minute;

/** Reads it for a page of payments, of which those without deliveries are left out. */
export const notifiedReceivers = defineOperation<
  readonly PaymentId[],
  ReadonlyMap<PaymentId, Notified>
>({
  name: "notified_receivers",
  errors: ["read_timed_out"],

  async run({ store, account, clock }, ids) {
    if (ids.length === 0) return new Map();
    const sums = await read(store.deliverySums(account.id, ids));
    const now = clock.now();
    return new Map(
      sums.map(({ paymentId, receivers, notified: delivered, failed, waitingSince }) => {
        const late = waitingSince !== undefined && now - waitingSince > lateAfterMs;
        return [paymentId, { receivers, delivered, failed, late }];
      }),
    );
  },
});
