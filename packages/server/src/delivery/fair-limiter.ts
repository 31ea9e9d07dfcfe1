import type { MerchantId } from "../kernel/ids.ts";

/**
 * Places that merchants share. Three quarters are open to all: a merchant may take another place
 * while it has fewer than are free, so a single merchant gets half of them, and four merchants with
 * unlimited demand get a fifth each. The last quarter is for merchants that have none.
 */
export class FairLimiter {
  readonly #capacity: number;
  readonly #shared: number;
  readonly #usedByMerchant = new Map<MerchantId, number>();
  #used = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#shared = Math.ceil((capacity * 3) / 4);
  }

  get used(): number {
    return this.#used;
  }

  usedBy(merchantId: MerchantId): number {
    return this.#usedByMerchant.get(merchantId) ?? 0;
  }

  hasRoom(merchantId: MerchantId): boolean {
    const used = this.usedBy(merchantId);
    return used === 0 ? this.#used < this.#capacity : used < this.#shared - this.#used;
  }

  acquire(merchantId: MerchantId): void {
    this.#add(merchantId, 1);
  }

  release(merchantId: MerchantId): void {
    this.#add(merchantId, -1);
  }

  #add(merchantId: MerchantId, change: 1 | -1): void {
    const after = this.usedBy(merchantId) + change;
    this.#used += change;
    if (after === 0) this.#usedByMerchant.delete(merchantId);
    else this.#usedByMerchant.set(merchantId, after);
  }
}
