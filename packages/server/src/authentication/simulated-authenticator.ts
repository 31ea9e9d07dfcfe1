import { createHmac, timingSafeEqual } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, laterBy, second } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import { brandOf } from "../vault/bin.ts";
import type { Brand } from "../vault/brand.ts";
import { maskOf } from "../vault/mask.ts";
import type { Pan } from "../vault/pan.ts";
import type {
  Authentication,
  AuthenticationOutcome,
  AuthenticationReason,
  AuthenticationRequest,
  Authenticator,
} from "./authenticator.ts";
import { indicatorOf } from "./indicators.ts";
import { type AuthenticationFault, type Behaviour, behaviourOf, behaviours } from "./test-cards.ts";

/** The code that the simulated bank expects. Its page shows it. */
export const challengeCode = "1234";

/** Wrong codes after which the bank ends a challenge. */
const maxTries = 3;
/** The server gives up this much later than the bank would have ended the challenge itself. */
const graceMs = 3 * second;
/** Messages that are kept of one authentication. */
const maxMessages = 20;

const version = "2.2.0";
/** Brands with a directory server. */
const enrolled: ReadonlySet<Brand> = new Set([
  "visa",
  "mastercard",
  "amex",
  "elo",
  "diners",
  "discover",
]);

/** A message of EMV 3-D Secure that was sent, or should have been. */
export interface AuthenticationMessage {
  readonly at: Instant;
  readonly name: "AReq" | "ARes" | "CReq" | "CRes" | "RReq";
  /** transStatus, where the message has one; `lost`: it did not arrive. */
  readonly status: AuthenticationOutcome | "C" | "lost" | undefined;
}

/** An authentication with what only the simulation knows of it. */
export interface SimulatedAuthentication extends Authentication {
  readonly merchantId: MerchantId;
  readonly maskedPan: string;
  readonly amount: Money;
  readonly messages: readonly AuthenticationMessage[];
}

interface Challenge {
  /** When the bank ends it. */
  readonly endsAt: Instant;
  readonly triesLeft: number;
  /** The bank has ended it, whether or not its result arrived. */
  readonly isEnded: boolean;
  /** Real milliseconds until the bank's page has its content; 0 after the first request for it. */
  readonly pageDelayMs: number;
}

interface Entry extends SimulatedAuthentication {
  readonly brand: Brand;
  readonly behaviour: Behaviour;
  readonly challenge: Challenge | undefined;
}

type Challenged = Entry & { readonly challenge: Challenge };

function isChallenged(entry: Entry): entry is Challenged {
  return entry.challenge !== undefined;
}

/** What the bank's page shows. */
export type ChallengeView =
  | { readonly kind: "asking"; readonly triesLeft: number; readonly of: SimulatedAuthentication }
  /** The bank does not answer. */
  | { readonly kind: "silent" }
  /** The page is to be asked for again after this time. */
  | { readonly kind: "late"; readonly delayMs: number }
  /** `claimed`: the transStatus in the CRes, which proves nothing. */
  | { readonly kind: "ended"; readonly claimed: "Y" | "N" };

/**
 * A 3-D Secure server with a directory server and a bank (ACS) that exist only in this process, for
 * the sandbox: the card's number decides what they do (test-cards.ts). Deterministic for a secret
 * and a clock. Owns the authentications, in memory only. Each has one outcome: what is known first
 * stays, and later results change nothing.
 */
export class SimulatedAuthenticator implements Authenticator {
  readonly #clock: Clock;
  readonly #secret: Uint8Array;
  readonly #limit: number;
  readonly #entries: BoundedMap<string, Entry>;
  #begun: number;

  /**
   * `secret`: 32 bytes; all ids and values are derived from it. `limit`: authentications in memory;
   * the oldest are dropped.
   */
  constructor(clock: Clock, secret: Uint8Array, limit: number, from?: SimulatedAuthenticator) {
    this.#clock = clock;
    this.#secret = secret;
    this.#limit = limit;
    this.#entries =
      from === undefined ? new BoundedMap(limit) : from.#entries.copy((entry) => entry);
    this.#begun = from === undefined ? 0 : from.#begun;
  }

