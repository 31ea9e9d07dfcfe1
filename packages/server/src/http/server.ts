import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { Account, AccountSettings, SimulatorTreatment } from "../merchant/account.ts";
import { errorFacts } from "../logging/error-facts.ts";
import type { Log } from "../logging/log-event.ts";
import type { KeyHolder } from "../operations/account-directory.ts";
import type { Delivery, Faults } from "./faults/faults.ts";
import { answers, cutAnswer, goneAnswer, headRefused, noContent } from "./fixed-answers.ts";
import {
  framingAnswer,
  framingError,
  handedOver,
  headTrouble,
  isBareOffer,
  mayLackLength,
  refusePlain,
  refuseTunnel,
  UnreadableRequests,
  withoutOffer,
} from "./framing.ts";
import {
  allowHeaders,
  commonHeaders,
  corsHeaders,
  jsonType,
  pageAllowHeaders,
  preflightHeaders,
  RequestHeaders,
  retryAfterSeconds,
} from "./headers.ts";
import { type Place, type PlaceLimits, Places } from "./places.ts";
import type { RequestRecorder } from "./recording/request-recorder.ts";
import { callerOf } from "./sign-in/caller.ts";
import type { Admitted, EndByKey, PeopleGate } from "./sign-in/gate.ts";
import { isInterfacePath, pathOf, Routes } from "./routes.ts";
import { type TlsCredentials, TlsListener } from "./tls-listener.ts";
import type { WireAnswer } from "../wire/answers/answer.ts";
import { decodeRequest, type DecodedRequest } from "../wire/decode/decode.ts";
import type { Caller, KeyedEndpoint, ServedEndpoint, WireRequest } from "../wire/endpoint.ts";
import { wireErrorOf } from "../wire/answers/errors.ts";
import type { FramingErrorKind } from "../wire/decode/framing-errors.ts";
import { keyGiven, resolveHolder } from "../wire/key-check.ts";
import { answerOf } from "../wire/answers/refusal-answer.ts";
import { repeatedHeader, requestError, requestErrors } from "../wire/decode/request-errors.ts";
import { WireError } from "../wire/decode/wire-error.ts";

/** An import would read every export of the module, one of which loads a WebSocket client: 15 MB and 50 ms of each start. */
const { createServer } = process.getBuiltinModule("node:http");

export interface HttpServerOptions {
  readonly endpoints: readonly ServedEndpoint[];
  /** The account that an integration key opens, and what the key grants. Rejects only when that cannot be found out. */
  readonly resolveKey: (key: string) => KeyHolder | undefined | Promise<KeyHolder | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly health: {
    /** Anything but `ready`: /readyz answers 503, so that a load balancer sends nothing. */
    state(): "ready" | keyof typeof notReady;
    /** Jobs that can't do their work: requests are served all the same, and /readyz names them. None unless given. */
    failingJobs?(): readonly string[];
  };
  readonly limits: HttpLimits;
  /** What goes wrong on purpose; undefined where money is real. */
  readonly faults?: Faults | undefined;
  /** Whether an account is a world, which anybody may make; none is unless given. */
  readonly isWorld?: (merchantId: MerchantId) => boolean;
  /** The sandbox's request log; nothing is recorded without it. */
  readonly recorder?: RequestRecorder | undefined;
  /** Lets people in who are signed in, where a key is missing; undefined where nobody signs in. */
  readonly people?: Pick<PeopleGate, "admit" | "byKey"> | undefined;
  /** In lower case: the header in which a proxy in front names its client's address; undefined where there is none that is believed. */
  readonly clientAddressHeader?: string | undefined;
}

const notReady = {
  starting: "The server is starting",
  clock_off: "This machine's clock is off: the log says more",
  not_writing: "Nothing can be written: the log says more",
} as const;

