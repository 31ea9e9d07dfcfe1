import type { Clock } from "../kernel/clock.ts";
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
}

/** The outcome, and the time until it. */
export interface SendResult {
  readonly outcome: SendOutcome;
  readonly tookMs: number;
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
    const { sign, sender, clock, nameOf } = this.#parts;
    const body = messageBody(message);
    const [{ merchantId, endpoint, attempts }] = message;
    const numbers = message.map(({ number }) => number);
    const name = nameOf?.(merchantId) ?? merchantId;
    const id = messageId(this.#installation, { merchantId: name, endpoint, numbers });
    const signed = await sign({ merchantId: name, id, at: clock.now(), body, secrets, signatures });
    const headers = {
      "Content-Type": "application/x-www-form-urlencoded",
      "User-Agent": "Cofre",
      "X-Cofre-Sequence": numbers.join(","),
      "X-Cofre-Attempt": String(attempts + 1),
      ...(broken ? withBrokenSignatures(signed) : signed),
    };
    const startedAt = clock.now();
    const outcome = await sender.send({ url, headers, body, timeoutMs }, signal);
    return { outcome, tookMs: clock.now() - startedAt };
  }
}