  /** A copy in its present state, by another clock. */
  copy(clock: Clock): SimulatedAuthenticator {
    return new SimulatedAuthenticator(clock, this.#secret, this.#limit, this);
  }

  begin(merchantId: MerchantId): { readonly id: string; readonly accessToken: string } {
    this.#begun += 1;
    const id = uuidOf(this.#bytes(`id ${this.#begun}`));
    return { id, accessToken: this.#accessTokenOf(merchantId, id) };
  }

  began(merchantId: MerchantId, id: string, accessToken: string): boolean {
    const expected = Buffer.from(this.#accessTokenOf(merchantId, id));
    const given = Buffer.from(accessToken);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  versionOf(pan: Pan): Promise<string | undefined> {
    const brand = brandOf(pan);
    return Promise.resolve(brand !== undefined && enrolled.has(brand) ? version : undefined);
  }

  /** `fault` takes the place of the card's own behaviour. */
  authenticate(
    request: AuthenticationRequest,
    fault?: AuthenticationFault,
  ): Promise<Authentication> {
    const { merchantId, id, pan, brand, amount, challengeMs } = request;
    const existing = this.find(merchantId, id);
    if (existing !== undefined) return Promise.resolve(existing);
    const now = this.#clock.now();
    const behaviour = behaviourOf(pan, fault);
    const isEnrolled = request.version !== undefined;
    const isSilent = isEnrolled && behaviour === "directory_server_silent";
    const status = isEnrolled ? behaviours[behaviour].ares : "U";
    const entry: Entry = {
      merchantId,
      id,
      directoryServerId: uuidOf(this.#bytes(`directory server ${id}`)),
      version: request.version ?? version,
      status: "C",
      reason: undefined,
      eci: undefined,
      authenticationValue: undefined,
      xid: this.#bytes(`xid ${id}`).subarray(0, 20).toString("base64"),
      maskedPan: maskOf(pan),
      brand,
      amount,
      behaviour,
      challenge: undefined,
      messages: isEnrolled
        ? [
            { at: now, name: "AReq", status: undefined },
            { at: now, name: "ARes", status: isSilent ? "lost" : status },
          ]
        : [],
    };
    const begun: Entry =
      status === "C"
        ? {
            ...entry,
            challenge: {
              endsAt: laterBy(now, challengeMs),
              triesLeft: maxTries,
              isEnded: false,
              pageDelayMs: fault?.kind === "bank_late" ? fault.delayMs : 0,
            },
          }
        : this.#settled(
            entry,
            status,
            isEnrolled ? (isSilent ? "directory_server_silent" : undefined) : "range_unknown",
          );
    this.#entries.set(id, begun);
    return Promise.resolve(begun);
  }

  result(merchantId: MerchantId, id: string): Promise<Authentication | undefined> {
    return Promise.resolve(this.find(merchantId, id));
  }

  /** As `result`, at once and with what only the simulation knows. */
  find(merchantId: MerchantId, id: string): SimulatedAuthentication | undefined {
    const entry = this.#current(id);
    return entry?.merchantId === merchantId ? entry : undefined;
  }

  /** The authentication that issued one of these values; undefined if none did. */
  issuerOf(
    merchantId: MerchantId,
    values: {
      readonly transactionId: string | undefined;
      readonly xid: string | undefined;
      readonly cryptogram: Uint8Array | undefined;
    },
  ): SimulatedAuthentication | undefined {
    const { transactionId, xid, cryptogram } = values;
    for (const entry of this.#entries.values()) {
      if (entry.merchantId !== merchantId) continue;
      const { directoryServerId, authenticationValue } = entry;
      if (
        directoryServerId === transactionId ||
        entry.xid === xid ||
        (cryptogram !== undefined &&
          authenticationValue !== undefined &&
          Buffer.compare(Buffer.from(authenticationValue), cryptogram) === 0)
      )
        return this.find(merchantId, entry.id);
    }
    return undefined;
  }

  /** Time until a challenge ends by itself, in milliseconds; 0 without one. */
  challengeMsLeft(merchantId: MerchantId, id: string): number {
    const entry = this.#current(id);
    if (entry?.merchantId !== merchantId || entry.status !== "C") return 0;
    return Math.max(0, (entry.challenge?.endsAt ?? 0) - this.#clock.now());
  }

  /** The browser opens the bank's page (CReq). Undefined if there is no such challenge. */
  openChallenge(merchantId: MerchantId, id: string): ChallengeView | undefined {
    const entry = this.#challenged(merchantId, id);
    if (entry === undefined) return undefined;
    const { challenge } = entry;
    const opened = this.#sent(entry, "CReq", undefined);
    this.#entries.set(id, { ...opened, challenge: { ...challenge, pageDelayMs: 0 } });
    if (challenge.pageDelayMs > 0) return { kind: "late", delayMs: challenge.pageDelayMs };
    if (entry.behaviour === "bank_silent") return { kind: "silent" };
    return viewOf(entry);
  }

  /** The customer enters a code. */
  answerChallenge(merchantId: MerchantId, id: string, code: string): ChallengeView | undefined {
    const entry = this.#challenged(merchantId, id);
    if (entry === undefined) return undefined;
    if (entry.challenge.isEnded || entry.status !== "C") return viewOf(entry);
    if (entry.behaviour === "bank_silent") return { kind: "silent" };
    if (entry.behaviour === "challenge_unavailable")
      return this.#endChallenge(entry, "U", "bank_unavailable");
    if (code === challengeCode && entry.behaviour !== "challenge_fails")
      return this.#endChallenge(entry, "Y", undefined);
    const triesLeft = entry.challenge.triesLeft - 1;
    if (triesLeft === 0) return this.#endChallenge(entry, "N", "wrong_code");
    const next = { ...entry, challenge: { ...entry.challenge, triesLeft } };
    this.#entries.set(id, next);
    return viewOf(next);
  }

  /** The customer leaves the challenge, or the page that shows it ends it. */
  cancelChallenge(
    merchantId: MerchantId,
    id: string,
    reason: "cancelled" | "timed_out",
  ): ChallengeView | undefined {
    const entry = this.#challenged(merchantId, id);
    if (entry === undefined) return undefined;
    if (entry.status !== "C") return viewOf(entry);
    return this.#endChallenge(entry, "not_completed", reason);
  }

  /** The bank ends a challenge: its result goes to the server (RReq), the CRes to the browser. */
  #endChallenge(
    entry: Challenged,
    outcome: AuthenticationOutcome,
    reason: AuthenticationReason | undefined,
  ): ChallengeView {
    const { challenge, behaviour } = entry;
    const isLost =
      outcome === "Y" && (behaviour === "result_lost" || behaviour === "result_forged");
    const ended = { ...entry, challenge: { ...challenge, isEnded: true } };
    // A forged CRes has no result behind it that could get lost.
    const sent =
      behaviour === "result_forged" && isLost
        ? ended
        : this.#sent(ended, "RReq", isLost ? "lost" : outcome);
    const settled = isLost ? sent : this.#settled(sent, outcome, reason);
    const claimed = outcome === "Y" ? "Y" : "N";
    this.#entries.set(entry.id, this.#sent(settled, "CRes", claimed));
    return { kind: "ended", claimed };
  }

  #challenged(merchantId: MerchantId, id: string): Challenged | undefined {
    const entry = this.#current(id);
    return entry?.merchantId === merchantId && isChallenged(entry) ? entry : undefined;
  }

  /** The entry, after the ends of its challenge that lie in the past. */
  #current(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry?.challenge === undefined || entry.status !== "C") return entry;
    const now = this.#clock.now();
    const { challenge, behaviour } = entry;
    if (now < challenge.endsAt) return entry;
    // The result of a bank that is silent, or was lost, does not come: the server ends it.
    const comes = !challenge.isEnded && behaviour !== "bank_silent";
    if (!comes && now < laterBy(challenge.endsAt, graceMs)) return entry;
    const sent = comes ? this.#sent(entry, "RReq", "not_completed") : entry;
    const ended = { ...sent, challenge: { ...challenge, isEnded: true } };
    const settled = this.#settled(ended, "not_completed", "timed_out");
    this.#entries.set(id, settled);
    return settled;
  }

  #settled(
    entry: Entry,
    outcome: AuthenticationOutcome,
    reason: AuthenticationReason | undefined,
  ): Entry {
    assert(entry.status === "C", "an authentication has one outcome");
    const hasValue = outcome === "Y" || outcome === "A" || outcome === "I";
    return {
      ...entry,
      status: outcome,
      reason,
      eci: indicatorOf(entry.brand, outcome),
      authenticationValue: hasValue
        ? this.#bytes(`authentication value ${entry.id}`).subarray(0, 20).toString("base64")
        : undefined,
    };
  }

  #sent(
    entry: Entry,
    name: AuthenticationMessage["name"],
    status: AuthenticationMessage["status"],
  ): Entry {
    const message = { at: this.#clock.now(), name, status };
    return { ...entry, messages: [...entry.messages, message].slice(-maxMessages) };
  }

  /** A JSON Web Token (RFC 7519), which clients do not look into. */
  #accessTokenOf(merchantId: MerchantId, id: string): string {
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = `${part({ alg: "HS256", typ: "JWT" })}.${part({ jti: id })}`;
    return `${claims}.${this.#bytes(`access ${merchantId} ${id}`).toString("base64url")}`;
  }

  #bytes(name: string): Buffer {
    return createHmac("sha256", this.#secret).update(name).digest();
  }
}

function viewOf(entry: Challenged): ChallengeView {
  const { challenge, status } = entry;
  if (!challenge.isEnded && status === "C")
    return { kind: "asking", triesLeft: challenge.triesLeft, of: entry };
  return { kind: "ended", claimed: status === "Y" ? "Y" : "N" };
}

/** A UUID of version 4 (RFC 9562) from the first 16 bytes. */
function uuidOf(bytes: Buffer): string {
  const own = Buffer.from(bytes.subarray(0, 16));
  own[6] = ((own[6] ?? 0) & 0x0f) | 0x40;
  own[8] = ((own[8] ?? 0) & 0x3f) | 0x80;
  const hex = own.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
