import { acting } from "../permission.ts";
import { findPayment } from "../../operations/carried-out.ts";
import { PaymentCodeTaken } from "../../operations/payment-code-taken.ts";
import { direct, type Direct } from "../../operations/direct.ts";
import type { DirectInput } from "../../operations/direct-input.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import type { AddressCheck } from "../../merchant/receiver-address.ts";
import { withWarnings, type WireAnswer } from "../answers/answer.ts";
import { amountWarning } from "../requests/amount-warning.ts";
import { roundingWarnings } from "../requests/amounts.ts";
import { threeDSecureWarnings } from "../requests/credential-nodes.ts";
import { mayHaveMade, paymentCodeIn, readDirect, wipeSource } from "../requests/direct-request.ts";
import type { KeyedEndpoint, WireRequest } from "../endpoint.ts";
import { nodeOf } from "../requests/fields.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { simulatedError } from "../answers/simulated-error.ts";
import { WireError } from "../decode/wire-error.ts";
import { answeringAnswer, type EndpointDeps } from "./deps.ts";

/** POST /ws/direct: charges or authorizes (interface 3). */
export function directEndpoint({
  runner,
  clockOf,
  sandbox,
  addressCheck,
}: EndpointDeps): KeyedEndpoint {
  return {
    path: "/ws/direct",
    permission: acting("operator", "payment_made"),
    recorded: true,
    key: "secret",
    family: "json",
    cors: false,
    async handle(request) {
      const { params, account, headers, named } = request;
      const { simulateInternalError: asked } = headers;
      const simulated =
        asked === undefined ? undefined : await simulatedError(asked, account.id, sandbox);
      if (simulated !== undefined) return simulated;
      const warnings: string[] = [];
      const answer = await answeringAnswer("direct", async () => {
        const now = clockOf(account).now();
        const read = await readUnlessMade(runner, request, now);
        if ("payment" in read) return answerOf(read, account);
        try {
          warnings.push(
            ...roundingWarnings(nodeOf(params, "payment") ?? params, "amount_total", account),
          );
          const small =
            sandbox === undefined ? undefined : amountWarning(read.order.amount, account, now);
          if (small !== undefined) warnings.push(small);
          if (sandbox !== undefined) warnings.push(...threeDSecureWarnings(read));
          const told = toldAddress(read, addressCheck(account), warnings);
          return answerOf(
            await runner.run(direct, account, { ...told, request: named?.digest }),
            account,
          );
        } finally {
          wipeSource(read.source);
        }
      });
      return withWarnings(answer, warnings);
    },
  };
}

/**
 * Drops an address that would never be called, like other unusable addresses: the account's own
 * addresses are used instead.
 */
function toldAddress(read: DirectInput, check: AddressCheck, warnings: string[]): DirectInput {
  const { notificationUrl } = read.order;
  const reason = notificationUrl === undefined ? undefined : check(notificationUrl);
  if (reason === undefined) return read;
  warnings.push(
    `notification_url is ignored, and the account's own addresses are used: it ${reason}`,
  );
  return { ...read, order: { ...read.order, notificationUrl: undefined } };
}

/**
 * Reads the request. A request that is refused now may have been accepted before, under other
 * settings or before its card expired: then its payment is returned.
 */
async function readUnlessMade(
  runner: EndpointDeps["runner"],
  { params, account, headers, named }: WireRequest,
  now: Instant,
): Promise<DirectInput | Direct> {
  const local =
    account.settings.profile === "B" || headers.processingType?.trim().toLowerCase() === "local";
  try {
    return readDirect(params, account, now, { local });
  } catch (refusal) {
    const code = refusal instanceof WireError ? paymentCodeIn(params) : undefined;
    if (code === undefined) throw refusal;
    try {
      const payment = await runner.run(findPayment, account, { code, request: named?.digest });
      if (payment !== undefined) return { payment, token: undefined };
    } catch (error) {
      if (!(error instanceof PaymentCodeTaken) || mayHaveMade(params, error.existing.order))
        throw error;
    }
    throw refusal;
  }
}

/**
 * A token is returned once and never stored; a payment whose attempt has no answer yet is not
 * final. Neither answer is kept for replay.
 */
function answerOf({ payment, token }: Direct, account: Account): WireAnswer {
  const body = paymentAnswer(payment, account, token === undefined ? {} : { token });
  return { status: 200, body, keep: token === undefined && payment.attempt === undefined };
}
