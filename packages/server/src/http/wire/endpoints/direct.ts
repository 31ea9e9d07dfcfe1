import { direct } from "../../../operations/direct.ts";
import { readDirect, wipeSource } from "../direct-request.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** POST /ws/direct: charges or authorizes (interface 3). */
export function directEndpoint({ runner, clockOf }: EndpointDeps): Endpoint {
  return {
    path: "/ws/direct",
    key: "secret",
    family: "json",
    cors: false,
    handle: ({ params, account, headers }) =>
      answering("direct", async () => {
        const local = account.settings.profile === "B" || headers.processingType?.trim().toLowerCase() === "local";
        const input = readDirect(params, account, clockOf(account).now(), { local });
        try {
          const { payment, token } = await runner.run(direct, account, input);
          return paymentAnswer(payment, account, token === undefined ? {} : { token });
        } finally {
          wipeSource(input.source);
        }
      }),
  };
}
