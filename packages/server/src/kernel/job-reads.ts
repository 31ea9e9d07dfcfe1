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
  succeeded(read: string): void;
}

/** The result of `reading`, after its success or failure was reported. */
export async function reportRead<T>(
  report: ReadReport | undefined,
  read: string,
  reading: Promise<T>,
): Promise<T> {
  try {
    const result = await reading;
    report?.succeeded(read);
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
const failureThreshold = 3;
const reportIntervalMs = minute;

/** Counts failed reads of jobs: a job that cannot read does nothing, and nothing else shows it. */
export class JobReads {
  readonly #clock: Clock;
  readonly #report: (failure: ReadFailure) => void;
  /** Failures in a row by job and read. */
  readonly #consecutiveFailures = new Map<string, Map<string, number>>();
  readonly #unreported = new Map<string, { count: number; reportedAt: Instant | undefined }>();

  /** `report` is called for the first failure of each job and then at most once a minute. */
  constructor(clock: Clock, report: (failure: ReadFailure) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  of(job: string): ReadReport {
    return {
      failed: (read) => this.#failed(job, read),
      succeeded: (read) => void this.#consecutiveFailures.get(job)?.delete(read),
    };
  }

  /** Jobs with a read that has failed three times in a row. */
  failing(): readonly string[] {
    return [...this.#consecutiveFailures]
      .filter(([, reads]) => [...reads.values()].some((count) => count >= failureThreshold))
      .map(([job]) => job);
  }

  #failed(job: string, read: string): void {
    const failures = this.#consecutiveFailures.get(job) ?? new Map<string, number>();
    this.#consecutiveFailures.set(job, failures);
    failures.set(read, (failures.get(read) ?? 0) + 1);
    const unreported = this.#unreported.get(job) ?? { count: 0, reportedAt: undefined };
    this.#unreported.set(job, unreported);
    unreported.count += 1;
    const now = this.#clock.now();
    const sinceMs =
      unreported.reportedAt === undefined ? reportIntervalMs : now - unreported.reportedAt;
    // If the clock was set back, the time since the last report is unknown.
    if (0 <= sinceMs && sinceMs < reportIntervalMs) return;
    this.#report({ job, read, failed: unreported.count });
    unreported.count = 0;
    unreported.reportedAt = now;
  }
}
