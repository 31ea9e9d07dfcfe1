import type { ClientRequest, IncomingMessage } from "node:http";
import type { Scheduler } from "../../kernel/scheduler.ts";

/** Not imports: see http/server.ts. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

export interface NodeRequest {
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly url: string;
  readonly method: "GET" | "POST";
  /** Path and query, as they came. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Owned by the exchange, and wiped by it: it may hold a PAN. */
  readonly body: Buffer | undefined;
  /** All of it may take so long, the reading of the answer too. */
  readonly leftMs: number;
  /** The node is gone: what is under way ends as if that time were over. */
  readonly gone?: AbortSignal;
}

/**
 * `not_sent`: there was no connection, so that nothing has left this process. `cut`, `late`: whether the node did anything is not known.
 * With an answer, `end` is to be called when it has been read or nobody wants the rest.
 */
export type NodeAnswer =
  | { readonly kind: "not_sent" | "cut" | "late" }
  | { readonly kind: "answering"; readonly response: IncomingMessage; readonly end: () => void };

export interface NodeExchanges {
  /** Sends one request once: node:http never sends again by itself, and neither does this. Never rejects. */
  send(request: NodeRequest): Promise<NodeAnswer>;
  /** Cuts what is open. */
  close(): void;
}

/** A machine that is gone swallows packets: who waits for it waits no longer than this. */
const connectMs = 5_000;
/** Those of the interface's own answers are far smaller, and what a fault of the sandbox adds to them is a word. */
const maxHeadBytes = 16 * 1024;

/**
 * A connection on which nothing has come for so long is left, or a second before the other side would close it, which Node's agent looks at only where
 * it has a time of its own: a request that meets the end of its connection has perhaps been done.
 */
const idleMs = 20_000;

/** Kept connections to other nodes. Owns them. */
export function openNodeExchanges(scheduler: Scheduler): NodeExchanges {
  // How many there are is bounded by who asks: a request never waits for a connection.
  const kept = { keepAlive: true, timeout: idleMs } as const;
  const agents = { http: new http.Agent(kept), https: new https.Agent({ ...kept, minVersion: "TLSv1.2" }) };

  return {
    send: ({ url, method, target, headers, body, leftMs, gone }) =>
      new Promise((resolve) => {
        const isTls = url.startsWith("https:");
        const request: ClientRequest = (isTls ? https : http).request(new URL(url), {
          path: target,
          method,
          agent: isTls ? agents.https : agents.http,
          maxHeaderSize: maxHeadBytes,
          headers: { ...headers, ...(body === undefined ? {} : { "content-length": body.length }) },
        });
        // What is written before there is a connection, or before TLS stands, stays in this process.
        let isConnected = false;
        let isSettled = false;
        const isLate = (): void => fail("late");
        const cancel = scheduler.after(leftMs, isLate);
        gone?.addEventListener("abort", isLate);
        const cancelConnect = scheduler.after(connectMs, () => {
          if (!isConnected) fail("cut");
        });
        let answer: IncomingMessage | undefined;

        function end(): void {
          cancel();
          cancelConnect();
          gone?.removeEventListener("abort", isLate);
          // First the connection, then the bytes: zeros in the place of digits are not sent either.
          if (answer?.complete !== true || !request.writableFinished) request.destroy();
          body?.fill(0);
        }

        function fail(kind: "cut" | "late"): void {
          if (isSettled) {
            // Whoever reads the answer finds it broken.
            answer?.destroy(new Error("the node did not answer in time"));
            return;
          }
          isSettled = true;
          end();
          resolve({ kind: isConnected ? kind : "not_sent" });
        }

        request.on("socket", (socket) => {
          if (!socket.connecting) isConnected = true;
          else socket.once(isTls ? "secureConnect" : "connect", () => (isConnected = true));
        });
        request.on("error", () => fail("cut"));
        request.on("close", () => {
          if (answer === undefined) fail("cut");
        });
        request.on("response", (response: IncomingMessage) => {
          answer = response;
          if (isSettled) return;
          isSettled = true;
          cancelConnect();
          resolve({ kind: "answering", response, end });
        });
        request.end(body);
      }),

    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}
