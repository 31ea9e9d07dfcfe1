import type { Clock } from "../kernel/clock.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { minute, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { AccountKey, Change } from "../stores/change.ts";
import type { RunningStore, StoredAccountKey } from "../stores/store.ts";
import type { UserStore } from "../user/user-store.ts";
import type { RowUpgrade } from "../vault/row-mac.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import { VaultError } from "../vault/vault.ts";

export interface RowUpgradeParts {
  readonly store: Pick<
    RunningStore,
    | "accounts"
    | "accountById"
    | "accountKeys"
    | "cardsWithoutMac"
    | "commit"
    | "dropTokenDigests"
    | "eraseRemains"
    | "hasOlderNodes"
  >;
  /**
   * Encrypts a card of an earlier version again, under its keyed digest. Rejects with VaultError if
   * it cannot be decrypted.
   */
  readonly vault: { readonly adopt: (card: StoredCard) => Promise<StoredCard> };
  readonly withKeyMac: (key: StoredAccountKey) => AccountKey;
  /** Users with MACs: writing a user adds its MAC. */
  readonly users: Pick<UserStore, "users" | "commit" | "auditHead">;
  readonly upgrade: RowUpgrade;
  /** Records durably that no row of an earlier version is left. */
  readonly complete: (upgrade: Pick<RowUpgrade, "lastUnkeyedEntry">) => Promise<void>;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /**
   * How long no node of an earlier version must have been present, so that the other nodes notice
   * its end too.
   */
  readonly settleMs: number;
  readonly report: (progress: { readonly cards: number }) => void;
  /**
   * Called with the number of cards that cannot be decrypted, which prevent the upgrade from
   * completing; again when the number changes.
   */
  readonly unreadable: (cards: number) => void;
  /** Called after each of its reads of the store. */
  readonly reads?: ReadReport;
}

const checkMs = 5 * second;
/** Pause before the upgrade goes through all payments again. */
const nextPassMs = 10 * minute;
const batchSize = 100;
const pauseMs = 5;
/**
 * Longer than other nodes need to notice, after this one, that no older node is left. The upgrade
 * must find the rows that they still write in the earlier form, because that form is not read
 * afterwards.
 */
const drainWritesMs = 3 * checkMs;
/** A row that was changed concurrently is left for the next pass. */
const maxPasses = 1_000;
const maxCardPasses = 10;

/**
 * Moves the rows of an earlier version to keyed token digests and MACs: every card is encrypted
 * again under its new digest, every integration key gets its MAC, payments lose the unkeyed digest
 * of their card's token. Waits until no node of an earlier version serves the same database,
 * because such a node would not find the cards. When all is done, rows without a MAC are refused.
 * Several nodes may do this at once; if a process ends early, the next start does the rest.
 *
 * A card that cannot be decrypted keeps its row, so it can be used when its key is back. The
 * upgrade does not complete before that, because the card's token would then be unknown.
 */
export class RowUpgradeJob {
  readonly #parts: RowUpgradeParts;
  #stopped = false;
  #cancelTimer: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();
  #cards = 0;
  /** The number that was reported last. */
  #unreadable = 0;

  constructor(parts: RowUpgradeParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#parts.upgrade.earlier !== "none") this.#next(0);
  }

