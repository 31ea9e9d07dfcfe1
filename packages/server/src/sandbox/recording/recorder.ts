import type { ElapsedMs } from "../../kernel/elapsed.ts";
import type { MerchantId, TokenDigest } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { EndpointId } from "../../notification/events.ts";
import { RingBuffer } from "./ring-buffer.ts";

/** Limits of the recording, which is in this process's memory only. */
export const recordingBounds = {
  /** Per account, the newest. */
  requests: 1_000,
  calls: 1_000,
  attempts: 1_000,
  /** Commits of payments: only their order. */
  commits: 4_000,
  /** Characters of one request's parameters, and of one answer's body. */
  parameterCharacters: 4_096,
  answerCharacters: 4_096,
  /** Characters of a receiver's response body, and of each of its headers that is kept. */
  responseCharacters: 3_072,
  headerCharacters: 300,
  /**
   * Characters of all requests, answers and messages together, so that many accounts cannot each
   * use their own maximum.
   */
  characters: 32 * 1024 * 1024,
  /** Beyond this number, the account with the oldest last entry is dropped. */
  accounts: 2_000,
} as const;

export type RecordingBounds = { readonly [Name in keyof typeof recordingBounds]: number };

/** A position in the order of all entries, over all accounts. */
type Sequence = number;

interface Recorded {
  readonly sequence: Sequence;
  /** By the account's clock. */
  readonly at: Instant;
}

/** One request of an account. The caller has removed what must not be recorded. */
export interface RequestFacts {
  readonly method: string;
  /** The endpoint's path, never the client's spelling. */
  readonly path: string;
  /** The credential: a key, or the session of a signed-in user. */
  readonly key: "secret" | "public" | "session";
  /** The parameters that may be shown. */
  readonly parameters: ParameterList;
  /** Number of characters in them. */
  readonly characters: number;
  /** Number of parameters that are not shown: their names may contain anything. */
  readonly leftOut: number;
}

/**
 * Names and values alternate: cheap to build, and formatted only when displayed. A value is text,
 * or a list itself.
 */
export interface ParameterList extends ReadonlyArray<string | ParameterList> {}

export interface AnswerFacts {
  readonly status: number;
  /** The interface's code of a refusal. */
  readonly code: string | undefined;
  /** The refused field, by its name in the error table. */
  readonly field: string | undefined;
  /** Kind of the fault that was injected. */
  readonly fault: string | undefined;
  /** JSON text, or its beginning. */
  readonly body: string;
  readonly isCut: boolean;
  /** It repeats the answer to an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
  /** The token in the answer, if it is not about a payment. */
  readonly tokenDigest: TokenDigest | undefined;
}

export interface RecordedRequest extends Recorded, RequestFacts {
  /** Counts up from 1 within the account. */
  readonly number: number;
  /** Undefined while it is in flight. */
  readonly answer: AnswerFacts | undefined;
  readonly durationMs: number;
}

export const callKinds = [
  "authorize",
  "capture",
  "void",
  "refund",
  "verify",
  "reverse",
  "inquire",
] as const;
export type CallKind = (typeof callKinds)[number];

/** One request to an acquirer. Of a card it holds the mask only. */
export interface CallFacts {
  readonly connector: string;
  readonly kind: CallKind;
  readonly reference: string;
  /** Reference of the authorization that it follows or inquires about. */
  readonly originalReference: string | undefined;
  /** Decimal text; `currency` is its currency. */
  readonly amount: string | undefined;
  readonly currency: string | undefined;
  /** Captured at once, or only held; undefined except for authorizations. */
  readonly capture: boolean | undefined;
  readonly brand: string | undefined;
  readonly maskedPan: string | undefined;
  readonly paymentId: PaymentId | undefined;
}

/** Its outcome, as names and values that may be shown. */
export interface OutcomeFacts {
  readonly kind: string;
  readonly [detail: string]: string | boolean | undefined;
}

export interface RecordedCall extends Recorded, CallFacts {
  /** Undefined while it is in flight. */
  readonly answered:
    | { readonly at: Instant; readonly durationMs: number; readonly outcome: OutcomeFacts }
    | undefined;
}

/** One finished attempt to deliver a notification. */
export interface AttemptFacts {
  readonly paymentId: PaymentId;
  readonly endpoint: EndpointId;
  readonly url: string;
  /** The notification's number within its account. */
  readonly number: number;
  readonly notificationType: string;
  /** Number of the attempt, from 1, since the notification or its replay was created. */
  readonly attempt: number;
  /** An HTTP status, or an outcome from delivery/delivery.ts. */
  readonly outcome: string;
  readonly verdict: "delivered" | "retry" | "failed" | "gone";
  /** Time of the next attempt. */
  readonly dueAt: Instant | undefined;
  /** Undefined if nothing was sent. */
  readonly exchange: ExchangeFacts | undefined;
}

