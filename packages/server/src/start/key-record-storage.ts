import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { KeyRecordStore } from "../stores/key-record-store.ts";
import type { RunningStore } from "../stores/store.ts";
import { AuditedKeys } from "../user/audited-keys.ts";
import { KeyringError } from "../vault/key-provider.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import type { KeyRecords } from "../vault/records/key-records.ts";
import type { RowMacs } from "../vault/row-mac.ts";

type SharedReads = Pick<KeyRecordStore, "keyRecords">;
type MerchantReads = Pick<KeyRecordStore, "merchantKeyRecords">;

const pageSize = 100;

/** All records of keys that belong to no merchant. */
export async function sharedKeyRecords(reads: SharedReads): Promise<readonly KeyRecord[]> {
  const records: KeyRecord[] = [];
  for (;;) {
    const page = await reads.keyRecords(records.at(-1), pageSize);
    records.push(...page);
    if (page.length < pageSize) return records;
  }
}

async function recordsOfMerchant(
  reads: MerchantReads,
  merchantId: MerchantId,
): Promise<readonly KeyRecord[]> {
  const records: KeyRecord[] = [];
  for (;;) {
    const page = await reads.merchantKeyRecords(merchantId, records.at(-1)?.version ?? 0, pageSize);
    records.push(...page);
    if (page.length < pageSize) return records;
  }
}

/** Records that are read only, such as those of a file that is moved. */
export function readOnlyKeyRecords(reads: SharedReads & MerchantReads): KeyRecords {
  return {
    shared: () => sharedKeyRecords(reads),
    ofMerchant: (merchantId) => recordsOfMerchant(reads, merchantId),
    commit: () => Promise.reject(new KeyringError("the database is open for reading only")),
    move: () => Promise.reject(new KeyringError("the database is open for reading only")),
  };
}

/** The records of a store. Records and their audit entries are written in one transaction. */
export function storedKeyRecords(
  store: Pick<RunningStore, "keys" | "users">,
  clock: Clock,
  macs: RowMacs,
): KeyRecords {
  const audited = new AuditedKeys(store.keys, store.users, macs);
  return {
    shared: () => sharedKeyRecords(store.keys),
    ofMerchant: (merchantId) => recordsOfMerchant(store.keys, merchantId),
    async commit([first, ...others]) {
      assert(first !== undefined, "something is written");
      return (await audited.commit(clock.now(), [first, ...others])) === "committed";
    },
    move: (step, acceptsOutage) => audited.commit(clock.now(), [step], acceptsOutage),
  };
}
