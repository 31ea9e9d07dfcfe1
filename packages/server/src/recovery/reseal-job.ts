import type { ResealState } from "../key-acts/rotation-state.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { type Instant, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { slotOf } from "../kernel/slot.ts";
import type { KeyRecordStore } from "../stores/key-record-store.ts";
import type { Store } from "../stores/store.ts";
import { merchantKeyVersionOf } from "../vault/derived-envelope.ts";
import { type KeyRecord, keyNameOf } from "../vault/records/key-record.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import { type Vault, VaultError } from "../vault/vault.ts";
import { settledMs } from "./old-keys.ts";

export interface ResealJobParts {
  readonly store: Pick<Store, "cardsOf" | "commit">;
  readonly keys: Pick<KeyRecordStore, "oldMerchantKeys">;
  readonly vault: Pick<Vault, "use" | "put" | "withMac" | "isGenuine">;
  /** Has the merchant's keys read again. */
  readonly forget: (merchantId: MerchantId) => void;
  /** Cards that may be encrypted in a second; 0: none. */
  readonly cardsPerSecond: () => number;
  /** Whether others may know the key: its cards come first, and without that limit. */
  readonly isUrgent: (record: KeyRecord) => boolean;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Each process does the merchants in its slots. */
  readonly slotAssignment: SlotAssignment;
  /** Called after all cards of a merchant were read, if some were under an earlier key. */
  readonly report: (progress: ResealProgress) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
}

export interface ResealProgress {
  readonly merchantId: MerchantId;
  /** Version of the earlier key. */
  readonly keyVersion: number;
  /** Cards that were encrypted again. */
  readonly cards: number;
  /** Cards that do not open and keep their rows. */
  readonly unreadable: number;
}

interface Running extends Pick<ResealState, "merchantId" | "keyVersion"> {
  readonly beganAt: Instant;
  /** From 0 to 1. */
  readonly done: number;
}

const checkMs = 5 * second;
/** After the start: what the process before left undone is continued soon. */
const firstMs = 300;
/** Merchants' keys per read. */
const keysPerPage = 100;
/** Cards per read: 2 ms of this process. */
const cardsPerPage = 50;
const maxSettled = 100_000;

/**
 * Encrypts stored cards again that were encrypted under a merchant's earlier key, under the current
 * one. The version of the card is compared at the commit, so a card that is deleted or changed
 * meanwhile stays so. What is left to do follows from the stored records alone; the process may end
 * at any point.
 */
export class ResealJob {
  readonly #parts: ResealJobParts;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;
  #current: Running | undefined;
  /** Names of keys without cards. */
  readonly #settled = new Set<string>();

  constructor(parts: ResealJobParts) {
    this.#parts = parts;
  }

