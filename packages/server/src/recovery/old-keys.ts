import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { minute } from "../kernel/instant.ts";
import type { KeyRecordStore } from "../stores/key-record-store.ts";
import type { Store } from "../stores/store.ts";
import { merchantKeyVersionOf } from "../vault/derived-envelope.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";

/**
 * A card that was encrypted under a merchant's key just before another one became current may be
 * committed a moment later.
 */
export const settledMs = 2 * minute;

/** Versions of a merchant's key that are read. */
export const maxVersions = 10_000;

const cardsPerPage = 1_000;

/** The key of this name, if it only opens: `epoch:1`, `merchant:0a1b2c3d:1`. */
export async function oldKeyNamed(
  name: string,
  epochs: readonly KeyRecord[],
  keys: Pick<KeyRecordStore, "merchantKeyRecords">,
): Promise<KeyRecord | undefined> {
  const [purpose, ...rest] = name.split(":");
  const version = Number(rest.at(-1));
  const [merchant] = rest as MerchantId[];
  const records =
    purpose === "epoch" || merchant === undefined
      ? epochs
      : await keys.merchantKeyRecords(merchant, version - 1, 1);
  const record = records.find((each) => each.version === version);
  return record?.state === "retired" || record?.state === "compromised" ? record : undefined;
}

/** How many of a merchant's cards are encrypted under this version of its key, at most `limit`. */
export async function cardsUnder(
  store: Pick<Store, "cardsOf">,
  merchantId: MerchantId,
  version: number,
  limit: number,
): Promise<number> {
  let after: TokenDigest | undefined;
  for (let cards = 0; ;) {
    const page = await store.cardsOf(merchantId, after, cardsPerPage);
    cards += page.filter(({ ref }) => merchantKeyVersionOf(ref) === version).length;
    if (page.length < cardsPerPage || cards >= limit) return Math.min(cards, limit);
    after = page.at(-1)?.tokenDigest;
  }
}
