import type { TokenDigest } from "../kernel/ids.ts";
import type { ListedCard } from "../stores/store.ts";
import type { Brand } from "../vault/brand.ts";
import { read } from "./commit.ts";
import { defineOperation } from "./operation.ts";

/** Maximum number of stored cards that one call reads. */
export const maxCardsExamined = 1_000;

export interface CardsInput {
  /** Continues after the card with this digest. */
  readonly after: TokenDigest | undefined;
  /** Only cards of this brand. */
  readonly brand: Brand | undefined;
  /** Only cards whose mask begins or ends with this: digits, or the whole mask. */
  readonly mask: string | undefined;
  readonly limit: number;
}

export interface CardList {
  /** The newest of the matching cards, newest first. */
  readonly cards: readonly ListedCard[];
  /** Number of matching cards, including those beyond `limit`. */
  readonly found: number;
  /** Digest of the last card that was read; undefined when there are no more. */
  readonly next: TokenDigest | undefined;
}

/**
 * Lists the account's stored cards, 1,000 at a time. The store orders them by token digest, which
 * is arbitrary for users; so each thousand is sorted newest first, and cards of the same moment by
 * the order in which they were stored, last first.
 */
export const listCards = defineOperation<CardsInput, CardList>({
  name: "list_cards",
  errors: ["read_timed_out"],

  async run({ store, account }, { after, brand, mask, limit }) {
    const examined = await read(store.cardsListed(account.id, after, maxCardsExamined + 1));
    const cards = examined.slice(0, maxCardsExamined);
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
    const isMore = examined.length > maxCardsExamined;
    return {
      cards: found.slice(0, limit),
      found: found.length,
      next: isMore ? cards.at(-1)?.tokenDigest : undefined,
    };
  },
});
