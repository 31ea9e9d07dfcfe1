import type { TokenDigest } from "../kernel/ids.ts";
import type { ListedCard } from "../stores/store.ts";
import type { Brand } from "../vault/brand.ts";
import { read } from "./commit.ts";
import { defineOperation } from "./operation.ts";

/** How many stored cards one call looks at. */
export const mostCardsLookedAt = 1_000;

export interface CardsInput {
  /** Goes on after the one with this digest. */
  readonly after: TokenDigest | undefined;
  /** Only cards of this brand. */
  readonly brand: Brand | undefined;
  /** Only cards whose mask ends or begins so: digits, or the whole mask. */
  readonly mask: string | undefined;
  readonly limit: number;
}

export interface CardList {
  /** The newest of those found, newest first. */
  readonly cards: readonly ListedCard[];
  /** How many were found, shown or not. */
  readonly found: number;
  /** The last one that was looked at; undefined when there is none after it. */
  readonly next: TokenDigest | undefined;
}

/**
 * Lists the account's stored cards, 1,000 at a time. They are kept in the order of their tokens'
 * digests, which is none to people: of each thousand the newest come first, and of one moment those
 * that were stored last.
 */
export const listCards = defineOperation<CardsInput, CardList>({
  name: "list_cards",
  errors: ["read_timed_out"],

  async run({ store, account }, { after, brand, mask, limit }) {
    const looked = await read(store.cardsListed(account.id, after, mostCardsLookedAt + 1));
    const cards = looked.slice(0, mostCardsLookedAt);
    const found = cards
      .filter((card) => brand === undefined || card.brand === brand)
      .filter(
        ({ maskedPan }) =>
          mask === undefined || maskedPan.startsWith(mask) || maskedPan.endsWith(mask),
      )
      .toSorted((left, right) =>
        left.createdAt === right.createdAt
          ? right.position - left.position
          : right.createdAt - left.createdAt,
      );
    const isMore = looked.length > mostCardsLookedAt;
    return {
      cards: found.slice(0, limit),
      found: found.length,
      next: isMore ? cards.at(-1)?.tokenDigest : undefined,
    };
  },
});
