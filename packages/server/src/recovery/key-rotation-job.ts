import {
  isCompromised,
  merchantKeyFrom,
  type RotationOrders,
} from "../key-acts/rotation-orders.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, minute, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import type { KeyRecordStore, KnownKeys } from "../stores/key-record-store.ts";
import type { Store } from "../stores/store.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import { keyFailureOf, type KeyRotation } from "../vault/records/key-rotation.ts";
import { cardsUnder, maxVersions, oldKeyNamed, settledMs } from "./old-keys.ts";

export interface KeyRotationJobParts {
  readonly keys: Pick<KeyRecordStore, "keyRecordsUnder" | "merchantKeyRecords">;
  readonly store: Pick<Store, "cardsOf">;
  readonly rotation: Pick<
    KeyRotation,
    "epochs" | "makeEpoch" | "useEpoch" | "rewrap" | "move" | "replaceMerchantKey"
  >;
  /** What the orders about keys demand. */
  readonly orders: () => RotationOrders;
  /** What every live node knows at least; undefined if this process is the only one. */
  readonly knownEverywhere: (() => KnownKeys | undefined) | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The holder of the first slot does the work for all nodes. */
  readonly slotAssignment: SlotAssignment;
  /** Called after a round that wrapped keys again or made an epoch current. */
  readonly report: (progress: RotationProgress) => void;
  /** Called once for each key that was altered, and so stays as it is. */
  readonly refused: (key: string) => void;
  /** Called when the next epoch key cannot be made, and again after it could be made. */
  readonly failed: (reason: string) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
}

export interface RotationProgress {
  /** The current epoch. */
  readonly epoch: number;
  /** Keys that were wrapped again in this round. */
  readonly rewrapped: number;
  /** Merchants that were given a new key in this round. */
  readonly merchants: number;
  /** Keys that were destroyed in this round. */
  readonly destroyed: number;
}

const jobSlot = 0;
const checkMs = 3 * second;
/** After the start: what the process before left undone is continued soon. */
const firstMs = 300;
/**
 * How long an epoch key waits for nodes that do not open it. They no longer serve cards by then
 * (`KeyWatch`).
 */
export const epochDeadlineMs = 11 * minute;
/** Keys per commit: about 3 ms of this process. */
const pieceSize = 100;
const pauseMs = 1;
/** A piece that another process changes is read again. */
const maxStaleInRound = 100;
const maxRefused = 1_000;

/**
 * Carries out the orders about rotation: makes a new epoch key, makes it current as soon as every
 * live node has opened it, wraps all keys by it that earlier epochs wrap, gives merchants new keys,
 * and destroys keys. What is left to do follows from the stored records and the orders alone, so the
 * process may end at any point.
 */
export class KeyRotationJob {
  readonly #parts: KeyRotationJobParts;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Names that were reported. */
  readonly #refused = new Set<string>();
  /** What was reported last about the next epoch key. */
  #failure: string | undefined;
  /** Orders that this process knows to be carried out. */
  readonly #replaced = new Map<MerchantId, Instant>();
  #allReplacedFrom: Instant | undefined;

  constructor(parts: KeyRotationJobParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule(firstMs);
  }

  /** Resolves when the current piece has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  /** Does what can be done now, if this process is responsible. */
  async runOnce(): Promise<void> {
    const { rotation, slotAssignment, report } = this.#parts;
    const lease = slotAssignment.leases().get(jobSlot);
    if (lease === undefined) return;
    await this.#makeEpoch(await rotation.epochs());
    const isNew = await this.#useEpoch(await rotation.epochs());
    const epochs = await rotation.epochs();
    const current = epochs.find(({ state }) => state === "current");
    if (current === undefined) return;
    let rewrapped = 0;
    for (const { version } of epochs)
      if (version < current.version) rewrapped += await this.#rewrapAll(version, lease);
    const merchants = await this.#replaceMerchantKeys(current.version, lease);
    const destroyed = await this.#destroy(epochs);
    if (isNew || rewrapped + merchants + destroyed > 0)
      report({ epoch: current.version, rewrapped, merchants, destroyed });
  }

  async #makeEpoch(epochs: readonly KeyRecord[]): Promise<void> {
    const { rotation, orders, clock, failed } = this.#parts;
    const { epochFrom } = orders();
    const newest = epochs.at(-1);
    if (epochFrom === undefined || newest === undefined || newest.createdAt >= epochFrom) return;
    // The node that stored the order has a clock that is ahead.
    if (clock.now() < epochFrom || newest.state === "made") return;
    try {
      await rotation.makeEpoch();
      this.#failure = undefined;
    } catch (error) {
      const failure = keyFailureOf(error);
      if (failure === undefined) throw error;
      if (this.#failure !== failure) failed(failure);
      this.#failure = failure;
    }
  }

