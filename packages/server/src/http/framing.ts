import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { WireAnswer } from "../wire/answers/answer.ts";
import { type FramingErrorKind, framingErrors } from "../wire/decode/framing-errors.ts";
import { answerWithOtherStatus, refusalAnswer } from "../wire/answers/refusal-answer.ts";
import { refusal } from "../wire/errors/refusal.ts";
import type { WireError } from "../wire/decode/wire-error.ts";

/**
 * What Node's parser says of what it cannot read. The three that are missing are about a head or a
 * body: see `kindOf`.
 */
const kinds: ReadonlyMap<string, FramingErrorKind> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", "too_slow"],
  ["HPE_HEADER_OVERFLOW", "head_too_large"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "chunks_too_large"],
  ["HPE_INVALID_URL", "address_unreadable"],
  // Behind a blank in the address there is another word than the protocol's.
  ["HPE_INVALID_CONSTANT", "address_unreadable"],
  ["HPE_INVALID_HEADER_TOKEN", "header_unreadable"],
  ["HPE_INVALID_CONTENT_LENGTH", "length_unclear"],
  ["HPE_UNEXPECTED_CONTENT_LENGTH", "length_unclear"],
  ["HPE_INVALID_TRANSFER_ENCODING", "length_unclear"],
  ["HPE_INVALID_CHUNK_SIZE", "length_unclear"],
  ["HPE_INVALID_EOF_STATE", "cut_short"],
]);
/** No method begins like this, or the connection was to end before it. */
const leftOverCodes: ReadonlySet<string> = new Set(["HPE_INVALID_METHOD", "HPE_CLOSED_CONNECTION"]);
const headOrBody: ReadonlySet<string> = new Set([
  "HPE_STRICT",
  "HPE_CR_EXPECTED",
  "HPE_LF_EXPECTED",
]);
/**
 * Of a name or an address and a port (RFC 3986, section 3.2.2), taken one by one. Empty is allowed.
 */
const hostBytes = /^[\w!$%&'()*+,.:;=[\]~-]*$/;
const onlyChunked = /^[ \t]*chunked[ \t]*$/i;
/** The first byte of a TLS handshake. */
const handshake = 0x16;

/**
 * The answer to a request that is not understood as one of HTTP. Nothing of it is in the answer.
 */
export function framingAnswer(kind: FramingErrorKind): WireAnswer {
  const code = framingErrors[kind];
  return code === "COFRE-2" ? answerWithOtherStatus(code) : refusalAnswer(code);
}

/** The same for a request whose address is known, where it is answered. */
export function framingError(kind: FramingErrorKind): WireError {
  return refusal(framingErrors[kind]);
}

/**
 * Answers what Node's parser gives up on: no HTTP, too slow, too large a head. The connection ends
 * behind it. Requests before it on the same connection are answered first: they were run.
 */
export class UnreadableRequests {
  readonly #met = new WeakSet<Socket>();
  /** The last request of each connection. */
  readonly #last = new WeakMap<Socket, IncomingMessage>();
  /** Requests with bytes behind them that begin no other one. */
  readonly #leftOver = new WeakSet<IncomingMessage>();
  readonly #report: (answer: WireAnswer) => void;

  /** `report` hears of each answer to what never became a request. */
  constructor(report: (answer: WireAnswer) => void) {
    this.#report = report;
  }

  /** May be called again for the same connection: every further byte is another error. */
  meet(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    if (this.#met.has(socket)) return;
    this.#met.add(socket);
    const last = leftOverCodes.has(error.code ?? "") ? this.#last.get(socket) : undefined;
    if (last !== undefined) this.#leftOver.add(last);
    // A connection that was opened ahead of its first request: an answer would be taken for that of
    // the first request (RFC 9110, section 15.5.9).
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) socket.destroy();
    else this.#end(error, socket);
  }

  /** Called for each request, in the order of its connection. */
  follow(request: IncomingMessage): void {
    this.#last.set(request.socket, request);
  }

  /**
   * Whether bytes came behind this request that are no request: part of its body, which is longer
   * than its length says or has no length. Known for what came in one piece with the request.
   */
  hasLeftOver(request: IncomingMessage): boolean {
    return this.#leftOver.has(request);
  }

  #end(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable) {
      // What was written last may still be on its way; whoever ended the socket closes it.
      if (socket.writableFinished) socket.destroy();
      return;
    }
    const current: unknown = Reflect.get(socket, "_httpMessage");
    if (!isResponse(current)) {
      this.#report(endWith(socket, framingAnswer(kindOf(error, socket, false))));
      return;
    }
    if (current.req.complete) {
      // An earlier one. Node has put the next of the row in its place when this is called, or
      // closes.
      current.once("finish", () => this.#end(error, socket));
    } else if (current.headersSent) socket.destroy();
    else endWith(socket, framingAnswer(kindOf(error, socket, true)));
  }
}

