import type { Clock } from "./clock.ts";
import { type Instant, minute } from "./instant.ts";

/** Receives the results of a job's reads of the store. Never throws. */
export interface ReadReport {
  /** `read`: the name of the read. */
  failed(read: string): void;
  /**
   * A successful read does not reset the others: each is a separate statement, and may time out
   * alone.
   */
  worked(read: string): void;
}

/** The result of `reading`, after its success or failure was reported. */
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
  /** Failures since the last report. */
  readonly failed: number;
}

/**
 * A job counts as failing after this number of failures of one read in a row, until that read
 * succeeds.
 */
const failuresToFail = 3;
const silentMs = minute;

/** Counts failed reads of jobs: a job that cannot read does nothing, and nothing else shows it. */
export class JobReads {
  readonly #clock: Clock;
  readonly #report: (failure: ReadFailure) => void;
  /** Failures in a row by job and read. */
  readonly #inARow = new Map<string, Map<string, number>>();
  readonly #untold = new Map<string, { count: number; toldAt: Instant | undefined }>();

  /** `report` is called for the first failure of each job and then at most once a minute. */
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

  /** Jobs with a read that has failed three times in a row. */
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
    // If the clock was set back, the time since the last report is unknown.
    if (0 <= sinceMs && sinceMs < silentMs) return;
    this.#report({ job, read, failed: untold.count });
    untold.count = 0;
    untold.toldAt = now;
  }
}