export interface HttpLimits {
  readonly maxBodyBytes: number;
  /** Further connections are closed as they come. */
  readonly maxConnections: number;
  /** Requests whose work is under way; further ones are answered 503 before their body is read. */
  readonly maxInFlight: number;
  /** Of these, those of one account; further ones are answered 429. When it is not given, as many as other accounts leave it. */
  readonly maxInFlightOfAccount?: number | undefined;
  /** Of these, the requests of one connection, for no client to take all places by itself; 32 when it is not given. */
  readonly maxInFlightOfConnection?: number;
  /** What all bodies that are still being received may hold together; 64 MiB when it is not given. */
  readonly maxBodiesBytes?: number;
  /** Between two requests on one connection; 75 s when it is not given. */
  readonly keepAliveMs?: number;
  /** A connection on which nothing moves for so long, and no work is under way, is closed; 60 s when it is not given. */
  readonly stalledMs?: number;
}

export const defaultHttpLimits: HttpLimits = { maxBodyBytes: 256 * 1024, maxConnections: 4_096, maxInFlight: 1_024 };

interface Address {
  readonly host: string;
  readonly port: number;
}

/** From the first byte of a request's head to the last, and to the last of its body: who is slower is cut off. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
/** How often Node looks for requests that are too slow. */
const slownessCheckMs = 2_000;
/** Longer than load balancers keep an idle connection, 60 s mostly: a request that they send on one that is being closed here has no known outcome. */
const defaultKeepAliveMs = 75_000;
const maxHeadBytes = 16 * 1024;
/** A body above the limit is read and forgotten up to this multiple of it, for the client to see the answer instead of a reset. */
const drainFactor = 16;
const defaultInFlightOfConnection = 32;
/** Of all places, what is left to all worlds together. */
const worldsShare = 1 / 2;
const defaultBodiesBytes = 64 * 1024 * 1024;
const defaultStalledMs = 60_000;
const overloadReportMs = 1_000;
const overloadedAccount = requestErrors.account_overloaded;

