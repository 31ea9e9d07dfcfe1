import {
  decideRefund,
  decideRefundCancel,
  refundOfRequest,
} from "../decisions/refund-decisions.ts";
import { assert } from "../kernel/assert.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Random } from "../kernel/random.ts";
import type { Payment } from "../payment/payment.ts";
import type { Refund, RefundId } from "../payment/refund.ts";
import { containsMaskedPan } from "../vault/contains-pan.ts";
import { cancel } from "./cancel.ts";
import { paymentIfDone, requestFacts, resultOrEarlier } from "./repeated-requests.ts";
import { read } from "./commit.ts";
import type { IdempotentInput, RefundInput, RefundSelector } from "./direct-input.ts";
import { defineOperation } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

export interface Refunded {
  readonly payment: Payment;
  readonly refund: Refund;
}

const refundErrors = [
  "payment_not_found",
  "payment_not_refundable",
  "payment_already_refunded",
  "payment_charged_back",
  "refund_window_over",
  "refund_amount_invalid",
  "refund_amount_too_high",
  "refund_code_holds_card",
  "refund_code_taken",
  "refund_limit_reached",
] as const;

/** Requests a refund; a job sends it later. */
export const refund = defineOperation<RefundInput, Refunded>({
  name: "refund",
  errors: refundErrors,

  async run(context, { selector, amount, description, code, request }) {
    const seen = await selectPayment(context, selector);
    let id: RefundId = 0;
    const { payment } = await changePayment(context, seen, (current) => {
      const existing = refundOfRequest(current, request);
      id = existing?.id ?? newRefundId(context.random);
      if (existing !== undefined) return undefined;
      const isRefused =
        context.account.settings.refuseCardLikeCodes &&
        code !== undefined &&
        current.order.card !== undefined &&
        containsMaskedPan(code, current.order.card.maskedPan);
      if (isRefused) throw new ServiceError("refund_code_holds_card");
      return decideRefund(
        current,
        { id, code, amount, description, request },
        context.account.settings,
        context.clock.now(),
      );
    });
    return { payment, refund: refundOf(payment, id) };
  },
});

/** Cancels a refund that has not been sent yet. */
export const cancelRefund = defineOperation<RefundSelector & IdempotentInput, Refunded>({
  name: "cancel_refund",
  errors: ["refund_not_found", "refund_not_cancellable"],

  async run(context, selector) {
    const { request } = selector;
    const seen = await read(context.store.paymentByRefund(context.account.id, selector));
    const found = seen?.refunds.find((each) =>
      "id" in selector ? each.id === selector.id : each.code === selector.code,
    );
    if (seen === undefined || found === undefined) throw new ServiceError("refund_not_found");
    const payment = await resultOrEarlier(
      async () => {
        const { payment: changed } = await changePayment(context, seen, (current) =>
          decideRefundCancel(
            current,
            found.id,
            context.account.settings,
            context.clock.now(),
            request,
          ),
        );
        return changed;
      },
      () => paymentIfDone(context, seen, request, requestFacts.refundCancel),
    );
    return { payment, refund: refundOf(payment, found.id) };
  },
});

/** Voids a payment that is not captured, refunds one that is (interface 5.4). */
export const refundOrCancel = defineOperation<
  RefundInput,
  { readonly payment: Payment; readonly refund: Refund | undefined }
>({
  name: "refund_or_cancel",
  errors: [...refundErrors, ...cancel.errors],

  async run(context, input) {
    const { state } = await selectPayment(context, input.selector);
    // If it is captured in between, the void is refused and the merchant repeats the request.
    if (state === "captured") return refund.run(context, input);
    const { selector, request } = input;
    return { payment: await cancel.run(context, { ...selector, request }), refund: undefined };
  },
});

/** 1 to 2^31 - 1: clients read it as a 32-bit integer. */
function newRefundId(random: Random): RefundId {
  const [a = 0, b = 0, c = 0, d = 0] = random.bytes(4);
  return Math.max(1, ((a & 0x7f) << 24) | (b << 16) | (c << 8) | d);
}

function refundOf(payment: Payment, id: RefundId): Refund {
  const found = payment.refunds.find((each) => each.id === id);
  assert(found !== undefined, "a refund that was committed is one of its payment's");
  return found;
}
