import { openExchanges } from "../../http-client/exchange.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { RootKeyError } from "../key-provider.ts";

export interface ServiceClientOptions {
  readonly scheduler: Scheduler;
  /** Scheme, host and port of the service. */
  readonly url: URL;
  /** PEM certificates that are trusted instead of the system's. */
  readonly ca: string | undefined;
  /** Time limit of one call. */
  readonly timeoutMs: number;
}

export interface ServiceRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface ServiceAnswer {
  readonly status: number;
  /** The caller wipes it if it contains a key. */
  readonly body: Buffer;
}

/** Rejects with RootKeyError (`unavailable`) when there is no complete answer. */
export type ServiceClient = (request: ServiceRequest) => Promise<ServiceAnswer>;

/** Calls at the same time; others wait within their time limit. */
const maxSockets = 8;
/** A wrapped key has less than a kilobyte; error pages of proxies may be longer. */
const largestAnswer = 65_536;

export function createServiceClient({
  scheduler,
  url,
  ca,
  timeoutMs,
}: ServiceClientOptions): ServiceClient {
  const protocol = url.protocol === "http:" ? "http:" : "https:";
  const exchanges = openExchanges({ scheduler, protocol, keepsConnections: false, maxSockets, ca });
  const whyNot = {
    timeout: `did not answer within ${timeoutMs} ms`,
    refused: "refused the connection",
    connection: "could not be reached: check address, network and certificate",
    too_long: `answered with more than ${largestAnswer} bytes`,
  } as const;
  return async ({ method, path, headers, body, signal }) => {
    const outcome = await exchanges.exchange({
      method,
      url: new URL(path, url),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "content-length": String(body.length) }),
      },
      body,
      leftMs: timeoutMs,
      largestAnswer,
      signal,
    });
    if (outcome.kind === "answered") return outcome;
    throw new RootKeyError(
      "unavailable",
      `the key service at ${url.host} ${whyNot[outcome.cause]}`,
    );
  };
}

/**
 * The failure that a status means by itself. Only the name of an error can state anything
 * about the key, so no status is `denied` or `wrong`.
 */
export function failureOfStatus(status: number): "unavailable" | "unauthorized" {
  return status === 401 || status === 403 ? "unauthorized" : "unavailable";
}

/** The parsed body; undefined when it is not a JSON object. For answers without a key. */
export function objectIn(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
