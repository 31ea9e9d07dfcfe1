import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";

/**
 * What a key is used for. `epoch`: wraps the other keys; root keys wrap it. `merchant`: cards of one
 * merchant. `sign_in`: secrets of console users. `notifications`: keys that sign notifications.
 * `nodes`: requests that nodes forward. `records`: MACs of rows. `tokens`: digests of tokens.
 * `roots`: no key, but the set of root keys (root-set.ts), stored as one.
 */
export const keyPurposes = [
  "epoch",
  "merchant",
  "sign_in",
  "notifications",
  "nodes",
  "records",
  "tokens",
  "roots",
] as const;
export type KeyPurpose = (typeof keyPurposes)[number];

/**
 * In the only order in which a key may move; it may skip states. `made`: not used yet. `current`:
 * new data is encrypted with it. `retired`: opens existing data only. `compromised`: the same, and
 * that data has to be encrypted again. `destroyed`: all its wraps are deleted.
 */
export const keyStates = ["made", "current", "retired", "compromised", "destroyed"] as const;
export type KeyState = (typeof keyStates)[number];

/** A key, wrapped by another key. */
export interface KeyWrap {
  /**
   * The key that wraps it: the key id of a provider or of the recovery key for an epoch, `epoch:N`
   * for any other key.
   */
  readonly root: string;
  readonly bytes: Uint8Array;
}

/** One version of a key as it is stored. Contains nothing that opens the key without its root. */
export interface KeyRecord {
  readonly purpose: KeyPurpose;
  /** Present exactly if the purpose is `merchant`. */
  readonly merchant?: MerchantId;
  /** Counts up from 1 within the purpose, and within the merchant for `merchant`. */
  readonly version: number;
  readonly state: KeyState;
  /** Counts up from 1 with every change of this record. */
  readonly sequence: number;
  /** Version of the epoch key that wraps it; undefined for an epoch. */
  readonly epoch: number | undefined;
  /** Key check value: identifies the key, also after its destruction. 1 to 64 bytes. */
  readonly check: Uint8Array;
  /** Empty exactly if the key is destroyed. One wrap, except for an epoch. */
  readonly wraps: readonly KeyWrap[];
  readonly createdAt: Instant;
  /** When the record was last changed. */
  readonly changedAt: Instant;
  /** Covers everything above. 32 bytes. */
  readonly mac: Uint8Array;
}

/** A record to be written. `replaces`: the sequence that was read; undefined for a new record. */
export interface KeyRecordChange {
  readonly next: KeyRecord;
  readonly replaces: number | undefined;
}

/**
 * What every store requires of the changes of one commit, besides `mayFollow`. Throws
 * BrokenInvariant.
 */
export function assertKeyChangesAreSound(changes: readonly KeyRecordChange[]): void {
  const names = changes.map(({ next }) => keyNameOf(next));
  assert(new Set(names).size === changes.length, "a commit changes a key record once");
  for (const change of changes) assertIsSound(change);
}

function assertIsSound({ next, replaces }: KeyRecordChange): void {
  const { sequence, version, epoch = 1 } = next;
  const isEpoch = next.purpose === "epoch";
  for (const number of [sequence, version, epoch])
    assert(Number.isInteger(number) && number >= 1 && number <= maxNumber, "numbers begin at 1");
  assert(next.check.length >= 1 && next.check.length <= 64, "a check value has 1 to 64 bytes");
  assert(next.mac.length === 32, "a MAC has 32 bytes");
  assert(
    (next.purpose === "merchant") === (next.merchant !== undefined),
    "exactly the keys of merchants name a merchant",
  );
  assert(isEpoch === (next.epoch === undefined), "every key but an epoch names its epoch");
  assert(
    (next.state === "destroyed") === (next.wraps.length === 0),
    "exactly the destroyed keys have no wrap",
  );
  assert(isEpoch || next.wraps.length <= 1, "one epoch wraps a key");
  assert(next.sequence === (replaces ?? 0) + 1, "a sequence counts the changes of its record");
}

/** `PURPOSE VERSION`, or `merchant ID VERSION`: names a key in the audit log. */
export function keyNameOf({
  purpose,
  merchant,
  version,
}: Pick<KeyRecord, "purpose" | "merchant" | "version">): string {
  return [purpose, ...(merchant === undefined ? [] : [merchant]), version].join(" ");
}

/** What fits the columns of versions and sequences. */
const maxNumber = 2 ** 31 - 1;

/** Whether a record may follow another one: its state, and the values that never change. */
export function mayFollow(next: KeyRecord, before: KeyRecord): boolean {
  return (
    before.state !== "destroyed" &&
    keyStates.indexOf(next.state) >= keyStates.indexOf(before.state) &&
    next.createdAt === before.createdAt &&
    Buffer.compare(next.check, before.check) === 0
  );
}
