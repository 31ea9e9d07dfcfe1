/** A copy of the database. */
export interface BackedUp {
  readonly file: string;
  readonly bytes: number;
  readonly payments: number;
  readonly cards: number;
}

export interface Restored extends BackedUp {
  /** Where the database that was there before is now; undefined when there was none. */
  readonly replaced: string | undefined;
}
