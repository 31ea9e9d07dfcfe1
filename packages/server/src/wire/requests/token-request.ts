import type { Instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import type { TokenizeInput } from "../../operations/direct-input.ts";
import { assert } from "../../kernel/assert.ts";
import { countryOf } from "../../payment/countries.ts";
import type { KeyGrant } from "../../stores/change.ts";
import type { Brand } from "../../vault/brand.ts";
import { cardOf, cardRules, readCardToStore, wipeCard, type CardContext } from "./card-node.ts";
import { refuseChosenToken } from "./chosen-token.ts";
import { cardNodeOf, fieldOf, hasWrongShape } from "./fields.ts";
import { paymentTypeOf, unknownType } from "./payment-types.ts";
import { type Broken, inOrder, keepRules } from "./rules.ts";
import type { TreeObject } from "../decode/tree.ts";

/** Documented for tokens; /ws/direct has 50 (interface 2.1). */
export const longestTokenHolderName = 64;

interface TokenReading extends CardContext {
  readonly params: TreeObject;
  readonly countryText: string | undefined;
  readonly token: string | undefined;
  readonly grants: KeyGrant;
}

/** The rule numbers of /ws/direct, in its order (interface 7.2). */
export const tokenRules = inOrder<TokenReading>([
  { code: 35, broken: ({ params }) => refuseUnknownType(params) },
  cardRules.nodeRequired,
  cardRules.numberRequired,
  cardRules.nameRequired,
  cardRules.nameTooLong,
  cardRules.cvvRequired,
  cardRules.cvvInvalid,
  cardRules.dueDateRequired,
  cardRules.dueDateFormat,
  cardRules.dueMonth,
  cardRules.dueYear,
  { code: 66, broken: refuseNewToken },
  cardRules.duePast,
  cardRules.numberInvalid,
  { code: 76, broken: ({ countryText }) => countryText === undefined && { field: "country" } },
  {
    code: 77,
    broken: ({ countryText }) =>
      countryText !== undefined &&
      countryOf(countryText.toLowerCase()) === undefined && { field: "country" },
  },
  cardRules.nameIsNumber,
]);

/**
 * Validates a request to /ws/token (interface 2.1) and refuses it with the WireError of the first
 * broken rule. The caller owns the card of the result and wipes its PAN; after a refusal none is
 * left.
 */
export function readToken(
  params: TreeObject,
  account: Account,
  now: Instant,
  grants: KeyGrant,
): TokenizeInput {
  const node = cardNodeOf(params);
  const card = node === undefined ? undefined : readCardToStore(node);
  try {
    const token = fieldOf(params, "token");
    const countryText =
      params["country"] === undefined ? account.settings.country : fieldOf(params, "country");
    keepRules(tokenRules, {
      params,
      card,
      cvvRequired: account.settings.requireCvv,
      longestHolderName: longestTokenHolderName,
      now,
      countryText,
      token,
      grants,
    });
    const read = card === undefined ? undefined : cardOf(card);
    assert(read !== undefined, "a request that keeps the rules brings a card");
    return { card: read, token };
  } catch (error) {
    if (card !== undefined) wipeCard(card);
    throw error;
  } finally {
    // Checked and discarded: no stored card has a security code.
    card?.cvv?.wipe();
  }
}

/**
 * The payment_type_code of the answer: the brand that was sent, or the card's own (interface 2.1).
 * A debit card stays one.
 */
export function answeredType(params: TreeObject, brand: Brand): string {
  const sent = fieldOf(params, "payment_type_code")?.toLowerCase();
  const type = sent === undefined ? undefined : paymentTypeOf(sent);
  if (type?.kind !== "card") return brand;
  return type.paymentType === "debit" ? "debitcard" : (type.brand ?? brand);
}

function refuseNewToken({ params, card, token, grants }: TokenReading): Broken<66> {
  if (hasWrongShape(params, "token")) return { field: "token", problem: "is invalid" };
  if (token === undefined) return false;
  // Every visitor of the page has the public key: with it, names of cards could be tried out, and
  // taken before the merchant uses them.
  if (grants !== "secret")
    return { field: "token", problem: "is accepted with the integration_key only" };
  return refuseChosenToken("token", token, card?.pan);
}

/**
 * Browsers send `""` if they cannot detect the brand, which counts as missing here, and may send a
 * wrong brand otherwise: only an unknown type is refused (interface 2.6).
 */
function refuseUnknownType(params: TreeObject): Broken<35> {
  const text = fieldOf(params, "payment_type_code");
  if (hasWrongShape(params, "payment_type_code")) return { text: "Invalid payment_type_code" };
  return text !== undefined && paymentTypeOf(text)?.kind !== "card" && unknownType(text);
}
