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
import { read, vaultErrorOf } from "./commit.ts";
import type { CardSource } from "./direct-input.ts";
import type { OperationContext } from "./operation.ts";

/**
 * Calls `call` with the card of the source: the given card, or a stored card that is decrypted for
 * the duration of the call. A security code that was stored for the token is used, once.
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
  const left = context.cvvCache.take(merchantId, tokenDigest, context.clock.now());
  try {
    return await context.vault.use(stored.ref, owner, async (card) => {
      refuseLiveCard(context, card);
      return call({ brand, maskedPan, tokenDigest }, { card, cvv: cvv ?? left, cryptogram });
    });
  } catch (error) {
    if (!(error instanceof VaultError)) throw vaultErrorOf(error);
    context.reportUnreadableCard(error);
    throw new ServiceError("card_not_readable");
  } finally {
    left?.wipe();
  }
}

/** Sandbox only: refuses to store or charge a card that is not a test card. */
export function refuseLiveCard(context: Pick<OperationContext, "acceptsPan">, { pan }: Card): void {
  if (!context.acceptsPan(pan)) throw new ServiceError("card_not_for_tests");
}

/**
 * The stored card of a token. Tokens of other merchants, expired and unknown tokens get the same
 * answer (interface 2.1).
 */
export async function usableCard(context: OperationContext, token: string): Promise<StoredCard> {
  const stored = await cardByToken(context, token);
  if (stored === undefined || tokenExpiresAt(stored.lastUsedAt) <= context.clock.now())
    throw new ServiceError("token_not_found");
  if (!context.vault.isGenuine(stored)) {
    context.reportUnreadableCard(new VaultError());
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
 * The merchant's card under this token, expired or not. One read, unless an earlier version may
 * have stored the card.
 */
export async function cardByToken(
  { store, vault, account }: CardLookup,
  token: string,
): Promise<StoredCard | undefined> {
  const [first, ...others] = vault.tokenDigests(account.id, token);
  // The row upgrade may move the card between two reads, from the digest that is read last to the
  // one that is read first; so the first is read again.
  for (const digest of others.length === 0 ? [first] : [first, ...others, first]) {
    const stored = await read(store.cardByToken(account.id, digest));
    if (stored !== undefined) return stored;
  }
  return undefined;
}
