import { wirePaths } from "../../interface/paths.ts";
import { acting, amountIn } from "../permission.ts";
import { ServiceError } from "../../payment/service-error.ts";
import { cancelRefund, refund, refundOrCancel } from "../../operations/refund.ts";
import type { PaymentSelector } from "../../operations/direct-input.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { withWarnings } from "../answers/answer.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { unknownPayment } from "../requests/payment-request.ts";
import {
  readRefundOrCancel,
  readRefundRequest,
  refundLongest,
} from "../requests/refund-request.ts";
import { refusal } from "../errors/refusal.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import type { Field } from "../field.ts";
import { commonErrors, type ErrorMappings, internalFailure, mapTo } from "../answers/errors.ts";
import { cancelErrors } from "./cancel.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentSchema, refundSchema } from "../answers/payment-schema.ts";
import { json, NamedSchema } from "../schema.ts";
import { exampleOrder, secretKey, selectorFor } from "./shared-docs.ts";

const refundTexts: readonly Field[] = [
  {
    name: "description",
    type: "text",
    longest: { characters: refundLongest.description, code: "BP-REF-6" },
    note: "The reason. May be empty.",
    source: "5.3",
  },
  {
    name: "merchant_refund_code",
    type: "text",
    longest: { characters: refundLongest.code, code: "BP-REF-6" },
    note: "Your name for the refund. BP-REF-11 when it was used before.",
    source: "5.3",
  },
];

const refundErrors: ErrorMappings = {
  ...commonErrors,
  // `handled` sends it, because it knows the name by which the payment was searched.
  payment_not_found: { code: "BP-REF-CAN-2", toWireError: internalFailure.toWireError },
  refund_amount_invalid: mapTo("BP-REF-4"),
  refund_amount_too_high: mapTo("BP-REF-5"),
  payment_not_refundable: mapTo("BP-REF-7"),
  refund_not_found: mapTo("BP-REF-9"),
  refund_not_cancellable: mapTo("BP-REF-10"),
  refund_code_holds_card: mapTo("COFRE-47"),
  refund_code_taken: mapTo("BP-REF-11"),
  payment_already_refunded: mapTo("BP-REF-12"),
  refund_window_over: mapTo("COFRE-24"),
  refund_limit_reached: mapTo("COFRE-43"),
  payment_charged_back: mapTo("COFRE-25"),
};

const refundAnswer = new NamedSchema(
  "RefundAnswer",
  json.object({
    payment: paymentSchema,
    refund: refundSchema,
    operation: json.exactly("refund"),
    status: json.success,
  }),
);

const refundDoc: EndpointDoc = {
  id: "refund",
  tag: "Refunds",
  summary: "Refund a payment, or cancel a refund",
  description:
    "Refunds a captured payment, in any number of parts. A refund can be cancelled until it is sent.",
  fields: [
    secretKey,
    {
      name: "operation",
      type: "text",
      values: ["request", "cancel"],
      note: "Default: request. Any other value: BP-REF-2.",
      source: "5.3",
    },
    ...selectorFor("BP-REF-1"),
    {
      name: "amount",
      type: "decimal",
      required: { code: "BP-REF-3", when: "operation is request" },
      note: "In the payment's currency.",
      source: "5.3",
    },
    ...refundTexts,
    {
      name: "refund_id",
      type: "whole",
      required: { code: "BP-REF-8", or: ["merchant_refund_code"], when: "operation is cancel" },
      note: "The refund to cancel.",
      source: "5.3",
    },
  ],
  answer: refundAnswer,
  idempotent: true,
  errors: refundErrors,
  runs: [refund, cancelRefund],
  codes: ["BP-REF-1", "BP-REF-2", "BP-REF-3", "BP-REF-4", "BP-REF-6", "BP-REF-8", "COFRE-47"],
  example: {
    ...exampleOrder,
    operation: "request",
    amount: "25.00",
    description: "one of four cups was broken",
  },
  needs: "captured",
};

/**
 * /ws/refund: refunds a payment, or cancels a refund that has not been sent yet (interface 5.3).
 */
export function refundEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: wirePaths.refund,
    doc: refundDoc,
    permission: acting("operator", "refund", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: async ({ params, account, named }) => {
      const answer = await answering(refundErrors, async () => {
        const read = readRefundRequest(params, account);
        const done =
          read.kind === "cancel"
            ? await runner.run(cancelRefund, account, { ...read.selector, request: named?.digest })
            : await naming(
                read.input.selector,
                runner.run(refund, account, { ...read.input, request: named?.digest }),
              );
        return paymentAnswer(done.payment, account, { refund: done.refund, operation: "refund" });
      });
      return withWarnings(answer, roundingWarnings(params, "amount", account));
    },
  };
}

const refundOrCancelErrors: ErrorMappings = { ...cancelErrors, ...refundErrors };

const refundOrCancelAnswer = new NamedSchema(
  "RefundOrCancelAnswer",
  json.object(
    {
      payment: paymentSchema,
      operation: json.oneOf(["refund", "cancel"]),
      status: json.success,
    },
    { refund: refundSchema },
  ),
);

const refundOrCancelDoc: EndpointDoc = {
  id: "refundOrCancel",
  tag: "Refunds",
  summary: "Undo a payment",
  description: "Cancels a payment that is not captured, and refunds the rest of a captured one.",
  fields: [secretKey, ...selectorFor("BP-REF-1"), ...refundTexts],
  answer: refundOrCancelAnswer,
  idempotent: true,
  errors: refundOrCancelErrors,
  runs: [refundOrCancel],
  codes: ["BP-REF-1", "BP-REF-6", "COFRE-47"],
  example: { ...exampleOrder, description: "the order was cancelled" },
  needs: "captured",
};

/** /ws/refundOrCancel: cancels an uncaptured payment, refunds a captured one (interface 5.4). */
export function refundOrCancelEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/refundOrCancel",
    doc: refundOrCancelDoc,
    permission: acting("operator", "refund_or_cancel", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account, named }) =>
      answering(refundOrCancelErrors, async () => {
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
