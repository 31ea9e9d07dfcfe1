import type { EgressRefusalCause } from "./address-guard.ts";

/** Port: carries one message to a receiver's address. */
export interface Sender {
  /**
   * Posts and resolves with what came of it; never rejects. The whole exchange, the answer's body
   * included, has `timeoutMs`. When `signal` is aborted the outcome is `aborted`, whatever the
   * receiver has seen.
   */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome>;
}

export interface SendRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export type SendOutcome =
  /** The receiver answered in time and whole, as far as its body was read. */
  | { readonly kind: "answered"; readonly status: number; readonly retryAfter: string | undefined }
  /** Nothing was sent: the address must not be reached. */
  | { readonly kind: "refused"; readonly cause: EgressRefusalCause }
  | { readonly kind: "failed"; readonly cause: SendFailure };

/**
 * `timeout`: no whole answer in time. `name`: the host has no address. `connection`: refused, reset
 * or cut. `certificate`: the receiver's could not be verified. `answer`: not HTTP. `aborted`: given
 * up by the sender itself.
 */
export type SendFailure = "timeout" | "name" | "connection" | "certificate" | "answer" | "aborted";
