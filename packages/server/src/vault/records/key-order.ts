import { assert } from "../../kernel/assert.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { RowMacs } from "../row-mac.ts";

/**
 * An entry of the list of orders about the keys of an installation, as stores keep it
 * (key-acts/key-order.ts has its content). Entries are never changed or deleted.
 */
export interface KeyOrderRow {
  /** Counts up from 1 without a gap. */
  readonly number: number;
  readonly at: Instant;
  /** JSON, at most `maxOrderLength` characters. */
  readonly body: string;
  /** Covers everything above and the installation. 32 bytes. */
  readonly mac: Uint8Array;
}

export const maxOrderLength = 32_768;

/** What every store requires of an entry. Throws BrokenInvariant. */
export function assertOrderIsSound({ number, body, mac }: KeyOrderRow): void {
  assert(Number.isSafeInteger(number) && number >= 1, "orders are numbered from 1");
  assert(body.length >= 2 && body.length <= maxOrderLength, "an order is an object in JSON");
  assert(mac.length === 32, "a MAC has 32 bytes");
}

export function withOrderMac(
  macs: Pick<RowMacs, "of">,
  installation: string,
  row: Omit<KeyOrderRow, "mac">,
): KeyOrderRow {
  return { ...row, mac: macs.of("key_order", [installation, row.number, row.at, row.body]) };
}

/** Whether the entry was written with this installation's keys and not changed since. */
export function isGenuineOrder(
  macs: Pick<RowMacs, "accepts">,
  installation: string,
  { number, at, body, mac }: KeyOrderRow,
): boolean {
  return macs.accepts("key_order", [installation, number, at, body], mac);
}
