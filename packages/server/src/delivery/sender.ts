import type { EgressRefusalCause } from "./address-guard.ts";

/** Port: sends one message to a receiver's address. */
export interface Sender {
  /**
   * Posts and resolves with the outcome; never rejects. `timeoutMs` covers the whole exchange,
   * including the answer's body. If `signal` is aborted the outcome is `aborted`, whatever the
   * receiver has processed.
   */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome>;
}

export interface SendRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  /** The outcome has the answer's headers and the beginning of its body. Default: false. */
  readonly keepsAnswer?: boolean;
}

/** What a receiver answered, unchanged: it may contain anything. */
export interface ReceiverAnswer {
  /** By name in lower case; a repeated header is a list. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** The first 16,384 bytes. */
  readonly body: Uint8Array;
  /** The body has more bytes. */
  readonly isCut: boolean;
}

export type SendOutcome =
  /** The receiver answered in time and completely, up to the part of the body that is read. */
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** With `keepsAnswer`. */
      readonly answer?: ReceiverAnswer;
    }
  /** Nothing was sent: the address must not be reached. */
  | { readonly kind: "refused"; readonly cause: EgressRefusalCause }
  | { readonly kind: "failed"; readonly cause: SendFailure };

/**
 * `timeout`: no complete answer in time. `name`: the host has no address. `connection`: refused,
 * reset or closed. `certificate`: the receiver's certificate could not be verified. `answer`: not
 * HTTP. `aborted`: aborted by the sender.
 */
export type SendFailure = "timeout" | "name" | "connection" | "certificate" | "answer" | "aborted";
