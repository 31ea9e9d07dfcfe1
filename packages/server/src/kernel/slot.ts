import type { MerchantId } from "./ids.ts";

/**
 * Number of slots. Each merchant belongs to one, and work for all merchants is divided by slots.
 * Fixed: all nodes must use the same number.
 */
export const slotCount = 32;

/** Slot numbers, from 0. */
export type Slots = ReadonlySet<number>;

export const everySlot: Slots = new Set(Array.from({ length: slotCount }, (_, slot) => slot));

/** The last five bits of a merchant's id, which is random. The stores compute the same. */
export function slotOf(merchantId: MerchantId): number {
  return Number.parseInt(merchantId.slice(6), 16) % slotCount;
}

/** Slots as a bit mask, slot 0 lowest, for SQL statements. */
export function slotMask(slots: Slots): number {
  let mask = 0;
  for (const slot of slots) mask += 2 ** slot;
  return mask;
}
