import type { Clock } from "./clock.ts";
import { type Instant, minute } from "./instant.ts";

/** What a job says of its reads of the store. Never throws. */
export interface ReadReport {
  /** `read`: which one. */
  failed(read: string): void;
  /**
   * One that works says nothing of the others: each is a statement of its own, and may time out
   * alone.
   */
  worked(read: string): void;
}

/** What `reading` brings, after it was reported whether it worked. */
export async function reported<T>(
  report: ReadReport | undefined,
  read: string,
  reading: Promise<T>,
): Promise<T> {
  try {
    const result = await reading;
    report?.worked(read);
    return result;
  } catch (error) {
    report?.failed(read);
    throw error;
  }
}

export interface ReadFailure {
  readonly job: string;
  readonly read: string;
  /** Since the last one that was reported. */
  readonly failed: number;
}

/** This many failures of a read in a row, and the job counts as failing until that read works. */
const failuresToFail = 3;
const silentMs = minute;

/**
 * Counts the jobs' reads that fail: a job that can't read does nothing, and nothing else shows it.
 */
export class JobReads {
  readonly #clock: Clock;
  readonly #report: (failure: ReadFailure) => void;
  /** By job and read. */
  readonly #inARow = new Map<string, Map<string, number>>();
  readonly #untold = new Map<string, { count: number; toldAt: Instant | undefined }>();

  /** `report` hears of the first failure of each job and then once a minute at most. */
  constructor(clock: Clock, report: (failure: ReadFailure) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  of(job: string): ReadReport {
    return {
      failed: (read) => this.#failed(job, read),
      worked: (read) => void this.#inARow.get(job)?.delete(read),
    };
  }

  /** Jobs of which a read has failed three times in a row. */
  failing(): readonly string[] {
    return [...this.#inARow]
      .filter(([, reads]) => [...reads.values()].some((count) => count >= failuresToFail))
      .map(([job]) => job);
  }

  #failed(job: string, read: string): void {
    const inARow = this.#inARow.get(job) ?? new Map<string, number>();
    this.#inARow.set(job, inARow);
    inARow.set(read, (inARow.get(read) ?? 0) + 1);
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
