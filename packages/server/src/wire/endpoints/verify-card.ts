import type { VerifyOutcome } from "../../connectors/connector.ts";
import { wirePaths } from "../../interface/paths.ts";
import { verifyCard } from "../../operations/verify-card.ts";
import { wipeSource } from "../requests/direct-request.ts";
import type { Endpoint } from "../endpoint.ts";
import { verdictCode, verdictDescription } from "../answers/payment-answer.ts";
import { readVerify, verifyRules, longestVerifyHolderName } from "../requests/verify-request.ts";
import { acting } from "../permission.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { cardErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import {
  cardFields,
  chargeToken,
  countryField,
  exampleCard,
  exampleKey,
  networkTokenFields,
  rule,
  secretKey,
  storedCredential,
} from "./shared-docs.ts";

/** The two paths of the operation, each with its id in the OpenAPI document. */
const names = [
  { path: wirePaths.verifyCard, id: "verifyCard" },
  { path: "/ws/cardverify", id: "verifyCardAscardverify" },
] as const;

const methods = { zero_amount: "ZERO DOLLAR", ghost_authorization: "GHOST AUTHORIZATION" } as const;

const answerSchema = new NamedSchema(
  "VerifyAnswer",
  json.object({
    status: json.success,
    payment_type_code: json.text,
    card_verification: json.object(
      {
        transaction_status: json.object({
          code: json.oneOf(["OK", "NOK", "RETRY"]),
          description: json.text,
        }),
        transaction_type: json.oneOf(Object.values(methods)),
      },
      { mandate_id: json.text },
    ),
  }),
);

const doc: Omit<EndpointDoc, "id"> = {
  tag: "Cards",
  summary: "Verify a card",
  description: "Nothing is charged, and no authorization remains.",
  fields: [
    secretKey,
    {
      name: "payment_type_code",
      type: "text",
      note: "Default: creditcard. BP-DR-35 when it is not a card type.",
      source: "3.7",
    },
    countryField("3.7"),
    {
      name: "card",
      type: "object",
      aliases: ["creditcard"],
      required: { code: rule(48), or: ["creditcard", "token"] },
      note: "The card, or its token.",
      source: "3.7",
      fields: [
        ...cardFields({ longestName: longestVerifyHolderName }),
        chargeToken,
        ...networkTokenFields,
      ],
    },
    {
      name: "token",
      type: "text",
      note: "A stored card, when the request has no card node.",
      source: "3.7",
    },
    storedCredential,
  ],
  answer: answerSchema,
  errors: cardErrors,
  runs: [verifyCard],
  rules: verifyRules,
  codes: ["COFRE-26", "COFRE-27"],
  example: { ...exampleKey, payment_type_code: "creditcard", country: "br", card: exampleCard },
};

/** /ws/verifycard, under its two names: checks a card without a payment (interface 3.7). */
export function verifyCardEndpoints({ runner, clockOf }: EndpointDeps): readonly Endpoint[] {
  return names.map(({ path, id }) => ({
    path,
    doc: { ...doc, id },
    permission: acting("operator", "card_verified"),
    recorded: true,
    key: "secret",
    family: "json",
    cors: false,
    acquirerFaults: ["decline"],
    handle: ({ params, account }) =>
      answering(cardErrors, async () => {
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
