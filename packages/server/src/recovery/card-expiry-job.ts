import type { Clock } from "../kernel/clock.ts";
import { day, hour, type Instant, laterBy, minute } from "../kernel/instant.ts";
import { reported, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Share, Tenure } from "../kernel/share.ts";
import type { CardAge, Store } from "../stores/store.ts";
import { tokenExpiresAt } from "../vault/token.ts";

export interface CardExpiryParts {
  readonly store: Pick<Store, "cardsAfter" | "commit" | "eraseRemains">;
  /**
   * Security codes that wait in memory, and are forgotten each minute when they are over their
   * time.
   */
  readonly pocket?: { readonly forgetOld: (now: Instant) => void };
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Whoever holds its first slot forgets cards, those of all merchants. */
  readonly share: Share;
  /** Told how many cards a round has forgotten. */
  readonly report: (progress: { readonly forgotten: number; readonly seen: number }) => void;
  /** Told of its reads of the store. */
  readonly reads?: ReadReport;
}

const slotOfRounds = 0;
const checkMs = minute;
const roundMs = day;
/**
 * What has expired is left for so long: a request that came before may be under way, and is a use
 * that is written down yet.
 */
const graceMs = hour;
/**
 * Cards that are read at once, and the pause after: a million of them take a few seconds of a day,
 * a few milliseconds at a time.
 */
const usualPieces = { size: 1_000, pauseMs: 20 };
const wholePiece: typeof usualPieces = { size: Number.MAX_SAFE_INTEGER, pauseMs: 0 };

/**
 * Forgets stored cards that nobody has used for 14 calendar months (interface 2.1; PCI DSS 3.2.1:
 * nothing is kept longer than it is needed), an hour after they expired. At use an expired token is
 * refused at once, whether this job has come by or not. Of several processes one does it, a round
 * each day, and a first one a minute after it has become the one. Owns one timer, and one round at
 * a time.
 */
export class CardExpiryJob {
  readonly #parts: CardExpiryParts;
  #last: { readonly tenure: Tenure; readonly at: Instant } | undefined;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: CardExpiryParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule();
  }

  /**
   * Looks at every card once, if that is for this process to do. A store that is down ends the
   * round; the next one begins anew.
   */
  runOnce(): Promise<void> {
    return this.#lookThrough(usualPieces);
  }

  /**
   * The same at once: for whoever moves the time of a world through the moment of each card, and
   * lets others in himself.
   */
  runDue(): Promise<void> {
    return this.#lookThrough(wholePiece);
  }

  async #lookThrough({ size, pauseMs }: typeof usualPieces): Promise<void> {
    const { store, scheduler, share, report, pocket, clock } = this.#parts;
    pocket?.forgetOld(clock.now());
    const tenure = share.held().get(slotOfRounds);
    let [position, seen, forgotten] = [0, 0, 0];
    let isWhole = false;
    /**
     * The earliest last use of a card that stays: whoever was used then or later stays as well,
     * without counting months.
     */
    let staysFrom = Number.POSITIVE_INFINITY;
    while (!this.#stopped) {
      const end = tenure?.begin();
      // Another process has become the one: it begins at the first card.
      if (end === undefined) break;
      try {
        const piece = await reported(
          this.#parts.reads,
          "cardsAfter",
          store.cardsAfter(position, size),
        );
        for (const card of piece) {
          if (this.#stopped) break;
          if (card.lastUsedAt >= staysFrom) continue;
          if (!(await this.#forget(card))) staysFrom = card.lastUsedAt;
          // In memory nothing else lets anybody in.
          else if ((forgotten += 1) % usualPieces.size === 0) await scheduler.sleep(0);
        }
        seen += piece.length;
        const last = piece.at(-1);
        if (last === undefined || piece.length < size) {
          isWhole = true;
          break;
        }
        position = last.position;
      } finally {
        end();
      }
      await scheduler.sleep(pauseMs);
    }
    // After each round, since sessions and keys are deleted too.
    if (isWhole || forgotten > 0) await store.eraseRemains();
    if (forgotten > 0) report({ forgotten, seen });
  }

  /** Resolves when the round under way has ended; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      // What failed is found again a day later.
      this.#round = this.#runIfDue().catch(() => undefined);
      void this.#round.then(() => this.#schedule());
    });
  }

  async #runIfDue(): Promise<void> {
    const now = this.#parts.clock.now();
    this.#parts.pocket?.forgetOld(now);
    const tenure = this.#parts.share.held().get(slotOfRounds);
    if (tenure === undefined) return;
    const sinceMs = this.#last?.tenure === tenure ? now - this.#last.at : roundMs;
    // A clock that was set back tells nothing about the last round.
    if (0 <= sinceMs && sinceMs < roundMs) return;
    this.#last = { tenure, at: now };
    await this.runOnce();
  }

  async #forget({ merchantId, tokenDigest, lastUsedAt }: CardAge): Promise<boolean> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    if (laterBy(tokenExpiresAt(lastUsedAt), graceMs) > now) return false;
    // Used in this very moment, it stays: the store looks at the last use once more.
    const cardErasure = { tokenDigest, unusedSince: laterBy(lastUsedAt, 1) };
    await store.commit({
      merchantId,
      at: now,
      cardErasure,
      facts: [],
      entries: [],
      notifications: [],
    });
    return true;
  }
}
