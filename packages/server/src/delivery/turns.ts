import type { MerchantId } from "../kernel/ids.ts";
import type { QueueLane } from "./queue-lanes.ts";

/**
 * Round-robin among queues with deliveries: by merchant, then by origin, then by queue. Each moves
 * to the end after its turn.
 */
export class Turns {
  readonly #merchants = new Map<MerchantId, Map<string, Set<QueueLane>>>();

  add(lane: QueueLane, origin: string): void {
    const { merchantId } = lane.key;
    const origins = this.#merchants.get(merchantId) ?? new Map<string, Set<QueueLane>>();
    this.#merchants.set(merchantId, origins);
    origins.set(origin, (origins.get(origin) ?? new Set()).add(lane));
  }

  remove(lane: QueueLane, origin: string): void {
    const { merchantId } = lane.key;
    const origins = this.#merchants.get(merchantId);
    const lanes = origins?.get(origin);
    lanes?.delete(lane);
    if (lanes?.size === 0) origins?.delete(origin);
    if (origins?.size === 0) this.#merchants.delete(merchantId);
  }

  /**
   * Gives each merchant for which `mayBegin` is true one turn after another, until none begins
   * anything. `begin` returns whether it did, and may remove lanes.
   */
  go(mayBegin: (merchantId: MerchantId) => boolean, begin: (lane: QueueLane) => boolean): void {
    for (let begun = true; begun;) {
      begun = false;
      for (const merchantId of Array.from(this.#merchants.keys())) {
        if (!mayBegin(merchantId) || !this.#turnOf(merchantId, begin)) continue;
        begun = true;
        toTheEnd(this.#merchants, merchantId);
      }
    }
  }

  #turnOf(merchantId: MerchantId, begin: (lane: QueueLane) => boolean): boolean {
    const origins = this.#merchants.get(merchantId);
    if (origins === undefined) return false;
    for (const [origin, lanes] of Array.from(origins)) {
      for (const lane of Array.from(lanes)) {
        if (!begin(lane)) continue;
        if (lanes.delete(lane)) lanes.add(lane);
        toTheEnd(origins, origin);
        return true;
      }
    }
    return false;
  }
}

/** Moves a key to the end of the map's iteration order. */
function toTheEnd<Key, Value>(map: Map<Key, Value>, key: Key): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}
