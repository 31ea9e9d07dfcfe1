import type { ClientRequest, IncomingMessage } from "node:http";
import type { Scheduler } from "../kernel/scheduler.ts";

/** Not imports: see http/server.ts. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

/** Longest head of an answer in bytes. */
const maxHeadBytes = 65_536;

/** A request as another client sent it: nothing of it is parsed and written again. */
export interface ForwardedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Complete: names and values alternate, as sent on the wire. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | undefined;
}

export interface ForwardedHead {
  readonly status: number;
  readonly reason: string;
  /** Names and values alternate, unchanged. */
  readonly headers: readonly string[];
}

/** Receives the answer while it arrives. */
export interface AnswerSink {
  head(head: ForwardedHead): void;
  /** Resolves when more may be read. */
  data(piece: Buffer): void | Promise<void>;
}

export type ForwardResult =
  | { readonly kind: "complete" }
  /** The answer's head had arrived. */
  | { readonly kind: "cut"; readonly cause: "timeout" | "connection" }
  | {
      readonly kind: "failed";
      /** `no_trust`: TLS could not be established. `not_http`: the answer cannot be parsed. */
      readonly cause:
        | "timeout"
        | "refused"
        | "unknown_host"
        | "no_trust"
        | "not_http"
        | "connection";
      /** false: with certainty, no byte of the request has left the process. */
      readonly isConnected: boolean;
    };

export interface Forwarder {
  /** Sends the request once, on a connection of its own. Never rejects. */
  forward(request: ForwardedRequest, sink: AnswerSink): Promise<ForwardResult>;
  close(): void;
}

/**
 * Forwards requests to one server and passes on what it answers, as it arrives: exchange.ts parses
 * addresses and collects answers. `idleMs` limits each wait for the next bytes.
 */
export function openForwarder(scheduler: Scheduler, origin: URL, idleMs: number): Forwarder {
  const isTls = origin.protocol === "https:";
  const agent = isTls
    ? new https.Agent({ keepAlive: false, minVersion: "TLSv1.2", rejectUnauthorized: true })
    : new http.Agent({ keepAlive: false });
  return {
    async forward({ method, target, headers, body }, sink) {
      const ended = Promise.withResolvers<ForwardResult>();
      let isConnected = false;
      let isAnswering = false;
      let cancel = (): void => undefined;
      const open = isTls ? https.request : http.request;
      let request: ClientRequest;
      try {
        request = open({
          agent,
          protocol: origin.protocol,
          host: origin.hostname.replace(/^\[|\]$/g, ""),
          ...(origin.port === "" ? {} : { port: origin.port }),
          path: target,
          method,
          headers,
          maxHeaderSize: maxHeadBytes,
        });
      } catch {
        // The path or a header has characters that Node does not send.
        return { kind: "failed", cause: "connection", isConnected: false };
      }
      const end = (result: ForwardResult): void => ended.resolve(result);
      const rearm = (): void => {
        cancel();
        cancel = scheduler.after(idleMs, () => {
          end(
            isAnswering
              ? { kind: "cut", cause: "timeout" }
              : { kind: "failed", cause: "timeout", isConnected },
          );
        });
      };
      request.on("socket", (socket) => {
        socket.once(isTls ? "secureConnect" : "connect", () => {
          isConnected = true;
        });
      });
      request.on("error", (error) => {
        if (!isAnswering) end({ kind: "failed", cause: causeOf(error), isConnected });
      });
      request.on("close", () => {
        if (!isAnswering) end({ kind: "failed", cause: "connection", isConnected });
      });
      request.on("response", (response) => {
        isAnswering = true;
        passOn(response, sink, rearm).then(
          () => end({ kind: "complete" }),
          () => end({ kind: "cut", cause: "connection" }),
        );
      });
      rearm();
      request.end(body);
      const result = await ended.promise;
      cancel();
      // The caller wipes the body afterwards: zeros must not be sent in its place.
      request.destroy();
      return result;
    },
    close: () => agent.destroy(),
  };
}

/** Rejects when the connection ends before the answer, or the sink fails. */
async function passOn(
  response: IncomingMessage,
  sink: AnswerSink,
  rearm: () => void,
): Promise<void> {
  const { statusCode: status = 0, statusMessage: reason = "", rawHeaders: headers } = response;
  sink.head({ status, reason, headers });
  for await (const piece of response as AsyncIterable<Buffer>) {
    rearm();
    await sink.data(piece);
  }
}

type Cause = Extract<ForwardResult, { readonly kind: "failed" }>["cause"];

function causeOf(error: unknown): Cause {
  // A name such as localhost has several addresses, each with its own error.
  if (error instanceof AggregateError) return causeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ECONNREFUSED") return "refused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "unknown_host";
  if (code.startsWith("HPE_")) return "not_http";
  return /CERT|TLS|SSL|SIGNED|SIGNATURE|ISSUER|EPROTO/.test(code) ? "no_trust" : "connection";
}
