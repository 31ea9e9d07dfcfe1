import type { KeyDigest, MerchantId } from "../kernel/ids.ts";
import { hour, type Instant, second } from "../kernel/instant.ts";
import { digestOfKey } from "../operations/account-directory.ts";
import type { Account } from "../merchant/account.ts";
import type { Change } from "../stores/change.ts";
import { SharedSender } from "./shared-sender.ts";
import { grantsOf, World, type WorldPlan, type WorldSurroundings } from "./world.ts";

export interface WorldLimits {
  /** Worlds at the same time. */
  readonly mostWorlds: number;
  /**
   * Records of all worlds together, snapshots not counted: payments, cards, notifications, named
   * requests (WorldStore.size).
   */
  readonly mostRecords: number;
  /** Records in snapshots of all worlds together. An empty world's counts for thirty. */
  readonly mostKept: number;
}

const usualLimits: WorldLimits = { mostWorlds: 10_000, mostRecords: 300_000, mostKept: 300_000 };
/** One that nobody has asked anything for so long makes room for a new one. */
const idleMs = hour;
/** Notifications of all worlds that are on their way at once. */
const mostSent = 512;
/** How often worlds whose time goes on do what is due. */
const tickMs = second;
/** New records that are taken between two counts of all worlds. */
const recordsPerCount = 1_000;
/**
 * A payment that was changed so often takes more room with each further change: an acquirer that
 * never answers is asked for ever.
 */
const manyVersions = 50;
/** In characters. */
const longSettings = 4_000;

export interface WorldsParts extends Omit<WorldSurroundings, "isFull" | "mayKeep"> {
  readonly limits?: Partial<WorldLimits>;
  /**
   * Told of every world that is reset, restored or gone: what is remembered of its account
   * elsewhere is old.
   */
  readonly onChanged: (id: MerchantId) => void;
}

const refusals = {
  full: "there are as many worlds as there can be",
  key_taken: "the key opens something else",
} as const;

/** A world cannot be had. */
export class WorldRefused extends Error {
  override readonly name = "WorldRefused";
  readonly reason: keyof typeof refusals;

  constructor(reason: WorldRefused["reason"]) {
    super(refusals[reason]);
    this.reason = reason;
  }
}

/** The worlds of a server. Owns them all, and one timer while the time of some goes on. */
export class Worlds {
  readonly #parts: WorldsParts;
  readonly #limits: WorldLimits;
  readonly #around: WorldSurroundings;
  /** In the order in which they were made. */
  readonly #worlds = new Map<MerchantId, World>();
  readonly #byKey = new Map<KeyDigest, World>();
  readonly #usedAt = new Map<MerchantId, Instant>();
  #room = 0;
  #isOver = false;
  #cancelTick: (() => void) | undefined;

  constructor(parts: WorldsParts) {
    this.#parts = parts;
    this.#limits = { ...usualLimits, ...parts.limits };
    this.#around = {
      ...parts,
      sender: new SharedSender(parts.sender, mostSent),
      isFull: (change) => this.#isFull(change),
      mayKeep: (records) => this.#mayKeep(records),
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

  /** The world that a key opens. Who asks uses it. */
  byKey(key: string): World | undefined {
    // Where there are none, nobody pays for them.
    const world = this.#byKey.size === 0 ? undefined : this.#byKey.get(digestOfKey(key));
    if (world !== undefined) this.#usedAt.set(world.id, this.#parts.clock.now());
    return world;
  }

  /** Rejects with WorldRefused. */
  async create(plan: WorldPlan): Promise<World> {
    if (this.#isOver) throw new WorldRefused("full");
    const digests = grantsOf(plan.keys).map(({ digest }) => digest);
    if (digests.some((digest) => this.#byKey.has(digest)) || this.#worlds.has(plan.account.id))
      throw new WorldRefused("key_taken");
    if (this.#worlds.size >= this.#limits.mostWorlds && !this.#makeRoom())
      throw new WorldRefused("full");
    if (hasLongSettings(plan.account) && !this.#takeRoom(recordsPerCount))
      throw new WorldRefused("full");
    const world = new World(this.#around, plan);
    // Theirs at once: who comes with the same key meanwhile is refused.
    this.#worlds.set(world.id, world);
    for (const digest of digests) this.#byKey.set(digest, world);
    this.#usedAt.set(world.id, this.#parts.clock.now());
    await world.open();
    this.watch();
    return world;
  }

  /** Lets a world go, with everything in it. Resolves when nothing of it is under way. */
  async delete(world: World): Promise<void> {
    if (this.#worlds.get(world.id) !== world) return;
    this.#forget(world);
    this.#parts.onChanged(world.id);
    await world.close();
    // What ended meanwhile may have been remembered.
    this.#parts.onChanged(world.id);
  }

  /** Begins a world anew, as it began first. */
  async reset(world: World): Promise<void> {
    await world.reset();
    this.#parts.onChanged(world.id);
  }

  /** Makes a world what was kept of it under this name; false when nothing was. */
  async restore(world: World, name: string): Promise<boolean> {
    const restored = await world.restore(name);
    if (restored) this.#parts.onChanged(world.id);
    this.watch();
    return restored;
  }

  /** To be called when the time of a world begins to go on. */
  watch(): void {
    if (
      this.#cancelTick !== undefined ||
      this.#isOver ||
      !this.list().some(({ time }) => time.running)
    )
      return;
    this.#cancelTick = this.#parts.scheduler.after(tickMs, () => {
      this.#cancelTick = undefined;
      for (const world of this.#worlds.values())
        if (world.time.running && !world.isBusy && world.isDue) void world.settle();
      this.watch();
    });
  }

  /**
   * Before the server stops, which waits for requests that are under way: nobody's moves the time
   * any further.
   */
  async endMoves(): Promise<void> {
    await Promise.all(this.list().flatMap((world) => (world.isBusy ? [world.endMoves()] : [])));
  }

  /** Lets all of them go. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#cancelTick?.();
    await Promise.all(this.list().map((world) => this.delete(world)));
  }

  #forget(world: World): void {
    this.#worlds.delete(world.id);
    this.#usedAt.delete(world.id);
    for (const { digest } of grantsOf(world.plan.keys)) this.#byKey.delete(digest);
  }

  #makeRoom(): boolean {
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

  #mayKeep(records: number): boolean {
    let kept = records;
    for (const world of this.#worlds.values()) kept += world.kept;
    return kept <= this.#limits.mostKept;
  }

  /**
   * Only what adds a record that somebody may add to without an end is refused: what is there goes
   * on.
   */
  #isFull({ payment, card, request, account }: Change): boolean {
    const adds =
      (payment !== undefined &&
        (payment.replaces === undefined || payment.next.version > manyVersions)) ||
      (account?.replaces !== undefined && hasLongSettings(account.next)) ||
      (card !== undefined && card.replaces === undefined) ||
      request?.replaces === "nothing";
    return adds && !this.#takeRoom(account === undefined ? 1 : recordsPerCount);
  }

  /** Room for about so many records; false when there is none. */
  #takeRoom(records: number): boolean {
    if (this.#room < records) {
      let left = this.#limits.mostRecords;
      for (const { size } of this.#worlds.values()) left -= size;
      this.#room = Math.min(recordsPerCount, left);
    }
    this.#room -= records;
    return this.#room >= 0;
  }
}

/** A few switches have their room in what each account may have. */
function hasLongSettings({ settings }: Account): boolean {
  return JSON.stringify(settings).length > longSettings;
}
