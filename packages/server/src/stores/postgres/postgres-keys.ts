import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { bodyOf } from "../../user/audit-chain.ts";
import type { UserOutcome } from "../../user/user-store.ts";
import { assertKeyChangesAreSound, type KeyRecord } from "../../vault/records/key-record.ts";
import type { KeyChange, KeyRecordStore, KeyResult } from "../key-record-store.ts";
import { keyFromRow, keyResultOf, type KeyRow, rowOfKey } from "../key-rows.ts";
import type { AuditedWriter } from "./audited-writer.ts";
import type { Value } from "./connection.ts";

/** Both reject with StoreError. */
interface ReadKeys {
  readonly shared: (...values: readonly Value[]) => Promise<readonly KeyRow[]>;
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
    const [row] = await this.#writer.write<{
      readonly outcome: UserOutcome;
      readonly number: number;
    }>("write_keys", "SELECT outcome, number FROM write_keys_1($1)", [messageOf(change)]);
    assert(row !== undefined, "a change of keys is answered");
    return keyResultOf(row.outcome, row.number);
  }
}

/** The input of the function of migrations/028-key-records.ts. */
function messageOf({ at, changes, events, chain }: KeyChange): string {
  return JSON.stringify({
    keys: changes.map(({ next, replaces }) => ({ ...rowOfKey(next), replaces })),
    acts: chain === undefined ? events.map((event) => bodyOf(at, event)) : [],
    chain,
  });
}
