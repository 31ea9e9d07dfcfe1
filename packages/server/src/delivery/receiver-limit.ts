/**
 * Concurrent messages to one receiver: the initial limit, the minimum while it is merely slow, the
 * maximum.
 */
const initialLimit = 8;
const minLimitWhenSlow = 4;
const maxLimit = 128;

/**
 * Answers per round, or as many as the limit if that is more; short rounds while the limit grows
 * quickly or cannot fall further.
 */
const answersPerRound = 32;
const answersPerShortRound = 16;
/**
 * The first round of an unknown receiver: the messages that began together, before the limit grew.
 */
const firstAnswers = 8;
/**
 * After this many cuts, which leave less than half of the limit, an overloaded receiver needs less
 * than this share of the time.
 */
const cutsBeforeDecision = 3;
const improvedShare = 0.8;
/** A round is slow if its median is more than twice the best plus this. */
const slowFactor = 2;
const slowMs = 50;
/**
 * A round has too many failures if there are at least this many and more than one in five answers
 * failed.
 */
const failuresPerRound = 4;

export type AttemptResult =
  | "good"
  /** Any other failure. */
  | "failed"
  /** 429 or 503: the receiver reports that it is overloaded. */
  | "too_many";

/** One message under way. */
export interface Permit {
  /** Called once: the receiver has finished with it. */
  readonly release: () => void;
  /**
   * Called when the result is stored: while our own store fails, no receiver gets more messages.
   */
  readonly stored: (answered: AttemptResult, tookMs: number) => void;
}

/**
 * The number of concurrent messages to a receiver, adapted to what it can handle. At first the
 * limit grows by one with each good answer, later by one per answer time, and only while it is
 * used. It is halved if the receiver reports overload or more than one in five answers fail, and
 * cut by a quarter if answers take longer than at lower load.
 */
export class ReceiverLimit {
  #limit = initialLimit;
  /** Below it the limit grows quickly. */
  #threshold = maxLimit;
  #inFlight = 0;
  /** Number of cuts: messages from before a cut do not count for the limit after it. */
  #cuts = 0;
  /** The best median of a round. */
  #bestMs: number | undefined;
  /**
   * Slow rounds in a row, in which the limit does not grow: a single one may be chance, the second
   * leads to a cut.
   */
  #slowRounds = 0;
  /** The median before the first cut of this series. */
  #beforeCutsMs = 0;
  #times: number[] = [];
  #answers = 0;
  #failures = 0;

  get max(): number {
    return Math.floor(this.#limit);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  acquire(): Permit {
    this.#inFlight += 1;
    const isUsed = this.#inFlight * 2 > this.#limit;
    const cuts = this.#cuts;
    return {
      release: () => {
        this.#inFlight -= 1;
      },
      stored: (answered, tookMs) => {
        if (cuts === this.#cuts) this.#record(answered, tookMs, isUsed);
      },
    };
  }

  /** The receiver is back after its circuit was open: what was learned before no longer applies. */
  reset(): void {
    this.#limit = initialLimit;
    this.#cut(initialLimit, maxLimit);
    this.#bestMs = undefined;
    this.#slowRounds = 0;
  }

  #record(answered: AttemptResult, tookMs: number, isUsed: boolean): void {
    this.#answers += 1;
    if (answered === "good") {
      // The clock may have been set back since.
      if (tookMs >= 0) this.#times.push(tookMs);
      if (isUsed && this.#slowRounds === 0)
        this.#limit = Math.min(
          maxLimit,
          this.#limit + (this.#limit < this.#threshold ? 1 : 1 / this.#limit),
        );
    } else this.#failures += 1;
    const failsOften = this.#failures >= failuresPerRound && this.#failures * 5 > this.#roundLength;
    if (answered === "too_many" || failsOften) this.#cut(Math.max(1, this.#limit / 2));
    else if (this.#answers >= this.#roundLength) this.#endRound();
  }

  get #roundLength(): number {
    if (this.#bestMs === undefined) return firstAnswers;
    // A full round has as many answers as the limit, so it includes the messages that began before
    // the limit stopped growing.
    const isShort =
      (this.#limit < this.#threshold && this.#slowRounds === 0) || this.#limit <= minLimitWhenSlow;
    return isShort ? answersPerShortRound : Math.max(answersPerRound, this.#limit);
  }

  #endRound(): void {
    const medianMs = this.#times.toSorted((left, right) => left - right)[this.#times.length >> 1];
    this.#restartRound();
    if (medianMs === undefined) return;
    this.#bestMs = Math.min(this.#bestMs ?? medianMs, medianMs);
    this.#slowRounds = medianMs > this.#bestMs * slowFactor + slowMs ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds < 2) return;
    if (this.#slowRounds === 2) this.#beforeCutsMs = medianMs;
    const isDecided = this.#slowRounds === 2 + cutsBeforeDecision;
    if (
      this.#limit > minLimitWhenSlow &&
      !(isDecided && medianMs > this.#beforeCutsMs * improvedShare)
    ) {
      if (isDecided) this.#slowRounds = 1;
      return this.#cut(Math.max(minLimitWhenSlow, this.#limit * 0.75));
    }
    // The lower load has not helped: this is the receiver's present speed.
    this.#bestMs = medianMs;
    this.#slowRounds = 0;
    this.#threshold = maxLimit;
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
