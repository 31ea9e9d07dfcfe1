import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { AuditHead, AuditRow } from "../user/audit-chain.ts";
import type { AuditEvent } from "../user/audit.ts";
import type { UserResult } from "../user/user-store.ts";
import type { KeyOrderRow } from "../vault/records/key-order.ts";
import type { KeyRecord, KeyRecordChange } from "../vault/records/key-record.ts";

/**
 * Storage of wrapped keys, with the audit log. Each store that can be opened has one,
 * `RunningStore.keys`.
 *
 * Records are never deleted: a destroyed key keeps its record, without wraps. A purpose has at most
 * one current key, and so has a merchant. All methods reject with StoreError (stores/store.ts).
 */
export interface KeyRecordStore {
  /**
   * Records of keys that belong to no merchant, ordered by purpose, then by version, after `after`,
   * at most `limit`.
   */
  keyRecords(
    after: Pick<KeyRecord, "purpose" | "version"> | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]>;
  /** This merchant's records, ordered by version, after version `after`, at most `limit`. */
  merchantKeyRecords(
    merchantId: MerchantId,
    after: number,
    limit: number,
  ): Promise<readonly KeyRecord[]>;
  /**
   * Records of all merchants and of none that this epoch wraps, ordered by merchant (none first),
   * purpose and version, after `after`, at most `limit`. Destroyed keys are left out.
   */
  keyRecordsUnder(
    epoch: number,
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]>;
  /** How many keys this epoch wraps. */
  keysUnder(epoch: number): Promise<number>;
  /**
   * Keys of merchants that only open (retired or compromised), ordered by merchant and version,
   * after `after`, at most `limit`.
   */
  oldMerchantKeys(after: KeyPosition | undefined, limit: number): Promise<readonly KeyRecord[]>;
  /**
   * Keys of merchants that replaced earlier ones, in the order of their commits, after the audit
   * entry with this number, at most `limit`. Present on a store that several processes share.
   */
  newMerchantKeys?(after: number, limit: number): Promise<readonly NewMerchantKey[]>;
  /**
   * Records what this node knows, and resolves with what every live node knows at least. Undefined:
   * the node has no lease (Store.renewSlots), so nothing was recorded. Present where
   * `newMerchantKeys` is; less durable than changes.
   */
  noteKeys?(node: string, known: KnownKeys): Promise<KnownKeys | undefined>;
  /**
   * Records by which root keys this node has opened the epoch keys (their key ids), and resolves
   * with those of every live node. A node without a lease records nothing. Present and durable as
   * `noteKeys`.
   */
  noteRootKeys?(node: string, opened: readonly string[]): Promise<readonly (readonly string[])[]>;
  /**
   * Applies the changes in their order and appends their audit entries, durably and in one
   * transaction, or does nothing. Rejects with BrokenInvariant, and writes nothing, if a record
   * moves back to an earlier state, leaves `destroyed`, or changes a value that never changes, and
   * if a purpose or a merchant would have two current keys at any time. When it rejects with
   * `commit_unknown`, the changes may have been applied or not.
   */
  commitKeys(change: KeyChange): Promise<KeyResult>;
  /** Orders with numbers above `after`, in ascending order, at most `limit`. */
  keyOrders(after: number, limit: number): Promise<readonly KeyOrderRow[]>;
  /**
   * Appends an order and its audit entries, durably and in one transaction, or does nothing:
   * `stale` if its number does not follow the last order's. Rejects as `commitKeys` does.
   */
  commitOrder(change: KeyOrderChange): Promise<KeyResult>;
}

export interface KeyOrderChange extends Pick<KeyChange, "at" | "events" | "chain"> {
  readonly order: KeyOrderRow;
}

export interface KeyChange {
  readonly at: Instant;
  /** Each record at most once. */
  readonly changes: readonly [KeyRecordChange, ...KeyRecordChange[]];
  /** Destroys an epoch key although it wraps keys, which are lost then. */
  readonly acceptsOutage?: boolean;
  /** At least one: every change is recorded in the audit log. */
  readonly events: readonly [AuditEvent, ...AuditEvent[]];
  /**
   * The entries of `events` for the log after this head; without it the store creates them, without
   * MACs.
   */
  readonly chain?: { readonly after: AuditHead; readonly rows: readonly AuditRow[] };
}

/**
 * `stale`: a record has another sequence now, or a new one exists already. `in_use`: an epoch key
 * would be destroyed that wraps a key which this change neither destroys nor wraps otherwise, or a
 * destroyed epoch would wrap a key. `head_moved` takes precedence over `stale`, that over `in_use`,
 * and all over BrokenInvariant.
 */
export type KeyResult =
  | Extract<UserResult, { readonly outcome: "committed" | "stale" | "head_moved" }>
  | { readonly outcome: "in_use" };

/** A record's place among those of all merchants. */
export type KeyPosition = Pick<KeyRecord, "merchant" | "purpose" | "version">;

/** `number`: of the audit entry of its commit. */
export interface NewMerchantKey {
  readonly merchantId: MerchantId;
  readonly number: number;
}

export interface KnownKeys {
  /** The highest epoch that is open; 0 if none is. */
  readonly epoch: number;
  /** Keys of merchants were read after the audit entry with this number. */
  readonly number: number;
}

/** The key records of a database that is open for reading only. */
export interface HeldKeys {
  /** The installation id; empty if the database has none. */
  readonly installation: string;
  readonly keys: Pick<KeyRecordStore, "keyRecords">;
}
