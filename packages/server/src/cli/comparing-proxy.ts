import type { IncomingMessage, ServerResponse } from "node:http";
import { Collector, type ComparisonResult } from "../compare/collector.ts";
import {
  type ComparedRequest,
  Comparison,
  type Twin,
  type UpstreamAnswer,
} from "../compare/comparison.ts";
import { longestComparedBody, type RawAnswer } from "../compare/seen-answer.ts";
import { type Forwarder, type ForwardResult, openForwarder } from "../http-client/forwarder.ts";
import { wirePaths } from "../interface/paths.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { baseUrl } from "./banner.ts";
import { ClientProblem } from "./client-problem.ts";
import { CofreClient } from "./cofre-client.ts";
import type { TemporaryCofre } from "./command.ts";

/** As in http/server.ts. */
const { createServer } = process.getBuiltinModule("node:http");

/** Longest request body that is forwarded, in bytes. */
const longestBody = 1_048_576;
/** Answers that wait to be compared; further requests wait until they are. */
const mostWaiting = 32;
const mostConnections = 256;
/** Longest wait for the next bytes of an answer, in milliseconds. */
const defaultIdleMs = 120_000;
const twinIdleMs = 30_000;

export interface ComparingProxyOptions {
  readonly upstream: URL;
  /** 0 is a free port. */
  readonly port: number;
  readonly cofre: TemporaryCofre;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly idleMs?: number;
}

export interface ComparingProxy {
  readonly port: number;
  readonly result: () => ComparisonResult;
  /** Accepts no new requests, closes remaining ones after `graceMs`, and compares what is left. */
  close(graceMs: number): Promise<ComparisonResult>;
}

/**
 * Forwards requests to the upstream once and gives the client its answer, then compares Cofre's own
 * answer, one request after the other. Listens on 127.0.0.1. Rejects with the errors of listening.
 */
export async function openComparingProxy(options: ComparingProxyOptions): Promise<ComparingProxy> {
  const proxy = new Proxy(options);
  await proxy.prepare();
  const server = createServer((request, response) => {
    proxy.handle(request, response).catch(() => response.destroy());
  });
  server.maxConnections = mostConnections;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(options.port, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    result: () => proxy.collector.result(),
    async close(graceMs) {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeIdleConnections();
      const cancel = options.scheduler.after(graceMs, () => server.closeAllConnections());
      await closed.promise;
      cancel();
      await proxy.finish();
      return proxy.collector.result();
    },
  };
}

class Proxy {
  readonly collector = new Collector();
  readonly #upstream: URL;
  readonly #forwarder: Forwarder;
  readonly #twin: TwinCofre;
  readonly #comparison: Comparison;
  readonly #idleMs: number;
  /** Requests in flight, and answers that wait to be compared. */
  #work: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Requests that the upstream has not answered completely. */
  readonly #forwarding = new Set<Promise<ForwardResult>>();
  #deferred = 0;
  readonly #inFlight = new Set<Promise<void>>();

  constructor({
    upstream,
    cofre,
    scheduler,
    clock,
    idleMs = defaultIdleMs,
  }: ComparingProxyOptions) {
    this.#upstream = upstream;
    this.#idleMs = idleMs;
    this.#forwarder = openForwarder(scheduler, upstream, idleMs);
    this.#twin = new TwinCofre(cofre, scheduler);
    this.#comparison = new Comparison({ twin: this.#twin, collector: this.collector, clock });
  }

  /** The upstream notifies the client's receivers; Cofre's notifications would repeat that. */
  prepare(): Promise<void> {
    return this.#twin.silence();
  }

  handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const handled = this.#handle(incoming, response);
    const ended = handled.catch(() => undefined);
    this.#inFlight.add(ended);
    void ended.then(() => this.#inFlight.delete(ended));
    return handled;
  }

