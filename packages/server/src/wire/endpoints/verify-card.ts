import type { VerifyOutcome } from "../../connectors/connector.ts";
import { verifyCard } from "../../operations/verify-card.ts";
import { wipeSource } from "../requests/direct-request.ts";
import type { Endpoint } from "../endpoint.ts";
import { verdictCode, verdictDescription } from "../answers/payment-answer.ts";
import { readVerify } from "../requests/verify-request.ts";
import { acting } from "../permission.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/verifycard, under its two names: checks a card without a payment (interface 3.7). */
export function verifyCardEndpoints({ runner, clockOf }: EndpointDeps): readonly Endpoint[] {
  return ["/ws/verifycard", "/ws/cardverify"].map((path) => ({
    path,
    permission: acting("operator", "card_verified"),
    recorded: true,
    key: "secret",
    family: "json",
    cors: false,
    handle: ({ params, account }) =>
      answering("verify", async () => {
        const { input, typeText } = readVerify(params, account, clockOf(account).now());
        try {
          const outcome = await runner.run(verifyCard, account, input);
          const isInitial = input.storedCredential?.use === "initial";
          return `{"status":"SUCCESS","payment_type_code":"${typeText}","card_verification":${verificationOf(outcome, isInitial)}}`;
        } finally {
          wipeSource(input.source);
        }
      }),
  }));
}

const methods = { zero_amount: "ZERO DOLLAR", ghost_authorization: "GHOST AUTHORIZATION" } as const;

/**
 * Without an answer nothing is held and nothing was charged: the same card may be tried again
 * (interface 4.3, RETRY).
 */
export function verificationOf(outcome: VerifyOutcome, isInitial: boolean): string {
  if (outcome.kind === "unknown" || outcome.kind === "not_sent") {
    const description =
      outcome.kind === "unknown" ? "Timeout" : verdictDescription("no_acquirer_response");
    return `{"transaction_status":{"code":"RETRY","description":"${description}"},"transaction_type":"ZERO DOLLAR"}`;
  }
  const reason = outcome.kind === "good" ? "approved" : outcome.reason;
  const mandate = outcome.kind === "good" && isInitial ? outcome.networkTransactionId : undefined;
  return (
    `{"transaction_status":{"code":"${verdictCode(reason)}","description":"${verdictDescription(reason)}"},` +
    `"transaction_type":"${methods[outcome.method]}"${mandate === undefined ? "" : `,"mandate_id":${JSON.stringify(mandate)}`}}`
  );
}
