import type { IncomingMessage, ServerResponse } from "node:http";
import { ServiceError } from "../payment/service-error.ts";
import { errorFacts } from "../logging/error-facts.ts";
import type { Log } from "../logging/log-event.ts";
import type { Credential } from "../operations/account-directory.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { readErrors, wireErrorOf } from "../wire/answers/errors.ts";
import { answerOf } from "../wire/answers/refusal-answer.ts";
import { decodeRequest, type DecodedRequest } from "../wire/decode/decode.ts";
import { repeatedHeader, requestError } from "../wire/decode/request-errors.ts";
import { WireError } from "../wire/decode/wire-error.ts";
import type {
  Caller,
  KeyedEndpoint,
  ServedEndpoint,
  Visitor,
  WireRequest,
} from "../wire/endpoint.ts";
import { keyGiven, resolveHolder } from "../wire/key-check.ts";
import type { Admission } from "./admission.ts";
import type { Delivery, FaultInjector } from "./faults/fault-injector.ts";
import { answers, connectionCut, clientGone } from "./static-responses.ts";
import { framingError } from "./framing.ts";
import type { RequestHeaders } from "./headers.ts";
import type { Place } from "./places.ts";
import type { RequestRecorder } from "./recording/request-recorder.ts";
import type { PublicKeyLimits } from "./public-key-limits.ts";
import { ClientGone, type RequestBodies } from "./request-body.ts";
import { writeHalf } from "./response-writer.ts";
import { isInterfacePath } from "./routes.ts";
import { callerOf } from "./sign-in/caller.ts";
import type { Authorized, RecordResult, ConsoleAuthorizer } from "./sign-in/console-authorizer.ts";

/** What the pipeline needs for a request that has an endpoint. */
export interface PipelineServices {
  /**
   * Resolves the account of an integration key, and what the key grants. Rejects only if the lookup
   * fails.
   */
  readonly resolveKey: (key: string) => Credential | undefined | Promise<Credential | undefined>;
  readonly log: Log;
  /** Injects faults; undefined in production. */
  readonly faults?: FaultInjector | undefined;
  /** The sandbox's request log; nothing is recorded without it. */
  readonly recorder?: RequestRecorder | undefined;
  /** Admits signed-in users if a key is missing; undefined if the console has no logins. */
  readonly authorizer?: Pick<ConsoleAuthorizer, "admit" | "byKey"> | undefined;
  /**
   * The header, in lower case, in which a trusted proxy names the client's address; undefined
   * without such a proxy.
   */
  readonly clientIpHeader?: string | undefined;
  /** Limits of requests with a public key. */
  readonly publicKeyLimits?: Pick<PublicKeyLimits, "visit"> | undefined;
}

export interface PipelineParts extends PipelineServices {
  readonly admission: Admission;
  readonly bodies: RequestBodies;
  /** Whether bytes that belong to no other request follow the request. */
  readonly hasLeftOver: (request: IncomingMessage) => boolean;
  /** Closes the connection after this request's answer. */
  readonly endBehind: (request: IncomingMessage, response: ServerResponse) => void;
  readonly write: (response: ServerResponse, answer: WireResponse, cors: boolean) => void;
  /** Writes the access log. */
  readonly report: (
    incoming: Incoming,
    answer: WireResponse,
    merchantId: string | undefined,
  ) => void;
}

/** A request whose head has been read and whose endpoint is known. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly endpoint: ServedEndpoint;
  /** HEAD of a page is handled as GET. */
  readonly method: "GET" | "POST";
  readonly isHead: boolean;
  /** Path and query as sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly startedAt: number;
}

/** The state of a request in the pipeline. */
interface Progress {
  place: Place | undefined;
  merchantId: string | undefined;
  /** Completes the request log's entry. */
  recorded: ReturnType<RequestRecorder["begin"]>;
  /** The user who is admitted without a key. */
  admitted: Authorized | undefined;
  /** Completes the audit log's entry of a call by key. */
  endByKey: RecordResult | undefined;
  /** What a fault does with the answer. */
  delivery: Delivery | undefined;
  /** The sender, if the request came with a public key only. */
  visitor: Visitor | undefined;
}

/**
 * Processes a request from its body to its answer: body, admission, decoding, key, endpoint,
 * answer, log.
 */
