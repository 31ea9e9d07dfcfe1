import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { answers, headNotAllowed, noContent } from "./static-responses.ts";
import {
  framingAnswer,
  handedOver,
  headTrouble,
  isBareOffer,
  mayLackLength,
  refusePlain,
  refuseTunnel,
  UnreadableRequests,
  withoutOffer,
} from "./framing.ts";
import { allowHeaders, pageAllowHeaders, preflightHeaders, RequestHeaders } from "./headers.ts";
import { Admission } from "./admission.ts";
import type { AllowsPeer } from "./plain-peers.ts";
import { RequestBodies } from "./request-body.ts";
import { type PipelineServices, RequestPipeline } from "./request-pipeline.ts";
import { writeAnswer } from "./response-writer.ts";
import { isInterfacePath, pathOf, queryOf, Routes } from "./routes.ts";
import { type TlsCredentials, TlsListener } from "./tls-listener.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { ServedEndpoint } from "../wire/endpoint.ts";
import { healthProbes, type ServerHealth } from "../wire/endpoints/health.ts";
import type { FramingErrorKind } from "../wire/decode/framing-errors.ts";

/**
 * An import would evaluate every export of the module, one of which loads a WebSocket client: 15 MB
 * and 50 ms of each start.
 */
const { createServer } = process.getBuiltinModule("node:http");

export interface HttpServerOptions extends PipelineServices {
  readonly endpoints: readonly ServedEndpoint[];
  readonly clock: Clock;
  readonly health: {
    /** In any state but `ready`, /readyz answers 503, so that load balancers send no requests. */
    state(): ServerHealth["state"];
    /** Jobs that fail: requests are served, and /readyz names the jobs. Default: none. */
    failingJobs?(): readonly string[];
    /** Checks of production that fail and refuse nothing. Default: none. */
    alarms?(): readonly string[];
    /** Whether an order has stopped card operations, as /readyz reports. Default: never. */
    areCardsStopped?(): boolean;
  };
  readonly limits: HttpLimits;
  /** Which clients may connect without TLS; others are closed immediately. Default: all. */
  readonly allowsPlain?: AllowsPeer | undefined;
  /**
   * Whether an account is a world, which any client that reaches the server may create. Default: no
   * account is.
   */
  readonly isWorld?: (merchantId: MerchantId) => boolean;
}

export interface HttpLimits {
  readonly maxBodyBytes: number;
  /** Further connections are closed immediately. */
  readonly maxConnections: number;
  /** Requests in progress; further ones are answered 503 before their body is read. */
  readonly maxInFlight: number;
  /**
   * Of these, the requests of one account; further ones are answered 429. Default: as many as other
   * accounts leave it.
   */
  readonly maxInFlightOfAccount?: number | undefined;
  /**
   * Of these, the requests of one connection, so that no client can occupy all places. Default: 32.
   */
  readonly maxInFlightOfConnection?: number;
  /** Bytes of all bodies that are being received. Default: 64 MiB. */
  readonly maxBodiesBytes?: number;
  /** Idle time between two requests on one connection. Default: 75 s. */
  readonly keepAliveMs?: number;
  /**
   * A connection without traffic for this time, and without a request in progress, is closed.
   * Default: 60 s.
   */
  readonly stalledMs?: number;
}

export const defaultHttpLimits: HttpLimits = {
  maxBodyBytes: 256 * 1024,
  maxConnections: 4_096,
  maxInFlight: 1_024,
};

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * From the first byte of a request's head to the last, and to the last byte of its body: slower
 * clients are disconnected.
 */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
/** How often Node checks for requests that are too slow. */
const slownessCheckMs = 2_000;
/**
 * Longer than load balancers keep an idle connection, mostly 60 s: a request that they send on a
 * connection that is being closed here has an unknown outcome.
 */
const defaultKeepAliveMs = 75_000;
const maxHeadBytes = 16 * 1024;
const defaultInFlightOfConnection = 32;
/** The share of all places that all worlds together may use. */
const worldsShare = 1 / 2;
const defaultBodiesBytes = 64 * 1024 * 1024;
const defaultStalledMs = 60_000;