/**
 * The only file that knows HTTP, with framing.ts for what is none. Reads requests, finds their endpoint, decodes, checks the key, calls the endpoint, writes the
 * answer. One access event per request, which holds nothing that the client wrote.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #routes: Routes;
  readonly #server: Server;
  readonly #unreadable: UnreadableRequests;
  #tls: TlsListener | undefined;
  readonly #places: Places;
  /** Of connections that have any. */
  readonly #inFlightOf = new WeakMap<Socket, number>();
  /** Connections that end behind a request they have had: what comes behind it is not run, nobody would hear of it. */
  readonly #ending = new WeakSet<Socket>();
  #bodiesBytes = 0;
  #isStopping = false;
  #isGivenUp = false;
  #refused = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#routes = new Routes(options.endpoints);
    this.#places = new Places(placesIn(options.limits), options.clock);
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
      (request, response) => void this.#onRequest(request, response),
    );
    this.#server.maxConnections = options.limits.maxConnections;
    // Whoever has ended its own side still hears what became of its request: else money would have moved without an answer. Node has
    // had this switch since its early days, and no word for it in its documentation; a test holds it.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // Who asks and does not read would hold a connection for ever.
    this.#server.setTimeout(options.limits.stalledMs ?? defaultStalledMs, (socket) => {
      if ((this.#inFlightOf.get(socket) ?? 0) === 0) socket.destroy();
    });
    this.#unreadable = new UnreadableRequests((answer) => this.#report("other", "unknown", answer, undefined, options.clock.now()));
    this.#server.on("clientError", (error, socket: Socket) => this.#unreadable.meet(error, socket));
    this.#server.on("connect", (_request, socket: Socket) => handedOver(socket, () => refuseTunnel(socket)));
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

  /** Resolves when requests are taken; port 0 takes a free one. Rejects when the address cannot be had. */
  listen(port: number, host: string): Promise<Address> {
    return listening(this.#server, port, host);
  }

  /** The same requests over TLS as well, at a port of their own, with as many connections again. Called once at most. */
  listenTls(port: number, host: string, credentials: TlsCredentials): Promise<Address> {
    assert(this.#tls === undefined, "a server listens with TLS once");
    const { limits, clock } = this.#options;
    this.#tls = new TlsListener(credentials, limits.maxConnections, {
      take: (socket) => this.#server.emit("connection", socket),
      refusePlain: (socket) => this.#report("other", "unknown", refusePlain(socket), undefined, clock.now()),
    });
    return listening(this.#tls.server, port, host);
  }

  /** What the next connections over TLS are shown. */
  renewTls(credentials: TlsCredentials): void {
    this.#tls?.renew(credentials);
  }

  /** Requests whose work is under way. */
  get inFlight(): number {
    return this.#places.taken;
  }

  /**
   * Takes no further connections and requests, finishes those under way, closes the rest. Resolves when all work has settled and
   * all connections are closed. May be called again.
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
    // Clients that left do not keep a connection open, but what they asked for is under way.
    if (!this.#isGivenUp) await this.#places.empty();
  }

  /** Cuts all connections. Work under way goes on, but nobody hears of its end, and `close` no longer waits for it. */
  closeAllConnections(): void {
    this.#isGivenUp = true;
    this.#options.faults?.close();
    this.#server.closeAllConnections();
    this.#places.giveUp();
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#ending.has(request.socket)) return;
    this.#unreadable.follow(request);
    // Node's parser lets HTTP/0.9 and a claimed HTTP/2.0 pass; they frame requests in other ways.
    if (request.httpVersionMajor !== 1) return this.#refuseFraming(request, response, "not_http");
    const trouble = headTrouble(request);
    if (trouble !== undefined && trouble !== "no_length") return this.#refuseFraming(request, response, trouble);
    // With a body, so it could not be written anew: Node forgets what came behind it, and the client has to know.
    if (request.headers.upgrade !== undefined) this.#endBehind(request, response);
    const target = request.url ?? "/";
    const path = pathOf(target);
    if (trouble === "no_length") {
      if (isInterfacePath(path) && !mayLackLength(request)) return this.#refuseFraming(request, response, "length_missing");
      // What comes behind it may be its body.
      this.#endBehind(request, response);
    }
    const endpoint = this.#routes.match(path);
    if (endpoint === undefined) return this.#answerWithoutEndpoint(request, response, path);
    // Nothing but GET and POST runs an operation: a link checker's HEAD of a capture's address changes nothing.
    const isHead = request.method === "HEAD" && isPage(endpoint);
    const method = isHead ? "GET" : request.method;
    if (method !== "GET" && method !== "POST") return this.#answerOtherMethod(request, response, endpoint);

    const startedAt = this.#options.clock.now();
    const headers = new RequestHeaders(request.rawHeaders);
    if (this.#isStopping) return this.#refuse("stopping", request, response, endpoint);
    // Other nodes would take its attempts for overdue while their requests are on the way.
    if (endpoint.movesMoney === true && this.#options.health.state() === "clock_off") {
      return this.#refuse("clock_off", request, response, endpoint);
    }
    if (this.#places.isFull) {
      this.#countRefusal("in_flight", startedAt);
      return this.#refuse("overloaded", request, response, endpoint);
    }

    let merchantId: string | undefined;
    let answer: WireAnswer;
    let delivery: Delivery | undefined;
    const { socket } = request;
    let place: Place | undefined;
    let answered: ReturnType<RequestRecorder["begin"]>;
    let admitted: Admitted | undefined;
    let endByKey: EndByKey | undefined;
    try {
      // Who sends slowly takes no place: a thousand such clients would lock everybody else out.
      const body = await (headers.hasBody ? this.#readBody(request, response) : undefined);
      // Node has read the rest of the piece by now. A body longer than its length, or without one, would be taken for what is left of it.
      if (this.#unreadable.hasLeftOver(request)) {
        body?.fill(0);
        this.#endBehind(request, response);
        throw framingError("length_unclear");
      }
      if (headers.repeated !== undefined) {
        body?.fill(0);
        throw repeatedHeader(headers.repeated);
      }
      if (body !== undefined && headers.isEncoded) throw requestError("unsupported_body");
      place = this.#admit(socket);
      const decoded = decodeRequest(target, body, headers.charset);
      try {
        if (endpoint.key === "none") {
          answer = await endpoint.handle({ method, params: decoded.params, headers });
        } else if (endpoint.key === "session") {
          answer = await endpoint.handle({ method, params: decoded.params, headers, caller: this.#callerOf(request) });
        } else {
          const asked = { method, params: decoded.params } as const;
          const { people } = this.#options;
          const isKeyless = keyGiven(endpoint, decoded.params) === undefined;
          if (isKeyless && people !== undefined) admitted = await people.admit(endpoint.path, asked, this.#callerOf(request));
          const finding = admitted === undefined ? this.#find(endpoint, decoded) : { account: admitted.account, grants: "secret" as const };
          const found = finding instanceof Promise ? await finding : finding;
          const { grants } = found;
          merchantId = found.account.id;
          const account = this.#assigned(place, found.account);
          // While there are card numbers to make masks of.
          answered = this.#options.recorder?.begin({
            merchantId: account.id,
            method,
            path: endpoint.path,
            key: admitted === undefined ? grants : "session",
            params: decoded.params,
          });
          if (account.settings.strictForms && decoded.warnings.includes("form_repaired")) throw requestError("cut_form");
          const keyed: WireRequest = { ...asked, account, grants, headers, person: admitted?.person };
          const writing = admitted === undefined ? people?.byKey(endpoint.path, asked, account, () => this.#callerOf(request)) : undefined;
          if (writing !== undefined) endByKey = await writing;
          const { faults } = this.#options;
          // Of the sandbox's accounts, and there only of those that asked for it.
          if (faults?.waitsFor(account.id) === true) delivery = await this.#met(faults, endpoint, keyed, place);
          answer = delivery?.answer ?? (await endpoint.handle(keyed));
        }
      } finally {
        decoded.wipe();
      }
    } catch (error) {
      answer = this.#failure(error, endpoint.path, merchantId);
    }
    if (admitted !== undefined) answer = await admitted.end(answer);
    if (endByKey !== undefined) answer = await endByKey(answer);
    if (delivery !== undefined && place !== undefined) answer = await this.#deliver(delivery, response, endpoint.cors, place);
    if (place !== undefined) this.#leave(socket, place);
    if (delivery === undefined) this.#write(response, answer, endpoint.cors);
    this.#report(isHead ? "HEAD" : method, endpoint.path, answer, merchantId, startedAt);
    // Nobody waits for this.
    answered?.(answer);
  }

  /** What is to become of a request that a fault meets; undefined when none does. */
  async #met(faults: Faults, endpoint: KeyedEndpoint, request: WireRequest, place: Place): Promise<Delivery | undefined> {
    const { path } = endpoint;
    const { id: merchantId } = request.account;
    const fault = isInterfacePath(path) ? await faults.meet(path, request) : undefined;
    if (fault === undefined) return undefined;
    this.#options.log.write({ event: "fault_met", fault: fault.id, kind: fault.kind, path, merchantId });
    const handle = async (changed: WireRequest): Promise<WireAnswer> => {
      try {
        return await endpoint.handle(changed);
      } catch (error) {
        return this.#failure(error, path, merchantId);
      }
    };
    return faults.answer(fault, request, handle, place.while);
  }

  /** Writes what a fault leaves of an answer, and resolves with what became of it when that is over. */
  async #deliver({ answer, waitMs, form }: Delivery, response: ServerResponse, cors: boolean, place: Place): Promise<WireAnswer> {
    if (form === "half") this.#writeHalf(response, answer, cors);
    if (waitMs > 0) await place.while(this.#waitWith(response, waitMs));
    if (form === "whole") {
      this.#write(response, answer, cors);
      return answer;
    }
    response.req.socket.destroy();
    return cutAnswer;
  }

  /** Waits as a fault has it. When the connection is gone, the wait is over; a client that has ended its own side may still listen. */
  async #waitWith(response: ServerResponse, waitMs: number): Promise<void> {
    const gone = new AbortController();
    const cut = (): void => gone.abort();
    response.once("close", cut);
    await this.#options.faults?.pause(waitMs, { gone: gone.signal });
    response.off("close", cut);
  }

  /** Takes one of the places for work; throws when there is none, or when the connection has its share. */
  #admit(socket: Socket): Place {
    const ofConnection = this.#inFlightOf.get(socket) ?? 0;
    const { maxInFlightOfConnection = defaultInFlightOfConnection } = this.#options.limits;
    const { isFull } = this.#places;
    if (isFull || ofConnection >= maxInFlightOfConnection) {
      this.#countRefusal(isFull ? "in_flight" : "in_flight_of_connection", this.#options.clock.now());
      throw requestError("overloaded");
    }
    this.#inFlightOf.set(socket, ofConnection + 1);
    return this.#places.take();
  }

  /** The account that has the place now; throws when it has its share of them. In the sandbox it says when it waits for something simulated. */
  #assigned(place: Place, account: Account): Account {
    const { isWorld, faults, clock } = this.#options;
    const refusal = place.assign(account.id, isWorld?.(account.id) === true);
    if (refusal !== undefined) {
      this.#countRefusal(refusal, clock.now());
      throw requestError("account_overloaded");
    }
    return faults === undefined ? account : { ...account, settings: waitingWith(account.settings, place) };
  }

  #leave(socket: Socket, place: Place): void {
    this.#inFlightOf.set(socket, (this.#inFlightOf.get(socket) ?? 1) - 1);
    place.leave();
  }

  #callerOf({ rawHeaders, socket }: IncomingMessage): Caller {
    return callerOf(rawHeaders, socket, this.#options.clientAddressHeader);
  }

  /** The account that the request's key opens. */
  #find(endpoint: KeyedEndpoint, { params }: DecodedRequest): KeyHolder | Promise<KeyHolder> {
    return resolveHolder(endpoint, params, (key) => {
      const found = this.#options.resolveKey(key);
      return found instanceof Promise ? readable(found) : found;
    });
  }

  #failure(error: unknown, path: string, merchantId: string | undefined): WireAnswer {
    if (error instanceof WireError) return answerOf(error);
    if (error instanceof ClientGone) return goneAnswer;
    this.#options.log.write({ event: "request_failed", path, ...errorFacts(error), merchantId });
    return answers.internal;
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

  #countRefusal(limit: string, now: number): void {
    this.#refused += 1;
    // Below zero the clock was set back.
    const sinceMs = now - this.#reportedAt;
    if (0 <= sinceMs && sinceMs < overloadReportMs) return;
    this.#options.log.write({ event: "overloaded", limit, refused: this.#refused });
    this.#refused = 0;
    this.#reportedAt = now;
  }

  #answerOtherMethod(request: IncomingMessage, response: ServerResponse, endpoint: ServedEndpoint): void {
    const startedAt = this.#options.clock.now();
    let answer: WireAnswer = answers.method_not_allowed;
    if (request.method === "OPTIONS") {
      answer = noContent;
      response.writeHead(answer.status, endpoint.cors ? preflightHeaders : isPage(endpoint) ? pageAllowHeaders : allowHeaders).end();
    } else if (request.method === "HEAD") {
      // An answer to HEAD has no body, so the status has to say it.
      answer = headRefused;
      response.writeHead(answer.status, allowHeaders).end();
    } else {
      this.#write(response, answer, endpoint.cors);
    }
    this.#report(knownMethod(request), endpoint.path, answer, undefined, startedAt);
  }

  #answerWithoutEndpoint(request: IncomingMessage, response: ServerResponse, path: string): void {
    const startedAt = this.#options.clock.now();
    if (path === "/healthz" || path === "/readyz") {
      // Probes come every second from every load balancer: they are not logged.
      this.#write(response, this.#health(path), false);
      return;
    }
    const answer = isInterfacePath(path) ? answers.unknown_operation : answers.not_found;
    this.#write(response, answer, false);
    this.#report(knownMethod(request), "unknown", answer, undefined, startedAt);
  }

  /** /healthz: the process answers at all. /readyz: it may be sent requests. */
  #health(probe: "/healthz" | "/readyz"): WireAnswer {
    if (probe === "/healthz") return { status: 200, body: '{"status":"ok"}' };
    if (this.#isStopping) return { status: 503, body: '{"status":"stopping","message":"The server is stopping"}' };
    const state = this.#options.health.state();
    if (state !== "ready") return { status: 503, body: `{"status":"${state}","message":"${notReady[state]}"}` };
    const failing = this.#options.health.failingJobs?.() ?? [];
    return { status: 200, body: JSON.stringify(failing.length === 0 ? { status: "ready" } : { status: "ready", failing }) };
  }

  /** What Node lets pass, or would refuse with an empty body: answered like what its parser refuses, and the connection ends. */
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

  #report(method: string, path: string, answer: WireAnswer, merchantId: string | undefined, startedAt: number): void {
    const { status, code } = answer;
    const durationMs = this.#options.clock.now() - startedAt;
    this.#options.log.write({ event: "request", method, path, status, code, merchantId, durationMs });
  }

  /** The whole body, in memory of its own that the caller may overwrite; undefined when it is empty. */
  #readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer | undefined> {
    const { maxBodyBytes, maxBodiesBytes = defaultBodiesBytes } = this.#options.limits;
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = [];
      let length = 0;
      let refusal: "too_large" | "overloaded" | undefined;
      const letGo = (): void => {
        for (const chunk of chunks) this.#bodiesBytes -= chunk.length;
        chunks = [];
      };
      const forget = (): void => {
        for (const chunk of chunks) chunk.fill(0);
        letGo();
      };
      request.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBodyBytes) refusal = "too_large";
        else if (this.#bodiesBytes + chunk.length > maxBodiesBytes && refusal === undefined) {
          refusal = "overloaded";
          this.#countRefusal("bodies", this.#options.clock.now());
        }
        chunks.push(chunk);
        this.#bodiesBytes += chunk.length;
        if (refusal === undefined) return;
        forget();
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
        if (chunks.length > 1) forget();
        else letGo();
        resolve(body);
      });
      request.on("close", () => {
        if (request.complete) return;
        forget();
        reject(new ClientGone("the client left before the request was whole"));
      });
    });
  }

  #write(response: ServerResponse, answer: WireAnswer, cors: boolean): void {
    const { body } = answer;
    if (answer === goneAnswer) return;
    if (this.#isStopping) response.shouldKeepAlive = false;
    const length = Buffer.byteLength(body);
    // Head and body leave in one write, and a body of ASCII needs no conversion.
    response.writeHead(answer.status, headOf(answer, length, cors)).end(body, length === body.length ? "latin1" : "utf8");
  }

  /** The head, which promises all of the body, and half of it. */
  #writeHalf(response: ServerResponse, answer: WireAnswer, cors: boolean): void {
    if (answer === goneAnswer) return;
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, headOf(answer, body.length, cors)).write(body.subarray(0, body.length >> 1));
  }
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  return new HttpServer(options);
}

