import { viewing } from "../../wire/permission.ts";
import { formatTimestamp } from "../../kernel/calendar.ts";
import type { TokenDigest } from "../../kernel/ids.ts";
import { type CardsInput, listCards, maxCardsExamined } from "../../operations/list-cards.ts";
import type { ListedCard } from "../../stores/store.ts";
import { brands } from "../../vault/brand.ts";
import { tokenExpiresAt } from "../../vault/token.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

const defaultLimit = 100;
/** Length of the longest card number. */
const longestMask = 19;

const answerSchema = new NamedSchema(
  "TokensAnswer",
  json.object({
    tokens: {
      ...json.list(
        json.object({
          brand: json.text,
          masked_card_number: json.text,
          created_at: json.time,
          last_used_at: json.time,
          expires_at: {
            ...json.time,
            description: "When the token expires if it is not used before.",
          },
        }),
      ),
      description: "Newest first.",
    },
    found: {
      ...json.integer,
      description: "The number of matching cards among those that this call read.",
    },
    next: {
      ...json.textOrNull,
      description: "The value of `after` for the next page; null on the last page.",
    },
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "listTokens",
  tag: "Sandbox",
  summary: "List stored cards",
  description:
    "Masked numbers, brands and times, newest first. The list has no tokens, because only their digests are stored, and no card is decrypted. One call reads at most 1,000 cards: if the answer has a `next`, repeat the request with `after` set to it.",
  fields: [
    secretKey,
    {
      name: "brand",
      type: "text",
      values: brands,
      note: "Only cards of this brand. Any other value: COFRE-56.",
    },
    {
      name: "card",
      type: "text",
      note: "Only cards whose masked number begins or ends with these digits. A complete number is masked first.",
    },
    {
      name: "limit",
      type: "whole",
      note: `The page size, 1 to ${maxCardsExamined}. Default: 100. Any other value: COFRE-64.`,
    },
    { name: "after", type: "text", note: "The `next` of the previous page." },
  ],
  answer: answerSchema,
  errors: readErrors,
  runs: [listCards],
  codes: ["COFRE-56", "COFRE-64"],
  example: { ...exampleKey, brand: "visa" },
  needs: "stored",
};

/**
 * `/__cofre/tokens`: the account's stored cards, newest first: mask, brand, when each was stored
 * and last used, and until when its token is valid. Tokens are not included: only their digests are
 * stored. `brand` and `card`, the first or last digits of the masked number, filter the list. One
 * call reads 1,000 cards: while there is a `next`, the same call with `after=next` continues.
 * Decrypts no card.
 */
export function tokensEndpoint(runner: OperationRunner): Endpoint {
  return {
    path: "/__cofre/tokens",
    doc,
    permission: viewing,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const input = inputOf(params);
      if ("status" in input) return input;
      return answering(readErrors, async () => {
        const { cards, found, next } = await runner.run(listCards, account, input);
        return JSON.stringify({
          tokens: cards.map(shown),
          found,
          next: next ?? null,
          status: "SUCCESS",
        });
      });
    },
  };
}

function inputOf(params: TreeObject): CardsInput | WireResponse {
  const requestedBrand = fieldOf(params, "brand")?.toLowerCase();
  const brand = brands.find((each) => each === requestedBrand);
  if (requestedBrand !== undefined && brand === undefined)
    return refusalAnswer("COFRE-56", { list: brands.join(", ") });
  const limit = fieldOf(params, "limit") ?? String(defaultLimit);
  const after = fieldOf(params, "after");
  if (
    !/^[1-9]\d{0,3}$/.test(limit) ||
    Number(limit) > maxCardsExamined ||
    (after !== undefined && !/^[0-9a-f]{64}$/.test(after))
  ) {
    return refusalAnswer("COFRE-64", { most: maxCardsExamined });
  }
  const card = fieldOf(params, "card");
  return {
    after: after as TokenDigest | undefined,
    brand,
    // The search uses the mask of a number, never the whole number.
    mask: card === undefined ? undefined : maskedText(card.replaceAll(/[ -]/g, ""), longestMask),
    limit: Number(limit),
  };
}

function shown({ brand, maskedPan, createdAt, lastUsedAt }: ListedCard): object {
  return {
    brand,
    masked_card_number: maskedPan,
    created_at: formatTimestamp(createdAt),
    last_used_at: formatTimestamp(lastUsedAt),
    expires_at: formatTimestamp(tokenExpiresAt(lastUsedAt)),
  };
}
