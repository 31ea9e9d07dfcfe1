import type { Clock } from "../kernel/clock.ts";
import { minute, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import type { KeyRecordStore, KnownKeys } from "../stores/key-record-store.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import type { KeyRotation } from "../vault/records/key-rotation.ts";

export interface KeyRotationJobParts {
  readonly keys: Pick<KeyRecordStore, "keyRecordsUnder">;
  readonly rotation: Pick<KeyRotation, "epochs" | "useEpoch" | "rewrap">;
  /** What every live node knows at least; undefined if this process is the only one. */
  readonly knownEverywhere: (() => KnownKeys | undefined) | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The holder of the first slot does the work for all nodes. */
  readonly slotAssignment: SlotAssignment;
  /** Called after a round that wrapped keys again or made an epoch current. */
  readonly report: (progress: RotationProgress) => void;
  /** Called once for each key that was altered, and so stays under its epoch. */
  readonly refused: (key: string) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
}

export interface RotationProgress {
  /** The current epoch. */
  readonly epoch: number;
  /** Keys that were wrapped again in this round. */
  readonly rewrapped: number;
}

const jobSlot = 0;
const checkMs = 3 * second;
/**
 * How long an epoch key waits for nodes that do not open it. They no longer serve cards by then
 * (`KeyWatch`).
 */
export const epochDeadlineMs = 11 * minute;
/** Keys per commit: about 3 ms of this process. */
const pieceSize = 100;
const pauseMs = 1;
/** A piece that another process changes is read again. */
const maxStaleInRound = 100;
const maxRefused = 1_000;

/**
 * Completes what a rotation of the epoch key began: makes a new epoch current as soon as every live
 * node has opened it, then wraps all keys by it that earlier epochs wrap. What is left to do follows
 * from the stored records alone, so the process may end at any point.
 */
export class KeyRotationJob {
  readonly #parts: KeyRotationJobParts;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Names that were reported. */
  readonly #refused = new Set<string>();

  constructor(parts: KeyRotationJobParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule();
  }

  /** Resolves when the current piece has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  /** Does what can be done now, if this process is responsible. */
  async runOnce(): Promise<void> {
    const { rotation, slotAssignment, report } = this.#parts;
    const lease = slotAssignment.leases().get(jobSlot);
    if (lease === undefined) return;
    const before = await rotation.epochs();
    const made = before.find((epoch) => epoch.state === "made" && this.#isKnown(epoch));
    const isNew = made !== undefined && (await rotation.useEpoch(made.version));
    const epochs = isNew ? await rotation.epochs() : before;
    const current = epochs.find(({ state }) => state === "current");
    if (current === undefined) return;
    let rewrapped = 0;
    for (const { version } of epochs)
      if (version < current.version) rewrapped += await this.#rewrapAll(version, lease);
    if (isNew || rewrapped > 0) report({ epoch: current.version, rewrapped });
  }

  #isKnown({ version, createdAt }: KeyRecord): boolean {
    const { knownEverywhere, clock } = this.#parts;
    if (knownEverywhere === undefined || clock.now() - createdAt >= epochDeadlineMs) return true;
    return (knownEverywhere()?.epoch ?? 0) >= version;
  }

  /** Resolves with the number of keys that were wrapped again. */
  async #rewrapAll(epoch: number, lease: SlotLease): Promise<number> {
    const { keys, rotation, scheduler } = this.#parts;
    let after: KeyRecord | undefined;
    let [rewrapped, stale] = [0, 0];
    while (!this.#stopped && stale < maxStaleInRound) {
      const end = lease.begin();
      // Another process continues.
      if (end === undefined) break;
      try {
        const page = await reportRead(
          this.#parts.reads,
          "keyRecordsUnder",
          keys.keyRecordsUnder(epoch, after, pieceSize),
        );
        const last = page.at(-1);
        if (last === undefined) break;
        const refused = await rotation.rewrap(page);
        if (refused === undefined) {
          stale += 1;
          continue;
        }
        for (const key of refused) this.#reportRefused(key);
        rewrapped += page.length - refused.length;
        after = last;
      } finally {
        end();
      }
      await scheduler.sleep(pauseMs);
    }
    return rewrapped;
  }

  #reportRefused(key: string): void {
    if (this.#refused.has(key) || this.#refused.size >= maxRefused) return;
    this.#refused.add(key);
    this.#parts.refused(key);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      // After a failure the round is repeated.
      this.#round = this.runOnce().catch(() => undefined);
      void this.#round.then(() => this.#schedule());
    });
  }
}
