/** More of them in front of one answer are no answer. */
export const mostInterimAnswers = 16;
/** Longest head of one of them. */
const longestHead = 16_384;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** How one begins; `d` is any digit. */
const interimStart = "HTTP/1.d 1dd";

/**
 * Takes interim answers (1xx, RFC 9110, section 15.2) out of what comes over a connection: the HTTP
 * client takes a `100 Continue` that it has not asked for as a failure. 101 stays: no other
 * protocol was offered. Owns what has come of a head that is not whole yet.
 */
export class InterimAnswers {
  /**
   * undefined: the final answer has begun, and nothing more is looked at until the next request.
   */
  #held: Buffer | undefined = Buffer.alloc(0);
  #passed = 0;

  /** A request is written: what comes next begins an answer. */
  begin(): void {
    this.#held = Buffer.alloc(0);
    this.#passed = 0;
  }

  /** What of these bytes is not of an interim answer; undefined when nothing is yet. */
  without(chunk: Buffer): Buffer | undefined {
    if (this.#held === undefined) return chunk;
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const isInterim = mayBeInterim(bytes);
      const end = isInterim ? headEnd(bytes) : undefined;
      if (
        !isInterim ||
        (end === undefined && bytes.length > longestHead) ||
        this.#passed >= mostInterimAnswers
      ) {
        this.#held = undefined;
        return bytes;
      }
      if (end === undefined) {
        this.#held = bytes;
        return undefined;
      }
      this.#passed += 1;
      bytes = bytes.subarray(end);
      if (bytes.length === 0) {
        this.#held = bytes;
        return undefined;
      }
    }
  }
}

/** What is used of a socket. */
interface Connection {
  read(size?: number): unknown;
  write(...args: readonly unknown[]): boolean;
}

/** The same connection, without the interim answers in what is read. */
export function passOverInterimAnswers<Socket extends Connection>(socket: Socket): Socket {
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
      // The body of a request may be written when its answer has begun to arrive.
      if (beginsRequest(args[0])) interim.begin();
      return write(...args);
    },
  });
  return socket;
}

/**
 * Whether it is the head of a request, which the HTTP client writes as one text. No body of ours
 * begins with a request line.
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

/** false as soon as the bytes are of something else. */
function mayBeInterim(bytes: Buffer): boolean {
  const start = bytes.toString("latin1", 0, interimStart.length);
  for (let at = 0; at < start.length; at += 1) {
    const character = start[at] ?? "";
    if (interimStart[at] === "d" ? !/\d/.test(character) : interimStart[at] !== character)
      return false;
  }
  return !start.endsWith(" 101");
}

/** Behind the empty line that ends the head; undefined when it is not there yet. */
function headEnd(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return undefined;
}
