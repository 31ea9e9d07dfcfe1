import type { RowField } from "./row-mac.ts";
import type { StoredCard } from "./stored-card.ts";

/** What the MAC of a card's row covers. */
export function cardFields({
  merchantId,
  tokenDigest,
  version,
  ref,
  fingerprint,
  brand,
  maskedPan,
  createdAt,
}: Omit<StoredCard, "mac">): RowField[] {
  return [merchantId, tokenDigest, version, ref, fingerprint, brand, maskedPan, createdAt];
}
