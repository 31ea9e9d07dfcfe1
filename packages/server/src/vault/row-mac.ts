import { type KeyObject, timingSafeEqual } from "node:crypto";
import { HmacSha256 } from "./hmac.ts";

/** Kinds of rows with a MAC, each under its own key. */
export const rowKinds = [
  "card",
  "account_key",
  "person",
  "person_session",
  "audit_entry",
  "key_record",
  "key_order",
] as const;
export type RowKind = (typeof rowKinds)[number];

export type RowField = string | number | Uint8Array | undefined;

/**
 * Whether rows from before MACs and keyed digests exist. `written`: a node of an earlier version
 * uses the same database and must be able to read new rows, so they are written in the earlier
 * format. `read`: new rows have the new format, earlier ones are accepted. `none`: a row without a
 * MAC was written by a program without the key, and is refused.
 */
export type EarlierRows = "none" | "read" | "written";

/** The state of one installation's upgrade; only the upgrade job changes it. */
export interface RowUpgrade {
  earlier: EarlierRows;
  /** Number of the last audit log entry that may lack a MAC, once no other row may. */
  lastUnkeyedEntry: number;
}

/** A new installation has no earlier rows. */
export const noEarlierRows: Readonly<RowUpgrade> = { earlier: "none", lastUnkeyedEntry: 0 };

/** Number of the last audit log entry that may lack a MAC at present. */
export function lastUnkeyedEntryOf({ earlier, lastUnkeyedEntry }: Readonly<RowUpgrade>): number {
  return earlier === "none" ? lastUnkeyedEntry : Number.POSITIVE_INFINITY;
}

/**
 * In bytes. A sealed card takes about a third of it; a longer row is hashed in a separate buffer.
 */
const usualRow = 2_048;

/**
 * Creates and verifies MACs of rows: HMAC-SHA-256 over the row's fields, under a key that the
 * keyring derives for this kind of row.
 */
export class RowMacs {
  readonly #keys: Readonly<Record<RowKind, KeyObject>>;
  readonly #hmacs: Readonly<Record<RowKind, HmacSha256>>;
  readonly #expected = Buffer.alloc(macLength);
  readonly #upgrade: Readonly<RowUpgrade>;

  constructor(derivedKey: (label: string) => KeyObject, upgrade: Readonly<RowUpgrade>) {
    const keyOf = (kind: RowKind): KeyObject => derivedKey(`row-mac 1 ${kind}`);
    this.#keys = {
      card: keyOf("card"),
      account_key: keyOf("account_key"),
      person: keyOf("person"),
      person_session: keyOf("person_session"),
      audit_entry: keyOf("audit_entry"),
      key_record: keyOf("key_record"),
      key_order: keyOf("key_order"),
    };
    const hmacOf = (kind: RowKind): HmacSha256 => new HmacSha256(this.#keys[kind], usualRow);
    this.#hmacs = {
      card: hmacOf("card"),
      account_key: hmacOf("account_key"),
      person: hmacOf("person"),
      person_session: hmacOf("person_session"),
      audit_entry: hmacOf("audit_entry"),
      key_record: hmacOf("key_record"),
      key_order: hmacOf("key_order"),
    };
    this.#upgrade = upgrade;
  }

  of(kind: RowKind, fields: readonly RowField[]): Uint8Array {
    return Buffer.from(this.#textOf(kind, fields), "latin1");
  }

  /**
   * Whether the row was written with the key. A row without a MAC is accepted while rows of earlier
   * versions may exist.
   */
  accepts(kind: RowKind, fields: readonly RowField[], mac: Uint8Array | undefined): boolean {
    if (mac === undefined) return this.#upgrade.earlier !== "none";
    if (mac.length !== macLength) return false;
    this.#expected.write(this.#textOf(kind, fields), "latin1");
    return timingSafeEqual(mac, this.#expected);
  }

  #textOf(kind: RowKind, fields: readonly RowField[]): string {
    const longest = maxBytes(fields);
    const hmac =
      longest <= usualRow ? this.#hmacs[kind] : new HmacSha256(this.#keys[kind], longest);
    return hmac.digest(join(fields, hmac.message), "latin1");
  }
}

const macLength = 32;
const missing = 0xffff_ffff;

/** An upper bound of what `join` writes. */
function maxBytes(fields: readonly RowField[]): number {
  let most = 0;
  // A character has at most three bytes in UTF-8, and a number fewer than 32 digits.
  for (const field of fields)
    most +=
      4 +
      (typeof field === "string"
        ? 3 * field.length
        : typeof field === "number"
          ? 32
          : (field?.length ?? 0));
  return most;
}

/**
 * Each field is preceded by its length, so that two rows never give the same bytes. Returns the
 * number of bytes.
 */
function join(fields: readonly RowField[], bytes: Buffer): number {
  let end = 0;
  for (const field of fields) {
    const at = end + 4;
    let length = 0;
    if (typeof field === "string" || typeof field === "number")
      length = bytes.write(String(field), at);
    else if (field !== undefined) {
      bytes.set(field, at);
      length = field.length;
    }
    bytes.writeUInt32BE(field === undefined ? missing : length, end);
    end = at + length;
  }
  return end;
}
