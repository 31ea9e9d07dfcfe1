import type { MerchantId } from "../kernel/ids.ts";
import type { TextBlock } from "./text-block.ts";

/** Characters of all blocks: 20 MB, or twice that if names have letters outside of Latin-1. */
const maxCharacters = 20_000_000;

/** Characters of a large block: 500 payments with texts of twice the usual length. */
const largeBlock = 150_000;

/** All payments with ids from `from` (included) to `below` (excluded). */
interface Cached {
  readonly from: string;
  readonly below: string;
  readonly block: TextBlock;
}

/**
 * The texts that searches have read, for later searches. Blocks of a merchant do not overlap, and
 * have every payment of their range with its present texts, because `written` is called for each
 * new payment and each changed order: payments are never deleted. The accounts that were searched least recently
 * are dropped when there is no room.
 */
export class TextCache {
  /** By merchant, the one that was searched last at the end; blocks are newest first. */
  readonly #merchants = new Map<MerchantId, Cached[]>();
  readonly #maxCharacters: number;
  #characters = 0;

  constructor(most = maxCharacters) {
    this.#maxCharacters = most;
  }

  /** Whether a large block can be added and no account has to be dropped for it. */
  get hasRoom(): boolean {
    return this.#characters + largeBlock <= this.#maxCharacters;
  }

  /** The block that has the newest payments below `before`. */
  find(merchant: MerchantId, before: string): TextBlock | undefined {
    const blocks = this.#merchants.get(merchant);
    if (blocks === undefined) return undefined;
    this.#merchants.delete(merchant);
    this.#merchants.set(merchant, blocks);
    return blocks.find(({ from, below }) => from < before && before <= below)?.block;
  }

  /** Where the next block below `before` begins: payments from there up are not cached. */
  gapBelow(merchant: MerchantId, before: string): string {
    return this.#merchants.get(merchant)?.find(({ below }) => below < before)?.below ?? "";
  }

  /**
   * Keeps a block of the newest payments below `before`. `mayGrow`: it has fewer payments than a
   * block can have; then it is kept only if another one is above it, because new payments come at
   * the top.
   */
  add(merchant: MerchantId, before: string, block: TextBlock, mayGrow: boolean): void {
    if (block.length === 0) return;
    const blocks = this.#merchants.get(merchant) ?? [];
    const isNext = blocks.some(({ from }) => from === before);
    if ((mayGrow && !isNext) || !this.#makeRoom(merchant, block.characters)) return;
    // One byte more: above the first id and below every greater one.
    const below = isNext ? before : `${block.idAt(0)}00`;
    blocks.push({ from: block.idAt(block.length - 1), below, block });
    blocks.sort((left, right) => (left.from < right.from ? 1 : -1));
    this.#merchants.set(merchant, blocks);
    this.#characters += block.characters;
  }

  /** Called when a new payment, or another order of a payment, may be in the store. */
  written(merchant: MerchantId, id: string): void {
    const blocks = this.#merchants.get(merchant);
    if (blocks?.[0] === undefined || id >= blocks[0].below) return;
    const place = blocks.findIndex(({ from, below }) => from <= id && id < below);
    if (place >= 0) this.#characters -= blocks.splice(place, 1)[0]?.block.characters ?? 0;
  }

  /** Returns whether there is room for this number of characters. */
  #makeRoom(merchant: MerchantId, characters: number): boolean {
    for (const [oldest, blocks] of this.#merchants) {
      if (this.#characters + characters <= this.#maxCharacters) return true;
      if (oldest === merchant) return false;
      for (const { block } of blocks) this.#characters -= block.characters;
      this.#merchants.delete(oldest);
    }
    return this.#characters + characters <= this.#maxCharacters;
  }
}
