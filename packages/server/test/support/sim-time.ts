import type { Clock } from "../../src/kernel/clock.ts";
import { type Instant, instant } from "../../src/kernel/instant.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import type { Chance } from "./chance.ts";

interface Task {
  readonly at: number;
  /** Order of tasks at the same moment, drawn from the seed, so that orders are explored too. */
  readonly rank: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** The start of every simulated run: 2026-01-30T22:00:00Z, two hours before a month's last day. */
export const epoch = 1_769_810_400_000;

/**
 * Virtual time. Owns the queue of everything that waits: code under test only waits through the
 * ports, so when the queue's next task is taken and all promises have settled, nothing else is
 * running.
 */
export class SimTime implements Clock, Scheduler {
  readonly #chance: Chance;
  readonly #heap: Task[] = [];
  #now = epoch;
  #jumped = 0;
  /** By how much the clock was set; waits depend only on the time that passes. */
  #setMs = 0;
  events = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  now(): Instant {
    return instant(this.#now + this.#setMs);
  }

  /** Milliseconds since the run began, independent of the clock. */
  elapsed(): number {
    return this.#now - epoch;
  }

  after(ms: number, run: () => void): () => void {
    const task: Task = {
      at: this.#now + Math.max(0, ms),
      rank: this.#chance.next(),
      run,
      cancelled: false,
    };
    push(this.#heap, task);
    return () => {
      task.cancelled = true;
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted === true) {
      reject(signal.reason);
      return promise;
    }
    const cancel = this.after(ms, resolve);
    signal?.addEventListener("abort", () => {
      cancel();
      reject(signal.reason);
    });
    return promise;
  }

  /**
   * Runs what falls due until `untilMs` from now, or until `done` returns true; at most
   * `maximumEvents`, so that every run ends.
   */
  async run(untilMs: number, done: () => boolean, maximumEvents: number): Promise<void> {
    const end = this.#now + untilMs - this.#jumped;
    const lastEvent = this.events + maximumEvents;
    await settled();
    while (!done()) {
      const task = this.#heap[0];
      if (task === undefined || task.at > end + this.#jumped) break;
      pop(this.#heap);
      if (task.cancelled) continue;
      if (this.events >= lastEvent)
        throw new Error("the simulation runs out of events: something waits in a loop");
      this.events += 1;
      this.#now = Math.max(this.#now, task.at);
      task.run();
      await settled();
    }
    if (!done()) this.#now = Math.max(this.#now, end + this.#jumped);
  }

  /** Sets the clock forward or back: no time passes. */
  set(byMs: number): void {
    this.#setMs += byMs;
  }

  /** After a jump: something that fell due before now has yet to run. */
  isBehind(): boolean {
    const next = this.#heap[0];
    return next !== undefined && next.at < this.#now;
  }

  /**
   * The clock advances while nothing runs, as on a machine that slept. What fell due in the
   * meantime runs now, in order.
   */
  jump(ms: number): void {
    this.#now += ms;
    this.#jumped += ms;
  }
}

/**
 * Resolves when no promise is left that can settle by itself: the microtask queue is empty then.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function before(left: Task, right: Task): boolean {
  return left.at < right.at || (left.at === right.at && left.rank < right.rank);
}

function push(heap: Task[], task: Task): void {
  let index = heap.length;
  heap.push(task);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !before(task, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = task;
}

function pop(heap: Task[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = index * 2 + 1;
    const right = heap[child + 1];
    let below = heap[child];
    if (below === undefined) break;
    if (right !== undefined && before(right, below)) {
      child += 1;
      below = right;
    }
    if (!before(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}
