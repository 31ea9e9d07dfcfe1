/** A copy of the database. */
export interface BackedUp {
  readonly file: string;
  readonly bytes: number;
  readonly payments: number;
  readonly cards: number;
}

export interface Restored extends BackedUp {
  /** Path of the database that was replaced; undefined if there was none. */
  readonly replaced: string | undefined;
}
