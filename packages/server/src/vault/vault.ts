import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { Card } from "./card.ts";
import type { CardRef, StoredCard } from "./stored-card.ts";

/**
 * What a sealed card is bound to. The envelope's additional authenticated data has these and the
 * installation, so a ciphertext that is moved to another row, merchant or installation never opens.
 */
export type CardOwner = TokenOwner | PaymentOwner;

/** A stored card. */
export interface TokenOwner {
  readonly merchantId: MerchantId;
  readonly tokenDigest: TokenDigest;
  /**
   * Version of the card record; a card that is sealed again gets a new data key and the next
   * number.
   */
  readonly recordVersion: number;
}

/** A card that a payment needs until its authentication has ended. */
export interface PaymentOwner {
  readonly merchantId: MerchantId;
  /** 48 hex characters. */
  readonly payment: string;
  /** The number of the try on the payment's page. */
  readonly recordVersion: number;
}

/**
 * The vault, behind an interface that could be another process. Card data enters and leaves as
 * bytes only.
 */
export interface Vault {
  /**
   * Seals a card. The caller still owns `card` and wipes it. The security code is never part of the
   * sealed data. May read or make the merchant's key in the store, and rejects with StoreError then;
   * with KeyringError when the merchant has no key that seals.
   */
  put(card: Card, owner: CardOwner): Promise<CardRef>;
  /**
   * Makes ready what `put` needs for a merchant. Called before money moves, so that a store that fails
   * refuses the request then, and not when the acquirer has approved. Rejects as `put` does.
   */
  prepare(merchantId: MerchantId): Promise<void>;
  /**
   * Opens the card for the duration of `call` and wipes it when the call has settled. Throws
   * VaultError if it does not open. May read the merchant's key from the store, and rejects with
   * StoreError then.
   */
  use<T>(ref: CardRef, owner: CardOwner, call: (card: Card) => Promise<T>): Promise<T>;
  /**
   * What is stored to recognize a card. Format 1: keyed HMAC-SHA-256 of the PAN under the
   * merchant's fingerprint key, equal for equal cards of one merchant only. Format 2: empty.
   */
  fingerprint(card: Card, merchantId: MerchantId): Promise<Uint8Array>;
  /**
   * The digests that the store keeps in place of a token. Keyed, because merchants choose tokens:
   * with a copy of the database alone no guess can be tested. New cards are stored under the first;
   * a card of an earlier version may be stored under the other.
   */
  tokenDigests(merchantId: MerchantId, token: string): readonly [TokenDigest, ...TokenDigest[]];
  /** Returns the card with the MAC that it is stored with. */
  withMac(card: Omit<StoredCard, "mac">): StoredCard;
  /** Whether the stored card was written with the installation's keys. */
  isGenuine(card: StoredCard): boolean;
}

/** One failure for all causes: the failed check would be information for an attacker. */
export class VaultError extends Error {
  override readonly name = "VaultError";
  constructor() {
    super("the card could not be opened");
  }
}
