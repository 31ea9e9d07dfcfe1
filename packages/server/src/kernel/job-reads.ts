import type { Clock } from "./clock.ts";
import { type Instant, minute } from "./instant.ts";

/** What a job says of its reads of the store. */
export interface ReadReport {
  /** `read`: which one. Never throws. */
  failed(read: string): void;
  worked(): void;
}

export interface ReadFailure {
  readonly job: string;
  readonly read: string;
  /** Since the last one that was reported. */
  readonly failed: number;
}

/** This many failures in a row, and the job counts as failing until a read works. */
const failuresToFail = 3;
const silentMs = minute;

/** Counts the jobs' reads that fail: a job that can't read does nothing, and nothing else shows it. */
export class JobReads {
  readonly #clock: Clock;
  readonly #report: (failure: ReadFailure) => void;
  readonly #inARow = new Map<string, number>();
  readonly #untold = new Map<string, { count: number; toldAt: Instant | undefined }>();

  /** `report` hears of the first failure of each job and then once a minute at most. */
  constructor(clock: Clock, report: (failure: ReadFailure) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  of(job: string): ReadReport {
    return { failed: (read) => this.#failed(job, read), worked: () => void this.#inARow.delete(job) };
  }

  /** Jobs whose last three reads failed. */
  failing(): readonly string[] {
    return [...this.#inARow].filter(([, count]) => count >= failuresToFail).map(([job]) => job);
  }

  #failed(job: string, read: string): void {
    this.#inARow.set(job, (this.#inARow.get(job) ?? 0) + 1);
    const untold = this.#untold.get(job) ?? { count: 0, toldAt: undefined };
    this.#untold.set(job, untold);
    untold.count += 1;
    const now = this.#clock.now();
    const sinceMs = untold.toldAt === undefined ? silentMs : now - untold.toldAt;
    // Below zero the clock was set back, and says nothing of the time since.
    if (0 <= sinceMs && sinceMs < silentMs) return;
    this.#report({ job, read, failed: untold.count });
    untold.count = 0;
    untold.toldAt = now;
  }
}
