import type { DirectOrder } from "../../../operations/direct-input.ts";
import { PaymentCodeTaken } from "../../../operations/payment-code-taken.ts";
import { direct } from "../../../operations/direct.ts";
import type { Payment } from "../../../payment/payment.ts";
import { amountWarning } from "../amount-warning.ts";
import { roundingWarnings } from "../amounts.ts";
import { withWarnings } from "../answer.ts";
import { threeDSecureWarnings } from "../credential-nodes.ts";
import { readDirect, wipeSource } from "../direct-request.ts";
import type { KeyedEndpoint } from "../endpoint.ts";
import { nodeOf } from "../fields.ts";
import { paymentAnswer } from "../payment-answer.ts";
import { simulatedError } from "../simulated-error.ts";
import { answeringAnswer, type EndpointDeps } from "./deps.ts";

/** POST /ws/direct: charges or authorizes (interface 3). */
export function directEndpoint({ runner, clockOf, sandbox }: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/direct",
    key: "secret",
    family: "json",
    cors: false,
    async handle({ params, account, headers, named }) {
      const simulated = await simulatedError(headers.simulateInternalError, account.id, sandbox);
      if (simulated !== undefined) return simulated;
      const warnings: string[] = [];
      const answer = await answeringAnswer("direct", async () => {
        const local = account.settings.profile === "B" || headers.processingType?.trim().toLowerCase() === "local";
        const now = clockOf(account).now();
        const input = readDirect(params, account, now, { local });
        try {
          warnings.push(...roundingWarnings(nodeOf(params, "payment") ?? params, "amount_total", account));
          const small = sandbox === undefined ? undefined : amountWarning(input.order.amount, account, now);
          if (small !== undefined) warnings.push(small);
          if (sandbox !== undefined) warnings.push(...threeDSecureWarnings(input));
          const { payment, token } = await runner.run(direct, account, input);
          const body = paymentAnswer(payment, account, token === undefined ? {} : { token });
          // A token is given once and never kept; an attempt without an answer is not the last word.
          return { status: 200, body, keep: token === undefined && payment.attempt === undefined };
        } catch (error) {
          const made = named?.resumed === true && error instanceof PaymentCodeTaken ? error.existing : undefined;
          if (made === undefined || !asksFor(input.order, made)) throw error;
          // Its first sending made this payment, and nobody heard of it.
          return { status: 200, body: paymentAnswer(made, account), keep: made.attempt === undefined };
        } finally {
          wipeSource(input.source);
        }
      });
      return withWarnings(answer, warnings);
    },
  };
}

/** false: the payment was made by another request, which took the code while this one's first sending did nothing. */
function asksFor(asked: DirectOrder, { order }: Payment): boolean {
  return (
    asked.amount.minor === order.amount.minor &&
    asked.amount.currency === order.amount.currency &&
    asked.country === order.country &&
    asked.instalments === order.instalments &&
    asked.autoCapture === order.autoCapture
  );
}
