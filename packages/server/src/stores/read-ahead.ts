import type { MerchantId } from "../kernel/ids.ts";
import type { Scheduler } from "../kernel/scheduler.ts";

/** Between two pieces of about a millisecond: a tenth of the time at most. */
const pauseMs = 10;
/** Accounts that are remembered as read; beyond it all are forgotten. */
const maxAccounts = 1_000;

/**
 * Reads the first piece if `before` is undefined, or the one below it. Resolves with where the next
 * one begins; undefined: there are no more, or no room for them.
 */
export type ReadTexts = (merchant: MerchantId, before?: string) => Promise<string | undefined>;

/**
 * Reads the texts of an account's payments after its list was opened, because a search by a word
 * often follows: reading the texts of 100,000 payments takes more than ten times as long as looking
 * through them. Each account is read once after the start, one at a time, in pieces with pauses.
 */
export class ReadAhead {
  readonly #read: ReadTexts;
  readonly #scheduler: Scheduler;
  readonly #known = new Set<MerchantId>();
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(read: ReadTexts, scheduler: Scheduler) {
    this.#read = read;
    this.#scheduler = scheduler;
  }

  /** Called when the payments of an account are listed. While another one is read it has no effect. */
  listed(merchant: MerchantId): void {
    if (this.#cancel !== undefined || this.#isClosed || this.#known.has(merchant)) return;
    if (this.#known.size >= maxAccounts) this.#known.clear();
    this.#known.add(merchant);
    this.#next(merchant);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #next(merchant: MerchantId, before?: string): void {
    this.#cancel = this.#scheduler.after(pauseMs, () => {
      void this.#readPiece(merchant, before);
    });
  }

  async #readPiece(merchant: MerchantId, before?: string): Promise<void> {
    // A search that reads the same texts reports the error.
    const next = await this.#read(merchant, before).catch(() => undefined);
    this.#cancel = undefined;
    if (next !== undefined && !this.#isClosed) this.#next(merchant, next);
  }
}
