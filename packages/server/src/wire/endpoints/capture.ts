import { wirePaths } from "../../interface/paths.ts";
import { acting, amountIn } from "../permission.ts";
import { capture } from "../../operations/capture.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { withWarnings } from "../answers/answer.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readCapture } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { commonErrors, type ErrorMappings, mapTo } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentAnswerSchema } from "../answers/payment-schema.ts";
import { exampleOrder, secretKey, selectorFor } from "./shared-docs.ts";

/** Errors of every capture. */
export const captureErrors = {
  payment_cancelled: mapTo("BP-CAP-3"),
  payment_already_captured: mapTo("BP-CAP-4"),
  payment_not_capturable: mapTo("BP-CAP-5"),
  capture_declined: mapTo("BP-CAP-7"),
} as const satisfies ErrorMappings;

const errors: ErrorMappings = {
  ...commonErrors,
  ...captureErrors,
  payment_not_found: mapTo("BP-CAP-2"),
  capture_amount_invalid: mapTo("BP-CAP-6"),
  partial_capture_disabled: mapTo("BP-CAP-11"),
};

const doc: EndpointDoc = {
  id: "capture",
  tag: "Payments",
  summary: "Capture an authorization",
  description: "Each authorization is captured once. A partial capture releases the rest.",
  fields: [
    secretKey,
    ...selectorFor("BP-CAP-1"),
    {
      name: "amount",
      type: "decimal",
      note: "A partial amount, if the account allows partial captures. Missing or 0: the full amount.",
      source: "5.1",
    },
    { name: "merchant_capture_code", type: "text", note: "Ignored.", source: "5.1" },
  ],
  answer: paymentAnswerSchema,
  idempotent: true,
  errors,
  runs: [capture],
  codes: ["BP-CAP-1", "BP-CAP-6"],
  example: exampleOrder,
  needs: "held",
};

/** /ws/capture: captures an authorized amount (interface 5.1). */
export function captureEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: wirePaths.capture,
    doc,
    permission: acting("operator", "capture", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    acquirerFaults: ["decline", "acquirer_unknown_then_yes"],
    handle: async ({ params, account, named }) => {
      const answer = await answering(errors, async () => {
        const input = { ...readCapture(params, account), request: named?.digest };
        return paymentAnswer(await runner.run(capture, account, input), account);
      });
      return withWarnings(answer, roundingWarnings(params, "amount", account));
    },
  };
}