/**
 * Takes a connection over that Node has let go of, and goes on once all that was asked before is
 * answered: Node no longer keeps the order. Never, when the connection ends with an answer.
 */
export function handedOver(socket: Socket, goOn: () => void): void {
  const ignore = (): void => undefined;
  // A reset in between would end the process.
  socket.on("error", ignore);
  const ask = (): void => {
    if (!socket.writable) return;
    const current: unknown = Reflect.get(socket, "_httpMessage");
    if (isResponse(current)) {
      current.once("finish", ask);
      return;
    }
    goOn();
    socket.off("error", ignore);
  };
  ask();
}

/**
 * What is wrong with a head that Node's parser lets pass, because a proxy in front may have read it
 * differently: no host or two of them (RFC 9112, section 3.2), or a body whose end is not clear
 * (RFC 1945, section 8.3; RFC 9112, section 6.1). `no_length`: a POST that has no body by its head,
 * although its client may send one (see `mayLackLength`).
 */
export function headTrouble({
  method,
  httpVersionMinor,
  rawHeaders,
}: Pick<IncomingMessage, "method" | "httpVersionMinor" | "rawHeaders">):
  | "host_missing"
  | "host_unclear"
  | "length_unclear"
  | "no_length"
  | undefined {
  let host: string | undefined;
  let hasLength = false;
  let coding: string | undefined;
  let isClear = true;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") {
      if (host !== undefined) return "host_unclear";
      host = rawHeaders[index + 1] ?? "";
    } else if (name.length === 14 && name.toLowerCase() === "content-length") {
      hasLength = true;
    } else if (name.length === 17 && name.toLowerCase() === "transfer-encoding") {
      isClear &&= coding === undefined;
      coding = rawHeaders[index + 1] ?? "";
    }
  }
  if (host === undefined && httpVersionMinor > 0) return "host_missing";
  if (host !== undefined && !hostBytes.test(host)) return "host_unclear";
  // Another coding than `chunked`, in front of it too, leaves a body that nothing here reads.
  if (
    coding !== undefined &&
    (httpVersionMinor === 0 || hasLength || !isClear || !onlyChunked.test(coding))
  )
    return "length_unclear";
  if (method !== "POST" || hasLength || coding !== undefined) return undefined;
  // HTTP/1.0 ends a body without a length with the connection, which a client that waits for an
  // answer keeps open.
  return httpVersionMinor === 0 ? "length_unclear" : "no_length";
}

/**
 * Whether a POST without a length is taken for one without a body: it has its fields in the
 * address, as `curl -X POST` sends it, and no header that describes a body. Any other client has a
 * body to send, which may come later than the head and would be read as the next request.
 */
export function mayLackLength({
  url = "",
  headers,
}: Pick<IncomingMessage, "url" | "headers">): boolean {
  return /\?[^#]/.test(url) && bodyHeaders.every((name) => headers[name] === undefined);
}

const bodyHeaders = ["content-type", "content-encoding", "expect"] as const;

/** Answers on a connection without TLS at a port that has it. */
export function refusePlain(socket: Socket): WireAnswer {
  return endWith(socket, framingAnswer("tls_missing"));
}

/** 200 would mean that the tunnel stands. */
export function refuseTunnel(socket: Socket): void {
  // Node no longer reads what else comes, nor looks at the time.
  const destroy = (): unknown => socket.destroy();
  socket.on("error", destroy).on("timeout", destroy).resume();
  endWith(socket, answerWithOtherStatus("COFRE-10"));
}

/**
 * Whether a request with this head offers another protocol and has no body: only then can
 * `withoutOffer` write it anew.
 */
export function isBareOffer({ headers }: IncomingMessage): boolean {
  return (
    headers.upgrade !== undefined &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined
  );
}

/**
 * The bytes of a request that offers another protocol, without the offer, and what came behind it:
 * nobody here speaks another one, and Node forgets what came in one piece with an offer that is not
 * taken.
 */
export function withoutOffer(
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  behind: Buffer,
): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.toLowerCase() !== "upgrade") head += `${name}: ${rawHeaders[index + 1] ?? ""}\r\n`;
  }
  return Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), behind]);
}

function kindOf(error: NodeJS.ErrnoException, socket: Socket, isInBody: boolean): FramingErrorKind {
  const { code = "" } = error;
  if (headOrBody.has(code)) return isInBody ? "length_unclear" : "header_unreadable";
  const kind = kinds.get(code);
  if (kind !== undefined) return kind;
  const packet: unknown = Reflect.get(error, "rawPacket");
  const isPlain = Reflect.get(socket, "encrypted") !== true;
  return isPlain && Buffer.isBuffer(packet) && packet[0] === handshake
    ? "tls_unexpected"
    : "not_http";
}

function isResponse(value: unknown): value is ServerResponse {
  return value instanceof process.getBuiltinModule("node:http").ServerResponse;
}

function endWith(socket: Socket, answer: WireAnswer): WireAnswer {
  const { status, body } = answer;
  const reason = process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "";
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  return answer;
}
