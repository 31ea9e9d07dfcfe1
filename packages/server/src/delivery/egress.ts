import { lookup } from "node:dns/promises";
import type { Agent, buildConnector, Dispatcher } from "undici";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import {
  type Destination,
  type EgressPolicy,
  type EgressRefusalCause,
  readDestination,
  refusalOf,
} from "./address-guard.ts";
import { skipInterimAnswers } from "./interim-answers.ts";
import type { ReceiverAnswer, Sender, SendFailure, SendOutcome, SendRequest } from "./sender.ts";

export interface EgressOptions {
  readonly policy: EgressPolicy;
  readonly scheduler: Scheduler;
  /** All addresses of a name; rejects if there are none. Default: the system's resolver. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** PEM certificates to trust instead of the default ones. */
  readonly ca?: string;
}

/** Maximum part of an answer's body that is read. */
const longestBody = 16_384;
const connectTimeoutMs = 10_000;
/** Over all accounts; the dispatcher's limits are lower. */
const connectionsPerOrigin = 256;

/** Owns the connections to receivers. */
export interface Egress extends Sender {
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * Sends over HTTP/1.1. A name is resolved once per connection, all of its addresses are checked,
 * and only those are used: the name cannot change between check and use. Redirects are not
 * followed. Messages that must not be sent twice have http-client/exchange.ts: notifications may be
 * repeated, and their addresses are not trusted.
 */
export function createEgress(options: EgressOptions): Egress {
  const { policy, scheduler } = options;
  /**
   * Loaded on first use: it takes a sixth of the start time, and most sandboxes never send
   * anything.
   */
  let agent: Promise<Agent> | undefined;
  let isClosed = false;
  const destinationOf = memoized((url: string) => readDestination(policy, url));

  async function makeAgent(): Promise<Agent> {
    const undici = await import("undici");
    return new undici.Agent({
      connect: guardedConnect(undici.buildConnector, options),
      connections: connectionsPerOrigin,
      pipelining: 1,
      maxHeaderSize: 16_384,
      // A single timeout covers everything: see below.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  return {
    async send(request, signal) {
      const destination = destinationOf(request.url);
      if ("refused" in destination) return { kind: "refused", cause: destination.refused };
      if (isClosed) return { kind: "failed", cause: "connection" };
      agent ??= makeAgent();
      // Before the timeout starts, because loading is not the receiver's delay.
      const ready = await agent;
      return new Exchange(request, scheduler, signal).run(ready, destination);
    },

    async close() {
      isClosed = true;
      await (await agent)?.destroy();
    },
  };
}

/** Maximum number of parsed addresses in the cache: receivers are few and receive many messages. */
const maxCachedAddresses = 256;

/** Memoizes the function for recent arguments. */
function memoized<Value>(read: (text: string) => Value): (text: string) => Value {
  const cache = new BoundedMap<string, Value>(maxCachedAddresses);
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const value = read(text);
    cache.set(text, value);
    return value;
  };
}

/**
 * One message and its answer as a handler of undici: half the work of its `request`, which creates
 * a stream for each answer.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: SendRequest;
  readonly #signal: AbortSignal | undefined;
  readonly #ended = Promise.withResolvers<SendOutcome>();
  readonly #cancelTimeout: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #status = 0;
  #retryAfter: string | undefined;
  #read = 0;
  /** Undefined unless the answer is kept. */
  #kept: { readonly headers: ReceiverAnswer["headers"]; readonly pieces: Uint8Array[] } | undefined;

  constructor(request: SendRequest, scheduler: Scheduler, signal: AbortSignal | undefined) {
    this.#request = request;
    this.#signal = signal;
    this.#cancelTimeout = scheduler.after(request.timeoutMs, () =>
      this.#cut({ kind: "failed", cause: "timeout" }),
    );
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Never rejects. */
  run(
    agent: Agent,
    { url: { origin, pathname, search }, authorization }: Destination,
  ): Promise<SendOutcome> {
    const { body } = this.#request;
    const headers =
      authorization === undefined
        ? this.#request.headers
        : { ...this.#request.headers, Authorization: authorization };
    if (this.#signal?.aborted === true) this.#abort();
    else agent.dispatch({ origin, path: pathname + search, method: "POST", headers, body }, this);
    return this.#ended.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was aborted while it waited for a connection.
    if (this.#isOver) controller.abort(abortReason);
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, unknown>>,
  ): void {
    const retryAfter = headers["retry-after"];
    if (status < 200) {
      // More interim answers than are skipped, or a change of protocol.
      this.#cut({ kind: "failed", cause: "answer" });
      return;
    }
    this.#status = status;
    this.#retryAfter = typeof retryAfter === "string" ? retryAfter : undefined;
    if (this.#request.keepsAnswer === true) this.#kept = { headers, pieces: [] };
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Uint8Array): void {
    // A copy, because the chunk is a part of the connection's buffer.
    this.#kept?.pieces.push(Uint8Array.from(chunk.subarray(0, longestBody - this.#read)));
    this.#read += chunk.length;
    // The rest is not read, which closes the connection.
    if (this.#read > longestBody) this.#cut(this.#answered());
  }

  onResponseEnd(): void {
    this.#end(this.#answered());
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#end(
      error instanceof EgressRefused
        ? { kind: "refused", cause: error.refusal }
        : { kind: "failed", cause: failureOf(error) },
    );
  }

  readonly #abort = (): void => this.#cut({ kind: "failed", cause: "aborted" });

  #answered(): SendOutcome {
    const outcome = {
      kind: "answered",
      status: this.#status,
      retryAfter: this.#retryAfter,
    } as const;
    if (this.#kept === undefined) return outcome;
    const { headers, pieces } = this.#kept;
    const answer = { headers, body: Buffer.concat(pieces), isCut: this.#read > longestBody };
    return { ...outcome, answer };
  }

  #cut(outcome: SendOutcome): void {
    this.#end(outcome);
    this.#controller?.abort(abortReason);
  }

  #end(outcome: SendOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimeout();
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#ended.resolve(outcome);
  }
}

/** The reason that undici receives for an abort; it is not shown. */
const abortReason = new Error("given up");

class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly refusal: EgressRefusalCause;

  constructor(refusal: EgressRefusalCause) {
    super("this address must not be reached");
    this.refusal = refusal;
  }
}

interface Resolved {
  readonly address: string;
  readonly family: number;
}

function guardedConnect(
  build: typeof buildConnector,
  { policy, resolve = resolveBySystem, ca }: EgressOptions,
): buildConnector.connector {
  return (options, callback) => {
    const encrypted = options.protocol === "https:";
    const destination = {
      encrypted,
      port: options.port === "" ? (encrypted ? 443 : 80) : Number(options.port),
    };
    const check = (address: string): void => {
      const refused = refusalOf(policy, destination, address);
      if (refused !== undefined) throw new EgressRefused(refused);
    };
    const host = options.hostname.startsWith("[")
      ? options.hostname.slice(1, -1)
      : options.hostname;
    const connect = build({
      timeout: connectTimeoutMs,
      allowH2: false,
      autoSelectFamily: true,
      ...(ca === undefined ? {} : { ca }),
      lookup: (name, { all }, answer) => {
        resolveChecked(name, resolve, check).then(
          ([first, ...others]) => {
            if (all === true) answer(null, [first, ...others]);
            else answer(null, first.address, first.family);
          },
          (error: unknown) =>
            answer(error instanceof Error ? error : new Error("no address"), [], 0),
        );
      },
    });
    connect({ ...options, hostname: host }, (...result) => {
      const [failure, socket] = result;
      try {
        // All addresses have been checked, including those in the URL itself; this also checks the
        // actual connection.
        if (failure === null) check(socket.remoteAddress ?? "");
        if (failure === null) callback(null, skipInterimAnswers(socket));
        else callback(...result);
      } catch (error) {
        socket?.destroy();
        callback(error instanceof Error ? error : new Error("no address"), null);
      }
    });
  };
}

async function resolveChecked(
  name: string,
  resolve: NonNullable<EgressOptions["resolve"]>,
  check: (address: string) => void,
): Promise<[Resolved, ...Resolved[]]> {
  const addresses = await resolve(name);
  // One forbidden address is enough to refuse the name: with a mix of addresses, the next
  // connection could use the forbidden one.
  for (const address of addresses) check(address);
  const [first, ...others] = addresses.map((address) => ({
    address,
    family: address.includes(":") ? 6 : 4,
  }));
  if (first === undefined) throw new Error("no address");
  return [first, ...others];
}

async function resolveBySystem(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

const nameErrors = new Set(["ENOTFOUND", "EAI_AGAIN", "ENODATA"]);
const timeoutErrors = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);

function failureOf(error: unknown): SendFailure {
  if (!(error instanceof Error)) return "connection";
  if (error.name === "HTTPParserError") return "answer";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (nameErrors.has(code)) return "name";
  if (timeoutErrors.has(code)) return "timeout";
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|^ERR_(?:SSL|TLS)/.test(code)) return "certificate";
  if (/^UND_ERR_(?:HEADERS_OVERFLOW|RES_|RESPONSE)/.test(code)) return "answer";
  return "connection";
}
