import { wirePaths } from "../../interface/paths.ts";
import { acting } from "../permission.ts";
import { cancel } from "../../operations/cancel.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { commonErrors, type ErrorMappings, mapTo } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentSchema } from "../answers/payment-schema.ts";
import { json, NamedSchema } from "../schema.ts";
import { exampleOrder, secretKey, selectorFor } from "./shared-docs.ts";

export const cancelErrors = {
  ...commonErrors,
  payment_not_found: mapTo("BP-CAN-2"),
  payment_not_voidable: mapTo("BP-CAN-3"),
  void_declined: mapTo("BP-CAN-4"),
} as const satisfies ErrorMappings;

const answerSchema = new NamedSchema(
  "CancelAnswer",
  json.object({
    payment: paymentSchema,
    operation: json.exactly("cancel"),
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "cancel",
  tag: "Payments",
  summary: "Cancel an authorization",
  description: "Voids a payment that is not captured. Use a refund for a captured payment.",
  fields: [secretKey, ...selectorFor("BP-CAN-1")],
  answer: answerSchema,
  idempotent: true,
  errors: cancelErrors,
  runs: [cancel],
  codes: ["BP-CAN-1"],
  example: exampleOrder,
  needs: "held",
};

/** /ws/cancel: voids an authorization (interface 5.2). */
export function cancelEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: wirePaths.cancel,
    doc,
    permission: acting("operator", "cancel"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    acquirerFaults: ["decline", "acquirer_unknown_then_yes"],
    handle: ({ params, account, named }) =>
      answering(cancelErrors, async () => {
        const input = { ...readSelector(params, "BP-CAN-1"), request: named?.digest };
        return paymentAnswer(await runner.run(cancel, account, input), account, {
          operation: "cancel",
        });
      }),
  };
}
