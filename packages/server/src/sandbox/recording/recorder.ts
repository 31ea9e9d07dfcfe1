import type { ElapsedMs } from "../../kernel/elapsed.ts";
import type { MerchantId, PaymentId, TokenDigest } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { EndpointId } from "../../notification/events.ts";
import { Ring } from "./ring.ts";

/** What is kept at most, in this process's memory and nowhere else. */
export const recordingBounds = {
  /** The newest of an account. */
  requests: 1_000,
  calls: 1_000,
  attempts: 1_000,
  /** Commits of payments: only when they happened. */
  commits: 4_000,
  /** Characters of one request's parameters, and of one answer's body. */
  parameterCharacters: 4_096,
  answerCharacters: 4_096,
  /**
   * Characters of all requests and answers together, so that many accounts cannot hold what each of
   * them may.
   */
  characters: 32 * 1024 * 1024,
  /** Beyond these, the account of which nothing was recorded for longest is forgotten. */
  accounts: 2_000,
} as const;

export type RecordingBounds = { readonly [Name in keyof typeof recordingBounds]: number };

/** A place in the order in which things were recorded, of all accounts. */
type Sequence = number;

interface Recorded {
  readonly sequence: Sequence;
  /** By the account's clock. */
  readonly at: Instant;
}

/**
 * One request of an account, as far as it may be kept: whoever records it has taken out what must
 * not be.
 */
export interface RequestFacts {
  readonly method: string;
  /** The endpoint's own, never what the client wrote. */
  readonly path: string;
  /** What was shown for it: a key, or the session of somebody who is signed in. */
  readonly key: "secret" | "public" | "session";
  /** The parameters that may be shown. */
  readonly parameters: ParameterList;
  /** What they hold. */
  readonly characters: number;
  /** How many parameters are not shown: their names may be anything. */
  readonly leftOut: number;
}

/**
 * Names and values in turns: made quickly, and read when somebody asks. A value is text, or a list
 * of its own.
 */
export interface ParameterList extends ReadonlyArray<string | ParameterList> {}

export interface AnswerFacts {
  readonly status: number;
  /** The interface's code of a refusal. */
  readonly code: string | undefined;
  /** JSON text, or the beginning of it. */
  readonly body: string;
  readonly isCut: boolean;
  /** It is the answer to an earlier request under the same Idempotency-Key. */
  readonly isReplayed: boolean;
  /** The token that it tells, where it is about no payment. */
  readonly tokenDigest: TokenDigest | undefined;
}

export interface RecordedRequest extends Recorded, RequestFacts {
  /** Counts up from 1 within the account. */
  readonly number: number;
  /** Undefined while it is under way. */
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

/** What was asked of an acquirer. Holds no card: what it says of one is the mask. */
export interface CallFacts {
  readonly connector: string;
  readonly kind: CallKind;
  readonly reference: string;
  /** Of the authorization that it follows, or asks about. */
  readonly originalReference: string | undefined;
  /** Decimal text, and its currency. */
  readonly amount: string | undefined;
  readonly currency: string | undefined;
  /** Taken at once, or only held; undefined of all but authorizations. */
  readonly capture: boolean | undefined;
  readonly brand: string | undefined;
  readonly maskedPan: string | undefined;
  readonly paymentId: PaymentId | undefined;
}

/** What came of it, by names and values that may be shown. */
export interface OutcomeFacts {
  readonly kind: string;
  readonly [detail: string]: string | boolean | undefined;
}

export interface RecordedCall extends Recorded, CallFacts {
  /** Undefined while it is under way. */
  readonly answered:
    | { readonly at: Instant; readonly durationMs: number; readonly outcome: OutcomeFacts }
    | undefined;
}

/** One attempt to deliver a notification, when it had ended. */
export interface AttemptFacts {
  readonly paymentId: PaymentId;
  readonly endpoint: EndpointId;
  readonly url: string;
  /** The notification's number within its account. */
  readonly number: number;
  readonly notificationType: string;
  /** Which attempt it was, from 1, since the notification or its replay was asked for. */
  readonly attempt: number;
  /** An HTTP status, or a word of delivery/delivery.ts. */
  readonly outcome: string;
  readonly verdict: "delivered" | "again" | "given_up" | "gone";
  /** When it is tried next. */
  readonly dueAt: Instant | undefined;
}

export type RecordedAttempt = Recorded & AttemptFacts;

/** What was recorded of one account, oldest first. */
export interface Recording {
  /**
   * By the account's clock: not all of what happened before is recorded. Undefined when nothing is.
   */
  readonly since: Instant | undefined;
  readonly requests: readonly RecordedRequest[];
  readonly calls: readonly RecordedCall[];
  readonly attempts: readonly RecordedAttempt[];
  /** When versions of a payment were committed, among what is recorded, as far as that is known. */
  readonly commitsOf: (paymentId: PaymentId) => ReadonlyMap<number, Sequence>;
}

interface Commit {
  readonly paymentId: PaymentId;
  readonly version: number;
  readonly sequence: Sequence;
}

interface AccountRecording {
  readonly began: Instant;
  readonly requests: Ring<Growing<RecordedRequest>>;
  readonly calls: Ring<Growing<RecordedCall>>;
  readonly attempts: Ring<RecordedAttempt>;
  readonly commits: Ring<Commit>;
  number: number;
  characters: number;
  /** Of the newest that had to go. */
  goneAt: Instant | undefined;
}

type Growing<Item> = { -readonly [Name in keyof Item]: Item[Name] };

export interface RecorderParts {
  /** How long things take is the machine's time, also where the account's clock stands still. */
  readonly elapsedMs: ElapsedMs;
  readonly bounds?: RecordingBounds;
}

/**
 * What the accounts of a sandbox have asked, what acquirers were asked for them, and how their
 * notifications went: the newest of each, in memory, gone with the process. Owns a bounded ring of
 * each kind for each account. What it is given it keeps as it is, so nothing that may not be shown
 * is given to it. Its methods never throw and wait for nothing.
 */
export class Recorder {
  readonly #elapsedMs: ElapsedMs;
  readonly #bounds: RecordingBounds;
  /** The one that something was recorded of last is the last. */
  readonly #accounts = new Map<MerchantId, AccountRecording>();
  #latest: MerchantId | undefined;
  #sequence = 0;
  #characters = 0;