  /** Resolves when the current batch has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#work;
  }

  #next(waitMs: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(waitMs, () => {
      // After a store failure the read is repeated.
      this.#work = this.#waitForOlderNodes().catch(() => this.#next(checkMs));
    });
  }

  #read<T>(read: string, reading: Promise<T>): Promise<T> {
    return reportRead(this.#parts.reads, read, reading);
  }

  async #waitForOlderNodes(): Promise<void> {
    const { store, upgrade, settleMs } = this.#parts;
    if (await this.#read("hasOlderNodes", store.hasOlderNodes())) {
      upgrade.earlier = "written";
      this.#next(checkMs);
      return;
    }
    // Another node is further, and may no longer read what is written in the earlier form.
    if (upgrade.earlier === "written" && (await this.#hasStartedElsewhere()))
      upgrade.earlier = "read";
    this.#cancelTimer = this.#parts.scheduler.after(settleMs, () => {
      this.#work = this.#upgrade().catch(() => this.#next(checkMs));
    });
  }

  async #upgrade(): Promise<void> {
    const { store, users, scheduler, upgrade, complete, report } = this.#parts;
    if (await this.#read("hasOlderNodes", store.hasOlderNodes())) {
      this.#next(0);
      return;
    }
    if (upgrade.earlier === "written") {
      upgrade.earlier = "read";
      await scheduler.sleep(drainWritesMs);
    }
    for (const { id } of await this.#read("accounts", store.accounts()))
      await store.dropTokenDigests(id);
    const unreadable = await this.#adoptCards();
    await this.#adoptKeys();
    await this.#adoptUsers();
    if (this.#stopped) return;
    // Some rows change continuously, or another card already has the new digest.
    if (unreadable === undefined) {
      this.#next(nextPassMs);
      return;
    }
    if (unreadable !== this.#unreadable && unreadable > 0) this.#parts.unreadable(unreadable);
    this.#unreadable = unreadable;
    await store.eraseRemains();
    if (unreadable > 0) {
      this.#next(nextPassMs);
      return;
    }
    const { number: lastUnkeyedEntry } = await this.#read("auditHead", users.auditHead());
    await complete({ lastUnkeyedEntry });
    upgrade.lastUnkeyedEntry = lastUnkeyedEntry;
    upgrade.earlier = "none";
    report({ cards: this.#cards });
  }

  /**
   * Keys get their MACs when no older node is left; in an installation that older nodes have served
   * they have none before.
   */
  async #hasStartedElsewhere(): Promise<boolean> {
    return (await this.#read("accountKeys", this.#parts.store.accountKeys())).every(
      ({ mac }) => mac !== undefined,
    );
  }

  /**
   * The number of cards that cannot be decrypted; undefined if the job was stopped or some cards
   * could not be moved.
   */
  async #adoptCards(): Promise<number | undefined> {
    for (let pass = 0; pass < maxCardPasses && !this.#stopped; pass += 1) {
      let [unreadable, missed] = [0, 0];
      for (const { id } of await this.#read("accounts", this.#parts.store.accounts())) {
        const left = await this.#adoptCardsOf(id);
        unreadable += left.unreadable;
        missed += left.missed;
      }
      if (missed === 0 && !this.#stopped) return unreadable;
    }
    return undefined;
  }

  async #adoptCardsOf(
    merchantId: MerchantId,
  ): Promise<{ readonly unreadable: number; readonly missed: number }> {
    const { store, scheduler } = this.#parts;
    let [unreadable, missed] = [0, 0];
    let after: TokenDigest | undefined;
    while (!this.#stopped) {
      const batch = await this.#read(
        "cardsWithoutMac",
        store.cardsWithoutMac(merchantId, after, batchSize),
      );
      const done = await Promise.all(batch.map((card) => this.#adoptCard(card)));
      unreadable += done.filter((outcome) => outcome === "unreadable").length;
      missed += done.filter((outcome) => outcome === "missed").length;
      this.#cards += done.filter((outcome) => outcome === "done").length;
      after = batch.at(-1)?.tokenDigest;
      if (batch.length < batchSize) break;
      await scheduler.sleep(pauseMs);
    }
    return { unreadable, missed };
  }

  async #adoptCard(card: StoredCard): Promise<"done" | "missed" | "unreadable"> {
    const { store, vault } = this.#parts;
    let next: StoredCard;
    try {
      next = await vault.adopt(card);
    } catch (error) {
      if (error instanceof VaultError) return "unreadable";
      throw error;
    }
    const change = this.#change(card.merchantId, {
      card: { next, replaces: card.version, from: card.tokenDigest },
    });
    return (await store.commit(change)).outcome === "committed" ? "done" : "missed";
  }

  async #adoptKeys(): Promise<void> {
    const { store, withKeyMac } = this.#parts;
    for (let pass = 0; pass < maxPasses && !this.#stopped; pass += 1) {
      const [key] = (await this.#read("accountKeys", store.accountKeys())).filter(
        ({ mac }) => mac === undefined,
      );
      if (key === undefined) return;
      const account = await this.#read("accountById", store.accountById(key.merchantId));
      if (account === undefined) return;
      const next = { ...account, version: account.version + 1 };
      await store.commit(
        this.#change(account.id, {
          account: { next, replaces: account.version, keys: [withKeyMac(key)] },
        }),
      );
    }
  }

  /** Their sessions end with the upgrade. */
  async #adoptUsers(): Promise<void> {
    const { users, clock } = this.#parts;
    for (let pass = 0; pass < maxPasses && !this.#stopped; pass += 1) {
      const [user] = (await this.#read("users", users.users())).filter(
        ({ mac }) => mac === undefined,
      );
      if (user === undefined) return;
      const next = { ...user, version: user.version + 1 };
      const action = {
        actor: { kind: "server" },
        origin: undefined,
        action: "upgrade",
        target: user.id,
        result: "done",
        completes: undefined,
      } as const;
      await users.commit({
        at: clock.now(),
        events: [{ ...action, detail: "row MAC" }],
        user: { next, replaces: user.version },
      });
    }
  }

  #change(merchantId: MerchantId, part: Pick<Change, "card" | "account">): Change {
    return {
      merchantId,
      at: this.#parts.clock.now(),
      ...part,
      facts: [],
      entries: [],
      notifications: [],
    };
  }
}
