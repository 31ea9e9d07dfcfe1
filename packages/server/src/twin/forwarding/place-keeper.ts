import type { KeyDigest, MerchantId } from "../../kernel/ids.ts";
import { second } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { WorldPlaces } from "../../stores/world-places.ts";
import { grantsOf, type World } from "../../sandbox/world.ts";
import { type Placement, WorldRefused, type Worlds } from "../../sandbox/worlds.ts";

export interface PlaceKeeperParts {
  readonly places: WorldPlaces;
  /** As in the lease (recovery/slot-keeper.ts). */
  readonly node: string;
  /** Where other nodes reach this one. */
  readonly url: string;
  readonly scheduler: Scheduler;
}

/** As often as the lease is renewed. */
const keepMs = 3 * second;
/** One that is secret, and one that is public. */
const keysOfWorld = 2;
/** After a failure, and while something is to be put right. */
const hurryMs = second;

/**
 * Tells the other nodes which worlds live here and where this node is reached. A world is placed before it is given to anybody, so that of two
 * nodes one has a key; what could not be told at once, and what others have deleted because they took this node for dead, is put right by the next round.
 *
 * Owns one timer.
 */
export class PlaceKeeper implements Placement {
  readonly #parts: PlaceKeeperParts;
  /** The store did not say whether it did something: what is there may be more or less than what is here. */
  #isUnsure = false;
  /** Counts what begins and ends: a count of keys that was asked for meanwhile says nothing. */
  #changes = 0;
  #underWay = 0;
  #worlds: Pick<Worlds, "list" | "of" | "delete"> | undefined;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(parts: PlaceKeeperParts) {
    this.#parts = parts;
  }

  /** Resolves when the others have been told once where this node is, or could not be. */
  async start(worlds: Pick<Worlds, "list" | "of" | "delete">): Promise<void> {
    this.#worlds = worlds;
    this.#schedule((await this.#keep()) ? keepMs : hurryMs);
  }

  /** Nothing of this node is left to be found. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
    // A store that is down lets the lease run out.
    await this.#parts.places.leave(this.#parts.node).catch(() => undefined);
  }

  async claim(id: MerchantId, keys: readonly KeyDigest[]): Promise<void> {
    const { places, node } = this.#parts;
    const placing = await this.#counted(() => places.place(node, id, keys));
    if (placing !== "placed") throw new WorldRefused(placing === "taken" ? "key_taken" : "unplaced");
  }

  async release(id: MerchantId): Promise<void> {
    if (this.#stopped) return;
    const { places, node } = this.#parts;
    await this.#counted(() => places.remove(node, id));
  }

  /** undefined: the store did not say whether it did it. */
  async #counted<T>(task: () => Promise<T>): Promise<T | undefined> {
    this.#changes += 1;
    this.#underWay += 1;
    try {
      return await task();
    } catch {
      this.#isUnsure = true;
      return undefined;
    } finally {
      this.#underWay -= 1;
    }
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(ms, () => {
      this.#round = this.#keep().then((isRight) => this.#schedule(isRight ? keepMs : hurryMs));
    });
  }

  /** true: what the others see is what is here. Never rejects. */
  async #keep(): Promise<boolean> {
    const { places, node, url } = this.#parts;
    try {
      const isCalm = this.#underWay === 0;
      const changes = this.#changes;
      const placed = await places.keep(node, url);
      const here = this.#here().length * keysOfWorld;
      if (this.#isUnsure) return await this.#putRight();
      if (placed === here) return true;
      return isCalm && changes === this.#changes && (await this.#putRight());
    } catch {
      this.#isUnsure = true;
      return false;
    }
  }

  /** Places what lives here and is not placed, and removes what is placed and does not live here. */
  async #putRight(): Promise<boolean> {
    const { places, node } = this.#parts;
    this.#isUnsure = false;
    for (const id of await places.worldsOf(node)) if (!this.#isHere(id)) await places.remove(node, id);
    for (const world of this.#here()) {
      const { id } = world;
      if (this.#stopped) return false;
      if (!this.#isHere(id)) continue;
      const placing = await places.place(node, id, keysOf(world));
      if (placing === "not_living") {
        this.#isUnsure = true;
        return false;
      }
      // While this node was taken for dead, one of its keys was given to a world elsewhere.
      if (placing === "taken") void this.#worlds?.delete(world);
      else if (!this.#isHere(id)) await places.remove(node, id);
    }
    return true;
  }

  #here(): readonly World[] {
    return this.#worlds?.list() ?? [];
  }

  #isHere(id: MerchantId): boolean {
    return this.#worlds?.of(id) !== undefined;
  }
}

function keysOf({ plan }: World): readonly KeyDigest[] {
  return grantsOf(plan.keys).map(({ digest }) => digest);
}
