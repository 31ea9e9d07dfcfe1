import type { ClientRequest, IncomingMessage } from "node:http";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { NotSent, Unknown } from "../connector.ts";

/** Not imports: see http/server.ts. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

export interface Exchange {
  /** Such as `/ws/direct`. */
  readonly path: string;
  /** Owned and wiped by the exchange: it may hold a PAN. */
  readonly body: Buffer;
  /**
   * Time limit of the whole exchange: name resolution, connection, TLS, sending, waiting and
   * reading.
   */
  readonly leftMs: number;
}

/** The JSON of a complete answer with status 200. */
export type Told = { readonly kind: "told"; readonly answer: unknown };

export interface Exchanges {
  /**
   * Sends one request once: node:http does not retry by itself, and neither does this. Never
   * rejects.
   */
  exchange(exchange: Exchange): Promise<Told | NotSent | Unknown>;
  close(): void;
}

export interface ExchangeOptions {
  readonly scheduler: Scheduler;
  /** `https://host[:port]`, or `http://` on loopback. */
  readonly address: URL;
  /** PEM certificates that are trusted instead of the system's. */
  readonly ca: string | undefined;
}

/** A payment with a hundred refunds, each with a description of 1,500 characters. */
const largestAnswer = 1_048_576;
const mostSockets = 256;
/** A host that drops packets must not use up the time in which another acquirer could be tried. */
const connectMs = 5_000;

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };
const disconnected: Unknown = { kind: "unknown", cause: "connection" };
const garbled: Unknown = { kind: "unknown", cause: "garbled" };
const refusedToSay: Unknown = { kind: "unknown", cause: "refused_to_say" };
const notSent: NotSent = { kind: "not_sent" };

/**
 * The only path to the upstream. Each request has its own connection: stray bytes on a connection
 * can then never be taken for the answer to a later request, and no request uses a connection that
 * the other side is closing. TLS sessions are resumed.
 */
export function openExchanges({ scheduler, address, ca }: ExchangeOptions): Exchanges {
  const isTls = address.protocol === "https:";
  const agent = isTls
    ? new https.Agent({
        keepAlive: false,
        maxSockets: mostSockets,
        minVersion: "TLSv1.2",
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca }),
      })
    : new http.Agent({ keepAlive: false, maxSockets: mostSockets });
  const open = isTls ? https.request : http.request;

  return {
    exchange: ({ path, body, leftMs }) =>
      new Promise((resolve) => {
        const headers = {
          "content-type": "application/json",
          "content-length": body.length,
          accept: "application/json",
        };
        const request: ClientRequest = open(new URL(path, address), {
          agent,
          method: "POST",
          headers,
        });
        let settled = false;
        let isAnswering = false;
        // What is written before the connection is established and TLS has completed stays in this
        // process.
        let isConnected = false;
        request.on("socket", (socket) =>
          socket.once(isTls ? "secureConnect" : "connect", () => (isConnected = true)),
        );
        const cancel = scheduler.after(leftMs, () => settle(timedOut));
        const cancelConnect = scheduler.after(Math.min(connectMs, leftMs), () => {
          if (!isConnected) settle(disconnected);
        });

        function settle(heard: Told | Unknown): void {
          if (settled) return;
          settled = true;
          cancel();
          cancelConnect();
          // Destroy the connection before wiping the bytes, so that zeros are not sent in place of
          // digits.
          request.destroy();
          body.fill(0);
          resolve(heard.kind === "unknown" && !isConnected ? notSent : heard);
        }

        request.on("error", () => {
          if (!isAnswering) settle(disconnected);
        });
        request.on("close", () => {
          if (!isAnswering) settle(disconnected);
        });
        // Once an answer has begun, `collect` decides whether it is complete.
        request.on("response", (response: IncomingMessage) => {
          isAnswering = true;
          collect(response).then(settle, () => settle(disconnected));
        });
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

async function collect(response: IncomingMessage): Promise<Told | Unknown> {
  const status = response.statusCode ?? 0;
  if (status >= 500) return refusedToSay;
  if (status !== 200) return garbled;
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response) {
    if (!Buffer.isBuffer(piece)) return garbled;
    length += piece.length;
    if (length > largestAnswer) return garbled;
    pieces.push(piece);
  }
  // An answer without a length ends with its connection: it may have been cut short.
  if (
    !response.complete ||
    (response.headers["content-length"] === undefined &&
      response.headers["transfer-encoding"] === undefined)
  ) {
    return disconnected;
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
    return { kind: "told", answer: JSON.parse(text) };
  } catch {
    return garbled;
  }
}
