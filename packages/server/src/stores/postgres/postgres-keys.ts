import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { bodyOf } from "../../user/audit-chain.ts";
import type { UserOutcome } from "../../user/user-store.ts";
import { assertOrderIsSound, type KeyOrderRow } from "../../vault/records/key-order.ts";
import { assertKeyChangesAreSound, type KeyRecord } from "../../vault/records/key-record.ts";
import type {
  KeyChange,
  KeyOrderChange,
  KeyPosition,
  KeyRecordStore,
  KeyResult,
  KnownKeys,
  NewMerchantKey,
} from "../key-record-store.ts";
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
  /** Keys of all merchants and of none. */
  readonly under: (...values: readonly Value[]) => Promise<readonly KeyRow[]>;
  readonly countUnder: (epoch: number) => Promise<readonly { readonly keys: number }[]>;
  readonly old: (...values: readonly Value[]) => Promise<readonly KeyRow[]>;
  readonly newOfMerchants: (...values: readonly Value[]) => Promise<readonly NewMerchantKey[]>;
  readonly note: (
    ...values: readonly Value[]
  ) => Promise<readonly (KnownKeys & { readonly noted: boolean })[]>;
  readonly noteRoots: (...values: readonly Value[]) => Promise<readonly { roots: string }[]>;
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

  async keyRecordsUnder(
    epoch: number,
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    const { merchant = "", purpose = "", version = 0 } = after ?? {};
    return (await this.#read.under(epoch, merchant, purpose, version, limit)).map(keyFromRow);
  }

  async keysUnder(epoch: number): Promise<number> {
    const [row] = await this.#read.countUnder(epoch);
    return row?.keys ?? 0;
  }

  async oldMerchantKeys(
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    const rows = await this.#read.old(after?.merchant ?? "", after?.version ?? 0, limit);
    return rows.map(keyFromRow);
  }

  async newMerchantKeys(after: number, limit: number): Promise<readonly NewMerchantKey[]> {
    return this.#read.newOfMerchants(after, limit);
  }

  async noteKeys(node: string, { epoch, number }: KnownKeys): Promise<KnownKeys | undefined> {
    const [row] = await this.#read.note(node, epoch, number);
    return row?.noted === true ? { epoch: row.epoch, number: row.number } : undefined;
  }

  async noteRootKeys(
    node: string,
    opened: readonly string[],
  ): Promise<readonly (readonly string[])[]> {
    const rows = await this.#read.noteRoots(node, JSON.stringify(opened));
    return rows.map(({ roots }) => JSON.parse(roots) as readonly string[]);
  }

  async commitKeys(change: KeyChange): Promise<KeyResult> {
    assertKeyChangesAreSound(change.changes);
    return this.#write("write_keys", "SELECT outcome, number FROM write_keys_2($1)", {
      keys: change.changes.map(({ next, replaces }) => ({ ...rowOfKey(next), replaces })),
      accept_outage: change.acceptsOutage,
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
      readonly outcome: UserOutcome | "in_use";
      readonly number: number;
    }>(name, text, [JSON.stringify(message)]);
    assert(row !== undefined, "a change of keys is answered");
    return keyResultOf(row.outcome, row.number);
  }
}

/** The audit entries, for the functions of migrations/032-key-rotation.ts and 030-key-orders.ts. */
function entriesOf({ at, events, chain }: Pick<KeyChange, "at" | "events" | "chain">): object {
  return { acts: chain === undefined ? events.map((event) => bodyOf(at, event)) : [], chain };
}
