import { ServiceError } from "../../../kernel/service-error.ts";
import { cancel } from "../../../operations/cancel.ts";
import { query } from "../../../operations/query.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { readSelector } from "../payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/cancel: gives an authorization up (interface 5.2). */
export function cancelEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/cancel",
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account, named }) =>
      answering("cancel", async () => {
        const selector = readSelector(params, "cancel");
        try {
          return paymentAnswer(await runner.run(cancel, account, selector), account, { operation: "cancel" });
        } catch (error) {
          const over = error instanceof ServiceError && error.code === "payment_not_voidable";
          const payment = over && named?.resumed === true ? await runner.run(query, account, selector) : undefined;
          if (payment?.state !== "voided") throw error;
          // Its first sending gave the payment up, and nobody heard of it.
          return paymentAnswer(payment, account, { operation: "cancel" });
        }
      }),
  };
}
