import type { MerchantId } from "../../kernel/ids.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { KeyOrderRow } from "../../vault/records/key-order.ts";
import { type KeyRecordChange, keyNameOf } from "../../vault/records/key-record.ts";
import type { KeyChange, KeyPosition } from "../key-record-store.ts";
import { type KeyRow, rowOfKey, rowOfOrder } from "../key-rows.ts";

/** Writes key records and orders within the open transaction. Owns its prepared statements. */
export class KeyWriter {
  readonly #sequence: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #lastOrder: StatementSync;
  readonly #insertOrder: StatementSync;
  readonly #isDestroyed: StatementSync;
  readonly #under: StatementSync;

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
    this.#isDestroyed = database.prepare(
      "SELECT 1 FROM key_record WHERE merchant = x'' AND purpose = 'epoch' AND version = ? AND state = 'destroyed'",
    );
    this.#under = database.prepare(
      `SELECT lower(hex(merchant)) AS merchant, purpose, version FROM key_record WHERE epoch = ? AND state <> 'destroyed' LIMIT ?`,
    );
  }

  /** Returns false, and writes nothing, if its number does not follow the last. */
  writeOrder(order: KeyOrderRow): boolean {
    if (this.#lastOrder.get()?.["last"] !== order.number - 1) return false;
    this.#insertOrder.run({ ...rowOfOrder(order) });
    return true;
  }

  /** Writes nothing unless it returns `committed`. Throws SQLite's errors. */
  write({ changes, acceptsOutage }: KeyChange): "committed" | "stale" | "in_use" {
    if (changes.some((change) => this.#isStale(change))) return "stale";
    if (this.#isEpochInUse(changes, acceptsOutage === true)) return "in_use";
    for (const { next, replaces } of changes)
      (replaces === undefined ? this.#insert : this.#update).run({ ...rowOfKey(next) });
    return "committed";
  }

  #isStale({ next: { merchant, purpose, version }, replaces }: KeyRecordChange): boolean {
    return this.#sequence.get(merchant ?? "", purpose, version)?.["sequence"] !== replaces;
  }

  #isEpochInUse(changes: readonly KeyRecordChange[], acceptsOutage: boolean): boolean {
    const destroyed = destroyedEpochs(changes);
    const isDestroyed = (epoch: number): boolean =>
      destroyed.includes(epoch) || this.#isDestroyed.get(epoch) !== undefined;
    if (
      changes.some(
        ({ next: { state, epoch } }) =>
          state !== "destroyed" && epoch !== undefined && isDestroyed(epoch),
      )
    )
      return true;
    if (acceptsOutage) return false;
    const changed = new Set(changes.map(({ next }) => keyNameOf(next)));
    return destroyed.some((epoch) =>
      this.#under
        .all(epoch, changes.length + 1)
        .some((row) => !changed.has(keyNameOf(positionOf(row)))),
    );
  }
}

function destroyedEpochs(changes: readonly KeyRecordChange[]): readonly number[] {
  return changes.flatMap(({ next: { purpose, state, version } }) =>
    purpose === "epoch" && state === "destroyed" ? [version] : [],
  );
}

function positionOf(row: Readonly<Record<string, unknown>>): KeyPosition {
  const { merchant, purpose, version } = row as unknown as Pick<
    KeyRow,
    "merchant" | "purpose" | "version"
  >;
  return { ...(merchant === "" ? {} : { merchant: merchant as MerchantId }), purpose, version };
}