  constructor({ elapsedMs, bounds = recordingBounds }: RecorderParts) {
    this.#elapsedMs = elapsedMs;
    this.#bounds = bounds;
  }

  /**
   * A request has come, `at` by the account's clock. What it returns is to be called once, with the
   * answer.
   */
  request(merchantId: MerchantId, at: Instant, facts: RequestFacts): (answer: AnswerFacts) => void {
    const account = this.#accountOf(merchantId, at);
    account.number += 1;
    const { method, path, key, parameters, characters, leftOut } = facts;
    const [sequence, number] = [this.#next(), account.number];
    const entry: Growing<RecordedRequest> = {
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
    this.#dropped(account, gone);
    this.#count(account, characters - charactersOf(gone));
    this.#makeRoom(merchantId);
    return (answer) => {
      entry.answer = answer;
      entry.durationMs = this.#since(began);
      // What is forgotten meanwhile counts no more.
      const isHeld = entry.number > account.number - account.requests.size;
      if (!isHeld || this.#accounts.get(merchantId) !== account) return;
      this.#count(account, answer.body.length);
      this.#makeRoom(merchantId);
    };
  }

  /** An acquirer is asked. What it returns is to be called once, with what came of it, and when. */
  call(
    merchantId: MerchantId,
    at: Instant,
    facts: CallFacts,
  ): (outcome: OutcomeFacts, answeredAt: Instant) => void {
    const account = this.#accountOf(merchantId, at);
    const entry: Growing<RecordedCall> = {
      sequence: this.#next(),
      at,
      ...facts,
      answered: undefined,
    };
    const began = this.#elapsedMs();
    this.#dropped(account, account.calls.add(entry));
    return (outcome, answeredAt) => {
      entry.answered = { at: answeredAt, durationMs: this.#since(began), outcome };
    };
  }

  /** An attempt to deliver a notification has ended. */
  attempt(merchantId: MerchantId, at: Instant, facts: AttemptFacts): void {
    const account = this.#accountOf(merchantId, at);
    this.#dropped(account, account.attempts.add({ sequence: this.#next(), at, ...facts }));
  }

  /** This version of a payment has been committed just now. */
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
    const { began, goneAt, requests, calls, attempts, commits } = account;
    return {
      since: goneAt ?? began,
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

  /** Forgets all that was recorded of the account. */
  forget(merchantId: MerchantId): void {
    this.#characters -= this.#accounts.get(merchantId)?.characters ?? 0;
    this.#accounts.delete(merchantId);
    if (this.#latest === merchantId) this.#latest = undefined;
  }

  /** How much there is, of all accounts together. */
  get held(): { readonly accounts: number; readonly characters: number } {
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
    // To the end of the line.
    this.#accounts.delete(merchantId);
    this.#accounts.set(merchantId, account);
    this.#latest = merchantId;
    if (this.#accounts.size > this.#bounds.accounts) this.#forgetOldest(merchantId);
    return account;
  }

  #newAccount(began: Instant): AccountRecording {
    const { requests, calls, attempts, commits } = this.#bounds;
    return {
      began,
      requests: new Ring(requests),
      calls: new Ring(calls),
      attempts: new Ring(attempts),
      commits: new Ring(commits),
      number: 0,
      characters: 0,
      goneAt: undefined,
    };
  }

  #dropped(account: AccountRecording, gone: Recorded | undefined): void {
    if (gone !== undefined && (account.goneAt === undefined || gone.at > account.goneAt))
      account.goneAt = gone.at;
  }

  #count(account: AccountRecording, characters: number): void {
    account.characters += characters;
    this.#characters += characters;
  }

  /** One account alone never has too much: its requests are bounded themselves. */
  #makeRoom(merchantId: MerchantId): void {
    while (this.#characters > this.#bounds.characters && this.#accounts.size > 1)
      this.#forgetOldest(merchantId);
  }

  #forgetOldest(but: MerchantId): void {
    for (const merchantId of this.#accounts.keys()) {
      if (merchantId === but) continue;
      this.forget(merchantId);
      return;
    }
  }
}

function charactersOf(request: RecordedRequest | undefined): number {
  return request === undefined ? 0 : request.characters + (request.answer?.body.length ?? 0);
}
