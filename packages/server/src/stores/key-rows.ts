import { assert } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import type { UserOutcome } from "../user/user-store.ts";
import type { KeyOrderRow } from "../vault/records/key-order.ts";
import type { KeyPurpose, KeyRecord, KeyState } from "../vault/records/key-record.ts";
import type { KeyResult } from "./key-record-store.ts";

/** A key record as both SQL stores read and write it; bytes are hex. */
export interface KeyRow {
  /** Empty for a key that belongs to no merchant. */
  readonly merchant: string;
  readonly purpose: KeyPurpose;
  readonly version: number;
  readonly state: KeyState;
  readonly sequence: number;
  readonly epoch: number | null;
  readonly check_value: string;
  /** JSON: an array of `[root, bytes]`. */
  readonly wraps: string;
  readonly created_at: number;
  readonly changed_at: number;
  readonly mac: string;
}

export function keyFromRow(row: KeyRow): KeyRecord {
  const { merchant, purpose, version, state, sequence, epoch } = row;
  const wraps = JSON.parse(row.wraps) as readonly (readonly [root: string, bytes: string])[];
  return {
    purpose,
    ...(merchant === "" ? {} : { merchant: merchant as MerchantId }),
    version,
    state,
    sequence,
    epoch: epoch ?? undefined,
    check: bytesOf(row.check_value),
    wraps: wraps.map(([root, bytes]) => ({ root, bytes: bytesOf(bytes) })),
    createdAt: instant(row.created_at),
    changedAt: instant(row.changed_at),
    mac: bytesOf(row.mac),
  };
}

export function rowOfKey(record: KeyRecord): KeyRow {
  const { merchant = "", purpose, version, state, sequence, epoch = null } = record;
  return {
    merchant,
    purpose,
    version,
    state,
    sequence,
    epoch,
    check_value: hexOf(record.check),
    wraps: JSON.stringify(record.wraps.map(({ root, bytes }) => [root, hexOf(bytes)])),
    created_at: record.createdAt,
    changed_at: record.changedAt,
    mac: hexOf(record.mac),
  };
}

/** An order as both SQL stores read and write it; `mac` is hex. */
export type OrderRow = Omit<KeyOrderRow, "at" | "mac"> & {
  readonly at: number;
  readonly mac: string;
};

export function orderFromRow({ number, at, body, mac }: OrderRow): KeyOrderRow {
  return { number, at: instant(at), body, mac: bytesOf(mac) };
}

export function rowOfOrder({ number, at, body, mac }: KeyOrderRow): OrderRow {
  return { number, at, body, mac: hexOf(mac) };
}

export function keyResultOf(outcome: UserOutcome | "in_use", number: number): KeyResult {
  assert(
    outcome === "committed" ||
      outcome === "stale" ||
      outcome === "head_moved" ||
      outcome === "in_use",
    "a change of keys has the outcomes of such changes",
  );
  return outcome === "committed" ? { outcome, number } : { outcome };
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
