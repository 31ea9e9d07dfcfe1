import type { Pan } from "./pan.ts";

/** A card as input and output of the vault. The creator wipes it: `card.pan.wipe()`. */
export interface Card {
  readonly pan: Pan;
  /** 1 to 12. */
  readonly expiryMonth: number;
  /** Four digits. */
  readonly expiryYear: number;
  /** As embossed, UTF-8, at most 64 characters; empty when the merchant sent none. */
  readonly holderName: string;
}
