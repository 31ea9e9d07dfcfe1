import type { Instant } from "../kernel/instant.ts";

/**
 * What a database says of itself: whose keys open it, and how far it has come. A copy that is put
 * back is told by it from the database that was served last (recovery/incarnation-keeper.ts).
 */
export interface Identity {
  /** Names the keys that belong to the database; undefined until a start has noted them. */
  readonly keys: string | undefined;
  /**
   * What names of ours begin with that an acquirer or a receiver has to find new after a restore: 0
   * until there was one. Attempts are numbered above it, and message ids contain it.
   */
  readonly epoch: number;
  /** Grows while changes are made, at most once a second. */
  readonly beat: number;
  /** true: this is a copy that was put aside, and nobody has served it yet. */
  readonly isCopy: boolean;
  /**
   * The server that had the database when it was last served, as far as it can be told from
   * another; undefined for a file.
   */
  readonly server: string | undefined;
  /** The server that has it now. */
  readonly presentServer: string | undefined;
}

/**
 * What is added to it. Nothing of it ever goes back, so two processes that raise it at once do no
 * harm to each other.
 */
export interface IdentityRaise {
  /** Kept unless keys are noted already. */
  readonly keys?: string;
  readonly epoch?: number;
  /** One more than before, and at least this. */
  readonly beat?: number;
  /** The database is served as what it is: no copy any more, on the server that has it now. */
  readonly isServed?: true;
}

/** Resolves with what holds after it. Both reject with StoreError. */
export interface IdentityStore {
  read(): Promise<Identity>;
  raise(raise: IdentityRaise): Promise<Identity>;
}

/** As both SQL stores keep it. */
export interface IdentityRow {
  readonly keys: string | null;
  readonly epoch: number;
  readonly beat: number;
  readonly is_copy: number;
  readonly server: string | null;
}

export function identityFromRow(
  row: IdentityRow | undefined,
  presentServer: string | undefined,
): Identity {
  if (row === undefined)
    return { keys: undefined, epoch: 0, beat: 0, isCopy: false, server: undefined, presentServer };
  const { keys, epoch, beat, is_copy: copy, server } = row;
  return {
    keys: keys ?? undefined,
    epoch,
    beat,
    isCopy: copy === 1,
    server: server ?? undefined,
    presentServer,
  };
}

/** What is noted outside the database of how far it has come. */
export interface IncarnationNote {
  readonly epoch: number;
  readonly beat: number;
  /** Which file it was, where the database is one. */
  readonly place: string | undefined;
  /**
   * The latest time at which any note was written here, by this machine's clock; undefined in a
   * note of an earlier version.
   */
  readonly at?: Instant | undefined;
}
