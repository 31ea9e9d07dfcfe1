import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { HmacSha256 } from "./hmac.ts";
import { unkeyedLength } from "./token.ts";

/** Keys of merchants' token digests that are cached; others are derived again. */
const maxCachedKeys = 4_096;

/** One key per merchant: equal tokens of two merchants have different digests. */
export function tokenDigestKeys(root: KeyObject): (merchantId: MerchantId) => HmacSha256 {
  const ready = new BoundedMap<MerchantId, HmacSha256>(maxCachedKeys);
  return (merchantId) => {
    const known = ready.get(merchantId);
    if (known !== undefined) return known;
    const derived = createHmac("sha256", root).update(merchantId).digest();
    const key = new HmacSha256(createSecretKey(derived), unkeyedLength);
    derived.fill(0);
    ready.set(merchantId, key);
    return key;
  };
}
