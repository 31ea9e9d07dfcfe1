import type { CancelSignal, FetchResponse, Runtime } from "./runtime.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** What one attempt of a request ended with. */
export type Ending =
  | { readonly kind: "answer"; readonly answer: Fields; readonly warning: string | undefined }
  | { readonly kind: "refusal"; readonly code: string; readonly message: string }
  | {
      readonly kind: "failure";
      /** Whether the server may have processed the request. */
      readonly sent: "no" | "maybe";
      readonly reason: string;
      readonly code?: string;
      /** Milliseconds that the server asks to wait. */
      readonly retryAfterMs?: number | undefined;
      /** true: another attempt would end in the same way. */
      readonly isFinal?: boolean;
    };

export interface Attempt {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Limit for the whole answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: CancelSignal | undefined;
}

/** The largest answer that is read, in bytes: a payment with 100 refunds has 40 kB. */
const maxAnswer = 1_048_576;

/** Statuses of answers to requests that were not processed, when the answer is the interface's own. */
const unprocessed: ReadonlySet<number> = new Set([429, 503]);

/** Codes of requests that were not processed because another one is in progress. */
const busy: ReadonlySet<string> = new Set(["COFRE-20", "COFRE-45"]);

/** Codes after which the outcome of the request is unknown. */
const unknownOutcome: ReadonlySet<string> = new Set(["COFRE-14", "COFRE-22", "BP-DR-119"]);

/** Codes of the system for connections that were never made. */
const neverConnected: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "connect",
]);

/** Sends a request once. Never rejects. */
export async function exchange(
  { url, headers, body, timeoutMs, signal }: Attempt,
  runtime: Runtime,
): Promise<Ending> {
  if (signal?.aborted === true)
    return { kind: "failure", sent: "no", reason: "cancelled", isFinal: true };
  const limit = new AbortController();
  let reason: string | undefined;
  const end = (why: string): void => {
    reason ??= why;
    limit.abort();
  };
  const cancel = (): void => end("cancelled");
  const stopTimer = runtime.after(timeoutMs, () => end("timeout"));
  signal?.addEventListener("abort", cancel);
  try {
    const response = await runtime.fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: limit.signal,
    });
    return endingOf(response, await textOf(response), runtime.now());
  } catch (error) {
    const codes = reason === undefined ? codesIn(error) : [];
    const sent =
      codes.length > 0 && codes.every((code) => neverConnected.has(code)) ? "no" : "maybe";
    return {
      kind: "failure",
      sent,
      reason: reason ?? codes[0] ?? "no answer",
      isFinal: reason === "cancelled",
    };
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", cancel);
  }
}

/** The text of Deno's errors, which have no code, for connections that were never made. */
const denoConnect = /: client error \(Connect\): /;

/**
 * Codes of an error and of the errors that caused it. Its texts are not shown, because they may
 * contain anything.
 */
function codesIn(error: unknown, depth = 0): readonly string[] {
  if (typeof error !== "object" || error === null || depth > 4) return [];
  const { code, message, cause, errors } = error as {
    readonly code?: unknown;
    readonly message?: unknown;
    readonly cause?: unknown;
    readonly errors?: unknown;
  };
  const inner = [cause, ...(Array.isArray(errors) ? (errors as readonly unknown[]) : [])];
  const found = inner.flatMap((each) => codesIn(each, depth + 1));
  if (found.length > 0) return found;
  if (typeof message === "string" && denoConnect.test(message)) return ["connect"];
  return typeof code === "string" && /^\w{1,40}$/.test(code) ? [code] : [];
}

/** Rejects if the answer is too long, or ends early. */
async function textOf({ body }: FetchResponse): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    length += piece.value?.length ?? 0;
    if (length > maxAnswer) {
      await reader.cancel();
      throw new RangeError("the answer is too long");
    }
    text += decoder.decode(piece.value, { stream: true });
  }
  return text + decoder.decode();
}

function endingOf({ status, headers }: FetchResponse, text: string, now: number): Ending {
  const retryAfterMs = waitOf(headers.get("retry-after"), now);
  const answer = fieldsOf(text);
  if (answer?.["status"] === "SUCCESS")
    return { kind: "answer", answer, warning: headers.get("x-cofre-warning") ?? undefined };
  const code = answer?.["status"] === "ERROR" ? answer["status_code"] : undefined;
  if (typeof code !== "string") {
    // A redirect is an answer of something else than the server.
    const isFinal = status === 0 || (status >= 300 && status < 400);
    return { kind: "failure", sent: "maybe", reason: `HTTP ${status}`, retryAfterMs, isFinal };
  }
  if (unknownOutcome.has(code))
    return { kind: "failure", sent: "maybe", reason: code, code, retryAfterMs };
  if (unprocessed.has(status) || busy.has(code))
    return { kind: "failure", sent: "no", reason: code, code, retryAfterMs };
  return { kind: "refusal", code, message: String(answer?.["status_message"]).slice(0, 500) };
}

function fieldsOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds or a date (RFC 9110, 10.2.3), in milliseconds from now. */
function waitOf(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const isDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} /.test(header);
  const ms = isDate
    ? Date.parse(header) - now
    : /^\d{1,9}$/.test(header)
      ? Number(header) * 1_000
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
