import { assert } from "../../kernel/assert.ts";
import { endOfDueMonth } from "../../vault/card-due-date.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type { Brand } from "../../vault/brand.ts";
import type { Card } from "../../vault/card.ts";
import type { CardTraits, Decline } from "../connector.ts";

/**
 * Public test numbers and their result in the sandbox (interface 9). Any other number is refused
 * before the issuer.
 */
export const magicCards: readonly (readonly [
  digits: string,
  brand: Brand,
  result: "approve" | DeclineReason,
])[] = [
  ["378282246310005", "amex", "approve"],
  ["378282749798722", "amex", "approve"],
  ["5078601870000127985", "aura", "approve"],
  ["30569309025904", "diners", "approve"],
  ["6011111111111117", "discover", "approve"],
  ["6362970000457013", "elo", "approve"],
  ["6362971747129170", "elo", "approve"],
  ["6062825624254001", "hipercard", "approve"],
  ["6062823936268330", "hipercard", "approve"],
  ["4111111111111111", "visa", "approve"],
  ["4111115666052208", "visa", "approve"],
  ["5555555555554444", "mastercard", "approve"],
  ["5555556355564617", "mastercard", "approve"],
  ["5062224607440872", "carnet", "approve"],
  ["5045201174402586", "credimas", "approve"],
  ["5895626292990446", "naranja", "approve"],
  ["5896578742026538", "cabal", "approve"],
  ["5680095660610110", "magna", "approve"],
  ["4716909774636285", "visa", "insufficient_funds"],
  // The interface calls this "invalidData"; its text on the wire is "Invalid card or card type".
  ["5102026827345142", "mastercard", "invalid_card"],
  ["6011088896715918", "discover", "expired_card"],
  ["378568775709157", "amex", "not_accepted"],
  ["4000000000000028", "visa", "insufficient_funds"],
  ["4000000000000002", "visa", "invalid_card"],
  // 3-D Secure (interface 2.7; authentication/test-cards.ts says what each does there). The issuer
  // approves, with and without it, except where it has refused the customer.
  ["4000000000001000", "visa", "approve"],
  ["4000000000001018", "visa", "three_d_secure_required"],
  ["4000000000001026", "visa", "approve"],
  ["4000000000001034", "visa", "approve"],
  ["4000000000001042", "visa", "not_accepted"],
  ["4000000000001075", "visa", "approve"],
  ["4000000000001091", "visa", "approve"],
  ["4000000000001109", "visa", "three_d_secure_required"],
  ["4000000000001117", "visa", "approve"],
  ["4000000000001133", "visa", "approve"],
  ["4000000000001141", "visa", "approve"],
  ["4000000000001158", "visa", "approve"],
  ["4000000000001166", "visa", "approve"],
  ["5200000000001005", "mastercard", "approve"],
  ["5200000000001021", "mastercard", "approve"],
  ["5200000000001096", "mastercard", "approve"],
];

export const ordinary: CardTraits = {
  funding: "credit",
  foreign: false,
  ecommerce: true,
  exhausted: false,
};

/**
 * Numbers that we chose in the range of the magic cards that end in four digits. They are refused
 * before the issuer, by the acquirer's tables. The issuer itself approves each, so a payment that
 * no rule forbids succeeds: the prepaid card in one instalment, the foreign card where foreign
 * cards are processed.
 */
export const scenarioCards: readonly (readonly [
  digits: string,
  brand: Brand,
  traits: CardTraits,
])[] = [
  // BP-DR-97: no instalments.
  ["4000000000002206", "visa", { ...ordinary, funding: "prepaid" }],
  // BP-DR-100: no instalments.
  ["4000000000002214", "visa", { ...ordinary, funding: "debit" }],
  // BP-DR-83.
  ["4000000000002222", "visa", { ...ordinary, foreign: true }],
  // BP-DR-101.
  ["4000000000002230", "visa", { ...ordinary, ecommerce: false }],
  // BP-DR-102.
  ["4000000000002248", "visa", { ...ordinary, exhausted: true }],
];

/**
 * DE 39 (ISO 8583:1987) and merchant advice code of each decline. Advice: 01 correct the data, 02
 * try later, 03 do not try again.
 */
