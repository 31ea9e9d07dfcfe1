import { addressOf } from "./address.ts";
import { Card, cardNodeOf } from "./card.ts";
import { CofreConnectionError, CofreRequestError } from "./errors.ts";
import { exchange, type Fields } from "./exchange.ts";
import { errorFields } from "./generated/tables.ts";
import { encodeJson } from "./json.ts";
import { type CancelSignal, type Runtime, systemRuntime } from "./runtime.ts";

/** Options of a client. */
export interface CofreOptions {
  /** Address of the server, such as `https://cofre.example`. */
  readonly url: string;
  /** The account's secret key. */
  readonly integrationKey: string;
  /**
   * true: http is used also for servers on other machines. Default: only for this machine, because
   * requests contain card numbers and the key.
   */
  readonly allowHttp?: boolean | undefined;
  /**
   * Limit for each attempt, answer included, in milliseconds. Default: 45,000, which is more than an
   * acquirer takes.
   */
  readonly timeoutMs?: number | undefined;
  /** Number of times that a request is sent at most, 1 to 20. Default: 6. */
  readonly maxAttempts?: number | undefined;
  /** The longest wait between two attempts, in milliseconds. Default: 30,000. */
  readonly maxWaitMs?: number | undefined;
  /** Called with each warning of the server, such as a rounded amount. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** Network, time and chance, for tests. */
  readonly runtime?: Partial<Runtime> | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call. A request that was sent may still be processed. */
  readonly signal?: CancelSignal | undefined;
}

export interface Request extends CallOptions {
  readonly path: string;
  readonly fields: object;
  /** Sent as Idempotency-Key. */
  readonly key: string | undefined;
  /** Whether the request may be sent again when the server may have processed it. */
  readonly isRepeatable: boolean;
  /** A code after which the caller queries the payment instead of sending the request again. */
  readonly endsWith?: string | undefined;
}

/** The first wait between attempts, in milliseconds. Each further one is twice as long. */
const firstWaitMs = 250;

/** Sends requests to one server, one attempt after the other. */
export class Transport {
  readonly runtime: Runtime;
  readonly #url: string;
  readonly #integrationKey: string;
  readonly #timeoutMs: number;
  readonly #maxAttempts: number;
  readonly #maxWaitMs: number;
  readonly #onWarning: ((warning: string) => void) | undefined;

  constructor(options: CofreOptions) {
    const { url, integrationKey, allowHttp = false, timeoutMs = 45_000 } = options;
    const { maxAttempts = 6, maxWaitMs = 30_000, onWarning, runtime } = options;
    this.#url = addressOf(url, allowHttp);
    if (typeof integrationKey !== "string" || integrationKey === "")
      throw new TypeError("integrationKey is missing");
    this.#integrationKey = integrationKey;
    this.#timeoutMs = checked("timeoutMs", timeoutMs, 1, 600_000);
    this.#maxAttempts = checked("maxAttempts", maxAttempts, 1, 20);
    this.#maxWaitMs = checked("maxWaitMs", maxWaitMs, 0, 600_000);
    this.#onWarning = onWarning;
    this.runtime = { ...systemRuntime, ...runtime };
  }

  /**
   * Resolves with the answer, unchanged.
   *
   * @throws {CofreRequestError} The request was refused.
   * @throws {CofreConnectionError} No attempt had a final answer.
   */
  async send({ path, fields, key, isRepeatable, endsWith, signal }: Request): Promise<Fields> {
    const body = encodeJson(withCards({ ...fields, integration_key: this.#integrationKey }));
    const headers = {
      "Content-Type": "application/json",
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
    const attempt = { url: this.#url + path, headers, body, timeoutMs: this.#timeoutMs, signal };
    let sent: "no" | "maybe" = "no";
    try {
      for (let attempts = 1; ; attempts += 1) {
        const ending = await exchange(attempt, this.runtime);
        if (ending.kind === "answer") {
          if (ending.warning !== undefined) this.#onWarning?.(ending.warning);
          return ending.answer;
        }
        if (ending.kind === "refusal") {
          const { code, message } = ending;
          throw new CofreRequestError(code, message, fieldOf(code));
        }
        const { reason, code, retryAfterMs, isFinal = false } = ending;
        if (ending.sent === "maybe") sent = "maybe";
        const waitMs = retryAfterMs ?? this.#pauseAfter(attempts);
        const isOver =
          isFinal ||
          (code !== undefined && code === endsWith) ||
          attempts >= this.#maxAttempts ||
          waitMs > this.#maxWaitMs ||
          (ending.sent === "maybe" && !isRepeatable);
        if (isOver) throw new CofreConnectionError(sent, reason, attempts, code);
        await this.wait(waitMs, signal);
      }
    } finally {
      body.fill(0);
    }
  }

  /** Resolves after some milliseconds, or when the signal cancels. */
  wait(ms: number, signal: CancelSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const stop = this.runtime.after(ms, done);
      if (signal?.aborted === true) done();
      else signal?.addEventListener("abort", done);
    });
  }

  /** Half of it at random, so that many clients do not return at once. */
  #pauseAfter(attempts: number): number {
    const ms = firstWaitMs * 2 ** (attempts - 1);
    return Math.min(this.#maxWaitMs, ms * (0.5 + this.runtime.random() / 2));
  }
}

function checked(name: string, value: number, min: number, max: number): number {
  if (!(value >= min && value <= max))
    throw new TypeError(`${name} must be a number from ${min} to ${max}`);
  return value;
}

/** The fields with the card nodes in place of cards. */
function withCards(value: unknown): unknown {
  if (value instanceof Card) return cardNodeOf(value);
  if (Array.isArray(value)) return value.map(withCards);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withCards(member)]),
  );
}

function fieldOf(code: string): string | undefined {
  for (const [field, codes] of Object.entries(errorFields))
    if (codes.split(" ").includes(code)) return field;
  return undefined;
}
