import type { ElapsedMs } from "../kernel/elapsed.ts";
import { second } from "../kernel/instant.ts";
import type { LoopLoad } from "../kernel/loop-load.ts";
import type { Scheduler } from "../kernel/scheduler.ts";

export interface RecoveryPaceParts {
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
  readonly loopLoad: LoopLoad;
}

/** So many may begin at once after a pause: as many as one acquirer is asked about at once. */
const mostAtOnce = 16;
const firstPerSecond = 250;
const leastPerSecond = 50;
const mostPerSecond = 5_000;
/** How often the pace is judged while payments begin. */
const judgedEveryMs = 100;
/** Above this load of the event loop requests wait too long: the pace falls. */
const busyLoad = 0.7;
/** Below this load the pace grows. */
const freeLoad = 0.55;
/** Timers that are shorter cost more than they are worth. */
const shortestWaitMs = 4;

/**
 * How fast recovery begins its work: it leaves the event loop to requests. Thousands of authorizations may expire at one moment. If recovery did them as
 * fast as it can, each request would wait behind them. So the pace grows while the event loop has time to spare and falls while it has not, and never
 * below a rate that gets every payment done. What is due in small numbers begins at once.
 */
export class RecoveryPace {
  readonly #parts: RecoveryPaceParts;
  #perSecond = firstPerSecond;
  #room = mostAtOnce;
  #countedAt: number;
  #judgedAt: number;
  #cancel: (() => void) | undefined;

  constructor(parts: RecoveryPaceParts) {
    this.#parts = parts;
    this.#countedAt = this.#judgedAt = parts.elapsedMs();
  }

  /** Whether the event loop was too busy for the pace that recovery begins with. */
  get isSlow(): boolean {
    return this.#perSecond < firstPerSecond;
  }

  /** Whether one more may begin now. None may while `whenRoom` is to be answered, so that its `resume` deals out the room. */
  take(): boolean {
    const now = this.#parts.elapsedMs();
    this.#judge(now);
    if (this.#cancel !== undefined) return false;
    this.#room = Math.min(mostAtOnce, this.#room + ((now - this.#countedAt) * this.#perSecond) / second);
    this.#countedAt = now;
    if (this.#room < 1) return false;
    this.#room -= 1;
    return true;
  }

  /** Calls `resume` when one more may begin, once for all calls before that. */
  whenRoom(resume: () => void): void {
    if (this.#cancel !== undefined) return;
    const waitMs = Math.max(shortestWaitMs, ((1 - this.#room) / this.#perSecond) * second);
    this.#cancel = this.#parts.scheduler.after(waitMs, () => {
      this.#cancel = undefined;
      resume();
    });
  }

  /** No call of `whenRoom` is answered any more. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #judge(now: number): void {
    const sinceMs = now - this.#judgedAt;
    if (sinceMs < judgedEveryMs) return;
    this.#judgedAt = now;
    const load = this.#parts.loopLoad();
    // After a pause the load is that of the pause, and says nothing of what begins now.
    if (sinceMs > 2 * judgedEveryMs) this.#perSecond = Math.min(firstPerSecond, this.#perSecond);
    else if (load > busyLoad) this.#perSecond = Math.max(leastPerSecond, this.#perSecond * 0.8);
    else if (load < freeLoad) this.#perSecond = Math.min(mostPerSecond, this.#perSecond * 1.1);
  }
}
