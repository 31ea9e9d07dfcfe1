import type { Clock } from "../kernel/clock.ts";
import { isPaymentId } from "../payment/payment-id.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { notificationKinds } from "../notification/events.ts";
import type { CofreClient } from "./cofre-client.ts";
import type { Forwarded, NotificationLine } from "./notification-line.ts";
import { type Answer, exchange, type Received } from "./http.ts";
import { listenerHeader } from "./registration.ts";
import { RepeatWatch, SequenceWatch } from "./sequence-watch.ts";
import { type VerifyingKeys, verifyNotification } from "./verify-notification.ts";

export interface ListenerParts {
  readonly client: CofreClient;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly forwardTo: URL | undefined;
  readonly show: (line: NotificationLine) => void;
}

/**
 * Slightly shorter than Cofre's timeout, so that the listener reports a program that does not
 * answer.
 */
const forwardTimeoutMs = 19_000;
/** One today; the interface allows several hashes in a call. */
const maxHashes = 100;

/** Answers a message with the answer of the program that it is forwarded to, and prints it. */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #sequence = new SequenceWatch();
  readonly #repeats = new RepeatWatch();
  #lines: Promise<void> = Promise.resolve();
  /** The id of the endpoint, once it is known. */
  name = "";
  readonly #firstKeys = Promise.withResolvers<VerifyingKeys>();
  #keys = this.#firstKeys.promise;

  constructor(parts: ListenerParts) {
    this.#parts = parts;
  }

  /** Verifies messages from now on with these keys. */
  verifyWith(keys: VerifyingKeys): void {
    this.#firstKeys.resolve(keys);
    this.#keys = Promise.resolve(keys);
  }

  /**
   * Never rejects. Messages before there are keys wait for them: an earlier listener on this port
   * may have deliveries waiting.
   */
  async receive(received: Received): Promise<Answer> {
    const marked = { [listenerHeader]: this.name };
    if (received.method !== "POST") return { status: 405, headers: { ...marked, Allow: "POST" } };
    const keys = await this.#keys;
    const { clock, client, forwardTo } = this.#parts;
    const at = clock.now();
    const { kind, hashes, problems: formProblems } = readBody(received.body);
    const signatureProblems = await this.#signatureProblems(keys, received, at);
    const problems = [...formProblems, ...signatureProblems];
    const isFromThere = signatureProblems.length === 0;
    // Messages from other senders do not affect the gap and repeat detection.
    const sequence = numberOf(received.headers["x-cofre-sequence"]);
    const id = idOf(received.headers["webhook-id"]);
    const repeat = isFromThere && id !== undefined && this.#repeats.isRepeat(id);
    const { gap, late } =
      isFromThere && sequence !== undefined ? this.#sequence.see(sequence) : nothingSeen;

    // The payment's present status is queried, never taken from the message. Cofre gets its answer
    // in the meantime.
    const payments = Promise.all(
      isFromThere
        ? hashes.map(async (hash) => ({ hash, status: await client.paymentStatus(hash) }))
        : [],
    );
    const { answer, forwarded } =
      forwardTo === undefined
        ? { answer: { status: isFromThere ? 200 : 401, headers: {} }, forwarded: undefined }
        : await this.#forward(forwardTo, received);
    const attempt = numberOf(received.headers["x-cofre-attempt"]);
    this.#show(payments, {
      at,
      sequence,
      attempt,
      id,
      kind,
      problems,
      repeat,
      late,
      gap,
      answered: answer.status,
      forwarded,
    });
    return { ...answer, headers: { ...answer.headers, ...marked } };
  }

  /** A message is stamped with the account's time, which in a world rarely equals the machine's. */
  async #signatureProblems(
    keys: VerifyingKeys,
    received: Received,
    at: Instant,
  ): Promise<readonly string[]> {
    const problems = verifyNotification(keys, received, at);
    const now = problems.length === 0 ? undefined : await this.#parts.client.now();
    return now === undefined ? problems : verifyNotification(keys, received, now);
  }

  /** Resolves when all received messages have been printed. */
  async shown(): Promise<void> {
    await this.#lines;
  }

  /** In the order in which messages were answered. */
  #show(
    payments: Promise<NotificationLine["payments"]>,
    line: Omit<NotificationLine, "payments">,
  ): void {
    this.#lines = this.#lines.then(async () =>
      this.#parts.show({ ...line, payments: await payments }),
    );
  }

  async #forward(
    url: URL,
    { rawHeaders, body }: Received,
  ): Promise<{ readonly answer: Answer; readonly forwarded: Forwarded }> {
    const headers = ["Host", url.host, ...endToEnd(rawHeaders)];
    const answer = await exchange(this.#parts.scheduler, {
      method: "POST",
      url,
      headers,
      body,
      timeoutMs: forwardTimeoutMs,
    });
    if ("failure" in answer)
      return { answer: { status: 502, headers: {} }, forwarded: answer.failure };
    const retryAfter = answer.headers["retry-after"];
    return {
      answer: {
        status: answer.status,
        headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter },
      },
      forwarded: "answered",
    };
  }
}

const nothingSeen = { gap: undefined, late: false };

/** Headers of a single connection: not forwarded, or set again for the next one. */
const hopByHop: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "te",
  "upgrade",
]);

function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = [rawHeaders[index], rawHeaders[index + 1]];
    if (!hopByHop.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function readBody(body: Buffer): {
  readonly kind: string | undefined;
  readonly hashes: readonly string[];
  readonly problems: readonly string[];
} {
  const form = new URLSearchParams(body.toString("utf8"));
  const kind = notificationKinds.find((each) => each === form.get("notification_type"));
  const hashes = (form.get("hash_codes") ?? "").split(",", maxHashes).filter(isPaymentId);
  const isWhole =
    form.get("operation") === "payment_status_change" && kind !== undefined && hashes.length > 0;
  return { kind, hashes, problems: isWhole ? [] : ["the body is not a notification"] };
}

function numberOf(header: string | string[] | undefined): number | undefined {
  return typeof header === "string" && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

function idOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" && /^[\w.-]{1,64}$/.test(header) ? header : undefined;
}
