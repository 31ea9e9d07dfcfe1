import type { IncomingMessage, ServerResponse } from "node:http";
import { requestError } from "../wire/decode/request-errors.ts";

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Bytes of all bodies that are being received at one time. */
  readonly maxBodiesBytes: number;
}

/**
 * A larger body is read and discarded up to this multiple of the limit, so that the client receives
 * the answer instead of a reset.
 */
const drainFactor = 16;

/** The client closed the connection before its request was complete. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Receives request bodies, within a limit for each and one for all together. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  /** Called when a body is refused because of the limit for all bodies. */
  readonly #overloaded: () => void;
  #bytes = 0;

  constructor(limits: BodyLimits, overloaded: () => void) {
    this.#limits = limits;
    this.#overloaded = overloaded;
  }

  /**
   * The whole body in separate memory, which the caller may overwrite; undefined if it is empty.
   * Rejects with WireError or ClientGone.
   */
  read(request: IncomingMessage, response: ServerResponse): Promise<Buffer | undefined> {
    const { maxBodyBytes, maxBodiesBytes } = this.#limits;
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = [];
      let length = 0;
      let refusal: "too_large" | "overloaded" | undefined;
      const release = (): void => {
        for (const chunk of chunks) this.#bytes -= chunk.length;
        chunks = [];
      };
      const wipe = (): void => {
        for (const chunk of chunks) chunk.fill(0);
        release();
      };
      request.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBodyBytes) refusal = "too_large";
        else if (this.#bytes + chunk.length > maxBodiesBytes && refusal === undefined) {
          refusal = "overloaded";
          this.#overloaded();
        }
        chunks.push(chunk);
        this.#bytes += chunk.length;
        if (refusal === undefined) return;
        wipe();
        if (length > maxBodyBytes * drainFactor) {
          request.pause();
          response.shouldKeepAlive = false;
          reject(requestError(refusal));
        }
      });
      request.on("end", () => {
        if (refusal !== undefined) {
          reject(requestError(refusal));
          return;
        }
        const [first] = chunks;
        const body = chunks.length > 1 ? together(chunks, length) : first;
        if (chunks.length > 1) wipe();
        else release();
        resolve(body);
      });
      request.on("close", () => {
        if (request.complete) return;
        wipe();
        reject(new ClientGone("the connection was closed before the request was complete"));
      });
    });
  }
}

/** Joins several chunks into one body. The chunks stay the caller's. */
function together(chunks: readonly Buffer[], length: number): Buffer {
  const body = Buffer.alloc(length);
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(body, at);
  return body;
}
