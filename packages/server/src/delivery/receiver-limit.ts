/**
 * How many messages may be on their way to one receiver: at first, at least while it only is slow,
 * at most.
 */
const initial = 8;
const leastWhenSlow = 4;
const highest = 128;

/**
 * Answers that are looked at together, or as many as may be under way if that is more; fewer while
 * the limit grows quickly or can fall no further.
 */
const answersPerRound = 32;
const answersPerShortRound = 16;
/**
 * Of a receiver of which nothing is known: those that were begun together, before the limit has
 * grown.
 */
const firstAnswers = 8;
/**
 * After so many cuts, which leave less than half, a receiver that had too much to do needs less
 * than this share of the time.
 */
const cutsToHelp = 3;
const helped = 0.8;
/** A round is slow when its median is twice the best, and this much more. */
const slowFactor = 2;
const slowMs = 50;
/** So many failures of a round, and one in five of its answers, are too many. */
const failuresPerRound = 4;

export type Answered =
  | "good"
  /** Whatever else became of it. */
  | "failed"
  /** 429 or 503: the receiver says that it has too much to do. */
  | "too_many";

/** One message on its way. */
export interface Passage {
  /** Once: the receiver has nothing more to do with it. */
  readonly ended: () => void;
  /**
   * What came of it, when that is kept: while our own store takes nothing, no receiver is given
   * more.
   */
  readonly kept: (answered: Answered, tookMs: number) => void;
}

/**
 * How many messages a receiver is given at a time: as many as it takes well. The limit grows by one
 * with each good answer at first, later by one in the time of an answer, and only while it is used.
 * It is halved when the receiver says that it has too much to do or fails one time in five, and cut
 * by a quarter when its answers take longer than with less to do.
 */
export class ReceiverLimit {
  #limit = initial;
  /** Below it the limit grows quickly. */
  #threshold = highest;
  #underWay = 0;
  /** Counts the cuts: what was begun before one says nothing about the limit after it. */
  #cuts = 0;
  /** The best median of a round. */
  #bestMs: number | undefined;
  /**
   * Slow rounds in a row, in which the limit does not grow: one alone may be chance, the second
   * leads to a cut.
   */
  #slowRounds = 0;
  /** The median before the first of the cuts that are to help. */
  #uncutMs = 0;
  #times: number[] = [];
  #answers = 0;
  #failures = 0;

  get most(): number {
    return Math.floor(this.#limit);
  }

  get underWay(): number {
    return this.#underWay;
  }

  begin(): Passage {
    this.#underWay += 1;
    const isUsed = this.#underWay * 2 > this.#limit;
    const cuts = this.#cuts;
    return {
      ended: () => {
        this.#underWay -= 1;
      },
      kept: (answered, tookMs) => {
        if (cuts === this.#cuts) this.#learn(answered, tookMs, isUsed);
      },
    };
  }

  /** The receiver is back after it was left alone: what was known about it is over. */
  reset(): void {
    this.#limit = initial;
    this.#cut(initial, highest);
    this.#bestMs = undefined;
    this.#slowRounds = 0;
  }

  #learn(answered: Answered, tookMs: number, isUsed: boolean): void {
    this.#answers += 1;
    if (answered === "good") {
      // The clock may have been set back since.
      if (tookMs >= 0) this.#times.push(tookMs);
      if (isUsed && this.#slowRounds === 0)
        this.#limit = Math.min(
          highest,
          this.#limit + (this.#limit < this.#threshold ? 1 : 1 / this.#limit),
        );
    } else this.#failures += 1;
    const failsOften = this.#failures >= failuresPerRound && this.#failures * 5 > this.#roundLength;
    if (answered === "too_many" || failsOften) this.#cut(Math.max(1, this.#limit / 2));
    else if (this.#answers >= this.#roundLength) this.#endRound();
  }

  get #roundLength(): number {
    if (this.#bestMs === undefined) return firstAnswers;
    // What was on its way before the limit ceased to grow is among as many answers as may be under
    // way.
    const isShort =
      (this.#limit < this.#threshold && this.#slowRounds === 0) || this.#limit <= leastWhenSlow;
    return isShort ? answersPerShortRound : Math.max(answersPerRound, this.#limit);
  }

  #endRound(): void {
    const medianMs = this.#times.toSorted((left, right) => left - right)[this.#times.length >> 1];
    this.#restartRound();
    if (medianMs === undefined) return;
    this.#bestMs = Math.min(this.#bestMs ?? medianMs, medianMs);
    this.#slowRounds = medianMs > this.#bestMs * slowFactor + slowMs ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds < 2) return;
    if (this.#slowRounds === 2) this.#uncutMs = medianMs;
    const isTold = this.#slowRounds === 2 + cutsToHelp;
    if (this.#limit > leastWhenSlow && !(isTold && medianMs > this.#uncutMs * helped)) {
      if (isTold) this.#slowRounds = 1;
      return this.#cut(Math.max(leastWhenSlow, this.#limit * 0.75));
    }
    // It has less to do and is as slow as before: that is how quick it is now.
    this.#bestMs = medianMs;
    this.#slowRounds = 0;
    this.#threshold = highest;
  }

  #cut(limit: number, threshold = limit): void {
    this.#limit = Math.min(this.#limit, limit);
    this.#threshold = threshold;
    this.#cuts += 1;
    this.#restartRound();
  }

  #restartRound(): void {
    this.#times = [];
    this.#answers = 0;
    this.#failures = 0;
  }
}