const declineCodes: Readonly<
  Record<DeclineReason, { readonly responseCode: string; readonly adviceCode: string | undefined }>
> = {
  not_accepted: { responseCode: "05", adviceCode: "02" },
  insufficient_funds: { responseCode: "51", adviceCode: "02" },
  incorrect_customer_data: { responseCode: "12", adviceCode: "01" },
  expired_card: { responseCode: "54", adviceCode: "01" },
  security_code_mismatch: { responseCode: "82", adviceCode: "01" },
  invalid_card: { responseCode: "62", adviceCode: "03" },
  invalid_card_number: { responseCode: "14", adviceCode: "03" },
  three_d_secure_required: { responseCode: "65", adviceCode: "01" },
  high_risk: { responseCode: "59", adviceCode: "03" },
  timeout: { responseCode: "68", adviceCode: undefined },
  no_acquirer_response: { responseCode: "91", adviceCode: "02" },
  acquirer_error: { responseCode: "96", adviceCode: "02" },
};

/** The issuer's decision about a card: a decline, or undefined when it approves. */
export type CardVerdict = Decline | undefined;

/** An issuer's decline for this reason, with its codes. */
export function issuerDecline(reason: DeclineReason): Decline {
  return { kind: "declined", reason, ...declineCodes[reason], refusedBeforeIssuer: false };
}

const expired = issuerDecline("expired_card");
const notATestCard: Decline = {
  ...issuerDecline("invalid_card_number"),
  refusedBeforeIssuer: true,
};

/**
 * The numbers as bytes, sorted by `order`, so that a card is looked up without becoming a string or
 * a number.
 */
const byDigits = [
  ...magicCards.map(([digits, , result]) => ({
    digits: Uint8Array.from(Buffer.from(digits, "latin1")),
    verdict: result === "approve" ? undefined : issuerDecline(result),
    traits: ordinary,
  })),
  ...scenarioCards.map(([digits, , traits]) => ({
    digits: Uint8Array.from(Buffer.from(digits, "latin1")),
    verdict: undefined,
    traits,
  })),
].toSorted((a, b) => order(a.digits, b.digits));

/** Shorter first, then by digits. */
function order(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let index = 0; index < a.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Returns the issuers' decision about a card; keeps no digit of it. A card that would be approved
 * is declined once its expiry month has ended in every time zone: a stored card ages with the
 * account's clock.
 *
 * `approveTestBins` are prefixes of 6 to 8 digits; a number under one of them that is not in the
 * table is approved. They are for load tests that need more cards than the table has. The default
 * is none, because a shop that sends another number must get the refusal of the sandbox that it was
 * written for.
 */
export function cardJudge(
  approveTestBins: readonly string[],
): (card: Card, now: Instant) => CardVerdict {
  for (const bin of approveTestBins) assert(/^\d{6,8}$/.test(bin), "a test BIN has 6 to 8 digits");
  const bins = approveTestBins.map((bin) => Uint8Array.from(Buffer.from(bin, "latin1")));

  return ({ pan, expiryMonth, expiryYear }, now) => {
    const digits = pan.reveal();
    const known = magicCardOf(digits);
    if (
      known === undefined &&
      !bins.some((bin) => bin.every((digit, index) => digits[index] === digit))
    )
      return notATestCard;
    return known?.verdict ?? (endOfDueMonth(expiryYear, expiryMonth) < now ? expired : undefined);
  };
}

/** The acquirer's table row for a card; undefined for a card that the sandbox does not know. */
export function traitsOf({ pan }: Card): CardTraits | undefined {
  return magicCardOf(pan.reveal())?.traits;
}

function magicCardOf(digits: Uint8Array): (typeof byDigits)[number] | undefined {
  for (let low = 0, high = byDigits.length - 1; low <= high;) {
    const middle = (low + high) >> 1;
    const card = byDigits[middle];
    if (card === undefined) break;
    const difference = order(digits, card.digits);
    if (difference === 0) return card;
    if (difference < 0) high = middle - 1;
    else low = middle + 1;
  }
  return undefined;
}
