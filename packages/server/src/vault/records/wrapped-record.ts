import type { KeyObject } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import type { KeyPurpose, KeyRecord } from "./key-record.ts";
import { checkValueOf, unwrapUnderEpoch, wrapUnderEpoch } from "./key-wrap.ts";
import { checkedKey, isAltered } from "./opened-key.ts";
import type { UnsealedRecord } from "./record-mac.ts";

/** One open version of a key that belongs to no merchant. */
export interface OpenKey {
  readonly record: KeyRecord;
  readonly key: KeyObject;
}

export interface RecordPorts {
  /** The installation id. */
  readonly installation: string;
  readonly random: Random;
  readonly clock: Clock;
}

/** A key to be made. */
export interface NewKey {
  readonly purpose: KeyPurpose;
  readonly merchant?: MerchantId;
  /** Counts up from 1. */
  readonly version: number;
  readonly secret: Uint8Array;
}

/** The record of a new key that is current, wrapped by an epoch key. The caller still owns `secret`. */
export function newRecord(
  { installation, random, clock }: RecordPorts,
  { record: { version: epoch }, key }: OpenKey,
  { purpose, merchant, version, secret }: NewKey,
): UnsealedRecord {
  const now = clock.now();
  const named = { installation, purpose, merchant, version };
  return {
    purpose,
    ...(merchant === undefined ? {} : { merchant }),
    version,
    state: "current",
    sequence: 1,
    epoch,
    check: checkValueOf(secret, named),
    wraps: [
      { root: epochRoot(epoch), bytes: wrapUnderEpoch(key, { ...named, epoch }, secret, random) },
    ],
    createdAt: now,
    changedAt: now,
  };
}

/**
 * The record wrapped by another epoch key, without its MAC. Throws KeyringError if `from`, its present epoch
 * key, did not wrap it.
 */
export function rewrappedRecord(
  { installation, random, clock }: RecordPorts,
  record: KeyRecord,
  from: KeyObject,
  { record: { version: epoch }, key }: OpenKey,
): UnsealedRecord {
  const { purpose, merchant, version } = record;
  const secret = unwrapRecord(record, from, installation).export();
  try {
    const binding = { installation, purpose, merchant, version, epoch };
    const bytes = wrapUnderEpoch(key, binding, secret, random);
    return {
      ...record,
      epoch,
      wraps: [{ root: epochRoot(epoch), bytes }],
      sequence: record.sequence + 1,
      changedAt: clock.now(),
    };
  } finally {
    secret.fill(0);
  }
}

/** Throws KeyringError if the epoch key did not wrap it as this key. */
export function unwrapRecord(
  record: KeyRecord,
  epochKey: KeyObject,
  installation: string,
): KeyObject {
  const { purpose, merchant, version, epoch = 0 } = record;
  const [wrap] = record.wraps;
  const secret =
    wrap?.root === epochRoot(epoch)
      ? unwrapUnderEpoch(epochKey, { installation, purpose, merchant, version, epoch }, wrap.bytes)
      : undefined;
  if (secret === undefined) throw isAltered(record);
  return checkedKey(record, secret, installation);
}

function epochRoot(epoch: number): string {
  return `epoch:${epoch}`;
}
