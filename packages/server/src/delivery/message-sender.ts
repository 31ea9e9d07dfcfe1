import type { Clock } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { second } from "../kernel/instant.ts";
import { withBrokenSignatures } from "../notification/chaos.ts";
import { messageBody, messageId, type Target } from "../notification/endpoint.ts";
import type { Message } from "../notification/message.ts";
import type { Sender, SendOutcome } from "./sender.ts";
import type { Signable, SignedHeaders } from "./signature.ts";

const timeoutMs = 20 * second;

export interface MessageSenderParts {
  readonly sender: Sender;
  readonly sign: (message: Signable) => Promise<SignedHeaders>;
  /** Identifies this installation in message ids; never changes. */
  readonly installation: string;
  /**
   * Part of message ids if it is not 0: after a database restore the same numbers are assigned
   * again to other notifications.
   */
  readonly epoch?: () => number;
  /** The merchant's name in message ids and for its keys, if that differs from its id. */
  readonly nameOf?: (merchantId: MerchantId) => MerchantId;
  readonly clock: Clock;
  /** Only with it, results have an exchange, whose duration it measures. */
  readonly exchangeTime?: ElapsedMs | undefined;
}

/** A message as it was sent, and what the receiver answered. */
export interface Exchange {
  /** Without those of the connection, and without the password in the receiver's address. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly outcome: SendOutcome;
  /** Machine time, even if the clock is paused. */
  readonly durationMs: number;
}

/** The outcome, and the time until it. */
export interface SendResult {
  readonly outcome: SendOutcome;
  readonly tookMs: number;
  readonly exchange: Exchange | undefined;
}

/** Sends a message: its body, its id, which is the same for each attempt, and its signatures. */
export class MessageSender {
  readonly #parts: MessageSenderParts;

  constructor(parts: MessageSenderParts) {
    this.#parts = parts;
  }

  get #installation(): string {
    const { installation, epoch } = this.#parts;
    const current = epoch?.() ?? 0;
    return current === 0 ? installation : `${installation}/${current}`;
  }

  /** `broken`: sends invalid signatures. Rejects as signing does. */
  async send(
    message: Message,
    { url, secrets, signatures }: Target,
    broken: boolean,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { sign, sender, clock, nameOf, exchangeTime } = this.#parts;
    const body = messageBody(message);
    const [{ merchantId, endpoint, attempts }] = message;
    const numbers = message.map(({ number }) => number);
    const name = nameOf?.(merchantId) ?? merchantId;
    const id = messageId(this.#installation, { merchantId: name, endpoint, numbers });
    const signed = await sign({ merchantId: name, id, at: clock.now(), body, secrets, signatures });
    const headers = messageHeaders(
      numbers,
      attempts + 1,
      broken ? withBrokenSignatures(signed) : signed,
    );
    const startedAt = clock.now();
    if (exchangeTime === undefined) {
      const outcome = await sender.send({ url, headers, body, timeoutMs }, signal);
      return { outcome, tookMs: clock.now() - startedAt, exchange: undefined };
    }
    const began = exchangeTime();
    const outcome = await sender.send({ url, headers, body, timeoutMs, keepsAnswer: true }, signal);
    const exchange = { headers, body, outcome, durationMs: exchangeTime() - began };
    return { outcome, tookMs: clock.now() - startedAt, exchange };
  }
}

/** The headers of a message: `numbers` are those of its notifications, ascending. */
export function messageHeaders(
  numbers: readonly number[],
  attempt: number,
  signed: SignedHeaders,
): Readonly<Record<string, string>> {
  return {
    "Content-Type": "application/x-www-form-urlencoded",
    "User-Agent": "Cofre",
    "X-Cofre-Sequence": numbers.join(","),
    "X-Cofre-Attempt": String(attempt),
    ...signed,
  };
}
