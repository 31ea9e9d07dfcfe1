/** A card number that was found, without its middle digits. */
export interface Hit {
  /** Its start, in bytes from the beginning of the searched data. */
  readonly offset: number;
  /** Its encoding, such as `plain` or `base64`. */
  readonly encoding: string;
  /** First six digits, an `x` for each hidden one, last four. */
  readonly maskedPan: string;
}

/** A search for card numbers. */
export interface Search {
  /**
   * Every hit in `bytes`. Only `context` bytes before and after a number affect whether it is one.
   */
  search(bytes: Uint8Array): readonly Hit[];
}

/**
 * The maximum length of any encoding of a number, with the surrounding bytes that are needed to
 * decide.
 */
export const context = 1_024;