/** A message as it was sent, and the response. The signatures are in it, the secrets are not. */
export interface ExchangeFacts {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly durationMs: number;
  /** Undefined if there was no complete response in time. */
  readonly response: ResponseFacts | undefined;
  /** Number of characters in all of it. */
  readonly characters: number;
}

/** The caller has masked what must not be recorded. */
export interface ResponseFacts {
  readonly status: number;
  /** A selection. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, or its beginning. */
  readonly body: string;
  readonly isCut: boolean;
}

export type RecordedAttempt = Recorded & AttemptFacts;

/** The recording of one account, oldest first. */
export interface Recording {
  /**
   * By the account's clock: the recording is incomplete before this time. Undefined when nothing is
   * recorded.
   */
  readonly since: Instant | undefined;
  readonly requests: readonly RecordedRequest[];
  readonly calls: readonly RecordedCall[];
  readonly attempts: readonly RecordedAttempt[];
  /** The commits of a payment's versions in the order of the recording, as far as known. */
  readonly commitsOf: (paymentId: PaymentId) => ReadonlyMap<number, Sequence>;
}

interface Commit {
  readonly paymentId: PaymentId;
  readonly version: number;
  readonly sequence: Sequence;
}

interface AccountRecording {
  readonly began: Instant;
  readonly requests: RingBuffer<Mutable<RecordedRequest>>;
  readonly calls: RingBuffer<Mutable<RecordedCall>>;
  readonly attempts: RingBuffer<RecordedAttempt>;
  readonly commits: RingBuffer<Commit>;
  number: number;
  characters: number;
  /** Time of the newest entry that was dropped. */
  droppedUntil: Instant | undefined;
}

type Mutable<Item> = { -readonly [Name in keyof Item]: Item[Name] };

export interface RecorderParts {
  /** Durations are machine time, even if the account's clock is paused. */
  readonly elapsedMs: ElapsedMs;
  readonly bounds?: RecordingBounds;
}

/**
 * The newest requests, acquirer calls and notification attempts of a sandbox's accounts, in memory,
 * lost with the process. Owns a bounded ring of each kind for each account. It stores its input
 * unchanged, so callers must not pass anything that may not be shown. Its methods never throw and
 * never wait.
 */
export class Recorder {
  readonly #elapsedMs: ElapsedMs;
  readonly #bounds: RecordingBounds;
  /** The account with the newest entry is last. */
  readonly #accounts = new Map<MerchantId, AccountRecording>();
  #latest: MerchantId | undefined;
  #sequence = 0;
  #characters = 0;

  constructor({ elapsedMs, bounds = recordingBounds }: RecorderParts) {
    this.#elapsedMs = elapsedMs;
    this.#bounds = bounds;
  }

