import { authenticationCards, type Behaviour, behaviours } from "../authentication/test-cards.ts";
import { magicCards, ordinary, scenarioCards } from "../connectors/simulator/magic-cards.ts";
import type { CardTraits } from "../connectors/connector.ts";
import type { DeclineReason } from "../payment/payment.ts";
import type { Brand } from "../vault/brand.ts";

/** A published test number and what the simulated issuer and the acquirer's tables do with it. */
export interface TestCard {
  readonly digits: string;
  readonly brand: Brand;
  /** The issuer's decision, if no rule refuses the payment before it. */
  readonly result: "approved" | DeclineReason;
  readonly traits: CardTraits;
  /** What 3-D Secure does with the cards that are for it. */
  readonly threeDSecure: Behaviour | undefined;
}

const behaviourByDigits: ReadonlyMap<string, Behaviour> = new Map(authenticationCards);

/** All of them, in the order of docs/wire/sandbox.md. */
export const testCards: readonly TestCard[] = [
  ...magicCards.map(([digits, brand, result]): TestCard => ({
    digits,
    brand,
    result: result === "approve" ? "approved" : result,
    traits: ordinary,
    threeDSecure: behaviourByDigits.get(digits),
  })),
  ...scenarioCards.map(([digits, brand, traits]): TestCard => ({
    digits,
    brand,
    result: "approved",
    traits,
    threeDSecure: undefined,
  })),
];

/** The same in words, for the documentation. */
export const describedCards: readonly {
  readonly number: string;
  readonly brand: Brand;
  readonly outcome: string;
}[] = testCards.map((card) => ({
  number: card.digits,
  brand: card.brand,
  outcome: outcomeOf(card),
}));

function outcomeOf({ result, traits, threeDSecure }: TestCard): string {
  if (threeDSecure !== undefined)
    return `${result}; 3-D Secure: ${behaviours[threeDSecure].outcome}`;
  if (traits === ordinary) return result;
  const { funding, foreign, ecommerce, exhausted } = traits;
  if (foreign) return "foreign";
  if (!ecommerce) return "not for e-commerce";
  return exhausted ? "too many attempts" : funding;
}
