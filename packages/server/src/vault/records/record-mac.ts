import type { RowField, RowMacs } from "../row-mac.ts";
import type { KeyRecord } from "./key-record.ts";

/** A record before its MAC is computed. */
export type UnsealedRecord = Omit<KeyRecord, "mac">;

export function withRecordMac(
  macs: RowMacs,
  installation: string,
  record: UnsealedRecord,
): KeyRecord {
  return { ...record, mac: macs.of("key_record", fieldsOf(installation, record)) };
}

/** Whether the record was written with this installation's keys and not changed since. */
export function isGenuineRecord(macs: RowMacs, installation: string, record: KeyRecord): boolean {
  return macs.accepts("key_record", fieldsOf(installation, record), record.mac);
}

/** All fields of a record, and the installation. The count delimits the wraps. */
function fieldsOf(installation: string, record: UnsealedRecord): RowField[] {
  const { purpose, merchant, version, state, sequence, epoch, check, wraps } = record;
  return [
    installation,
    purpose,
    merchant,
    version,
    state,
    sequence,
    epoch,
    check,
    wraps.length,
    ...wraps.flatMap(({ root, bytes }) => [root, bytes]),
    record.createdAt,
    record.changedAt,
  ];
}
