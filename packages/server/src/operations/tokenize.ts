import { brandOf } from "../vault/bin.ts";
import { maskOf } from "../vault/mask.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import type { Card } from "../vault/card.ts";
import type { CardOwner } from "../vault/vault.ts";
import { newToken } from "../vault/token.ts";
import { ServiceError } from "../payment/service-error.ts";
import { vaultErrorOf } from "./commit.ts";
import { cardByToken, refuseLiveCard } from "./with-card.ts";
import type { TokenizeInput } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";

export interface Tokenized {
  /** Returned to the merchant once: only its digest is stored. */
  readonly token: string;
  readonly card: StoredCard;
}

/**
 * Stores a card for the merchant. The same card gets another token each time, so tokens do not
 * reveal that two cards are the same.
 */
export const tokenize = defineOperation<TokenizeInput, Tokenized>({
  name: "tokenize",
  errors: ["token_taken", "card_not_storable", "card_not_for_tests"],

  async run(context, input) {
    await refuseEarlierToken(context, input.token);
    const tokenized = await sealUnderToken(context, input.card, input.token);
    await context.change(() => ({
      merchantId: context.account.id,
      at: tokenized.card.createdAt,
      card: { next: tokenized.card, replaces: undefined },
      facts: [],
      entries: [],
      notifications: [],
    }));
    return tokenized;
  },
});

/**
 * The store refuses a token that is taken, but does not find a card that an earlier version stored
 * under another digest.
 */
async function refuseEarlierToken(
  context: OperationContext,
  chosen: string | undefined,
): Promise<void> {
  if (chosen === undefined || context.vault.tokenDigests(context.account.id, chosen).length === 1)
    return;
  if ((await cardByToken(context, chosen)) !== undefined) throw new ServiceError("token_taken");
}

/** Encrypts a card under the given token or a new one; the caller commits it. */
export async function sealUnderToken(
  context: OperationContext,
  card: Card,
  chosen: string | undefined,
): Promise<Tokenized> {
  const brand = brandOf(card.pan);
  if (brand === undefined) throw new ServiceError("card_not_storable");
  refuseLiveCard(context, card);
  const token = chosen ?? newToken(context.random);
  const merchantId = context.account.id;
  const [tokenDigest] = context.vault.tokenDigests(merchantId, token);
  const now = context.clock.now();
  const owner = { merchantId, tokenDigest, recordVersion: 1 };
  const sealed = await sealCard(context, card, owner);
  return {
    token,
    card: context.vault.withMac({
      merchantId,
      tokenDigest,
      version: 1,
      ...sealed,
      brand,
      maskedPan: maskOf(card.pan),
      createdAt: now,
      lastUsedAt: now,
    }),
  };
}

async function sealCard(
  { vault }: OperationContext,
  card: Card,
  owner: CardOwner,
): Promise<Pick<StoredCard, "ref" | "fingerprint">> {
  try {
    const ref = await vault.put(card, owner);
    return { ref, fingerprint: await vault.fingerprint(card, owner.merchantId) };
  } catch (error) {
    throw vaultErrorOf(error);
  }
}
