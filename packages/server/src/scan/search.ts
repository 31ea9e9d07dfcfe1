/** A card number that was found, without its middle digits. */
export interface Hit {
  /** Where it begins, in bytes from the start of what was searched. */
  readonly offset: number;
  /** How it is written there, such as `plain` or `base64`. */
  readonly encoding: string;
  /** First six digits, an `x` for each hidden one, last four. */
  readonly maskedPan: string;
}

/** What is searched for. */
export interface Search {
  /**
   * Every hit in `bytes`. What lies beyond `context` bytes before and behind a number has no say in
   * whether it is one.
   */
  search(bytes: Uint8Array): readonly Hit[];
}

/** The longest that any form of a number is, with what has to be seen on both sides of it. */
export const context = 1_024;
