import type { KeyDigest, MerchantId } from "../kernel/ids.ts";
import { hour, type Instant, second } from "../kernel/instant.ts";
import { digestOfKey } from "../operations/account-directory.ts";
import type { Account } from "../merchant/account.ts";
import type { Change } from "../stores/change.ts";
import { SharedSender } from "./shared-sender.ts";
import { grantsOf, World, type WorldPlan, type WorldDependencies } from "./world.ts";

export interface WorldLimits {
  /** Most worlds at the same time. */
  readonly maxWorlds: number;
  /**
   * Most records of all worlds together, without snapshots: payments, cards, notifications,
   * idempotent requests (WorldStore.size).
   */
  readonly maxRecords: number;
  /**
   * Most records in snapshots of all worlds together. An empty world's snapshot counts as thirty.
   */
  readonly maxSnapshotRecords: number;
}

const defaultLimits: WorldLimits = {
  maxWorlds: 10_000,
  maxRecords: 300_000,
  maxSnapshotRecords: 300_000,
};
/** A world without requests for this long makes room for a new one. */
const idleMs = hour;
/** Most notifications of all worlds in flight at once. */
const maxConcurrentSends = 512;
/** How often worlds with a running clock do due work. */
const tickMs = second;
/** New records between two counts of all worlds. */
const recordsPerCount = 1_000;
/**
 * From this version on, a payment takes more room with each change: an acquirer that never answers
 * is queried indefinitely.
 */
const manyVersions = 50;
/** In characters. */
const longSettings = 4_000;

export interface WorldsParts extends Omit<WorldDependencies, "isFull" | "hasSnapshotRoom"> {
  readonly limits?: Partial<WorldLimits>;
  /**
   * Called for every world that is reset, restored or deleted: cached data of its account is stale.
   */
  readonly onChanged: (id: MerchantId) => void;
}

const refusals = {
  full: "there are as many worlds as there can be",
  key_taken: "the key opens something else",
} as const;

/** The refusal to create a world. */
export class WorldRefused extends Error {
  override readonly name = "WorldRefused";
  readonly reason: keyof typeof refusals;

  constructor(reason: WorldRefused["reason"]) {
    super(refusals[reason]);
    this.reason = reason;
  }
}

/** The worlds of a server. Owns all of them, and one timer while the clock of any is running. */
export class Worlds {
  readonly #parts: WorldsParts;
  readonly #limits: WorldLimits;
  readonly #dependencies: WorldDependencies;
  /** In order of creation. */
  readonly #worlds = new Map<MerchantId, World>();
  readonly #byKey = new Map<KeyDigest, World>();
  readonly #usedAt = new Map<MerchantId, Instant>();
  #reservedRoom = 0;
  #isClosed = false;
  #cancelTick: (() => void) | undefined;

