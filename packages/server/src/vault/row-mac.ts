import { type KeyObject, timingSafeEqual } from "node:crypto";
import { HmacSha256 } from "./hmac.ts";

/** Rows that carry a MAC, each kind under a key of its own. */
export const rowKinds = ["card", "account_key", "person", "person_session", "audit_entry"] as const;
export type RowKind = (typeof rowKinds)[number];

export type RowField = string | number | Uint8Array | undefined;

/**
 * Whether rows from before MACs and keyed digests are still there. `written`: a node of an earlier
 * version serves the same database and must find what is written now, so it is written in the
 * earlier form. `read`: new rows are in the new form, earlier ones are accepted. `none`: a row
 * without a MAC was written by a program without the key, and is refused.
 */
export type EarlierRows = "none" | "read" | "written";

/** The state of one installation's upgrade; changed by the upgrade job alone. */
export interface RowUpgrade {
  earlier: EarlierRows;
  /**
   * Number of the last entry of the audit log that may be without a MAC, once no other row may be.
   */
  lastUnkeyedEntry: number;
}

/** What begins now has no rows of before. */
export const noEarlierRows: Readonly<RowUpgrade> = { earlier: "none", lastUnkeyedEntry: 0 };

/** In bytes. A sealed card is about a third of it; a longer row is hashed in memory of its own. */
const usualRow = 2_048;

/**
 * Makes and checks MACs of rows: HMAC-SHA-256 over the row's fields, under a key that the keyring
 * derives for this kind of row.
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
    };
    const hmacOf = (kind: RowKind): HmacSha256 => new HmacSha256(this.#keys[kind], usualRow);
    this.#hmacs = {
      card: hmacOf("card"),
      account_key: hmacOf("account_key"),
      person: hmacOf("person"),
      person_session: hmacOf("person_session"),
      audit_entry: hmacOf("audit_entry"),
    };
    this.#upgrade = upgrade;
  }

  of(kind: RowKind, fields: readonly RowField[]): Uint8Array {
    return Buffer.from(this.#textOf(kind, fields), "latin1");
  }

  /**
   * Whether the row was written with the key. A row without a MAC is accepted while rows of earlier
   * versions may be there.
   */
  accepts(kind: RowKind, fields: readonly RowField[], mac: Uint8Array | undefined): boolean {
    if (mac === undefined) return this.#upgrade.earlier !== "none";
    if (mac.length !== macLength) return false;
    this.#expected.write(this.#textOf(kind, fields), "latin1");
    return timingSafeEqual(mac, this.#expected);
  }

  #textOf(kind: RowKind, fields: readonly RowField[]): string {
    const longest = mostBytes(fields);
    const hmac =
      longest <= usualRow ? this.#hmacs[kind] : new HmacSha256(this.#keys[kind], longest);
    return hmac.digest(join(fields, hmac.message), "latin1");
  }
}

const macLength = 32;
const missing = 0xffff_ffff;

/** No fewer than `join` writes. */
function mostBytes(fields: readonly RowField[]): number {
  let most = 0;
  // A character has three bytes of UTF-8 at most, and a number fewer digits than 32.
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
 * Each field with its length before it: no two rows make the same bytes. Returns how many there
 * are.
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
