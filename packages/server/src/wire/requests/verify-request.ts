import { assert } from "../../kernel/assert.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import type { VerifyInput } from "../../operations/direct-input.ts";
import { countryOf, type Country } from "../../payment/countries.ts";
import { cardRules, readCardToCharge, wipeCard, type CardContext } from "./card-node.ts";
import { isStoredCredential, readStoredCredential } from "./credential-nodes.ts";
import { sourceOf } from "./direct-request.ts";
import { cardNodeOf, fieldOf, hasWrongShape } from "./fields.ts";
import { paymentTypeOf, type PaymentTypeKind, unknownType } from "./payment-types.ts";
import { inOrder, keepRules } from "./rules.ts";
import type { TreeObject } from "../decode/tree.ts";

/** As for a payment's card: a name that a payment refuses is not valid here either. */
export const longestVerifyHolderName = 50;

interface VerifyReading extends CardContext {
  readonly typeText: string | undefined;
  readonly type: PaymentTypeKind | undefined;
  readonly countryText: string | undefined;
  readonly country: Country | undefined;
}

/**
 * The rule numbers of /ws/direct, in its order (interface 7.2): no source has others for this
 * operation.
 */
export const verifyRules = inOrder<VerifyReading>([
  {
    code: 35,
    broken: ({ type, typeText }) => type?.kind !== "card" && unknownType(typeText ?? ""),
  },
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
  cardRules.duePast,
  cardRules.numberInvalid,
  { code: 76, broken: ({ countryText }) => countryText === undefined && { field: "country" } },
  { code: 77, broken: ({ country }) => country === undefined && { field: "country" } },
  cardRules.nameIsNumber,
  cardRules.networkTokenDate,
]);

export interface VerifyRequest {
  readonly input: VerifyInput;
  /** The answer repeats the type that was sent (interface 3.7). */
  readonly typeText: string;
}

/**
 * Validates a request to /ws/verifycard (interface 3.7). The caller owns the card data of the
 * result and wipes it (`wipeSource`); after a refusal none is left.
 */
export function readVerify(params: TreeObject, account: Account, now: Instant): VerifyRequest {
  const node = cardNodeOf(params);
  const beside = fieldOf(params, "token");
  const card =
    node === undefined && beside === undefined
      ? undefined
      : readCardToCharge(node ?? emptyNode, beside);
  try {
    const typeText = fieldOf(params, "payment_type_code")?.toLowerCase();
    const type = hasWrongShape(params, "payment_type_code")
      ? undefined
      : paymentTypeOf(typeText ?? "creditcard");
    const countryText =
      params["country"] === undefined ? account.settings.country : fieldOf(params, "country");
    const country = countryText === undefined ? undefined : countryOf(countryText.toLowerCase());
    const cvvRequired = account.settings.requireCvv && !isStoredCredential(params);
    keepRules(verifyRules, {
      card,
      cvvRequired,
      longestHolderName: longestVerifyHolderName,
      now,
      typeText,
      type,
      countryText,
      country,
    });
    assert(
      card !== undefined && country !== undefined && type?.kind === "card",
      "a request that keeps the rules brings a card",
    );
    const storedCredential = readStoredCredential(params);
    return {
      input: {
        source: sourceOf(card),
        country: country.code,
        paymentType: type.paymentType,
        storedCredential,
      },
      typeText: typeText ?? "creditcard",
    };
  } catch (error) {
    if (card !== undefined) wipeCard(card);
    throw error;
  }
}

const emptyNode: TreeObject = Object.freeze(Object.create(null) as TreeObject);