  constructor(parts: WorldsParts) {
    this.#parts = parts;
    this.#limits = { ...defaultLimits, ...parts.limits };
    this.#dependencies = {
      ...parts,
      sender: new SharedSender(parts.sender, maxConcurrentSends),
      isFull: (change) => this.#isFull(change),
      hasSnapshotRoom: (records) => this.#hasSnapshotRoom(records),
    };
  }

  get size(): number {
    return this.#worlds.size;
  }

  /** Oldest first. */
  list(): readonly World[] {
    return [...this.#worlds.values()];
  }

  of(id: MerchantId): World | undefined {
    return this.#worlds.get(id);
  }

  /** The world that a key opens. Counts as use (resets the idle timer). */
  byKey(key: string): World | undefined {
    // Without worlds, requests do not pay for the digest.
    const world = this.#byKey.size === 0 ? undefined : this.#byKey.get(digestOfKey(key));
    if (world !== undefined) this.#usedAt.set(world.id, this.#parts.clock.now());
    return world;
  }

  /** Rejects with WorldRefused. */
  async create(plan: WorldPlan): Promise<World> {
    if (this.#isClosed) throw new WorldRefused("full");
    const digests = grantsOf(plan.keys).map(({ digest }) => digest);
    if (digests.some((digest) => this.#byKey.has(digest)) || this.#worlds.has(plan.account.id))
      throw new WorldRefused("key_taken");
    if (this.#worlds.size >= this.#limits.maxWorlds && !this.#evictIdleWorld())
      throw new WorldRefused("full");
    if (hasLongSettings(plan.account) && !this.#reserveRoom(recordsPerCount))
      throw new WorldRefused("full");
    const world = new World(this.#dependencies, plan);
    // Reserve the keys now, so that a concurrent create with the same key fails.
    this.#worlds.set(world.id, world);
    for (const digest of digests) this.#byKey.set(digest, world);
    this.#usedAt.set(world.id, this.#parts.clock.now());
    await world.open();
    this.watch();
    return world;
  }

  /** Deletes a world with all its data. Resolves when none of its work is under way. */
  async delete(world: World): Promise<void> {
    if (this.#worlds.get(world.id) !== world) return;
    this.#remove(world);
    this.#parts.onChanged(world.id);
    await world.close();
    // Work that ended in the meantime may have been cached.
    this.#parts.onChanged(world.id);
  }

  /** Resets a world to its initial state. */
  async reset(world: World): Promise<void> {
    await world.reset();
    this.#parts.onChanged(world.id);
  }

  /** Restores the snapshot of this name; false when there is none. */
  async restore(world: World, name: string): Promise<boolean> {
    const restored = await world.restore(name);
    if (restored) this.#parts.onChanged(world.id);
    this.watch();
    return restored;
  }

  /** Call when a world's clock starts running. */
  watch(): void {
    if (
      this.#cancelTick !== undefined ||
      this.#isClosed ||
      !this.list().some(({ time }) => time.running)
    )
      return;
    this.#cancelTick = this.#parts.scheduler.after(tickMs, () => {
      this.#cancelTick = undefined;
      for (const world of this.#worlds.values())
        if (world.time.running && !world.isBusy && world.isDue) void world.doDueWork();
      this.watch();
    });
  }

  /**
   * Ends all moves of the time. Called before the server stops, which waits for requests in flight.
   */
  async endMoves(): Promise<void> {
    await Promise.all(this.list().flatMap((world) => (world.isBusy ? [world.endMoves()] : [])));
  }

  /** Deletes all worlds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTick?.();
    await Promise.all(this.list().map((world) => this.delete(world)));
  }

  #remove(world: World): void {
    this.#worlds.delete(world.id);
    this.#usedAt.delete(world.id);
    for (const { digest } of grantsOf(world.plan.keys)) this.#byKey.delete(digest);
  }

  #evictIdleWorld(): boolean {
    const now = this.#parts.clock.now();
    let idle: World | undefined;
    let since = now - idleMs;
    for (const world of this.#worlds.values()) {
      const usedAt = this.#usedAt.get(world.id) ?? now;
      if (usedAt > since) continue;
      idle = world;
      since = usedAt;
    }
    if (idle !== undefined) void this.delete(idle);
    return idle !== undefined;
  }

  #hasSnapshotRoom(records: number): boolean {
    let sum = records;
    for (const world of this.#worlds.values()) sum += world.snapshotRecords;
    return sum <= this.#limits.maxSnapshotRecords;
  }

  /**
   * Refuses only changes that add a record which clients can add without limit; changes of existing
   * records continue.
   */
  #isFull({ payment, card, request, account }: Change): boolean {
    const adds =
      (payment !== undefined &&
        (payment.replaces === undefined || payment.next.version > manyVersions)) ||
      (account?.replaces !== undefined && hasLongSettings(account.next)) ||
      (card !== undefined && card.replaces === undefined) ||
      request?.replaces === "nothing";
    return adds && !this.#reserveRoom(account === undefined ? 1 : recordsPerCount);
  }

  /** Takes room for about this number of records; false when there is none. */
  #reserveRoom(records: number): boolean {
    if (this.#reservedRoom < records) {
      let left = this.#limits.maxRecords;
      for (const { size } of this.#worlds.values()) left -= size;
      this.#reservedRoom = Math.min(recordsPerCount, left);
    }
    this.#reservedRoom -= records;
    return this.#reservedRoom >= 0;
  }
}

/** Short settings are covered by the room of each account. */
function hasLongSettings({ settings }: Account): boolean {
  return JSON.stringify(settings).length > longSettings;
}
