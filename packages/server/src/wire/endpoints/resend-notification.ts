import { acting } from "../permission.ts";
import { resendNotification } from "../../operations/resend-notification.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { commonErrors, type ErrorMappings, mapTo } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentAnswerSchema } from "../answers/payment-schema.ts";
import { exampleOrder, paymentFields } from "./shared-docs.ts";

const errors: ErrorMappings = {
  ...commonErrors,
  payment_not_found: mapTo("BP-QRY-2"),
  nothing_to_resend: mapTo("COFRE-29"),
};

const doc: EndpointDoc = {
  id: "resendNotification",
  tag: "Utilities",
  summary: "Resend a payment's notification",
  description: "Sends the payment's last notification again.",
  fields: paymentFields,
  answer: paymentAnswerSchema,
  errors,
  runs: [resendNotification],
  codes: ["BP-QRY-1"],
  example: exampleOrder,
  needs: "captured",
};

/**
 * /ws/everest/resendNotification (interface 5.7): sends the latest notification of a payment again.
 */
export function resendNotificationEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: "/ws/everest/resendNotification",
    doc,
    permission: acting("operator", "notification_resent"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(errors, async () =>
        paymentAnswer(
          await runner.run(resendNotification, account, readSelector(params, "BP-QRY-1")),
          account,
        ),
      ),
  };
}
