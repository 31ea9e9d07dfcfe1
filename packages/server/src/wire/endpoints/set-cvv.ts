import { acting } from "../permission.ts";
import type { Account } from "../../merchant/account.ts";
import { setCvv } from "../../operations/set-cvv.ts";
import type { WireResponse } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";
import { readSetCvv } from "../requests/set-cvv-request.ts";
import type { TreeObject } from "../decode/tree.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { cardErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import { eitherKey, rule } from "./shared-docs.ts";

const answerSchema = new NamedSchema(
  "SetCvvAnswer",
  json.object({ status: json.success, token: json.text, masked_card_number: json.text }),
);

const doc: EndpointDoc = {
  id: "setCvv",
  tag: "Cards",
  summary: "Set the security code for a token's next payment",
  description: "The code is kept in memory only, is used once, and is deleted after 15 minutes.",
  fields: [
    ...eitherKey,
    {
      name: "token",
      type: "text",
      required: { code: rule(64) },
      note: "The stored card.",
      source: "2.4",
    },
    {
      name: "card_cvv",
      type: "digits",
      required: { code: rule(54) },
      shortest: { characters: 3, code: rule(55) },
      longest: { characters: 4, code: rule(55) },
      note: "Kept in memory for 15 minutes, for the next payment with this token.",
      source: "2.4",
    },
  ],
  answer: answerSchema,
  errors: cardErrors,
  runs: [setCvv],
  codes: ["BP-DR-54", "BP-DR-55", "BP-DR-64"],
  example: { public_integration_key: "$PUBLIC_KEY", token: "$TOKEN", card_cvv: "123" },
  needs: "stored",
};

/**
 * /ws/token/setCVV: keeps a security code for the next payment with a token (interface 2.4).
 * Browsers call it with the public key.
 */
export function setCvvEndpoint(deps: EndpointDeps): Endpoint {
  return {
    path: "/ws/token/setCVV",
    doc,
    permission: acting("operator", "security_code_set"),
    recorded: true,
    key: "public",
    family: "json",
    cors: true,
    handle: ({ params, account }) => answerSetCvv(deps, account, params),
  };
}

export function answerSetCvv(
  { runner }: EndpointDeps,
  account: Account,
  params: TreeObject,
): Promise<WireResponse> {
  return answering(cardErrors, async () => {
    const input = readSetCvv(params);
    try {
      const { maskedPan } = await runner.run(setCvv, account, input);
      return `{"status":"SUCCESS","token":${JSON.stringify(input.token)},"masked_card_number":"${maskedPan}"}`;
    } finally {
      input.cvv.wipe();
    }
  });
}

/**
 * One client posts to this address, which the original does not have: the client's own test expects
 * an error (interface 2.4).
 */
export const misspeltSetCvvEndpoint: Endpoint = {
  path: "/ws/setCvv",
  doc: "not implemented",
  key: "none",
  family: "json",
  cors: true,
  handle: async () => refusalAnswer("COFRE-9", { hint: ": use /ws/token/setCVV" }),
};
