import type { MerchantId } from "../kernel/ids.ts";
import type { DeliveryQueue } from "./delivery-queues.ts";

/**
 * Round-robin among queues with deliveries: by merchant, then by origin, then by queue. Each moves
 * to the end after its turn.
 */
export class RoundRobin {
  readonly #merchants = new Map<MerchantId, Map<string, Set<DeliveryQueue>>>();

  add(queue: DeliveryQueue, origin: string): void {
    const { merchantId } = queue.key;
    const origins = this.#merchants.get(merchantId) ?? new Map<string, Set<DeliveryQueue>>();
    this.#merchants.set(merchantId, origins);
    origins.set(origin, (origins.get(origin) ?? new Set()).add(queue));
  }

  remove(queue: DeliveryQueue, origin: string): void {
    const { merchantId } = queue.key;
    const origins = this.#merchants.get(merchantId);
    const queues = origins?.get(origin);
    queues?.delete(queue);
    if (queues?.size === 0) origins?.delete(origin);
    if (origins?.size === 0) this.#merchants.delete(merchantId);
  }

  /**
   * Gives each merchant for which `mayStart` is true one turn after another, until none starts
   * anything. `start` returns whether it did, and may remove queues.
   */
  run(
    mayStart: (merchantId: MerchantId) => boolean,
    start: (queue: DeliveryQueue) => boolean,
  ): void {
    for (let started = true; started;) {
      started = false;
      for (const merchantId of Array.from(this.#merchants.keys())) {
        if (!mayStart(merchantId) || !this.#turnOf(merchantId, start)) continue;
        started = true;
        moveToEnd(this.#merchants, merchantId);
      }
    }
  }

  #turnOf(merchantId: MerchantId, start: (queue: DeliveryQueue) => boolean): boolean {
    const origins = this.#merchants.get(merchantId);
    if (origins === undefined) return false;
    for (const [origin, queues] of Array.from(origins)) {
      for (const queue of Array.from(queues)) {
        if (!start(queue)) continue;
        if (queues.delete(queue)) queues.add(queue);
        moveToEnd(origins, origin);
        return true;
      }
    }
    return false;
  }
}

/** Moves a key to the end of the map's iteration order. */
function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}