export class RequestPipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Answers a request. Card data of the request is wiped when its endpoint has settled. */
  async run(incoming: Incoming): Promise<void> {
    const { request, response, endpoint, headers, method } = incoming;
    const progress: Progress = {
      place: undefined,
      merchantId: undefined,
      recorded: undefined,
      admitted: undefined,
      endByKey: undefined,
      delivery: undefined,
      visitor: undefined,
    };
    let answer: WireResponse;
    try {
      // The place is taken when the body has arrived, so that slow clients cannot use up the
      // places.
      const body = await (headers.hasBody ? this.#parts.bodies.read(request, response) : undefined);
      this.#refuseUnclear(incoming, body);
      const place = this.#parts.admission.admit(request.socket);
      progress.place = place;
      const decoded = decodeRequest(incoming.target, body, headers.charset);
      try {
        if (endpoint.key === "none") {
          answer = await endpoint.handle({ method, params: decoded.params, headers });
        } else if (endpoint.key === "session") {
          answer = await endpoint.handle({
            method,
            params: decoded.params,
            headers,
            caller: this.#callerOf(request),
          });
        } else {
          const authorized = this.#authorize(endpoint, incoming, decoded, progress, place);
          const keyed = authorized instanceof Promise ? await authorized : authorized;
          const { faults } = this.#parts;
          // Only sandbox accounts with active faults.
          if (faults?.waitsFor(keyed.account.id) === true)
            progress.delivery = await this.#withFault(faults, endpoint, keyed, place);
          answer = progress.delivery?.answer ?? (await endpoint.handle(keyed));
        }
      } finally {
        decoded.wipe();
      }
    } catch (error) {
      answer = this.#failure(error, endpoint.path, progress.merchantId);
    }
    if (answer.code !== undefined) progress.visitor?.failed();
    const { admitted, endByKey, delivery, place } = progress;
    if (admitted !== undefined) answer = await admitted.end(answer);
    if (endByKey !== undefined) answer = await endByKey(answer);
    if (delivery !== undefined && place !== undefined)
      answer = await this.#deliver(delivery, response, endpoint.cors, place);
    if (place !== undefined) this.#parts.admission.leave(request.socket, place);
    if (delivery === undefined) this.#parts.write(response, answer, endpoint.cors);
    this.#parts.report(incoming, answer, progress.merchantId);
    // After the response has been sent.
    progress.recorded?.(answer, delivery?.fault);
  }

  /**
   * Throws for a request whose meaning depends on the reader: its end, a header given twice, a body
   * in a coding that is not decoded.
   */
  #refuseUnclear({ request, response, headers }: Incoming, body: Buffer | undefined): void {
    const { hasLeftOver, endBehind } = this.#parts;
    // By now Node has read the rest of the chunk: the excess of a body that is longer than its
    // length, or that has no length, would be parsed as a request.
    if (hasLeftOver(request)) {
      body?.fill(0);
      endBehind(request, response);
      throw framingError("length_unclear");
    }
    if (headers.repeated !== undefined) {
      body?.fill(0);
      throw repeatedHeader(headers.repeated);
    }
    if (body !== undefined && headers.isEncoded) throw requestError("unsupported_body");
  }

  /**
   * The request with its account, resolved by its key or by the session of a user. Synchronous if
   * the key is cached.
   */
  #authorize(
    endpoint: KeyedEndpoint,
    incoming: Incoming,
    decoded: DecodedRequest,
    progress: Progress,
    place: Place,
  ): WireRequest | Promise<WireRequest> {
    const { authorizer } = this.#parts;
    if (authorizer !== undefined)
      return this.#authorizeWithUsers(authorizer, endpoint, incoming, decoded, progress, place);
    const found = this.#find(endpoint, decoded);
    const withAccount = (holder: Credential): WireRequest =>
      this.#withAccount(holder, endpoint, incoming, decoded, progress, place);
    return found instanceof Promise ? found.then(withAccount) : withAccount(found);
  }

  async #authorizeWithUsers(
    authorizer: Pick<ConsoleAuthorizer, "admit" | "byKey">,
    endpoint: KeyedEndpoint,
    incoming: Incoming,
    decoded: DecodedRequest,
    progress: Progress,
    place: Place,
  ): Promise<WireRequest> {
    const { request, method } = incoming;
    const input = { method, params: decoded.params } as const;
    if (keyGiven(endpoint, decoded.params) === undefined) {
      progress.admitted = await authorizer.admit(endpoint, input, this.#callerOf(request));
    }
    const { admitted } = progress;
    const holder =
      admitted === undefined
        ? await this.#find(endpoint, decoded)
        : { account: admitted.account, grants: "secret" as const };
    const keyed = this.#withAccount(holder, endpoint, incoming, decoded, progress, place);
    if (admitted !== undefined) return { ...keyed, user: admitted.user };
    progress.endByKey = await authorizer.byKey(endpoint, input, keyed.account, () =>
      this.#callerOf(request),
    );
    return keyed;
  }

  /** Assigns the place to the account and begins the entry of the request log. */
  #withAccount(
    { account: found, grants }: Credential,
    endpoint: KeyedEndpoint,
    { request, method, headers }: Incoming,
    decoded: DecodedRequest,
    progress: Progress,
    place: Place,
  ): WireRequest {
    const { params, warnings } = decoded;
    progress.merchantId = found.id;
    const account = this.#parts.admission.assign(place, found);
    // Recorded now, while the card numbers are there to be masked.
    if (isRecorded(endpoint, { method, params }))
      progress.recorded = this.#parts.recorder?.begin({
        merchantId: account.id,
        method,
        path: endpoint.path,
        key: progress.admitted === undefined ? grants : "session",
        params,
      });
    if (account.settings.strictForms && warnings.includes("form_repaired"))
      throw requestError("cut_form");
    if (grants === "public")
      progress.visitor = this.#parts.publicKeyLimits?.visit(
        account,
        this.#callerOf(request).address,
      );
    return { method, params, account, grants, headers, visitor: progress.visitor };
  }

  /** The account that the request's key opens. */
  #find(endpoint: KeyedEndpoint, { params }: DecodedRequest): Credential | Promise<Credential> {
    return resolveHolder(endpoint, params, (key) => {
      const found = this.#parts.resolveKey(key);
      return found instanceof Promise ? readable(found) : found;
    });
  }

  #callerOf({ rawHeaders, socket }: IncomingMessage): Caller {
    return callerOf(rawHeaders, socket, this.#parts.clientIpHeader);
  }

  /** What a fault does with a request; undefined when no fault matches it. */
  async #withFault(
    faults: FaultInjector,
    endpoint: KeyedEndpoint,
    request: WireRequest,
    place: Place,
  ): Promise<Delivery | undefined> {
    const { path } = endpoint;
    const { id: merchantId } = request.account;
    const fault = isInterfacePath(path) ? await faults.match(endpoint, request) : undefined;
    if (fault === undefined) return undefined;
    this.#parts.log.write({
      event: "fault_injected",
      fault: fault.id,
      kind: fault.kind,
      path,
      merchantId,
    });
    const handle = async (changed: WireRequest): Promise<WireResponse> => {
      try {
        return await endpoint.handle(changed);
      } catch (error) {
        return this.#failure(error, path, merchantId);
      }
    };
    return faults.answer(fault, request, handle, place.while);
  }

  /**
   * Writes as much of an answer as the fault allows. Resolves after the fault's delay with what was
   * written.
   */
  async #deliver(
    { answer, waitMs, form }: Delivery,
    response: ServerResponse,
    cors: boolean,
    place: Place,
  ): Promise<WireResponse> {
    if (form === "half") writeHalf(response, answer, cors);
    if (waitMs > 0) await place.while(this.#waitWith(response, waitMs));
    if (form === "whole") {
      this.#parts.write(response, answer, cors);
      return answer;
    }
    response.req.socket.destroy();
    return connectionCut;
  }

  /**
   * Waits for a fault's delay, or until the connection closes. A client that has ended its own side
   * may still read.
   */
  async #waitWith(response: ServerResponse, waitMs: number): Promise<void> {
    const gone = new AbortController();
    const cut = (): void => gone.abort();
    response.once("close", cut);
    await this.#parts.faults?.pause(waitMs, { gone: gone.signal });
    response.off("close", cut);
  }

  #failure(error: unknown, path: string, merchantId: string | undefined): WireResponse {
    if (error instanceof WireError) return answerOf(error);
    if (error instanceof ClientGone) return clientGone;
    this.#parts.log.write({ event: "request_failed", path, ...errorFacts(error), merchantId });
    return answers.internal;
  }
}

function isRecorded(
  { recorded, permission }: KeyedEndpoint,
  request: Parameters<KeyedEndpoint["permission"]>[0],
): boolean {
  return recorded === "actions" ? permission(request).kind === "action" : recorded;
}

/** A failed key lookup is answered with its own error. */
async function readable(found: Promise<Credential | undefined>): Promise<Credential | undefined> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof ServiceError ? wireErrorOf(error, readErrors) : error;
  }
}