  /** Resolves with whether another epoch is current now. */
  async #useEpoch(epochs: readonly KeyRecord[]): Promise<boolean> {
    const { rotation, orders } = this.#parts;
    const made = epochs.find((epoch) => epoch.state === "made" && this.#isKnown(epoch));
    const current = epochs.find(({ state }) => state === "current");
    let isNew = false;
    if (made !== undefined && current !== undefined) {
      const before = isCompromised(orders(), current) ? "compromised" : "retired";
      isNew = await rotation.useEpoch(made.version, before);
    }
    for (const epoch of epochs)
      if (epoch.state === "retired" && isCompromised(orders(), epoch))
        await rotation.move(epoch, "compromised");
    return isNew;
  }

  /** Resolves with the number of merchants that were given a new key. */
  async #replaceMerchantKeys(epoch: number, lease: SlotLease): Promise<number> {
    const { orders, keys } = this.#parts;
    const { merchantsFrom, merchantFrom } = orders();
    let replaced = 0;
    for (const [merchant, from] of merchantFrom) {
      if (this.#replaced.get(merchant) === from) continue;
      if (await this.#replaceMerchantKey(merchant)) replaced += 1;
      this.#replaced.set(merchant, from);
    }
    if (merchantsFrom === undefined || this.#allReplacedFrom === merchantsFrom) return replaced;
    let after: KeyRecord | undefined;
    while (!this.#stopped) {
      const end = lease.begin();
      // Another process continues.
      if (end === undefined) return replaced;
      try {
        const page = await keys.keyRecordsUnder(epoch, after, pieceSize);
        for (const { merchant, state, createdAt } of page)
          if (merchant !== undefined && state === "current" && createdAt < merchantsFrom)
            if (await this.#replaceMerchantKey(merchant)) replaced += 1;
        after = page.at(-1);
        if (after === undefined) {
          this.#allReplacedFrom = merchantsFrom;
          return replaced;
        }
      } finally {
        end();
      }
      await this.#parts.scheduler.sleep(pauseMs);
    }
    return replaced;
  }

  async #replaceMerchantKey(merchant: MerchantId): Promise<boolean> {
    const { rotation, keys, orders, refused } = this.#parts;
    const from = merchantKeyFrom(orders(), merchant);
    if (from === undefined) return false;
    const records = await keys.merchantKeyRecords(merchant, 0, maxVersions);
    const current = records.find(({ state }) => state === "current");
    const state =
      current !== undefined && isCompromised(orders(), current) ? "compromised" : "retired";
    try {
      for (const record of records)
        if (record.state === "retired" && isCompromised(orders(), record))
          await rotation.move(record, "compromised");
      return (await rotation.replaceMerchantKey(merchant, from, state)) !== undefined;
    } catch (error) {
      if (keyFailureOf(error) === undefined) throw error;
      refused(`merchant ${merchant}`);
      return false;
    }
  }

  /** Destroys what orders demand and nothing needs. Resolves with the number of keys. */
  async #destroy(epochs: readonly KeyRecord[]): Promise<number> {
    const { orders, rotation, keys, store, clock } = this.#parts;
    let destroyed = 0;
    for (const [name, acceptsOutage] of orders().destroyed) {
      const record = await oldKeyNamed(name, epochs, keys);
      if (record === undefined) continue;
      const isUnused =
        record.merchant === undefined ||
        (clock.now() - record.changedAt >= settledMs &&
          (await cardsUnder(store, record.merchant, record.version, 1)) === 0);
      if (!isUnused && !acceptsOutage) continue;
      if ((await rotation.move(record, "destroyed", acceptsOutage)) === "committed") destroyed += 1;
    }
    return destroyed;
  }

  #isKnown({ version, createdAt }: KeyRecord): boolean {
    const { knownEverywhere, clock } = this.#parts;
    if (knownEverywhere === undefined || clock.now() - createdAt >= epochDeadlineMs) return true;
    return (knownEverywhere()?.epoch ?? 0) >= version;
  }

  /** Resolves with the number of keys that were wrapped again. */
  async #rewrapAll(epoch: number, lease: SlotLease): Promise<number> {
    const { keys, rotation, scheduler } = this.#parts;
    let after: KeyRecord | undefined;
    let [rewrapped, stale] = [0, 0];
    while (!this.#stopped && stale < maxStaleInRound) {
      const end = lease.begin();
      // Another process continues.
      if (end === undefined) break;
      try {
        const page = await reportRead(
          this.#parts.reads,
          "keyRecordsUnder",
          keys.keyRecordsUnder(epoch, after, pieceSize),
        );
        const last = page.at(-1);
        if (last === undefined) break;
        const refused = await rotation.rewrap(page);
        if (refused === undefined) {
          stale += 1;
          continue;
        }
        for (const key of refused) this.#reportRefused(key);
        rewrapped += page.length - refused.length;
        after = last;
      } finally {
        end();
      }
      await scheduler.sleep(pauseMs);
    }
    return rewrapped;
  }

  #reportRefused(key: string): void {
    if (this.#refused.has(key) || this.#refused.size >= maxRefused) return;
    this.#refused.add(key);
    this.#parts.refused(key);
  }

  #schedule(ms = checkMs): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(ms, () => {
      // After a failure the round is repeated.
      this.#round = this.runOnce().catch(() => undefined);
      void this.#round.then(() => this.#schedule());
    });
  }
}
