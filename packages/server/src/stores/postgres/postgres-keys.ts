import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { bodyOf } from "../../user/audit-chain.ts";
import type { UserOutcome } from "../../user/user-store.ts";
import { assertOrderIsSound, type KeyOrderRow } from "../../vault/records/key-order.ts";
import { assertKeyChangesAreSound, type KeyRecord } from "../../vault/records/key-record.ts";
import type { KeyChange, KeyOrderChange, KeyRecordStore, KeyResult } from "../key-record-store.ts";
import {
  keyFromRow,
  keyResultOf,
  type KeyRow,
  orderFromRow,
  type OrderRow,
  rowOfKey,
  rowOfOrder,
} from "../key-rows.ts";
import type { AuditedWriter } from "./audited-writer.ts";
import type { Value } from "./connection.ts";

/** All reject with StoreError. */
interface ReadKeys {
  readonly shared: (...values: readonly Value[]) => Promise<readonly KeyRow[]>;
  readonly orders: (...values: readonly Value[]) => Promise<readonly OrderRow[]>;
  /** Under row-level security. */
  readonly ofMerchant: (
    merchantId: MerchantId,
    ...values: readonly Value[]
  ) => Promise<readonly KeyRow[]>;
}

/** Key records in the database. */
export class PostgresKeys implements KeyRecordStore {
  readonly #read: ReadKeys;
  readonly #writer: AuditedWriter;

  constructor(read: ReadKeys, writer: AuditedWriter) {
    this.#read = read;
    this.#writer = writer;
  }

  async keyRecords(
    after: Pick<KeyRecord, "purpose" | "version"> | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    const rows = await this.#read.shared(after?.purpose ?? "", after?.version ?? 0, limit);
    return rows.map(keyFromRow);
  }

  async merchantKeyRecords(
    merchantId: MerchantId,
    after: number,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return (await this.#read.ofMerchant(merchantId, after, limit)).map(keyFromRow);
  }

  async commitKeys(change: KeyChange): Promise<KeyResult> {
    assertKeyChangesAreSound(change.changes);
    return this.#write("write_keys", "SELECT outcome, number FROM write_keys_1($1)", {
      keys: change.changes.map(({ next, replaces }) => ({ ...rowOfKey(next), replaces })),
      ...entriesOf(change),
    });
  }

  async keyOrders(after: number, limit: number): Promise<readonly KeyOrderRow[]> {
    return (await this.#read.orders(after, limit)).map(orderFromRow);
  }

  async commitOrder(change: KeyOrderChange): Promise<KeyResult> {
    assertOrderIsSound(change.order);
    return this.#write("write_key_order", "SELECT outcome, number FROM write_key_order_1($1)", {
      order: rowOfOrder(change.order),
      keys: [],
      ...entriesOf(change),
    });
  }

  async #write(name: string, text: string, message: object): Promise<KeyResult> {
    const [row] = await this.#writer.write<{
      readonly outcome: UserOutcome;
      readonly number: number;
    }>(name, text, [JSON.stringify(message)]);
    assert(row !== undefined, "a change of keys is answered");
    return keyResultOf(row.outcome, row.number);
  }
}

/** The audit entries, for the functions of migrations/028-key-records.ts and 030-key-orders.ts. */
function entriesOf({ at, events, chain }: Pick<KeyChange, "at" | "events" | "chain">): object {
  return { acts: chain === undefined ? events.map((event) => bodyOf(at, event)) : [], chain };
}
