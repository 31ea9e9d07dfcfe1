import type { MerchantId } from "../kernel/ids.ts";

/**
 * Places that merchants share. Three quarters are open to all: a merchant may take another place
 * while it has fewer than are free, so a single merchant gets half of them, and four merchants with
 * unlimited demand get a fifth each. The last quarter is for merchants that have none.
 */
export class Shares {
  readonly #places: number;
  readonly #shared: number;
  readonly #taken = new Map<MerchantId, number>();
  #count = 0;

  constructor(places: number) {
    this.#places = places;
    this.#shared = Math.ceil((places * 3) / 4);
  }

  get taken(): number {
    return this.#count;
  }

  takenBy(merchantId: MerchantId): number {
    return this.#taken.get(merchantId) ?? 0;
  }

  isFree(merchantId: MerchantId): boolean {
    const own = this.takenBy(merchantId);
    return own === 0 ? this.#count < this.#places : own < this.#shared - this.#count;
  }

  take(merchantId: MerchantId): void {
    this.#by(merchantId, 1);
  }

  giveBack(merchantId: MerchantId): void {
    this.#by(merchantId, -1);
  }

  #by(merchantId: MerchantId, change: 1 | -1): void {
    const after = this.takenBy(merchantId) + change;
    this.#count += change;
    if (after === 0) this.#taken.delete(merchantId);
    else this.#taken.set(merchantId, after);
  }
}
