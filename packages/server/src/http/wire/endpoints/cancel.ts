import { cancel } from "../../../operations/cancel.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { readSelector } from "../payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/cancel: gives an authorization up (interface 5.2). */
export function cancelEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: "/ws/cancel",
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering("cancel", async () => {
        const payment = await runner.run(cancel, account, readSelector(params, "cancel"));
        return paymentAnswer(payment, account, { operation: "cancel" });
      }),
  };
}
