import type { CardToAuthorize } from "../connectors/connector.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import type { OrderCard } from "../payment/payment.ts";
import { brandOf } from "../vault/bin.ts";
import type { Store } from "../stores/store.ts";
import type { Card } from "../vault/card.ts";
import { maskOf } from "../vault/mask.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import { type Vault, VaultError } from "../vault/vault.ts";
import { read } from "./commit.ts";
import type { CardSource } from "./direct-input.ts";
import type { OperationContext } from "./operation.ts";

/**
 * Calls with the card that the source names: as given, or out of the vault, opened for the time of
 * the call. A security code that was left for a token is taken along, once.
 */
export async function withCard<T>(
  context: OperationContext,
  source: CardSource,
  call: (orderCard: OrderCard, card: CardToAuthorize) => Promise<T>,
): Promise<T> {
  const { cvv, cryptogram } = source;
  if (source.kind !== "token") {
    const brand = brandOf(source.card.pan);
    if (brand === undefined) throw new ServiceError("card_not_storable");
    refuseLiveCard(context, source.card);
    const orderCard = { brand, maskedPan: maskOf(source.card.pan), tokenDigest: undefined };
    return call(orderCard, {
      card: source.card,
      networkToken: source.kind === "network_token",
      cvv,
      cryptogram,
    });
  }
  const stored = await usableCard(context, source.token);
  const { brand, maskedPan, tokenDigest, merchantId } = stored;
  const owner = { merchantId, tokenDigest, recordVersion: stored.version };
  const left = context.pocket.take(merchantId, tokenDigest, context.clock.now());
  try {
    return await context.vault.use(stored.ref, owner, async (card) => {
      refuseLiveCard(context, card);
      return call({ brand, maskedPan, tokenDigest }, { card, cvv: cvv ?? left, cryptogram });
    });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    context.cardNotReadable(error);
    throw new ServiceError("card_not_readable");
  } finally {
    left?.wipe();
  }
}

/** In the sandbox: a card that is not for tests is neither stored nor charged. */
export function refuseLiveCard(context: Pick<OperationContext, "acceptsPan">, { pan }: Card): void {
  if (!context.acceptsPan(pan)) throw new ServiceError("card_not_for_tests");
}

/**
 * Another merchant's token, an expired one and one that never was get the same answer (interface
 * 2.1).
 */
export async function usableCard(context: OperationContext, token: string): Promise<StoredCard> {
  const stored = await cardByToken(context, token);
  if (stored === undefined || tokenExpiresAt(stored.lastUsedAt) <= context.clock.now())
    throw new ServiceError("token_not_found");
  if (!context.vault.isGenuine(stored)) {
    context.cardNotReadable(new VaultError());
    throw new ServiceError("card_not_readable");
  }
  return stored;
}

interface CardLookup {
  readonly store: Pick<Store, "cardByToken">;
  readonly vault: Pick<Vault, "tokenDigests">;
  readonly account: Pick<Account, "id">;
}

/**
 * The merchant's card that is stored under the token, expired or not. One read, unless a card of an
 * earlier version may be meant.
 */
export async function cardByToken(
  { store, vault, account }: CardLookup,
  token: string,
): Promise<StoredCard | undefined> {
  const [first, ...others] = vault.tokenDigests(account.id, token);
  // The upgrade of rows may move the card between two reads, from where it is looked for last to
  // where it was looked for first.
  for (const digest of others.length === 0 ? [first] : [first, ...others, first]) {
    const stored = await read(store.cardByToken(account.id, digest));
    if (stored !== undefined) return stored;
  }
  return undefined;
}
