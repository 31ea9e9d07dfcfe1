import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { openExchanges } from "../http-client/exchange.ts";
import { isLoopbackHost } from "../config/readers.ts";
import type { Scheduler } from "../kernel/scheduler.ts";

/**
 * As in http/server.ts: an import would read every export, and with one of them load a WebSocket
 * client.
 */
const { createServer } = process.getBuiltinModule("node:http");

export interface Exchange {
  readonly method: "GET" | "POST";
  readonly url: URL;
  /** Names and values alternate, as sent on the wire. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** For the whole exchange, including the answer's body. */
  readonly timeoutMs: number;
}

export type Exchanged =
  | { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }
  | { readonly failure: "refused" | "timeout" | "cut" };

/**
 * About twice the size of the longest answer: a list of the maximum number of worlds, each with the
 * longest names and all snapshots.
 */
const longestAnswer = 33_554_432;
const longestBody = 1_048_576;

/** One request over plain HTTP on its own connection; redirects are not followed. Never rejects. */
export async function exchange(
  scheduler: Scheduler,
  { method, url, headers, body, timeoutMs }: Exchange,
): Promise<Exchanged> {
  const exchanges = openExchanges({
    scheduler,
    protocol: "http:",
    keepsConnections: false,
    maxSockets: 1,
  });
  const outcome = await exchanges.exchange({
    method,
    url,
    headers: [...headers, "Content-Length", String(body.length)],
    body,
    leftMs: timeoutMs,
    largestAnswer: longestAnswer,
  });
  if (outcome.kind === "answered") return outcome;
  const { cause } = outcome;
  return { failure: cause === "timeout" || cause === "refused" ? cause : "cut" };
}

export interface Received {
  readonly method: string;
  /** Names and values alternate, unchanged. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Receiver {
  readonly port: number;
  /** Accepts no new requests, and closes remaining ones after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on 127.0.0.1; 0 is a free port. Rejects with the errors of listening, such as EADDRINUSE
 * when the port is taken. `answer` never rejects.
 */
export async function openReceiver(
  scheduler: Scheduler,
  port: number,
  answer: (received: Received) => Promise<Answer>,
): Promise<Receiver> {
  const server = createServer((incoming, response) => {
    contentOf(incoming, longestBody)
      .then(async (body) => {
        const { method = "", rawHeaders, headers } = incoming;
        const answered: Answer =
          body === undefined
            ? { status: 413, headers: {} }
            : await answer({ method, rawHeaders, headers, body });
        response
          .writeHead(answered.status, {
            ...answered.headers,
            Connection: "close",
            "Content-Length": "0",
          })
          .end();
      })
      .catch(() => response.destroy());
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    async close(graceMs) {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      const cancel = scheduler.after(graceMs, () => server.closeAllConnections());
      await closed.promise;
      cancel();
    },
  };
}

/** undefined when there are more than `maxBytes` bytes. */
async function contentOf(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of message as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/**
 * Whether this URL's host is on this machine, by its form: only such hosts are contacted without
 * TLS.
 */
export function isLoopback(url: URL): boolean {
  return url.protocol === "http:" && isLoopbackHost(url.hostname);
}
