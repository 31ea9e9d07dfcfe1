import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Brand } from "./brand.ts";

/**
 * Opaque bytes that the store keeps for the vault: the sealed card, or an identifier if the vault
 * is remote.
 */
export type CardRef = Uint8Array;

/**
 * What the store keeps of a card that a merchant stored. The token itself is returned to the
 * merchant once and never stored.
 */
export interface StoredCard {
  readonly merchantId: MerchantId;
  readonly tokenDigest: TokenDigest;
  /**
   * The `recordVersion` that the card is sealed for. Sealing it again makes the next one; a use
   * does not.
   */
  readonly version: number;
  readonly ref: CardRef;
  readonly fingerprint: Uint8Array;
  readonly brand: Brand;
  /** First six and last four digits, `x` between, as long as the PAN (interface 2.2). */
  readonly maskedPan: string;
  readonly createdAt: Instant;
  /** A token expires 14 calendar months after this; it never moves back. */
  readonly lastUsedAt: Instant;
  /**
   * Covers everything above except the last use, which is updated without the key. Undefined on a
   * row of an earlier version.
   */
  readonly mac: Uint8Array | undefined;
}
