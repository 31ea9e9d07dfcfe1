import { wirePaths } from "../../interface/paths.ts";
import { acting } from "../permission.ts";
import { tokenize } from "../../operations/tokenize.ts";
import type { Endpoint } from "../endpoint.ts";
import {
  answeredType,
  readToken,
  tokenRules,
  longestTokenHolderName,
} from "../requests/token-request.ts";
import { isSetCvv } from "../requests/set-cvv-request.ts";
import { answerSetCvv } from "./set-cvv.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { cardErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import {
  cardFields,
  countryField,
  eitherKey,
  exampleCard,
  exampleKey,
  rule,
} from "./shared-docs.ts";

const answerSchema = new NamedSchema(
  "TokenAnswer",
  json.object({
    status: json.success,
    payment_type_code: json.text,
    token: json.text,
    masked_card_number: json.text,
  }),
);

const doc: EndpointDoc = {
  id: "token",
  tag: "Cards",
  summary: "Store a card",
  description:
    "The answer's token replaces the card in later payments. It expires 14 months after its last use.",
  fields: [
    ...eitherKey,
    {
      name: "payment_type_code",
      type: "text",
      note: "creditcard, debitcard, a brand, or empty. Any other value: BP-DR-35.",
      source: "2.1",
    },
    countryField("2.1"),
    {
      name: "creditcard",
      type: "object",
      aliases: ["card"],
      required: { code: rule(48), or: ["card"] },
      note: "The card to store.",
      source: "2.1",
      fields: cardFields({ longestName: longestTokenHolderName }),
    },
    {
      name: "token",
      type: "text",
      shortest: { characters: 32, code: rule(66) },
      longest: { characters: 128, code: rule(66) },
      note: "A token that you choose, without spaces; requires the secret key. BP-DR-65 when it is in use.",
      source: "2.1",
    },
  ],
  answer: answerSchema,
  errors: cardErrors,
  runs: [tokenize],
  rules: tokenRules,
  example: {
    ...exampleKey,
    payment_type_code: "creditcard",
    country: "br",
    token: "$TOKEN",
    creditcard: exampleCard,
  },
};

/** POST /ws/token: stores a card (interface 2.1). Browsers call it with the public key. */
export function tokenEndpoint(deps: EndpointDeps): Endpoint {
  const { runner, clockOf } = deps;
  return {
    path: wirePaths.token,
    doc,
    permission: acting("operator", "card_stored"),
    recorded: true,
    key: "public",
    family: "json",
    cors: true,
    handle: async ({ params, account, grants, visitor }) => {
      if (isSetCvv(params)) return answerSetCvv(deps, account, params);
      return answering(cardErrors, async () => {
        const input = readToken(params, account, clockOf(account).now(), grants);
        try {
          visitor?.card(input.card.pan);
          const { token, card } = await runner.run(tokenize, account, input);
          const type = answeredType(params, card.brand);
          return `{"status":"SUCCESS","payment_type_code":"${type}","token":${JSON.stringify(token)},"masked_card_number":"${card.maskedPan}"}`;
        } finally {
          input.card.pan.wipe();
        }
      });
    },
  };
}