  /** Resolves when every answer has been compared. */
  async finish(): Promise<void> {
    await Promise.all(this.#inFlight);
    await this.#work;
    this.#forwarder.close();
    this.#twin.close();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const body = await bodyOf(incoming);
    if (body === undefined) {
      refuse(
        response,
        413,
        "The request is too long for cofre compare. Nothing was sent to the upstream.",
      );
      return;
    }
    if (this.#waiting >= mostWaiting) await this.#work;
    const { method = "GET", url: target = "/", rawHeaders } = incoming;
    const request = { method, target, headers: rawHeaders, body };
    const collected = new CollectedAnswer(response);
    const forwarding = this.#forwarder.forward(
      { ...request, headers: forwardedHeaders(request, this.#upstream.host), body },
      collected,
    );
    this.#forwarding.add(forwarding);
    const result = await forwarding.finally(() => this.#forwarding.delete(forwarding));
    if (result.kind === "failed") {
      const { status, text } = failureText(result, this.#idleMs);
      refuse(response, status, text);
    } else if (result.kind === "cut") response.destroy();
    else response.end();
    const answer = collected.answer(result);
    await this.#followsOthers(answer);
    this.#enqueue(request, answer);
  }

  /**
   * A refusal may follow from a concurrent request, such as the same payment sent twice, whose
   * answer is still on its way. Cofre gets that one first.
   */
  async #followsOthers(answer: UpstreamAnswer): Promise<void> {
    const isRefusal = typeof answer !== "string" && answer.body.includes('"ERROR"');
    if (!isRefusal || this.#forwarding.size === 0 || this.#deferred >= mostWaiting) return;
    this.#deferred += 1;
    await Promise.all(this.#forwarding);
    this.#deferred -= 1;
  }

  #enqueue(request: ComparedRequest, answer: UpstreamAnswer): void {
    this.#waiting += 1;
    this.#work = this.#work
      .then(() => this.#comparison.compare(request, answer))
      .catch(() => this.collector.notCompared("others", "twin_failed"))
      .finally(() => {
        request.body.fill(0);
        this.#waiting -= 1;
      });
  }
}

/** Gives the client the answer while it arrives, and keeps a copy of bounded length. */
class CollectedAnswer {
  readonly #response: ServerResponse;
  #head: { readonly status: number; readonly headers: readonly string[] } | undefined;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  head(head: {
    readonly status: number;
    readonly reason: string;
    readonly headers: readonly string[];
  }): void {
    this.#head = head;
    this.#response.sendDate = false;
    this.#response.writeHead(head.status, head.reason, withoutHopByHop(head.headers));
  }

  async data(piece: Buffer): Promise<void> {
    this.#length += piece.length;
    if (this.#length <= longestComparedBody) this.#pieces.push(piece);
    else this.#pieces = [];
    const response = this.#response;
    // A client that has gone does not end the upstream's answer, which is still compared.
    if (response.destroyed || response.write(piece)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    response.once("drain", resolve).once("close", resolve);
    await promise;
    response.off("drain", resolve).off("close", resolve);
  }

  answer(result: ForwardResult): UpstreamAnswer {
    if (result.kind === "failed" || this.#head === undefined) return "upstream_failed";
    if (result.kind === "cut") return "answer_cut";
    if (this.#length > longestComparedBody) return "answer_too_long";
    const { status, headers } = this.#head;
    return { status, headers, body: Buffer.concat(this.#pieces) };
  }
}

/** A Cofre in this process that answers the same requests. */
class TwinCofre implements Twin {
  readonly integrationKey: string;
  readonly publicIntegrationKey: string;
  readonly #host: string;
  readonly #forwarder: Forwarder;
  readonly #client: CofreClient;

  constructor(
    { host, port, integrationKey, publicIntegrationKey }: TemporaryCofre,
    scheduler: Scheduler,
  ) {
    const origin = new URL(baseUrl(host, port));
    this.#host = origin.host;
    this.integrationKey = integrationKey.reveal();
    this.publicIntegrationKey = publicIntegrationKey;
    this.#forwarder = openForwarder(scheduler, origin, twinIdleMs);
    this.#client = new CofreClient(origin.origin, integrationKey, scheduler);
  }

  async ask(request: ComparedRequest): Promise<RawAnswer | undefined> {
    let head: { readonly status: number; readonly headers: readonly string[] } | undefined;
    const pieces: Buffer[] = [];
    const { method, target, body } = request;
    const result = await this.#forwarder.forward(
      { method, target, headers: forwardedHeaders(request, this.#host), body },
      {
        head: (received) => (head = received),
        data: (piece) => void pieces.push(piece),
      },
    );
    return result.kind === "complete" && head !== undefined
      ? { status: head.status, headers: head.headers, body: Buffer.concat(pieces) }
      : undefined;
  }

  async silence(): Promise<void> {
    await this.#client.chaos({ drop: 1_000 });
  }

  async declineNext(reason: string): Promise<boolean> {
    return this.#change({ add: { kind: "decline", path: wirePaths.direct, reason } });
  }

  async clear(): Promise<void> {
    await this.#change({ clear: "all" });
  }

  async #change(change: Readonly<Record<string, unknown>>): Promise<boolean> {
    try {
      await this.#client.faults(change);
      return true;
    } catch (error) {
      if (!(error instanceof ClientProblem)) throw error;
      return false;
    }
  }

  close(): void {
    this.#forwarder.close();
  }
}

/** Headers of one connection: RFC 9110, section 7.6.1. */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Set again, or already answered by this proxy. */
const setAgain: ReadonlySet<string> = new Set(["host", "content-length", "expect"]);

function withoutHopByHop(
  headers: readonly string[],
  others: ReadonlySet<string> = new Set(),
): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = "", value = ""] = [headers[index], headers[index + 1]];
    const small = name.toLowerCase();
    if (!hopByHop.has(small) && !others.has(small)) kept.push(name, value);
  }
  return kept;
}

function forwardedHeaders({ headers, body }: ComparedRequest, host: string): readonly string[] {
  const hasLength = headers.some(
    (name, index) => index % 2 === 0 && /^(?:content-length|transfer-encoding)$/i.test(name),
  );
  return [
    "Host",
    host,
    ...withoutHopByHop(headers, setAgain),
    ...(hasLength || body.length > 0 ? ["Content-Length", String(body.length)] : []),
    "Connection",
    "close",
  ];
}

/** In separate memory; undefined: too long. Rejects when the client leaves before its end. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      length += piece.length;
      pieces.push(piece);
      if (length > longestBody) return undefined;
    }
    const body = Buffer.alloc(length);
    let at = 0;
    for (const piece of pieces) at += piece.copy(body, at);
    return body;
  } finally {
    for (const piece of pieces) piece.fill(0);
  }
}

type Failure = Extract<ForwardResult, { readonly kind: "failed" }>;

const causes: Readonly<Record<Failure["cause"], string>> = {
  timeout: "has not answered in time",
  refused: "refuses connections",
  unknown_host: "has an unknown host name",
  no_trust: "offers no TLS that this machine trusts",
  not_http: "answers something that is not HTTP",
  connection: "has closed the connection without an answer",
};

function failureText(
  { cause, isConnected }: Failure,
  idleMs: number,
): { readonly status: number; readonly text: string } {
  const advice = isConnected
    ? "It may have carried the request out: query before you repeat it."
    : "Nothing was sent.";
  const how =
    cause === "timeout" ? `has not answered within ${idleMs / 1_000} seconds` : causes[cause];
  return {
    status: cause === "timeout" ? 504 : 502,
    text: `The upstream ${how}. ${advice}`,
  };
}

/** An answer of this proxy itself, in the envelope that clients read. */
function refuse(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({
    status: "ERROR",
    status_code: `COMPARE-${status}`,
    status_message: text,
    message: text,
  });
  response
    .writeHead(status, {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": String(Buffer.byteLength(body)),
      Connection: "close",
    })
    .end(body);
}
