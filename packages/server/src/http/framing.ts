import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorAnswer, type WireAnswer } from "./wire/answer.ts";
import { type FramingErrorKind, framingErrors } from "./wire/framing-errors.ts";
import { requestErrors } from "./wire/request-errors.ts";

/** What Node's parser says of what it cannot read. The three that are missing are about a head or a body: see `kindOf`. */
const kinds: Readonly<Record<string, FramingErrorKind>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "too_slow",
  HPE_HEADER_OVERFLOW: "head_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "chunks_too_large",
  HPE_INVALID_URL: "address_unreadable",
  // Behind a blank in the address there is another word than the protocol's.
  HPE_INVALID_CONSTANT: "address_unreadable",
  HPE_INVALID_HEADER_TOKEN: "header_unreadable",
  HPE_INVALID_CONTENT_LENGTH: "length_unclear",
  HPE_UNEXPECTED_CONTENT_LENGTH: "length_unclear",
  HPE_INVALID_TRANSFER_ENCODING: "length_unclear",
  HPE_INVALID_CHUNK_SIZE: "length_unclear",
  HPE_INVALID_EOF_STATE: "cut_short",
};
const headOrBody: ReadonlySet<string> = new Set(["HPE_STRICT", "HPE_CR_EXPECTED", "HPE_LF_EXPECTED"]);
/** Of a name or an address and a port (RFC 3986, section 3.2.2), taken one by one. Empty is allowed. */
const hostBytes = /^[\w!$%&'()*+,.:;=[\]~-]*$/;
/** The first byte of a TLS handshake. */
const handshake = 0x16;

/** The answer to a request that is not understood as one of HTTP. Nothing of it is in the answer. */
export function framingAnswer(kind: FramingErrorKind): WireAnswer {
  const { code, message, httpStatus } = framingErrors[kind];
  return errorAnswer(code, message, httpStatus);
}

/**
 * Answers what Node's parser gives up on: no HTTP, too slow, too large a head. The connection ends behind it. Requests before it on
 * the same connection are answered first: they were run.
 */
export class UnreadableRequests {
  readonly #met = new WeakSet<Socket>();
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
    this.#end(error, socket);
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
      // An earlier one. Node has put the next of the row in its place when this is called, or closes.
      current.once("finish", () => this.#end(error, socket));
    } else if (current.headersSent) socket.destroy();
    else endWith(socket, framingAnswer(kindOf(error, socket, true)));
  }
}

/**
 * Takes a connection over that Node has let go of, and goes on once all that was asked before is answered: Node no longer keeps the
 * order. Never, when the connection ends with an answer.
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

/** What is wrong with the host that a request names (RFC 9112, section 3.2): of two, a proxy in front may have believed the other. */
export function hostTrouble({ httpVersionMinor, rawHeaders }: IncomingMessage): "host_missing" | "host_unclear" | undefined {
  let host: string | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined) return "host_unclear";
    host = rawHeaders[index + 1] ?? "";
  }
  if (host === undefined) return httpVersionMinor > 0 ? "host_missing" : undefined;
  return hostBytes.test(host) ? undefined : "host_unclear";
}

/** Answers on a connection without TLS at a port that has it. */
export function refusePlain(socket: Socket): WireAnswer {
  return endWith(socket, framingAnswer("tls_missing"));
}

/** 200 would mean that the tunnel stands. */
export function refuseTunnel(socket: Socket): void {
  // Node no longer reads what else comes, nor looks at the time.
  const destroy = (): unknown => socket.destroy();
  socket.on("error", destroy).on("timeout", destroy).resume();
  const { code, message } = requestErrors.method_not_allowed;
  endWith(socket, errorAnswer(code, message, 405));
}

/** Whether a request with this head offers another protocol and has no body: only then can `withoutOffer` write it anew. */
export function isBareOffer({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
}

/**
 * The bytes of a request that offers another protocol, without the offer, and what came behind it: nobody here speaks another one, and
 * Node forgets what came in one piece with an offer that is not taken.
 */
export function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage, behind: Buffer): Buffer {
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
  const kind = kinds[code];
  if (kind !== undefined) return kind;
  const packet: unknown = Reflect.get(error, "rawPacket");
  const isPlain = Reflect.get(socket, "encrypted") !== true;
  return isPlain && Buffer.isBuffer(packet) && packet[0] === handshake ? "tls_unexpected" : "not_http";
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
