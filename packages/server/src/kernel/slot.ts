import type { MerchantId } from "./ids.ts";

/**
 * Merchants are dealt into so many slots; what is to be done for all merchants is shared out by
 * slots. Fixed: nodes must agree on it.
 */
export const slotCount = 32;

/** Numbers of slots, from 0. */
export type Slots = ReadonlySet<number>;

export const everySlot: Slots = new Set(Array.from({ length: slotCount }, (_, slot) => slot));

/** The last five bits of a merchant's id, which is drawn at random. The stores compute the same. */
export function slotOf(merchantId: MerchantId): number {
  return Number.parseInt(merchantId.slice(6), 16) % slotCount;
}

/** The slots as bits of a number, slot 0 the lowest: how statements are told which they are. */
export function slotMask(slots: Slots): number {
  let mask = 0;
  for (const slot of slots) mask += 2 ** slot;
  return mask;
}
