/** Cancels a request: an `AbortSignal`. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A `ReadableStream` of bytes. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ByteStream | null;
}

/** The part of `fetch` that the SDK uses. */
export type Fetch = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array<ArrayBuffer>;
    /** A redirect is never followed: the request may contain a card. */
    readonly redirect: "manual";
    readonly signal: AbortController["signal"];
  },
) => Promise<FetchResponse>;

/** Everything outside the SDK: network, time and chance. Tests replace parts of it. */
export interface Runtime {
  readonly fetch: Fetch;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls `run` once after some milliseconds. Returns a function that cancels the call. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** At least 0, below 1. */
  readonly random: () => number;
  /** A name that no other request has. */
  readonly uniqueName: () => string;
}

export const systemRuntime: Runtime = {
  fetch: (url, init) => globalThis.fetch(url, init),
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  uniqueName: () => crypto.randomUUID(),
};
