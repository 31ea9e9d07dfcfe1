/** Maximum number of interim answers before a final answer. */
export const maxInterimAnswers = 16;
/** Maximum length of the head of an interim answer. */
const longestHead = 16_384;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** The start of an interim answer; `d` is any digit. */
const interimStart = "HTTP/1.d 1dd";

/**
 * Removes interim answers (1xx, RFC 9110, section 15.2) from the bytes of a connection: the HTTP
 * client treats a `100 Continue` that it did not request as a failure. 101 stays, because no other
 * protocol was offered. Owns the bytes of an incomplete head.
 */
export class InterimAnswers {
  /** undefined: the final answer has begun, and all bytes pass until the next request. */
  #buffered: Buffer | undefined = Buffer.alloc(0);
  #skipped = 0;

  /** A request is being written: the next bytes begin an answer. */
  begin(): void {
    this.#buffered = Buffer.alloc(0);
    this.#skipped = 0;
  }

  /** These bytes without interim answers; undefined if nothing is left yet. */
  without(chunk: Buffer): Buffer | undefined {
    if (this.#buffered === undefined) return chunk;
    let bytes = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    for (;;) {
      const isInterim = mayBeInterim(bytes);
      const end = isInterim ? headEnd(bytes) : undefined;
      if (
        !isInterim ||
        (end === undefined && bytes.length > longestHead) ||
        this.#skipped >= maxInterimAnswers
      ) {
        this.#buffered = undefined;
        return bytes;
      }
      if (end === undefined) {
        this.#buffered = bytes;
        return undefined;
      }
      this.#skipped += 1;
      bytes = bytes.subarray(end);
      if (bytes.length === 0) {
        this.#buffered = bytes;
        return undefined;
      }
    }
  }
}

/** The methods of a socket that are used. */
interface Connection {
  read(size?: number): unknown;
  write(...args: readonly unknown[]): boolean;
}

/** The same connection, with interim answers removed from what is read. */
export function skipInterimAnswers<Socket extends Connection>(socket: Socket): Socket {
  const interim = new InterimAnswers();
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket);
  Object.assign(socket, {
    read(size?: number): unknown {
      for (;;) {
        const chunk = read(size);
        if (!Buffer.isBuffer(chunk)) return chunk;
        const rest = interim.without(chunk);
        if (rest !== undefined) return rest;
      }
    },
    write(...args: readonly unknown[]): boolean {
      // The body of a request may be written when its answer has already begun to arrive.
      if (beginsRequest(args[0])) interim.begin();
      return write(...args);
    },
  });
  return socket;
}

/**
 * Whether this is the head of a request, which the HTTP client writes as one text. None of our
 * bodies begins with a request line.
 */
function beginsRequest(written: unknown): boolean {
  const start =
    typeof written === "string"
      ? written
      : written instanceof Uint8Array
        ? Buffer.from(written).toString("latin1")
        : "";
  return /^[A-Z]+ [^ \r\n]+ HTTP\/1\.1\r\n/.test(start);
}

/** false as soon as the bytes cannot be an interim answer. */
function mayBeInterim(bytes: Buffer): boolean {
  const start = bytes.toString("latin1", 0, interimStart.length);
  for (let at = 0; at < start.length; at += 1) {
    const character = start[at] ?? "";
    if (interimStart[at] === "d" ? !/\d/.test(character) : interimStart[at] !== character)
      return false;
  }
  return !start.endsWith(" 101");
}

/** The position after the empty line that ends the head; undefined if it has not arrived yet. */
function headEnd(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return undefined;
}
