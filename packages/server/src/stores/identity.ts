import type { Instant } from "../kernel/instant.ts";

/**
 * The database's record of its keys and its progress. It distinguishes a restored copy from the
 * database that was served last (recovery/incarnation-keeper.ts).
 */
export interface Identity {
  /** Identifies the keys that belong to the database; undefined until a start has recorded them. */
  readonly keys: string | undefined;
  /**
   * Prefix of names that must be new to an acquirer or a receiver after a restore; 0 until the
   * first restore. Attempts are numbered above it, and message ids contain it.
   */
  readonly epoch: number;
  /** Increases while changes are made, at most once a second. */
  readonly beat: number;
  /** true: this is a backup copy that has not been served yet. */
  readonly isCopy: boolean;
  /**
   * The database server when the database was last served, as far as servers can be distinguished;
   * undefined for a file.
   */
  readonly server: string | undefined;
  /** The current database server. */
  readonly presentServer: string | undefined;
}

/**
 * An update of the identity. Values never decrease, so two concurrent updates by different
 * processes are safe.
 */
export interface IdentityRaise {
  /** Ignored if keys are recorded already. */
  readonly keys?: string;
  readonly epoch?: number;
  /** Sets the larger of this and the stored beat plus one. */
  readonly beat?: number;
  /** The database is now served: it is no longer a copy, and the current server is recorded. */
  readonly isServed?: true;
}

/** Both resolve with the current identity and reject with StoreError. */
export interface IdentityStore {
  read(): Promise<Identity>;
  raise(raise: IdentityRaise): Promise<Identity>;
}

/** The row as both SQL stores keep it. */
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

/** The record of a database's progress that is kept outside the database. */
export interface IncarnationNote {
  readonly epoch: number;
  readonly beat: number;
  /** Identifies the file, if the database is a file. */
  readonly place: string | undefined;
  /**
   * The latest time at which any note was written here, by this machine's clock; undefined in a
   * note of an earlier version.
   */
  readonly at?: Instant | undefined;
}
