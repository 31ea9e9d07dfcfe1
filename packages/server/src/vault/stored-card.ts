import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Brand } from "./brand.ts";

/**
 * Opaque bytes that the store keeps for the vault: the sealed card, or an identifier should the
 * vault be remote.
 */
export type CardRef = Uint8Array;

/**
 * A card that a merchant stored: what the store keeps of it. The token itself is given to the
 * merchant once and never kept.
 */
export interface StoredCard {
  readonly merchantId: MerchantId;
  readonly tokenDigest: TokenDigest;
  /**
   * The `recordVersion` that the card is sealed for. Sealing again makes the next one; a use does
   * not.
   */
  readonly version: number;
  readonly ref: CardRef;
  readonly fingerprint: Uint8Array;
  readonly brand: Brand;
  /** First six and last four, `x` between, as long as the PAN (interface 2.2). */
  readonly maskedPan: string;
  readonly createdAt: Instant;
  /** A token expires 14 calendar months after this; it never goes back. */
  readonly lastUsedAt: Instant;
  /**
   * Covers everything above but the last use, which moves without the key. Undefined on a row of an
   * earlier version.
   */
  readonly mac: Uint8Array | undefined;
}