  /** What it does at this moment. */
  get state(): readonly ResealState[] {
    if (this.#current === undefined) return [];
    const { merchantId, keyVersion, beganAt, done } = this.#current;
    const seconds = (this.#parts.clock.now() - beganAt) / second;
    const secondsLeft =
      done > 0 && seconds >= 1 ? Math.ceil((seconds / done) * (1 - done)) : undefined;
    return [{ merchantId, keyVersion, percent: Math.floor(done * 100), secondsLeft }];
  }

  start(): void {
    this.#schedule(firstMs);
  }

  /** Resolves when the current page has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  /** Encrypts all cards again that need it, of the merchants in this process's slots. */
  async runOnce(): Promise<void> {
    const { isUrgent } = this.#parts;
    await this.#resealUnder(isUrgent);
    await this.#resealUnder((record) => !isUrgent(record));
  }

  async #resealUnder(isMeant: (record: KeyRecord) => boolean): Promise<void> {
    const { keys, slotAssignment, reads } = this.#parts;
    let after: KeyRecord | undefined;
    while (!this.#stopped) {
      const leases = slotAssignment.leases();
      const page = await reportRead(
        reads,
        "oldMerchantKeys",
        keys.oldMerchantKeys(after, keysPerPage),
      );
      for (const record of page) {
        const lease =
          record.merchant === undefined ? undefined : leases.get(slotOf(record.merchant));
        if (lease !== undefined && isMeant(record)) await this.#reseal(record, lease);
      }
      after = page.at(-1);
      if (page.length < keysPerPage) return;
    }
  }

  async #reseal(record: KeyRecord, lease: SlotLease): Promise<void> {
    const { clock, report } = this.#parts;
    const { merchant, version, changedAt } = record;
    const name = keyNameOf(record);
    if (merchant === undefined || this.#settled.has(name)) return;
    const beganAt = clock.now();
    this.#current = { merchantId: merchant, keyVersion: version, beganAt, done: 0 };
    const [cards, unreadable, isComplete] = await this.#resealCardsOf(record, lease).finally(
      () => (this.#current = undefined),
    );
    if (cards > 0 || unreadable > 0)
      report({ merchantId: merchant, keyVersion: version, cards, unreadable });
    else if (isComplete && this.#isSettled(beganAt, changedAt) && this.#settled.size < maxSettled)
      this.#settled.add(name);
  }

  /** No process encrypts under the key any more, and none has done so shortly before `beganAt`. */
  #isSettled(beganAt: Instant, changedAt: Instant): boolean {
    return beganAt - changedAt >= settledMs;
  }

  async #resealCardsOf(
    record: KeyRecord,
    lease: SlotLease,
  ): Promise<readonly [cards: number, unreadable: number, isComplete: boolean]> {
    const { store, scheduler, reads, cardsPerSecond, isUrgent } = this.#parts;
    const { merchant: merchantId, version } = record;
    let after: TokenDigest | undefined;
    let [cards, unreadable] = [0, 0];
    if (merchantId === undefined) return [cards, unreadable, true];
    while (!this.#stopped) {
      const rate = isUrgent(record) ? undefined : cardsPerSecond();
      if (rate === 0) break;
      const end = lease.begin();
      // Another process continues.
      if (end === undefined) break;
      try {
        const page = await reportRead(
          reads,
          "cardsOf",
          store.cardsOf(merchantId, after, cardsPerPage),
        );
        const old = page.filter(({ ref }) => merchantKeyVersionOf(ref) === version);
        const done = await Promise.all(old.map((card) => this.#resealCard(card)));
        cards += done.filter((outcome) => outcome === "done").length;
        unreadable += done.filter((outcome) => outcome === "unreadable").length;
        if (page.length < cardsPerPage) return [cards, unreadable, true];
        after = page.at(-1)?.tokenDigest;
        if (after !== undefined && this.#current !== undefined)
          this.#current = { ...this.#current, done: placeOf(after) };
        if (old.length === 0) continue;
      } finally {
        end();
      }
      await scheduler.sleep(rate === undefined ? 1 : Math.ceil((cardsPerPage * second) / rate));
    }
    return [cards, unreadable, false];
  }

  /** `missed`: the card was changed or deleted meanwhile. */
  async #resealCard(card: StoredCard): Promise<"done" | "missed" | "unreadable"> {
    const { store, vault, clock } = this.#parts;
    const { merchantId, tokenDigest, version } = card;
    if (!vault.isGenuine(card)) return "unreadable";
    const owner = { merchantId, tokenDigest, recordVersion: version };
    const next = { ...owner, recordVersion: version + 1 };
    let ref: StoredCard["ref"];
    try {
      ref = await vault.use(card.ref, owner, (opened) => vault.put(opened, next));
    } catch (error) {
      if (error instanceof VaultError) return "unreadable";
      throw error;
    }
    if (merchantKeyVersionOf(ref) === merchantKeyVersionOf(card.ref)) {
      // This process does not know the new key yet, whose commit was not answered for example.
      this.#parts.forget(merchantId);
      return "missed";
    }
    const { outcome } = await store.commit({
      merchantId,
      at: clock.now(),
      card: { next: vault.withMac({ ...card, version: version + 1, ref }), replaces: version },
      facts: [],
      entries: [],
      notifications: [],
    });
    return outcome === "committed" ? "done" : "missed";
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

/** Where a token digest is among all, from 0 to 1: digests are spread evenly. */
function placeOf(digest: TokenDigest): number {
  return Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32;
}
