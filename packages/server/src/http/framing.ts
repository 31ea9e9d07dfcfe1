import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { helpLinkOf } from "./headers.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { type FramingErrorKind, framingErrors } from "../wire/decode/framing-errors.ts";
import { answerWithOtherStatus, refusalAnswer } from "../wire/answers/refusal-answer.ts";
import { refusal } from "../wire/errors/refusal.ts";
import type { WireError } from "../wire/decode/wire-error.ts";

/**
 * Error codes of Node's parser. The three that are missing are about a head or a body: see
 * `kindOf`.
 */
const kinds: ReadonlyMap<string, FramingErrorKind> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", "too_slow"],
  ["HPE_HEADER_OVERFLOW", "head_too_large"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "chunks_too_large"],
  ["HPE_INVALID_URL", "address_unreadable"],
  // After a blank in the address comes a word other than the protocol's.
  ["HPE_INVALID_CONSTANT", "address_unreadable"],
  ["HPE_INVALID_HEADER_TOKEN", "header_unreadable"],
  ["HPE_INVALID_CONTENT_LENGTH", "length_unclear"],
  ["HPE_UNEXPECTED_CONTENT_LENGTH", "length_unclear"],
  ["HPE_INVALID_TRANSFER_ENCODING", "length_unclear"],
  ["HPE_INVALID_CHUNK_SIZE", "length_unclear"],
  ["HPE_INVALID_EOF_STATE", "cut_short"],
]);
/** Errors in bytes after a request: they begin no method, or the connection was to end before. */
const leftOverCodes: ReadonlySet<string> = new Set(["HPE_INVALID_METHOD", "HPE_CLOSED_CONNECTION"]);
const headOrBody: ReadonlySet<string> = new Set([
  "HPE_STRICT",
  "HPE_CR_EXPECTED",
  "HPE_LF_EXPECTED",
]);
/**
 * Characters of a host name or an address with a port (RFC 3986, section 3.2.2), checked one by
 * one. Empty is allowed.
 */
const hostBytes = /^[\w!$%&'()*+,.:;=[\]~-]*$/;
const onlyChunked = /^[ \t]*chunked[ \t]*$/i;
/** The first byte of a TLS handshake. */
const handshake = 0x16;

/** The answer to input that is not a valid HTTP request. It quotes nothing of the input. */
export function framingAnswer(kind: FramingErrorKind): WireResponse {
  const code = framingErrors[kind];
  return code === "COFRE-2" ? answerWithOtherStatus(code) : refusalAnswer(code);
}

/** The same answer as a WireError, for a request that is already in the pipeline. */
export function framingError(kind: FramingErrorKind): WireError {
  return refusal(framingErrors[kind]);
}

/**
 * Answers input that Node's parser refuses: not HTTP, too slow, too large a head. The connection
 * ends after the answer. Earlier requests on the same connection are answered first: they were run.
 */
export class UnreadableRequests {
  readonly #handled = new WeakSet<Socket>();
  /** The last request of each connection. */
  readonly #last = new WeakMap<Socket, IncomingMessage>();
  /** Requests followed by bytes that do not begin another request. */
  readonly #leftOver = new WeakSet<IncomingMessage>();
  readonly #report: (answer: WireResponse) => void;

  /** `report` is called for each answer to input that never became a request. */
  constructor(report: (answer: WireResponse) => void) {
    this.#report = report;
  }

  /** May be called again for the same connection: every further byte is another error. */
  handle(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    if (this.#handled.has(socket)) return;
    this.#handled.add(socket);
    const last = leftOverCodes.has(error.code ?? "") ? this.#last.get(socket) : undefined;
    if (last !== undefined) this.#leftOver.add(last);
    // The connection was opened ahead of its first request: an answer would be taken for that of
    // the first request (RFC 9110, section 15.5.9).
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) socket.destroy();
    else this.#end(error, socket);
  }

  /** Called for each request, in the order of its connection. */
  follow(request: IncomingMessage): void {
    this.#last.set(request.socket, request);
  }

  /**
   * Whether this request was followed by bytes that are not a request: part of its body, which is
   * longer than its length or has no length. Known for bytes that arrived in one chunk with the
   * request.
   */
  hasLeftOver(request: IncomingMessage): boolean {
    return this.#leftOver.has(request);
  }

  #end(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable) {
      // The last write may still be in progress; the code that ended the socket closes it.
      if (socket.writableFinished) socket.destroy();
      return;
    }
    const current: unknown = Reflect.get(socket, "_httpMessage");
    if (!isResponse(current)) {
      this.#report(endWith(socket, framingAnswer(kindOf(error, socket, false))));
      return;
    }
    if (current.req.complete) {
      // An earlier request. Before this is called, Node has made the next response of the queue
      // current, or closes the connection.
      current.once("finish", () => this.#end(error, socket));
    } else if (current.headersSent) socket.destroy();
    else endWith(socket, framingAnswer(kindOf(error, socket, true)));
  }
}

