import { openExchanges as openHttpExchanges } from "../../http-client/exchange.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { NotSent, Unknown } from "../connector.ts";

export interface Exchange {
  /** Such as `/ws/direct`. */
  readonly path: string;
  /** Owned and wiped by the exchange: it may hold a PAN. */
  readonly body: Buffer;
  /** Time limit of the whole exchange. */
  readonly leftMs: number;
}

/** The JSON of a complete answer with status 200. */
export type CompleteAnswer = { readonly kind: "complete"; readonly answer: unknown };

export interface Exchanges {
  /** Sends one request once. Never rejects. */
  exchange(exchange: Exchange): Promise<CompleteAnswer | NotSent | Unknown>;
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
const maxSockets = 256;
/** A host that drops packets must not use up the time in which another acquirer could be tried. */
const connectMs = 5_000;

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };
const disconnected: Unknown = { kind: "unknown", cause: "connection" };
const garbled: Unknown = { kind: "unknown", cause: "garbled" };
const refusedToSay: Unknown = { kind: "unknown", cause: "refused_to_say" };
const notSent: NotSent = { kind: "not_sent" };

/** The only path to the upstream. Each request has its own connection. */
export function openExchanges({ scheduler, address, ca }: ExchangeOptions): Exchanges {
  const exchanges = openHttpExchanges({
    scheduler,
    protocol: address.protocol === "https:" ? "https:" : "http:",
    keepsConnections: false,
    maxSockets,
    ca,
    connectMs,
  });
  return {
    async exchange({ path, body, leftMs }) {
      const outcome = await exchanges.exchange({
        method: "POST",
        url: new URL(path, address),
        headers: {
          "content-type": "application/json",
          "content-length": String(body.length),
          accept: "application/json",
        },
        body,
        leftMs,
        largestAnswer,
        reads: (status) => status === 200,
      });
      body.fill(0);
      if (outcome.kind === "answered") return readAnswer(outcome);
      if (!outcome.isConnected) return notSent;
      if (outcome.cause === "timeout") return timedOut;
      return outcome.cause === "too_long" ? garbled : disconnected;
    },
    close: () => exchanges.close(),
  };
}

function readAnswer({
  status,
  body,
  isFramed,
}: {
  readonly status: number;
  readonly body: Buffer;
  readonly isFramed: boolean;
}): CompleteAnswer | Unknown {
  if (status >= 500) return refusedToSay;
  if (status !== 200) return garbled;
  // An answer without a length ends with its connection: it may have been cut short.
  if (!isFramed) return disconnected;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return { kind: "complete", answer: JSON.parse(text) };
  } catch {
    return garbled;
  }
}
