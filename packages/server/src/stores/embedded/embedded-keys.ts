import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MerchantId } from "../../kernel/ids.ts";
import { assertOrderIsSound, type KeyOrderRow } from "../../vault/records/key-order.ts";
import { assertKeyChangesAreSound, type KeyRecord } from "../../vault/records/key-record.ts";
import type {
  KeyChange,
  KeyOrderChange,
  KeyPosition,
  KeyRecordStore,
  KeyResult,
} from "../key-record-store.ts";
import { keyFromRow, keyResultOf, type KeyRow, orderFromRow, type OrderRow } from "../key-rows.ts";
import { StoreError } from "../store.ts";
import { submitted } from "./embedded-users.ts";
import type { Writer } from "./writer.ts";

/**
 * Key records in the embedded store's file: read on the caller's thread, written by the writer. The
 * store owns both connections.
 */
export class EmbeddedKeys implements KeyRecordStore {
  readonly #writer: Pick<Writer, "submitUserChange">;
  readonly #isClosed: () => boolean;
  readonly #shared: StatementSync;
  readonly #ofMerchant: StatementSync;
  readonly #under: StatementSync;
  readonly #countUnder: StatementSync;
  readonly #old: StatementSync;
  readonly #reader: DatabaseSync;
  #orders: StatementSync | undefined;

  constructor(
    reader: DatabaseSync,
    writer: Pick<Writer, "submitUserChange">,
    isClosed: () => boolean,
  ) {
    this.#writer = writer;
    this.#isClosed = isClosed;
    this.#shared = reader.prepare(
      `${select} WHERE merchant = x'' AND (purpose, version) > (?, ?) ORDER BY purpose, version LIMIT ?`,
    );
    this.#ofMerchant = reader.prepare(
      `${select} WHERE merchant = unhex(?) AND purpose = 'merchant' AND version > ? ORDER BY version LIMIT ?`,
    );
    this.#reader = reader;
    this.#under = reader.prepare(
      `${select} WHERE epoch = ? AND state <> 'destroyed' AND (merchant, purpose, version) > (unhex(?), ?, ?)
        ORDER BY key_record.merchant, purpose, version LIMIT ?`,
    );
    this.#countUnder = reader.prepare(
      "SELECT count(*) AS keys FROM key_record WHERE epoch = ? AND state <> 'destroyed'",
    );
    this.#old = reader.prepare(
      `${select} WHERE purpose = 'merchant' AND state IN ('retired', 'compromised') AND (merchant, version) > (unhex(?), ?)
        ORDER BY key_record.merchant, version LIMIT ?`,
    );
  }

  async keyRecords(
    after: Pick<KeyRecord, "purpose" | "version"> | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#records(this.#shared, after?.purpose ?? "", after?.version ?? 0, limit);
  }

  async merchantKeyRecords(
    merchantId: MerchantId,
    after: number,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#records(this.#ofMerchant, merchantId, after, limit);
  }

  async keyRecordsUnder(
    epoch: number,
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    const { merchant = "", purpose = "", version = 0 } = after ?? {};
    return this.#records(this.#under, epoch, merchant, purpose, version, limit);
  }

  async keysUnder(epoch: number): Promise<number> {
    const [row] = this.#rows(this.#countUnder, epoch) as readonly { readonly keys: number }[];
    return row?.keys ?? 0;
  }

  async oldMerchantKeys(
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#records(this.#old, after?.merchant ?? "", after?.version ?? 0, limit);
  }

  async commitKeys(change: KeyChange): Promise<KeyResult> {
    assertKeyChangesAreSound(change.changes);
    if (this.#isClosed()) throw new StoreError("closed");
    const { outcome, number } = await submitted(this.#writer, { users: "keys", change });
    return keyResultOf(outcome, number);
  }

  async keyOrders(after: number, limit: number): Promise<readonly KeyOrderRow[]> {
    if (this.#isClosed()) throw new StoreError("closed");
    // A file of an earlier version that is open for reading has no orders.
    this.#orders ??= this.#reader.prepare(
      "SELECT no AS number, at, body, lower(hex(mac)) AS mac FROM key_order WHERE no > ? ORDER BY no LIMIT ?",
    );
    return (this.#rows(this.#orders, after, limit) as readonly OrderRow[]).map(orderFromRow);
  }

  async commitOrder(change: KeyOrderChange): Promise<KeyResult> {
    assertOrderIsSound(change.order);
    if (this.#isClosed()) throw new StoreError("closed");
    const { outcome, number } = await submitted(this.#writer, { users: "order", change });
    return keyResultOf(outcome, number);
  }

  #records(statement: StatementSync, ...values: readonly (string | number)[]): KeyRecord[] {
    return (this.#rows(statement, ...values) as readonly KeyRow[]).map(keyFromRow);
  }

  #rows(statement: StatementSync, ...values: readonly (string | number)[]): readonly unknown[] {
    if (this.#isClosed()) throw new StoreError("closed");
    try {
      return statement.all(...values);
    } catch {
      throw new StoreError("unavailable");
    }
  }
}

const select = `SELECT lower(hex(key_record.merchant)) AS merchant, purpose, version, state, sequence, epoch, lower(hex(check_value)) AS check_value,
  wraps, created_at, changed_at, lower(hex(mac)) AS mac FROM key_record`;
