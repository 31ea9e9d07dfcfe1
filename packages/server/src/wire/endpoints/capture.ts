import { acting, amountIn } from "../permission.ts";
import { capture } from "../../operations/capture.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { withWarnings } from "../answers/answer.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readCapture } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/capture: captures an authorized amount (interface 5.1). */
export function captureEndpoint({ runner }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/capture",
    permission: acting("operator", "capture", amountIn),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: async ({ params, account, named }) => {
      const answer = await answering("capture", async () => {
        const input = { ...readCapture(params, account), request: named?.digest };
        return paymentAnswer(await runner.run(capture, account, input), account);
      });
      return withWarnings(answer, roundingWarnings(params, "amount", account));
    },
  };
}
