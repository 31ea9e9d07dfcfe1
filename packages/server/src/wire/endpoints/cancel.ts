import { acting } from "../permission.ts";
import { cancel } from "../../operations/cancel.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/cancel: voids an authorization (interface 5.2). */
export function cancelEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/cancel",
    permission: acting("operator", "cancel"),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account, named }) =>
      answering("cancel", async () => {
        const input = { ...readSelector(params, "cancel"), request: named?.digest };
        return paymentAnswer(await runner.run(cancel, account, input), account, {
          operation: "cancel",
        });
      }),
  };
}
