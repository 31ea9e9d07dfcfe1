/**
 * Bounds of a request. They are constants, not settings: the JSON reader's tape has room for
 * exactly this many members.
 *
 * Body: the interface recommends about 1 MiB, the attack table 64 KiB. The largest recorded request
 * has 1.3 KB; a full cart of 60 items with long names and URLs, percent-encoded threefold, stays
 * below 100 KiB. 256 KiB leaves room for that, and 512 members bound the cost of a body of any
 * size. A deployment may set another limit for the body only.
 */
export const requestLimits = {
  bodyBytes: 256 * 1024,
  /** Nesting depth of objects and arrays, including the outermost. */
  depth: 16,
  /** Object members, array elements and form fields of one request together. */
  members: 512,
  /** Bytes of one name; for a bracketed form name, of the whole name. */
  nameBytes: 128,
  /** Bytes of a lifted value after blanks and dashes are dropped. */
  liftedBytes: 64,
} as const;