  /**
   * Records a request, `at` by the account's clock. Call the returned function once, with the
   * answer.
   */
  request(merchantId: MerchantId, at: Instant, facts: RequestFacts): (answer: AnswerFacts) => void {
    const account = this.#accountOf(merchantId, at);
    account.number += 1;
    const { method, path, key, parameters, characters, leftOut } = facts;
    const [sequence, number] = [this.#next(), account.number];
    const entry: Mutable<RecordedRequest> = {
      sequence,
      at,
      number,
      method,
      path,
      key,
      parameters,
      characters,
      leftOut,
      answer: undefined,
      durationMs: 0,
    };
    const began = this.#elapsedMs();
    const gone = account.requests.add(entry);
    this.#noteDropped(account, gone);
    this.#count(account, characters - charactersOf(gone));
    this.#makeRoom(merchantId);
    return (answer) => {
      entry.answer = answer;
      entry.durationMs = this.#since(began);
      // Do not count an entry that was dropped in the meantime.
      const isHeld = entry.number > account.number - account.requests.size;
      if (!isHeld || this.#accounts.get(merchantId) !== account) return;
      this.#count(account, answer.body.length);
      this.#makeRoom(merchantId);
    };
  }

  /**
   * Records a call to an acquirer. Call the returned function once, with the outcome and its time.
   */
  call(
    merchantId: MerchantId,
    at: Instant,
    facts: CallFacts,
  ): (outcome: OutcomeFacts, answeredAt: Instant) => void {
    const account = this.#accountOf(merchantId, at);
    const entry: Mutable<RecordedCall> = {
      sequence: this.#next(),
      at,
      ...facts,
      answered: undefined,
    };
    const began = this.#elapsedMs();
    this.#noteDropped(account, account.calls.add(entry));
    return (outcome, answeredAt) => {
      entry.answered = { at: answeredAt, durationMs: this.#since(began), outcome };
    };
  }

  /** Records a finished attempt to deliver a notification. */
  attempt(merchantId: MerchantId, at: Instant, facts: AttemptFacts): void {
    const account = this.#accountOf(merchantId, at);
    const gone = account.attempts.add({ sequence: this.#next(), at, ...facts });
    this.#noteDropped(account, gone);
    this.#count(account, messageCharacters(facts) - messageCharacters(gone));
    this.#makeRoom(merchantId);
  }

  /** Records that this version of a payment was just committed. */
  committed(merchantId: MerchantId, at: Instant, paymentId: PaymentId, version: number): void {
    this.#accountOf(merchantId, at).commits.add({ paymentId, version, sequence: this.#next() });
  }

  of(merchantId: MerchantId): Recording {
    const account = this.#accounts.get(merchantId);
    if (account === undefined) {
      return {
        since: undefined,
        requests: [],
        calls: [],
        attempts: [],
        commitsOf: () => new Map(),
      };
    }
    const { began, droppedUntil, requests, calls, attempts, commits } = account;
    return {
      since: droppedUntil ?? began,
      requests: requests.items(),
      calls: calls.items(),
      attempts: attempts.items(),
      commitsOf: (paymentId) =>
        new Map(
          commits
            .items()
            .flatMap((commit) =>
              commit.paymentId === paymentId ? [[commit.version, commit.sequence]] : [],
            ),
        ),
    };
  }

  /** Drops the account's recording. */
  clear(merchantId: MerchantId): void {
    this.#characters -= this.#accounts.get(merchantId)?.characters ?? 0;
    this.#accounts.delete(merchantId);
    if (this.#latest === merchantId) this.#latest = undefined;
  }

  /** Size of all recordings together. */
  get size(): { readonly accounts: number; readonly characters: number } {
    return { accounts: this.#accounts.size, characters: this.#characters };
  }

  #next(): Sequence {
    this.#sequence += 1;
    return this.#sequence;
  }

  #since(began: number): number {
    return Math.max(0, Math.round((this.#elapsedMs() - began) * 1_000) / 1_000);
  }

  #accountOf(merchantId: MerchantId, at: Instant): AccountRecording {
    const known = this.#accounts.get(merchantId);
    if (known !== undefined && this.#latest === merchantId) return known;
    const account = known ?? this.#newAccount(at);
    // Move it to the end of the order.
    this.#accounts.delete(merchantId);
    this.#accounts.set(merchantId, account);
    this.#latest = merchantId;
    if (this.#accounts.size > this.#bounds.accounts) this.#dropOldest(merchantId);
    return account;
  }

  #newAccount(began: Instant): AccountRecording {
    const { requests, calls, attempts, commits } = this.#bounds;
    return {
      began,
      requests: new RingBuffer(requests),
      calls: new RingBuffer(calls),
      attempts: new RingBuffer(attempts),
      commits: new RingBuffer(commits),
      number: 0,
      characters: 0,
      droppedUntil: undefined,
    };
  }

  #noteDropped(account: AccountRecording, gone: Recorded | undefined): void {
    if (
      gone !== undefined &&
      (account.droppedUntil === undefined || gone.at > account.droppedUntil)
    )
      account.droppedUntil = gone.at;
  }

  #count(account: AccountRecording, characters: number): void {
    account.characters += characters;
    this.#characters += characters;
  }

  /** A single account never exceeds the limit: its requests and messages are bounded themselves. */
  #makeRoom(merchantId: MerchantId): void {
    while (this.#characters > this.#bounds.characters && this.#accounts.size > 1)
      this.#dropOldest(merchantId);
  }

  #dropOldest(but: MerchantId): void {
    for (const merchantId of this.#accounts.keys()) {
      if (merchantId === but) continue;
      this.clear(merchantId);
      return;
    }
  }
}

function messageCharacters(attempt: AttemptFacts | undefined): number {
  return attempt?.exchange?.characters ?? 0;
}

function charactersOf(request: RecordedRequest | undefined): number {
  return request === undefined ? 0 : request.characters + (request.answer?.body.length ?? 0);
}
