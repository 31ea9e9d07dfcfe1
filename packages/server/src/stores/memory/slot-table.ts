import type { Clock } from "../../kernel/clock.ts";
import type { Instant } from "../../kernel/instant.ts";
import { laterBy, minute } from "../../kernel/instant.ts";
import { everySlot, slotCount } from "../../kernel/slot.ts";
import type { NodeSlots } from "../store.ts";

/**
 * Node leases and slot holders: the same steps as the PostgreSQL store's function
 * (postgres/migrations/005-leases.ts).
 */
export class SlotTable {
  readonly #clock: Clock;
  /** When each node's lease ends. */
  readonly #nodes = new Map<string, Instant>();
  readonly #holders = new Map<number, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  renew(node: string, leaseMs: number, release: readonly number[]): NodeSlots {
    const now = this.#clock.now();
    for (const [other, until] of this.#nodes) {
      // Also beyond the longest possible lease: the clock was set back, so the entry does not show
      // whether the node is alive.
      if (other !== node && (until <= now || until > laterBy(now, minute)))
        this.#nodes.delete(other);
    }
    this.#nodes.set(node, laterBy(now, leaseMs));
    const nodes = this.#nodes.size;
    const before = [...this.#nodes.keys()].filter((other) => other < node).length;
    const share = Math.floor(slotCount / nodes) + (before < slotCount % nodes ? 1 : 0);
    for (const slot of release) if (this.#holders.get(slot) === node) this.#holders.delete(slot);
    let count = [...this.#holders.values()].filter((holder) => holder === node).length;
    for (const slot of everySlot) {
      if (count >= share) break;
      if (this.#nodes.has(this.#holders.get(slot) ?? "")) continue;
      this.#holders.set(slot, node);
      count += 1;
    }
    return {
      slots: [...everySlot].filter((slot) => this.#holders.get(slot) === node),
      share,
      nodes,
    };
  }

  release(node: string): void {
    this.#nodes.delete(node);
    for (const [slot, holder] of this.#holders) if (holder === node) this.#holders.delete(slot);
  }
}
