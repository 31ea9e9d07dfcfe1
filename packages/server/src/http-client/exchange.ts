import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Scheduler } from "../kernel/scheduler.ts";

/** Not imports: see http/server.ts. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: URL;
  /** Complete. As a list, names and values alternate, as sent on the wire. */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  readonly body: Uint8Array | undefined;
  /**
   * Time limit of the whole exchange: name resolution, connection, TLS, sending, waiting and
   * reading.
   */
  readonly leftMs: number;
  /** Longest body of an answer in bytes. */
  readonly largestAnswer: number;
  /** Whether the body of an answer with this status is read; by default, always. */
  readonly reads?: (status: number) => boolean;
  /** Ends the exchange before its time limit. */
  readonly signal?: AbortSignal | undefined;
}

export type HttpOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** Empty if it is not read. */
      readonly body: Buffer;
      /** false: the body ends with its connection, and may have been cut short. */
      readonly isFramed: boolean;
    }
  | {
      readonly kind: "failed";
      readonly cause: "timeout" | "refused" | "connection" | "too_long";
      /** false: with certainty, no byte of the request has left the process. */
      readonly isConnected: boolean;
    };

export interface HttpExchanges {
  /**
   * Sends one request once: node:http does not retry by itself, and neither does this. Redirects
   * are not followed. Never rejects. When it resolves, no byte of the body is read any more, so the
   * caller may wipe it.
   */
  exchange(request: HttpRequest): Promise<HttpOutcome>;
  /** Closes idle connections. */
  close(): void;
}

export interface HttpExchangesOptions {
  readonly scheduler: Scheduler;
  readonly protocol: "http:" | "https:";
  /**
   * false: each request has its own connection. Stray bytes on a connection can then never be taken
   * for the answer to a later request, and no request uses a connection that the other side is
   * closing. TLS sessions are resumed. Only plain HTTP may keep connections.
   */
  readonly keepsConnections: boolean;
  readonly maxSockets: number;
  /** PEM certificates that are trusted instead of the system's. */
  readonly ca?: string | undefined;
  /** Time limit of the connection and TLS, within the limit of the whole exchange. */
  readonly connectMs?: number;
}

/**
 * Outgoing HTTP requests that must not be sent twice, or whose sender must know whether they were
 * sent. Notifications have a sender of their own (delivery/egress.ts): they go to thousands of
 * unknown addresses, each of which is checked before it is connected, and may be sent again.
 */
export function openExchanges(options: HttpExchangesOptions): HttpExchanges {
  const agent = agentOf(options);
  return {
    exchange: (request) => new Exchange(options, agent).run(request),
    close: () => agent.destroy(),
  };
}

function agentOf({ protocol, keepsConnections, maxSockets, ca }: HttpExchangesOptions): Agent {
  const pool = { keepAlive: keepsConnections, maxSockets };
  return protocol === "http:"
    ? new http.Agent(pool)
    : new https.Agent({
        ...pool,
        keepAlive: false,
        minVersion: "TLSv1.2",
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca }),
      });
}

/** One request and its answer. */
class Exchange {
  readonly #options: HttpExchangesOptions;
  readonly #agent: Agent;
  readonly #ended = Promise.withResolvers<HttpOutcome>();
  #isAnswering = false;
  /**
   * What is written before the connection is established and TLS has completed stays in this
   * process.
   */
  #isConnected = false;

  constructor(options: HttpExchangesOptions, agent: Agent) {
    this.#options = options;
    this.#agent = agent;
  }

  async run({
    method,
    url,
    headers,
    body,
    leftMs,
    signal,
    ...reading
  }: HttpRequest): Promise<HttpOutcome> {
    const { scheduler, protocol, connectMs } = this.#options;
    const open = protocol === "https:" ? https.request : http.request;
    const request: ClientRequest = open(url, { agent: this.#agent, method, headers });
    this.#watchConnection(request);
    const cancels = [scheduler.after(leftMs, () => this.#fail("timeout"))];
    if (connectMs !== undefined && connectMs < leftMs)
      cancels.push(
        scheduler.after(connectMs, () => {
          if (!this.#isConnected) this.#fail("connection");
        }),
      );
    const abort = (): void => this.#fail("timeout");
    signal?.addEventListener("abort", abort, { once: true });
    cancels.push(() => signal?.removeEventListener("abort", abort));
    if (signal?.aborted === true) abort();
    request.on("error", (error) => {
      if (!this.#isAnswering) this.#fail(isRefusal(error) ? "refused" : "connection");
    });
    request.on("close", () => {
      if (!this.#isAnswering) this.#fail("connection");
    });
    // Once an answer has begun, `answerOf` decides whether it is complete.
    request.on("response", (response: IncomingMessage) => {
      this.#isAnswering = true;
      answerOf(response, reading).then(
        (answer) => (answer === undefined ? this.#fail("too_long") : this.#ended.resolve(answer)),
        () => this.#fail("connection"),
      );
    });
    request.end(body);
    const outcome = await this.#ended.promise;
    for (const cancel of cancels) cancel();
    // After an incomplete answer the connection must not be used again. It ends before the caller
    // wipes the body, so that zeros are not sent in its place.
    if (!this.#options.keepsConnections || !isWhole(outcome, reading)) request.destroy();
    return outcome;
  }

  #watchConnection(request: ClientRequest): void {
    const { protocol, keepsConnections } = this.#options;
    request.on("socket", (socket) => {
      if (keepsConnections && !socket.connecting) this.#isConnected = true;
      else
        socket.once(protocol === "https:" ? "secureConnect" : "connect", () => {
          this.#isConnected = true;
        });
    });
  }

  #fail(cause: Extract<HttpOutcome, { readonly kind: "failed" }>["cause"]): void {
    this.#ended.resolve({ kind: "failed", cause, isConnected: this.#isConnected });
  }
}

type Reading = Pick<HttpRequest, "largestAnswer" | "reads">;

/** undefined: the body is too long. Rejects when the connection ends before the body. */
async function answerOf(
  response: IncomingMessage,
  { largestAnswer, reads = () => true }: Reading,
): Promise<HttpOutcome | undefined> {
  const { statusCode: status = 0, headers } = response;
  const pieces: Buffer[] = [];
  if (reads(status)) {
    let length = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > largestAnswer) return undefined;
      pieces.push(piece);
    }
  }
  const isFramed =
    response.complete &&
    (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined);
  const body = Buffer.concat(pieces);
  // The caller may wipe the body, so no copy of it is left here.
  for (const piece of pieces) piece.fill(0);
  return { kind: "answered", status, headers, body, isFramed };
}

function isWhole(outcome: HttpOutcome, { reads = () => true }: Reading): boolean {
  return outcome.kind === "answered" && reads(outcome.status);
}

/** A name such as localhost has several addresses, each with its own error. */
function isRefusal(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefusal);
  return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
}
