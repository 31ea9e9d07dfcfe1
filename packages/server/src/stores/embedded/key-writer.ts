import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { KeyOrderRow } from "../../vault/records/key-order.ts";
import type { KeyRecordChange } from "../../vault/records/key-record.ts";
import { rowOfKey, rowOfOrder } from "../key-rows.ts";

/** Writes key records and orders within the open transaction. Owns its prepared statements. */
export class KeyWriter {
  readonly #sequence: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #lastOrder: StatementSync;
  readonly #insertOrder: StatementSync;

  constructor(database: DatabaseSync) {
    this.#sequence = database.prepare(
      "SELECT sequence FROM key_record WHERE merchant = unhex(?) AND purpose = ? AND version = ?",
    );
    this.#insert = database.prepare(
      `INSERT INTO key_record (merchant, purpose, version, state, sequence, epoch, check_value, wraps, created_at, changed_at, mac)
       VALUES (unhex(:merchant), :purpose, :version, :state, :sequence, :epoch, unhex(:check_value), :wraps, :created_at, :changed_at, unhex(:mac))`,
    );
    this.#update = database.prepare(
      `UPDATE key_record SET state = :state, sequence = :sequence, epoch = :epoch, check_value = unhex(:check_value), wraps = :wraps,
         created_at = :created_at, changed_at = :changed_at, mac = unhex(:mac)
       WHERE merchant = unhex(:merchant) AND purpose = :purpose AND version = :version`,
    );
    this.#lastOrder = database.prepare("SELECT coalesce(max(no), 0) AS last FROM key_order");
    this.#insertOrder = database.prepare(
      "INSERT INTO key_order (no, at, body, mac) VALUES (:number, :at, :body, unhex(:mac))",
    );
  }

  /** Returns false, and writes nothing, if its number does not follow the last. */
  writeOrder(order: KeyOrderRow): boolean {
    if (this.#lastOrder.get()?.["last"] !== order.number - 1) return false;
    this.#insertOrder.run({ ...rowOfOrder(order) });
    return true;
  }

  /**
   * Returns false, and writes nothing, if a stored record is not the replaced one. Throws SQLite's
   * errors.
   */
  write(changes: readonly KeyRecordChange[]): boolean {
    if (changes.some((change) => this.#isStale(change))) return false;
    for (const { next, replaces } of changes)
      (replaces === undefined ? this.#insert : this.#update).run({ ...rowOfKey(next) });
    return true;
  }

  #isStale({ next: { merchant, purpose, version }, replaces }: KeyRecordChange): boolean {
    return this.#sequence.get(merchant ?? "", purpose, version)?.["sequence"] !== replaces;
  }
}
