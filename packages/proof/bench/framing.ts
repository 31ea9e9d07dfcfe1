/**
 * One answer of a server: a view of the bytes read, valid until the next read of that connection.
 */
export interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

const headEnd = Buffer.from("\r\n\r\n", "latin1");
const largestAnswer = 1_048_576;

/**
 * Finds where answers end in the bytes of one connection. Supports only the HTTP/1.1 that a cheap
 * generator needs: a status line, a Content-Length, a body. Anything else is an error, because a
 * guess would falsify the measurement. Heads and bodies may arrive in any pieces.
 */
export class AnswerFramer {
  #rest: Buffer | undefined;

  /** Calls `take` for each answer that these bytes complete. */
  push(chunk: Buffer, take: (answer: Answer) => void): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let start = 0;
    while (start < bytes.length) {
      const answer = answerAt(bytes, start);
      if (answer === undefined) {
        if (bytes.length - start > largestAnswer)
          throw new Error("an answer is longer than this harness reads");
        // A copy: the socket may reuse its buffer.
        this.#rest = Buffer.from(bytes.subarray(start));
        return;
      }
      start = answer.bodyEnd;
      take(answer);
    }
  }
}

function answerAt(bytes: Buffer, start: number): Answer | undefined {
  const blank = bytes.indexOf(headEnd, start);
  if (blank === -1) return undefined;
  const head = bytes.toString("latin1", start, blank);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1];
  if (length === undefined || status === undefined)
    throw new Error(`not an answer with a length: ${JSON.stringify(head.slice(0, 120))}`);
  const bodyStart = blank + headEnd.length;
  const bodyEnd = bodyStart + Number(length);
  return bodyEnd > bytes.length ? undefined : { status: Number(status), bytes, bodyStart, bodyEnd };
}

const success = Buffer.from('"status":"SUCCESS"}', "latin1");

/**
 * Whether the answer says SUCCESS, which is the last member of the body in every server measured
 * here.
 */
export function saysSuccess(answer: Answer): boolean {
  if (answer.status !== 200) return false;
  const expectedAt = answer.bodyEnd - success.length;
  if (
    expectedAt >= answer.bodyStart &&
    answer.bytes.compare(success, 0, success.length, expectedAt, answer.bodyEnd) === 0
  )
    return true;
  return answer.bytes.subarray(answer.bodyStart, answer.bodyEnd).includes('"status":"SUCCESS"');
}

/** The string member that follows `opening`, such as `"hash":"`, or undefined. */
export function memberAfter(answer: Answer, opening: Buffer): string | undefined {
  const at = answer.bytes.indexOf(opening, answer.bodyStart);
  if (at === -1 || at >= answer.bodyEnd) return undefined;
  const from = at + opening.length;
  const end = answer.bytes.indexOf(0x22, from);
  return end === -1 || end > answer.bodyEnd
    ? undefined
    : answer.bytes.toString("latin1", from, end);
}
