import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";

/** The time of a world; paused, or running with the system's. */
export interface WorldTime {
  readonly now: Instant;
  readonly running: boolean;
}

const maxTimers = 1_000;

interface Timer {
  readonly at: Instant;
  readonly task: () => void;
}

/** A world's clock. Owns the world's timers; the code that moves the time fires them. */
export class WorldClock implements Clock {
  readonly #system: Clock;
  /** The world's time at the system time `since`; the clock is paused if `since` is undefined. */
  #at: Instant;
  #since: Instant | undefined;
  readonly #timers = new BoundedMap<Timer, true>(maxTimers);
  /** Pending sleeps in the world's time. */
  readonly #sleepers = new Set<AbortController>();
  #isFrozen = false;
  #hasEnded = false;

  constructor(system: Clock, { now, running }: WorldTime) {
    this.#system = system;
    this.#at = now;
    this.#since = running ? system.now() : undefined;
  }

  now(): Instant {
    return this.#since === undefined || this.#isFrozen
      ? this.#at
      : laterBy(this.#at, Math.max(0, this.#system.now() - this.#since));
  }

  get running(): boolean {
    return this.#since !== undefined;
  }

  /** Sets the time; the clock stays running or paused. */
  set(now: Instant): void {
    this.#at = now;
    if (this.running) this.#since = this.#system.now();
  }

  /**
   * Freezes the time while it is moved: work at a moment happens at exactly that moment, without
   * waits.
   */
  freeze(): void {
    this.#at = this.now();
    this.#isFrozen = true;
    this.wake();
  }

  /** Unfreezes the time if it was running before. */
  unfreeze(): void {
    this.#isFrozen = false;
    if (this.running) this.#since = this.#system.now();
  }

  /** Ends all sleeps. */
  wake(): void {
    for (const sleeper of this.#sleepers) sleeper.abort();
  }

  /** Ends all sleeps, present and future. */
  end(): void {
    this.#hasEnded = true;
    this.wake();
  }

  /** Starts or pauses the clock at its present time. */
  run(running: boolean): void {
    if (running === this.running) return;
    this.#at = this.now();
    this.#since = running ? this.#system.now() : undefined;
    if (!running) this.wake();
  }

  /** Time of the first timer. */
  get nextTimer(): Instant | undefined {
    let first: Instant | undefined;
    for (const [{ at }] of this.#timers) if (first === undefined || at < first) first = at;
    return first;
  }

  /** Runs the timers that are due, in order. */
  fireTimers(): void {
    const now = this.now();
    const due = Array.from(this.#timers, ([timer]) => timer)
      .filter(({ at }) => at <= now)
      .toSorted((left, right) => left.at - right.at);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.task();
    }
  }

  /**
   * The scheduler of the world's acquirer. While the time is paused there are no waits: a delayed
   * answer arrives at once, and a missing answer times out at once. A late message arrives when the
   * time has been moved far enough; above `maxTimers` late messages, the oldest is lost.
   */
  scheduler(system: Scheduler): Scheduler {
    return {
      sleep: async (ms) => {
        if (!this.running || this.#isFrozen || this.#hasEnded) return system.sleep(0);
        const sleeper = new AbortController();
        this.#sleepers.add(sleeper);
        try {
          await system.sleep(ms, sleeper.signal);
        } catch (error) {
          if (!sleeper.signal.aborted) throw error;
        } finally {
          this.#sleepers.delete(sleeper);
        }
      },
      after: (ms, task) => {
        const timer = { at: laterBy(this.now(), ms), task };
        this.#timers.set(timer, true);
        return () => void this.#timers.delete(timer);
      },
    };
  }
}