/**
 * Takes over a connection that Node has detached, and calls `onReady` when all earlier requests are
 * answered: Node no longer keeps the order. Never calls it if the connection ends with an answer.
 */
export function handedOver(socket: Socket, onReady: () => void): void {
  const ignore = (): void => undefined;
  // A reset in between would end the process.
  socket.on("error", ignore);
  const check = (): void => {
    if (!socket.writable) return;
    const current: unknown = Reflect.get(socket, "_httpMessage");
    if (isResponse(current)) {
      current.once("finish", check);
      return;
    }
    onReady();
    socket.off("error", ignore);
  };
  check();
}

/**
 * The defect of a head that Node's parser accepts, because a proxy in front may have read it
 * differently: no host or two of them (RFC 9112, section 3.2), or a body whose end is not clear
 * (RFC 1945, section 8.3; RFC 9112, section 6.1). `no_length`: a POST without a body according to
 * its head, although its client may send one (see `mayLackLength`).
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
  // Any coding other than `chunked`, also in front of it, leaves a body that this server cannot
  // read.
  if (
    coding !== undefined &&
    (httpVersionMinor === 0 || hasLength || !isClear || !onlyChunked.test(coding))
  )
    return "length_unclear";
  if (method !== "POST" || hasLength || coding !== undefined) return undefined;
  // In HTTP/1.0 the end of the connection ends a body without a length, but a client that waits for
  // an answer keeps it open.
  return httpVersionMinor === 0 ? "length_unclear" : "no_length";
}

/**
 * Whether a POST without a length is accepted as one without a body: it has its fields in the
 * address, as `curl -X POST` sends it, and no header that describes a body. Any other client has a
 * body to send, which may arrive after the head and would be read as the next request.
 */
export function mayLackLength({
  url = "",
  headers,
}: Pick<IncomingMessage, "url" | "headers">): boolean {
  return /\?[^#]/.test(url) && bodyHeaders.every((name) => headers[name] === undefined);
}

const bodyHeaders = ["content-type", "content-encoding", "expect"] as const;

/** Answers a connection without TLS at a TLS port. */
export function refusePlain(socket: Socket): WireResponse {
  return endWith(socket, framingAnswer("tls_missing"));
}

/** 200 would mean that the tunnel is open. */
export function refuseTunnel(socket: Socket): void {
  // Node no longer reads further input, nor checks the timeout.
  const destroy = (): unknown => socket.destroy();
  socket.on("error", destroy).on("timeout", destroy).resume();
  endWith(socket, answerWithOtherStatus("COFRE-10"));
}

/**
 * Whether a request with this head offers another protocol and has no body: only then can
 * `withoutOffer` rewrite it.
 */
export function isBareOffer({ headers }: IncomingMessage): boolean {
  return (
    headers.upgrade !== undefined &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined
  );
}

/**
 * The bytes of a request that offers another protocol, without the offer, and the bytes after it.
 * This server supports no other protocol, and Node discards what arrived in one chunk with an offer
 * that is not taken.
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

function endWith(socket: Socket, answer: WireResponse): WireResponse {
  const { status, code, body } = answer;
  const help = code === undefined ? "" : `Link: ${helpLinkOf(code)}\r\n`;
  const reason = process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "";
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n${help}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  return answer;
}
