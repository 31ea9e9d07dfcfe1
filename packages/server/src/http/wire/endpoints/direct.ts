import { direct } from "../../../operations/direct.ts";
import { amountWarning } from "../amount-warning.ts";
import { readDirect, wipeSource } from "../direct-request.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { simulatedError } from "../simulated-error.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** POST /ws/direct: charges or authorizes (interface 3). */
export function directEndpoint({ runner, clockOf, sandbox }: EndpointDeps): Endpoint {
  return {
    path: "/ws/direct",
    key: "secret",
    family: "json",
    cors: false,
    async handle({ params, account, headers }) {
      const simulated = await simulatedError(headers.simulateInternalError, account.id, sandbox);
      if (simulated !== undefined) return simulated;
      let warning: string | undefined;
      const answer = await answering("direct", async () => {
        const local = account.settings.profile === "B" || headers.processingType?.trim().toLowerCase() === "local";
        const now = clockOf(account).now();
        const input = readDirect(params, account, now, { local });
        try {
          if (sandbox !== undefined) warning = amountWarning(input.order.amount, account, now);
          const { payment, token } = await runner.run(direct, account, input);
          return paymentAnswer(payment, account, token === undefined ? {} : { token });
        } finally {
          wipeSource(input.source);
        }
      });
      return warning === undefined ? answer : { ...answer, headers: [["X-Cofre-Warning", warning]] };
    },
  };
}
