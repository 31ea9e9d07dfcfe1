import type { MerchantId } from "../../kernel/ids.ts";
import type { KeyRecord } from "./key-record.ts";

/** Storage of the records of one installation. Rejects when the storage fails. */
export interface KeyRecords {
  /** All records of keys that belong to no merchant. */
  shared(): Promise<readonly KeyRecord[]>;
  ofMerchant(merchantId: MerchantId): Promise<readonly KeyRecord[]>;
  /**
   * Writes records, all or none of them, durably. False: another process has written one of them
   * before.
   */
  commit(steps: readonly RecordStep[]): Promise<boolean>;
  /**
   * The same for one record, whose key may be destroyed. `in_use`: it wraps other keys, and
   * `acceptsOutage` is false. Otherwise these are lost with it.
   */
  move(step: RecordStep, acceptsOutage: boolean): Promise<"committed" | "stale" | "in_use">;
}

/** A record to write, and the one that it replaces; undefined for a new one. */
export interface RecordStep {
  readonly next: KeyRecord;
  readonly before: KeyRecord | undefined;
}
