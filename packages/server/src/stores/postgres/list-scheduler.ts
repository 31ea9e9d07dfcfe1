import type { ElapsedMs } from "../../kernel/elapsed.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { StoreError } from "../store.ts";

/**
 * More waiting reads are refused as `overloaded`. A page of notifications needs about two hundred
 * reads.
 */
const maxWaiting = 1_024;
/** After a read the next one starts after a pause of this many times the read's own duration. */
const pauseFactor = 2;
/** Upper limit of the pause after a read. */
const maxPauseMs = 100;
/**
 * If a read takes longer, for example because its rows come from the disk, another one starts
 * beside it.
 */
const slowReadMs = 50;

interface Waiting<Place> {
  readonly resolve: (place: Place) => void;
  readonly reject: (error: StoreError) => void;
}

/**
 * Schedules the reads for users. They share the thread and the database's cores with payments, so
 * they run one after the other with pauses: they use at most a third of the time, however many
 * lists there are. A slow read does not delay the others as long as a place is free. The pauses are
 * why this is not a ConcurrencyLimit.
 */
export class ListScheduler<Place> {
  readonly #scheduler: Scheduler;
  readonly #elapsed: ElapsedMs;
  readonly #free: Place[];
  readonly #waiting: Waiting<Place>[] = [];
  #mayStart = true;
  #isClosed = false;

  /** The first place is used unless a slow read occupies it. */
  constructor(places: readonly Place[], scheduler: Scheduler, elapsed: ElapsedMs) {
    this.#free = [...places];
    this.#scheduler = scheduler;
    this.#elapsed = elapsed;
  }

  /** Rejects with StoreError if too many reads wait, or with what `read` rejects with. */
  async run<Result>(read: (place: Place) => Promise<Result>): Promise<Result> {
    const place = await this.#acquire();
    const startedAt = this.#elapsed();
    let isSlow = false;
    const cancel = this.#scheduler.after(slowReadMs, () => {
      isSlow = true;
      this.#allow();
    });
    try {
      return await read(place);
    } finally {
      cancel();
      this.#free.unshift(place);
      const pauseMs = Math.min(maxPauseMs, pauseFactor * (this.#elapsed() - startedAt));
      // A slow read has already let the next one start.
      if (isSlow) this.#next();
      else this.#scheduler.after(pauseMs, () => this.#allow());
    }
  }

  /** Running reads are answered; waiting ones are refused. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new StoreError("closed"));
  }

  #acquire(): Promise<Place> {
    if (this.#isClosed) return Promise.reject(new StoreError("closed"));
    if (this.#waiting.length >= maxWaiting) return Promise.reject(new StoreError("overloaded"));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#next();
    });
  }

  #allow(): void {
    this.#mayStart = true;
    this.#next();
  }

  #next(): void {
    if (!this.#mayStart || this.#waiting.length === 0) return;
    const place = this.#free.shift();
    if (place === undefined) return;
    this.#mayStart = false;
    this.#waiting.shift()?.resolve(place);
  }
}