async function listening(server: Server | TlsListener["server"], port: number, host: string): Promise<Address> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  assert(typeof address === "object" && address !== null, "a server that listens on TCP has an address");
  return { host: address.address, port: address.port };
}

function headOf({ status, code, type = jsonType, headers }: WireAnswer, length: number, cors: boolean): string[] {
  const head = ["Content-Type", type, ...(cors ? corsHeaders : commonHeaders), "Content-Length", String(length)];
  if (headers !== undefined) head.push(...headers.flat());
  if (status === 503 || code === overloadedAccount) head.push("Retry-After", retryAfterSeconds);
  return head;
}

/** A key that could not be looked up is refused as such. */
async function readable(found: Promise<KeyHolder | undefined>): Promise<KeyHolder | undefined> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof ServiceError ? wireErrorOf(error, "query") : error;
  }
}

function isPage(endpoint: ServedEndpoint): boolean {
  return endpoint.key === "none" && endpoint.isPage === true;
}

function placesIn({ maxInFlight, maxInFlightOfAccount }: HttpLimits): PlaceLimits {
  return {
    most: maxInFlight,
    mostOfAccount: maxInFlightOfAccount,
    mostOfWorlds: Math.max(1, Math.floor(maxInFlight * worldsShare)),
  };
}

function waitingWith(settings: AccountSettings, { while: waits }: Place): AccountSettings {
  const simulator: SimulatorTreatment = { ...settings.simulator, waits };
  return { ...settings, simulator };
}

class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** The method is the client's word: only words of ours are logged. */
function knownMethod({ method }: IncomingMessage): string {
  return method === "GET" || method === "POST" || method === "HEAD" || method === "OPTIONS" ? method : "other";
}

/** One body of several chunks, which are left to the caller. */
function together(chunks: readonly Buffer[], length: number): Buffer {
  const body = Buffer.alloc(length);
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(body, at);
  return body;
}
