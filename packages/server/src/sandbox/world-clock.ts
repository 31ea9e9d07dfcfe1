import type { Clock } from "../kernel/clock.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";

/** Where a world's time is: it stands still, or it goes on with the system's. */
export interface WorldTime {
  readonly now: Instant;
  readonly running: boolean;
}

const mostTimers = 1_000;

/** A world's own time. Owns what is to happen later in it, which whoever moves it calls. */
export class WorldClock implements Clock {
  readonly #system: Clock;
  /** The world's time at `since` of the system's; without `since` it stands still. */
  #at: Instant;
  #since: Instant | undefined;
  readonly #timers = new Set<{ readonly at: Instant; readonly task: () => void }>();
  /** Who waits in the world's time. */
  readonly #sleepers = new Set<AbortController>();
  #isHeld = false;
  #isOver = false;

  constructor(system: Clock, { now, running }: WorldTime) {
    this.#system = system;
    this.#at = now;
    this.#since = running ? system.now() : undefined;
  }

  now(): Instant {
    return this.#since === undefined || this.#isHeld
      ? this.#at
      : laterBy(this.#at, Math.max(0, this.#system.now() - this.#since));
  }

  get running(): boolean {
    return this.#since !== undefined;
  }

  /** Sets the time; it goes on from there, or stands there, as it did. */
  set(now: Instant): void {
    this.#at = now;
    if (this.running) this.#since = this.#system.now();
  }

  /**
   * Lets the time stand while it is moved: what is done at a moment is done at that moment, and
   * nobody waits in it.
   */
  hold(): void {
    this.#at = this.now();
    this.#isHeld = true;
    this.wake();
  }

  /** Lets the time go on from where it is, when it did before it was held. */
  release(): void {
    this.#isHeld = false;
    if (this.running) this.#since = this.#system.now();
  }

  /** Ends all waiting. */
  wake(): void {
    for (const sleeper of this.#sleepers) sleeper.abort();
  }

  /** Nobody waits in it any more, now or later. */
  end(): void {
    this.#isOver = true;
    this.wake();
  }

  /** Lets the time go on from where it is, or stand there. */
  run(running: boolean): void {
    if (running === this.running) return;
    this.#at = this.now();
    this.#since = running ? this.#system.now() : undefined;
    if (!running) this.wake();
  }

  /** When the first of what is to happen later happens. */
  get nextTimer(): Instant | undefined {
    let first: Instant | undefined;
    for (const { at } of this.#timers) if (first === undefined || at < first) first = at;
    return first;
  }

  /** Does what is due, in its order. */
  fire(): void {
    const now = this.now();
    const due = [...this.#timers]
      .filter(({ at }) => at <= now)
      .toSorted((left, right) => left.at - right.at);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.task();
    }
  }

  /**
   * What the world's acquirer waits by. Where time stands still nobody can wait in it: an answer
   * that takes its time is there at once, and an answer that never comes is missed at once. What
   * arrives late arrives when the time has been moved so far; of more than `mostTimers` of those,
   * what has been on its way for longest is lost.
   */
  scheduler(system: Scheduler): Scheduler {
    return {
      sleep: async (ms) => {
        if (!this.running || this.#isHeld || this.#isOver) return system.sleep(0);
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
        const [oldest] = this.#timers;
        if (this.#timers.size >= mostTimers && oldest !== undefined) this.#timers.delete(oldest);
        const timer = { at: laterBy(this.now(), ms), task };
        this.#timers.add(timer);
        return () => void this.#timers.delete(timer);
      },
    };
  }
}
