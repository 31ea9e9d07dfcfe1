import type { Clock } from "../kernel/clock.ts";
import { day, hour, laterBy, minute } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { CardAge, Store } from "../stores/store.ts";
import { tokenExpiresAt } from "../vault/token.ts";

export interface CardExpiryParts {
  readonly store: Pick<Store, "cardsAfter" | "commit">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Told how many cards a round has forgotten. */
  readonly report: (progress: { readonly forgotten: number; readonly seen: number }) => void;
}

const firstRoundMs = minute;
const roundMs = day;
/** What has expired is left for so long: a request that came before may be under way, and is a use that is written down yet. */
const graceMs = hour;
/** Cards that are read at once, and the pause after: a million of them take a few seconds of a day, a few milliseconds at a time. */
const pieceSize = 1_000;
const pauseMs = 20;

/**
 * Forgets stored cards that nobody has used for 14 calendar months (interface 2.1; PCI DSS 3.2.1: nothing is kept longer than it is
 * needed), an hour after they expired. At use an expired token is refused at once, whether this job has come by or not. Owns one timer, and one round at a time.
 */
export class CardExpiryJob {
  readonly #parts: CardExpiryParts;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: CardExpiryParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule(firstRoundMs);
  }

  /** Looks at every card once. A store that is down ends the round; the next one begins anew. */
  async runOnce(): Promise<void> {
    const { store, scheduler, report } = this.#parts;
    let [position, seen, forgotten] = [0, 0, 0];
    while (!this.#stopped) {
      const piece = await store.cardsAfter(position, pieceSize);
      for (const card of piece) forgotten += (await this.#forget(card)) ? 1 : 0;
      seen += piece.length;
      const last = piece.at(-1);
      if (last === undefined || piece.length < pieceSize) break;
      position = last.position;
      await scheduler.sleep(pauseMs);
    }
    if (forgotten > 0) report({ forgotten, seen });
  }

  /** Resolves when the round under way has ended; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(ms, () => {
      // Whatever failed is found again a day later.
      this.#round = this.runOnce().catch(() => undefined);
      void this.#round.then(() => this.#schedule(roundMs));
    });
  }

  async #forget({ merchantId, tokenDigest, lastUsedAt }: CardAge): Promise<boolean> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    if (laterBy(tokenExpiresAt(lastUsedAt), graceMs) > now) return false;
    // Used in this very moment, it stays: the store looks at the last use once more.
    const cardErasure = { tokenDigest, unusedSince: laterBy(lastUsedAt, 1) };
    await store.commit({ merchantId, at: now, cardErasure, facts: [], entries: [], notifications: [] });
    return true;
  }
}
