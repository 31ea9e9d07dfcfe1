import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";

/** Rows that carry a MAC, each kind under a key of its own. */
export const rowKinds = ["card", "account_key", "person", "person_session", "audit_entry"] as const;
export type RowKind = (typeof rowKinds)[number];

export type RowField = string | number | Uint8Array | undefined;

/**
 * Whether rows from before MACs and keyed digests are still there. `written`: a node of an earlier version serves the same database and must find what
 * is written now, so it is written in the earlier form. `read`: new rows are in the new form, earlier ones are accepted. `none`: a row without a MAC
 * was written by a program without the key, and is refused.
 */
export type EarlierRows = "none" | "read" | "written";

/** The state of one installation's upgrade; changed by the upgrade job alone. */
export interface RowUpgrade {
  earlier: EarlierRows;
  /** Number of the last entry of the audit log that may be without a MAC, once no other row may be. */
  lastUnkeyedEntry: number;
}

/** What begins now has no rows of before. */
export const noEarlierRows: Readonly<RowUpgrade> = { earlier: "none", lastUnkeyedEntry: 0 };

/** Makes and checks MACs of rows: HMAC-SHA-256 over the row's fields, under a key that the keyring derives for this kind of row. */
export class RowMacs {
  readonly #keys: Readonly<Record<RowKind, KeyObject>>;
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
    this.#upgrade = upgrade;
  }

  of(kind: RowKind, fields: readonly RowField[]): Uint8Array {
    return createHmac("sha256", this.#keys[kind]).update(joined(fields)).digest();
  }

  /** Whether the row was written with the key. A row without a MAC is accepted while rows of earlier versions may be there. */
  accepts(kind: RowKind, fields: readonly RowField[], mac: Uint8Array | undefined): boolean {
    if (mac === undefined) return this.#upgrade.earlier !== "none";
    const expected = this.of(kind, fields);
    return mac.length === expected.length && timingSafeEqual(mac, expected);
  }
}

const missing = 0xffff_ffff;

/** Each field with its length before it: no two rows make the same bytes. In one piece, since each call of the hash costs as much as the bytes. */
function joined(fields: readonly RowField[]): Uint8Array {
  const texts = fields.map((field) => (typeof field === "number" ? String(field) : field));
  const lengths = texts.map((field) => (typeof field === "string" ? Buffer.byteLength(field) : (field?.length ?? 0)));
  const bytes = Buffer.alloc(lengths.reduce((sum, length) => sum + 4 + length, 0));
  let at = 0;
  for (const [index, field] of texts.entries()) {
    const length = lengths[index] ?? 0;
    at = bytes.writeUInt32BE(field === undefined ? missing : length, at);
    if (typeof field === "string") bytes.write(field, at);
    else if (field !== undefined) bytes.set(field, at);
    at += length;
  }
  return bytes;
}
