import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { isSameHead } from "../../user/audit-chain.ts";
import {
  assertKeyChangesAreSound,
  keyNameOf,
  type KeyRecord,
  mayFollow,
} from "../../vault/records/key-record.ts";
import { assertOrderIsSound, type KeyOrderRow } from "../../vault/records/key-order.ts";
import { frozenCopy } from "../frozen-copy.ts";
import type {
  KeyChange,
  KeyOrderChange,
  KeyPosition,
  KeyRecordStore,
  KeyResult,
} from "../key-record-store.ts";
import { MemoryAudit } from "./memory-audit.ts";

/** Key records that last as long as the process. The reference for other stores. */
export class MemoryKeyRecords implements KeyRecordStore {
  readonly #audit: MemoryAudit;
  /** By `keyNameOf`. */
  #records: ReadonlyMap<string, KeyRecord> = new Map();
  readonly #orders: KeyOrderRow[] = [];

  constructor(audit = new MemoryAudit()) {
    this.#audit = audit;
  }

  async keyRecords(
    after: Pick<KeyRecord, "purpose" | "version"> | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#sorted(undefined)
      .filter((record) => after === undefined || byPosition(after, record) < 0)
      .slice(0, limit);
  }

  async merchantKeyRecords(
    merchantId: MerchantId,
    after: number,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#sorted(merchantId)
      .filter(({ version }) => version > after)
      .slice(0, limit);
  }

  async keyRecordsUnder(
    epoch: number,
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return this.#under(epoch)
      .filter((record) => after === undefined || byMerchant(after, record) < 0)
      .slice(0, limit);
  }

  async keysUnder(epoch: number): Promise<number> {
    return this.#under(epoch).length;
  }

  async oldMerchantKeys(
    after: KeyPosition | undefined,
    limit: number,
  ): Promise<readonly KeyRecord[]> {
    return [...this.#records.values()]
      .filter(
        ({ purpose, state }) =>
          purpose === "merchant" && (state === "retired" || state === "compromised"),
      )
      .toSorted(byMerchant)
      .filter((record) => after === undefined || byMerchant(after, record) < 0)
      .slice(0, limit);
  }

  async commitKeys(change: KeyChange): Promise<KeyResult> {
    const { changes, chain } = change;
    assertKeyChangesAreSound(changes);
    if (chain !== undefined && !isSameHead(chain.after, this.#audit.head))
      return { outcome: "head_moved" };
    for (const { next, replaces } of changes)
      if (this.#records.get(keyNameOf(next))?.sequence !== replaces) return { outcome: "stale" };
    if (this.#isEpochInUse(change)) return { outcome: "in_use" };
    const records = new Map(this.#records);
    for (const { next } of changes) {
      const before = records.get(keyNameOf(next));
      assert(before === undefined || mayFollow(next, before), "a key only moves forward");
      records.set(keyNameOf(next), frozenCopy(next));
      assert(hasOneCurrent(records.values(), next), "a purpose has one current key");
    }
    this.#records = records;
    return { outcome: "committed", number: this.#audit.append(change) };
  }

  async keyOrders(after: number, limit: number): Promise<readonly KeyOrderRow[]> {
    return this.#orders.slice(after, after + limit);
  }

  async commitOrder(change: KeyOrderChange): Promise<KeyResult> {
    const { order, chain } = change;
    assertOrderIsSound(order);
    if (chain !== undefined && !isSameHead(chain.after, this.#audit.head))
      return { outcome: "head_moved" };
    if (order.number !== this.#orders.length + 1) return { outcome: "stale" };
    this.#orders.push(frozenCopy(order));
    return { outcome: "committed", number: this.#audit.append(change) };
  }

  #isEpochInUse({ changes, acceptsOutage }: KeyChange): boolean {
    const destroyed = new Set(
      [...this.#records.values(), ...changes.map(({ next }) => next)]
        .filter(({ purpose, state }) => purpose === "epoch" && state === "destroyed")
        .map(({ version }) => version),
    );
    if (
      changes.some(
        ({ next: { state, epoch } }) => state !== "destroyed" && destroyed.has(epoch ?? 0),
      )
    )
      return true;
    const changed = new Set(changes.map(({ next }) => keyNameOf(next)));
    return (
      acceptsOutage !== true &&
      changes.some(
        ({ next: { purpose, state, version } }) =>
          purpose === "epoch" &&
          state === "destroyed" &&
          this.#under(version).some((record) => !changed.has(keyNameOf(record))),
      )
    );
  }

  #under(epoch: number): readonly KeyRecord[] {
    return [...this.#records.values()]
      .filter((record) => record.epoch === epoch && record.state !== "destroyed")
      .toSorted(byMerchant);
  }

  #sorted(merchant: MerchantId | undefined): readonly KeyRecord[] {
    return [...this.#records.values()]
      .filter((record) => record.merchant === merchant)
      .toSorted(byPosition);
  }
}

type Position = Pick<KeyRecord, "purpose" | "version">;

function byPosition(one: Position, other: Position): number {
  if (one.purpose !== other.purpose) return one.purpose < other.purpose ? -1 : 1;
  return one.version - other.version;
}

function byMerchant(one: KeyPosition, other: KeyPosition): number {
  const [left, right] = [one.merchant ?? "", other.merchant ?? ""];
  if (left !== right) return left < right ? -1 : 1;
  return byPosition(one, other);
}

function hasOneCurrent(
  records: Iterable<KeyRecord>,
  { purpose, merchant }: Pick<KeyRecord, "purpose" | "merchant">,
): boolean {
  const current = [...records].filter(
    (each) => each.purpose === purpose && each.merchant === merchant && each.state === "current",
  );
  return current.length <= 1;
}
