/**
 * Frames between a server and its PKCS#11 helper process: four bytes length (big-endian, of what
 * follows), one byte kind, and fields of two bytes length and their content. Keys and PINs are
 * bytes from end to end, so that both processes can wipe them.
 */
export interface Frame {
  readonly kind: number;
  readonly fields: readonly Buffer[];
}

/** Requests of the server. */
export const requests = {
  /** Loads the module, logs in and finds the key. Fields: openFields. */
  open: 1,
  /** Fields: label, key, random bytes (wrapRandomLength). Answer: mechanism and its bytes. */
  wrap: 2,
  /** Fields: label, mechanism and its bytes. Answer: the key. */
  unwrap: 3,
  /** Without fields. Answer: manufacturer and model of the token, with a line break between them. */
  facts: 4,
} as const;

/** Answers of the helper. */
export const answers = {
  /** Sent once, before the first request: the process runs. */
  ready: 16,
  done: 17,
  /** Fields: name of the refusal, a detail (may be empty), CK_RV as decimal text (may be empty). */
  refused: 18,
} as const;

/**
 * Fields of `open`, in this order. The first four select the token and may be empty; `random` has
 * probeRandomLength bytes; `corrected` is not empty when the PIN replaces one that this token has
 * refused.
 */
export const openFields = [
  "token",
  "serial",
  "manufacturer",
  "model",
  "object",
  "id",
  "pin",
  "random",
  "corrected",
] as const;

/** Nonce of one wrap. */
export const wrapRandomLength = 12;
/** Nonce and key of the wrap that tries a mechanism. */
export const probeRandomLength = wrapRandomLength + 32;

export const headerLength = 4;
/** Both processes refuse a longer frame. */
export const longestFrame = 16_384;

/**
 * Zeroed memory outside the heap of V8. A Buffer of up to 64 bytes may be on that heap: it is moved,
 * and copied when it is written, and the copies are not wiped.
 */
export function memory(length: number): Buffer {
  return Buffer.from(new ArrayBuffer(length));
}

/** The caller wipes the result when it has secrets. */
export function encodeFrame(kind: number, fields: readonly Uint8Array[]): Buffer {
  const length = fields.reduce((sum, field) => sum + 2 + field.length, 1);
  if (length > longestFrame) throw new RangeError("a frame of the PKCS#11 helper is too long");
  const frame = memory(headerLength + length);
  frame.writeUInt32BE(length, 0);
  frame[headerLength] = kind;
  let at = headerLength + 1;
  for (const field of fields) {
    frame.writeUInt16BE(field.length, at);
    frame.set(field, at + 2);
    at += 2 + field.length;
  }
  return frame;
}

/** Length of the body, from a header; undefined if no frame has it. */
export function bodyLength(header: Buffer): number | undefined {
  const length = header.readUInt32BE(0);
  return length >= 1 && length <= longestFrame ? length : undefined;
}

/** Reads what follows the header. The fields are views; undefined if it is not a frame. */
export function decodeBody(body: Buffer): Frame | undefined {
  const fields: Buffer[] = [];
  let at = 1;
  while (at < body.length) {
    if (at + 2 > body.length) return undefined;
    const end = at + 2 + body.readUInt16BE(at);
    if (end > body.length) return undefined;
    fields.push(body.subarray(at + 2, end));
    at = end;
  }
  const [kind] = body;
  return kind === undefined ? undefined : { kind, fields };
}