/**
 * Listens, reads the heads of requests and finds their endpoints. framing.ts refuses input that is
 * not HTTP, and request-pipeline.ts answers the rest. Each request is one event of the access log,
 * which contains nothing that the client wrote.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  #port: number | undefined;
  readonly #routes: Routes;
  readonly #server: Server;
  readonly #unreadable: UnreadableRequests;
  readonly #admission: Admission;
  readonly #pipeline: RequestPipeline;
  #tls: TlsListener | undefined;
  /**
   * Connections that close after the current response. Pipelined requests on them are dropped: they
   * could not be answered.
   */
  readonly #ending = new WeakSet<Socket>();
  #isStopping = false;
  #isGivenUp = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#routes = new Routes(options.endpoints);
    this.#admission = admissionOf(options);
    this.#server = createServer(
      {
        insecureHTTPParser: false,
        // Node's own refusal has no body.
        requireHostHeader: false,
        maxHeaderSize: maxHeadBytes,
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        connectionsCheckingInterval: slownessCheckMs,
        keepAliveTimeout: options.limits.keepAliveMs ?? defaultKeepAliveMs,
        shouldUpgradeCallback: isBareOffer,
      },
      (request, response) => this.#onRequest(request, response),
    );
    this.#server.maxConnections = options.limits.maxConnections;
    // A client that half-closed the connection still gets its answer; otherwise a charge could
    // succeed without one. Node has had this option since its early days without documenting it; a
    // test verifies it.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // A client that sends and does not read would keep its connection indefinitely.
    this.#server.setTimeout(options.limits.stalledMs ?? defaultStalledMs, (socket) => {
      if (this.#admission.inFlightOn(socket) === 0) socket.destroy();
    });
    this.#unreadable = new UnreadableRequests((answer) =>
      this.#report("other", "unknown", answer, undefined, options.clock.now()),
    );
    const { limits } = options;
    const bodyLimits = {
      maxBodyBytes: limits.maxBodyBytes,
      maxBodiesBytes: limits.maxBodiesBytes ?? defaultBodiesBytes,
    };
    this.#pipeline = new RequestPipeline({
      ...options,
      admission: this.#admission,
      bodies: new RequestBodies(bodyLimits, () => this.#admission.countRefusal("bodies")),
      hasLeftOver: (request) => this.#unreadable.hasLeftOver(request),
      endBehind: (request, response) => this.#endBehind(request, response),
      write: (response, answer, cors) => this.#write(response, answer, cors),
      report: ({ isHead, method, endpoint, startedAt }, answer, merchantId) =>
        this.#report(isHead ? "HEAD" : method, endpoint.path, answer, merchantId, startedAt),
    });
    const { allowsPlain } = options;
    if (allowsPlain !== undefined)
      this.#server.prependListener("connection", (socket: Socket) => {
        if (!("encrypted" in socket) && !allowsPlain(socket)) socket.destroy();
      });
    this.#server.on("clientError", (error, socket: Socket) =>
      this.#unreadable.handle(error, socket),
    );
    this.#server.on("connect", (_request, socket: Socket) =>
      handedOver(socket, () => refuseTunnel(socket)),
    );
    this.#server.on("upgrade", (request, socket: Socket, behind) => {
      handedOver(socket, () => {
        if (this.#isGivenUp) {
          socket.destroy();
          return;
        }
        socket.unshift(withoutOffer(request, behind));
        this.#server.emit("connection", socket);
      });
    });
    this.#server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
      this.#refuseFraming(request, response, "unknown_expectation");
    });
  }

  /**
   * Resolves when the server accepts requests; port 0 selects a free one. Rejects if the address is
   * not available.
   */
  async listen(port: number, host: string): Promise<Address> {
    const address = await listening(this.#server, port, host);
    this.#port = address.port;
    return address;
  }

  /** The port of plain HTTP; undefined before the server listens. */
  get port(): number | undefined {
    return this.#port;
  }

  /**
   * Accepts the same requests over TLS, at a separate port, with the same number of additional
   * connections. Called once at most.
   */
  listenTls(port: number, host: string, credentials: TlsCredentials): Promise<Address> {
    assert(this.#tls === undefined, "a server listens with TLS once");
    const { limits, clock } = this.#options;
    this.#tls = new TlsListener(credentials, limits.maxConnections, {
      take: (socket) => this.#server.emit("connection", socket),
      refusePlain: (socket) =>
        this.#report("other", "unknown", refusePlain(socket), undefined, clock.now()),
    });
    return listening(this.#tls.server, port, host);
  }

  /** Sets the certificate for new TLS connections. */
  renewTls(credentials: TlsCredentials): void {
    this.#tls?.renew(credentials);
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#admission.inFlight;
  }

  /**
   * Accepts no further connections and requests, finishes those in progress, closes the rest.
   * Resolves when all work has settled and all connections are closed. May be called again.
   */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#options.faults?.close();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#server.closeIdleConnections();
    await Promise.all([closed, this.#tls?.close()]);
    // Requests whose clients left are still in progress, although their connections are closed.
    if (!this.#isGivenUp) await this.#admission.empty();
  }

  /**
   * Closes all connections. Work in progress continues without an answer, and `close` no longer
   * waits for it.
   */
  closeAllConnections(): void {
    this.#isGivenUp = true;
    this.#options.faults?.close();
    this.#server.closeAllConnections();
    this.#admission.giveUp();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (this.#ending.has(request.socket)) return;
    this.#unreadable.follow(request);
    // Node's parser accepts HTTP/0.9 and a claimed HTTP/2.0; they frame requests in other ways.
    if (request.httpVersionMajor !== 1) return this.#refuseFraming(request, response, "not_http");
    const trouble = headTrouble(request);
    if (trouble !== undefined && trouble !== "no_length")
      return this.#refuseFraming(request, response, trouble);
    // It has a body, so it cannot be rewritten without the offer: Node discards the bytes after it,
    // and the client has to know.
    if (request.headers.upgrade !== undefined) this.#endBehind(request, response);
    const target = request.url ?? "/";
    const path = pathOf(target);
    if (trouble === "no_length") {
      if (isInterfacePath(path) && !mayLackLength(request))
        return this.#refuseFraming(request, response, "length_missing");
      // The bytes after it may be its body.
      this.#endBehind(request, response);
    }
    const endpoint = this.#routes.match(path);
    if (endpoint === undefined) return this.#answerWithoutEndpoint(request, response, path);
    // Only GET and POST run an operation: a link checker's HEAD of a capture's address changes
    // nothing.
    const isHead = request.method === "HEAD" && isPage(endpoint);
    const method = isHead ? "GET" : request.method;
    if (method !== "GET" && method !== "POST")
      return this.#answerOtherMethod(request, response, endpoint);

    const startedAt = this.#options.clock.now();
    const headers = new RequestHeaders(request.rawHeaders);
    if (this.#isStopping) return this.#refuse("stopping", request, response, endpoint);
    // Other nodes would consider its attempts overdue while their requests are still on the way.
    if (endpoint.movesMoney === true && this.#options.health.state() === "clock_off") {
      return this.#refuse("clock_off", request, response, endpoint);
    }
    if (this.#admission.isFull) {
      this.#admission.countRefusal("in_flight");
      return this.#refuse("overloaded", request, response, endpoint);
    }
    void this.#pipeline.run({
      request,
      response,
      endpoint,
      method,
      isHead,
      target,
      headers,
      startedAt,
    });
  }

  #refuse(
    kind: "overloaded" | "stopping" | "clock_off",
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: ServedEndpoint,
  ): void {
    const startedAt = this.#options.clock.now();
    this.#write(response, answers[kind], endpoint.cors);
    this.#report(knownMethod(request), endpoint.path, answers[kind], undefined, startedAt);
  }

  #answerOtherMethod(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: ServedEndpoint,
  ): void {
    const startedAt = this.#options.clock.now();
    let answer: WireResponse = answers.method_not_allowed;
    if (request.method === "OPTIONS") {
      answer = noContent;
      response
        .writeHead(
          answer.status,
          endpoint.cors ? preflightHeaders : isPage(endpoint) ? pageAllowHeaders : allowHeaders,
        )
        .end();
    } else if (request.method === "HEAD") {
      // An answer to HEAD has no body, so the status has to carry the refusal.
      answer = headNotAllowed;
      response.writeHead(answer.status, allowHeaders).end();
    } else {
      this.#write(response, answer, endpoint.cors);
    }
    this.#report(knownMethod(request), endpoint.path, answer, undefined, startedAt);
  }

  #answerWithoutEndpoint(request: IncomingMessage, response: ServerResponse, path: string): void {
    const startedAt = this.#options.clock.now();
    const probe = healthProbes.find((each) => each.path === path);
    if (probe !== undefined) {
      // Every load balancer probes every second: probes are not logged.
      const { health } = this.#options;
      const probed = () => ({
        isStopping: this.#isStopping,
        state: health.state(),
        failing: health.failingJobs?.() ?? [],
        alarms: health.alarms?.() ?? [],
        areCardsStopped: health.areCardsStopped?.() ?? false,
      });
      const answer = probe.answer(probed, queryOf(request.url ?? "/"));
      this.#write(response, answer, false);
      return;
    }
    const answer = isInterfacePath(path) ? answers.unknown_operation : answers.not_found;
    this.#write(response, answer, false);
    this.#report(knownMethod(request), "unknown", answer, undefined, startedAt);
  }

  /**
   * Answers what Node accepts, or would refuse with an empty body, like input that its parser
   * refuses, and ends the connection.
   */
  #refuseFraming(request: IncomingMessage, response: ServerResponse, kind: FramingErrorKind): void {
    const startedAt = this.#options.clock.now();
    const answer = framingAnswer(kind);
    this.#endBehind(request, response);
    this.#write(response, answer, false);
    this.#report(knownMethod(request), "unknown", answer, undefined, startedAt);
  }

  #endBehind({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#ending.add(socket);
    response.shouldKeepAlive = false;
  }

  #report(
    method: string,
    path: string,
    answer: WireResponse,
    merchantId: string | undefined,
    startedAt: number,
  ): void {
    const { status, code } = answer;
    const durationMs = this.#options.clock.now() - startedAt;
    this.#options.log.write({
      event: "request",
      method,
      path,
      status,
      code,
      merchantId,
      durationMs,
    });
  }

  #write(response: ServerResponse, answer: WireResponse, cors: boolean): void {
    if (this.#isStopping) response.shouldKeepAlive = false;
    writeAnswer(response, answer, cors);
  }
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  return new HttpServer(options);
}

async function listening(
  server: Server | TlsListener["server"],
  port: number,
  host: string,
): Promise<Address> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  assert(
    typeof address === "object" && address !== null,
    "a server that listens on TCP has an address",
  );
  return { host: address.address, port: address.port };
}

function isPage(endpoint: ServedEndpoint): boolean {
  return endpoint.key === "none" && endpoint.isPage === true;
}

function admissionOf({ limits, clock, log, isWorld, faults }: HttpServerOptions): Admission {
  const {
    maxInFlight,
    maxInFlightOfAccount,
    maxInFlightOfConnection = defaultInFlightOfConnection,
  } = limits;
  return new Admission({
    limits: {
      max: maxInFlight,
      maxPerAccount: maxInFlightOfAccount,
      maxForWorlds: Math.max(1, Math.floor(maxInFlight * worldsShare)),
    },
    maxPerConnection: maxInFlightOfConnection,
    clock,
    log,
    isWorld: (merchantId) => isWorld?.(merchantId) === true,
    hasFaults: faults !== undefined,
  });
}

/** The method is client input: only known words are logged. */
function knownMethod({ method }: IncomingMessage): string {
  return method === "GET" || method === "POST" || method === "HEAD" || method === "OPTIONS"
    ? method
    : "other";
}
