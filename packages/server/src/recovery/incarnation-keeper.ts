import { notBefore } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import { startOfDay } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Instant, second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Identity, IdentityStore, IncarnationNote } from "../stores/identity.ts";

/** Why a database is considered restored from an older copy. */
export type RestoreReason =
  | "backup_copy"
  | "older_than_noted"
  | "copied_file"
  | "no_note"
  | "other_server";

export interface IncarnationParts {
  readonly identity: IdentityStore;
  /**
   * The note beside the keys. If it fails, fewer restores are detected, but the service continues.
   */
  readonly note: {
    read(): IncarnationNote | undefined;
    write(note: IncarnationNote, durable: boolean): void;
  };
  /** Identifies the database file; undefined if the database is not a file. */
  readonly place: string | undefined;
  /** Other processes may serve the same database. */
  readonly isShared: boolean;
  /** Number of commits of this process. */
  readonly commits: () => number;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Called when a new incarnation begins here. Never throws. */
  readonly report: (reason: RestoreReason, epoch: number) => void;
}

const checkMs = second;
/**
 * An epoch is the second in which it began, counted from here, so its numbers are above all
 * attempts of earlier epochs.
 */
const firstEpochAt = startOfDay({ year: 2026, month: 1, day: 1 });
/** Minimum distance of two epochs, if the clock was set back. */
const minEpochStep = 1_000;
/** The stores count attempts in 31 bits. */
const maxEpoch = 2_000_000_000;

/** undefined: no restore is detected; the database is the one that was served last. */
export function restoreReason(
  known: Identity,
  note: IncarnationNote | undefined,
  place: string | undefined,
): RestoreReason | undefined {
  if (known.isCopy) return "backup_copy";
  if (known.beat === 0 && note === undefined) return undefined;
  if (note === undefined) return place === undefined ? otherServerReason(known) : "no_note";
  if (note.beat > known.beat) return "older_than_noted";
  if (place !== undefined && note.place !== undefined && place !== note.place) return "copied_file";
  return otherServerReason(known);
}

function otherServerReason({ server, presentServer }: Identity): RestoreReason | undefined {
  return server !== undefined && presentServer !== undefined && server !== presentServer
    ? "other_server"
    : undefined;
}

/** An epoch above every attempt of other incarnations. */
export function nextEpoch(clock: Clock, ...known: readonly number[]): number {
  const epoch = Math.max(
    Math.floor((clock.now() - firstEpochAt) / second),
    Math.max(...known) + minEpochStep,
  );
  assert(epoch <= maxEpoch, "an epoch leaves room for the attempts that follow it");
  return epoch;
}

/**
 * Detects a database that was restored from an older copy. Such a copy assigns numbers and
 * references again that acquirers and receivers already know for something else. Then a new
 * incarnation of the installation begins, whose epoch is part of both.
 *
 * While changes are made, the database and a note beside the keys count the same beat, the database
 * first. So the note is never ahead of its own database, and a note that is ahead reveals a
 * restored one. Owns one timer.
 */
export class IncarnationKeeper {
  readonly #parts: IncarnationParts;
  #epoch = 0;
  #beat = 0;
  /** The latest noted time. */
  #notedAt: Instant | undefined;
  #commits = 0;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: IncarnationParts) {
    this.#parts = parts;
  }

  /** 0 until the first restore. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Must be called before anything is sent to acquirers or receivers. `keys` are noted with it.
   * `isNew`: the database has no installation yet. Rejects with StoreError.
   */
  async start(keys: string, isNew: boolean): Promise<void> {
    const { identity, note, place, clock } = this.#parts;
    const known = await identity.read();
    const noted = isNew ? undefined : note.read();
    this.#notedAt = noted?.at;
    const reason = isNew ? undefined : restoreReason(known, noted, place);
    const beat = Math.max(known.beat, noted?.beat ?? 0);
    // Before the first beat, so that no start finds a database with a beat but no note.
    if (noted === undefined) this.#write({ epoch: known.epoch, beat: 0, place }, true);
    const epoch =
      reason === undefined ? known.epoch : nextEpoch(clock, known.epoch, noted?.epoch ?? 0);
    this.#adopt(await identity.raise({ keys, epoch, beat, isServed: true }), true);
    if (reason !== undefined) this.#parts.report(reason, this.#epoch);
    this.#commits = this.#parts.commits();
    this.#schedule();
  }

  /** Must be called when nothing is written any more, before the store is closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    // Not started: a failed start leaves nothing behind.
    if (this.#cancelTimer === undefined) return;
    this.#cancelTimer();
    await this.#round;
    await this.#check();
    this.#write({ epoch: this.#epoch, beat: this.#beat, place: this.#parts.place }, true);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      this.#round = this.#check();
      void this.#round.then(() => this.#schedule());
    });
  }

  /** Never rejects: the store reports its failures itself. */
  async #check(): Promise<void> {
    const { identity, isShared, commits, clock } = this.#parts;
    const commitCount = commits();
    if (commitCount === this.#commits && !isShared) return;
    try {
      const known =
        commitCount === this.#commits ? await identity.read() : await identity.raise({ beat: 0 });
      this.#commits = commitCount;
      // Other processes may raise the beat as well; it never decreases without a restore.
      if (known.beat >= this.#beat && known.epoch >= this.#epoch) {
        // A promoted standby that has all commits is the same database.
        this.#adopt(
          otherServerReason(known) === undefined ? known : await identity.raise({ isServed: true }),
          false,
        );
        return;
      }
      const epoch = nextEpoch(clock, known.epoch, this.#epoch);
      this.#adopt(await identity.raise({ epoch, beat: this.#beat, isServed: true }), true);
      this.#parts.report("older_than_noted", this.#epoch);
    } catch {
      // The next round repeats it.
    }
  }

  #adopt({ epoch, beat }: Identity, durable: boolean): void {
    const isSame = epoch === this.#epoch && beat === this.#beat;
    this.#epoch = epoch;
    this.#beat = beat;
    if (!isSame || durable) this.#write({ epoch, beat, place: this.#parts.place }, durable);
  }

  /**
   * The noted time never goes back: until it has passed, records of a clock that was ahead may
   * still wait for it.
   */
  #write(note: Omit<IncarnationNote, "at">, durable: boolean): void {
    this.#notedAt = notBefore(this.#parts.clock.now(), this.#notedAt);
    try {
      this.#parts.note.write({ ...note, at: this.#notedAt }, durable);
    } catch {
      // The disk is full; the store reports that.
    }
  }
}
