import { acting, amountIn } from "../permission.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { cancelRefund, refund, refundOrCancel } from "../../operations/refund.ts";
import type { PaymentSelector } from "../../operations/direct-input.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { withWarnings } from "../answers/answer.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { unknownPayment } from "../requests/payment-request.ts";
import { readRefundOrCancel, readRefundRequest } from "../requests/refund-request.ts";
import { refusal } from "../errors/refusal.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/**
 * /ws/refund: refunds a payment, or cancels a refund that has not been sent yet (interface 5.3).
 */
export function refundEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/refund",
    permission: acting("operator", "refund", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: async ({ params, account, named }) => {
      const answer = await answering("refund", async () => {
        const asked = readRefundRequest(params, account);
        const done =
          asked.kind === "cancel"
            ? await runner.run(cancelRefund, account, { ...asked.selector, request: named?.digest })
            : await naming(
                asked.input.selector,
                runner.run(refund, account, { ...asked.input, request: named?.digest }),
              );
        return paymentAnswer(done.payment, account, { refund: done.refund, operation: "refund" });
      });
      return withWarnings(answer, roundingWarnings(params, "amount", account));
    },
  };
}

/** /ws/refundOrCancel: cancels an uncaptured payment, refunds a captured one (interface 5.4). */
export function refundOrCancelEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/refundOrCancel",
    permission: acting("operator", "refund_or_cancel", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account, named }) =>
      answering("refund_or_cancel", async () => {
        const input = { ...readRefundOrCancel(params), request: named?.digest };
        const { payment, refund: made } = await naming(
          input.selector,
          runner.run(refundOrCancel, account, input),
        );
        return paymentAnswer(
          payment,
          account,
          made === undefined ? { operation: "cancel" } : { refund: made, operation: "refund" },
        );
      }),
  };
}

/** Reports a payment that does not exist with the name by which it was searched. */
async function naming<T>(selector: PaymentSelector, running: Promise<T>): Promise<T> {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "payment_not_found") throw error;
    throw refusal("BP-REF-CAN-2", unknownPayment(selector));
  }
}
