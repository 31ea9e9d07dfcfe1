import { acting } from "../permission.ts";
import { resendNotification } from "../../operations/resend-notification.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/**
 * /ws/everest/resendNotification (interface 5.7): sends the latest notification of a payment again.
 */
export function resendNotificationEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: "/ws/everest/resendNotification",
    permission: acting("operator", "notification_sent_again"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering("resend", async () =>
        paymentAnswer(
          await runner.run(resendNotification, account, readSelector(params, "query")),
          account,
        ),
      ),
  };
}
