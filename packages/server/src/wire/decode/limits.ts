/**
 * Bounds of a request. They are constants, not settings: the JSON reader's tape has room for
 * exactly this many members.
 *
 * Body: the interface recommends about 1 MiB, the attack table 64 KiB. The largest recorded request
 * has 1.3 KB; a full cart of 60 items with long names and URLs, percent-encoded threefold, stays
 * below 100 KiB. 256 KiB leaves room for that, and 512 members bound what a body of any size can
 * cost. A deployment may set another figure for the body alone.
 */
export const requestLimits = {
  bodyBytes: 256 * 1024,
  /** Objects and arrays inside one another, the outermost included. */
  depth: 16,
  /** Members of objects, elements of arrays and form fields of one request together. */
  members: 512,
  /** Bytes of one name, and of a bracketed form name as a whole. */
  nameBytes: 128,
  /** Bytes of a lifted value, after blanks and dashes were dropped. */
  liftedBytes: 64,
} as const;
