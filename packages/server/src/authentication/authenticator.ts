import type { MerchantId } from "../kernel/ids.ts";
import type { Money } from "../kernel/money.ts";
import type { Brand } from "../vault/brand.ts";
import type { Pan } from "../vault/pan.ts";

/**
 * Outcome of an authentication: transStatus of EMV 3-D Secure 2.2 (Y authenticated, A attempted,
 * I informational, U the issuer or the directory server could not, N refused, R rejected), and
 * `not_completed`: a challenge was begun and not passed, and the bank says no more. It is never
 * treated like U, because a customer who closes the challenge would be charged without one.
 */
export const outcomes = ["Y", "A", "I", "U", "N", "R", "not_completed"] as const;
export type AuthenticationOutcome = (typeof outcomes)[number];

/** Why an outcome is not Y, as far as that is known. */
export type AuthenticationReason =
  /** No directory server has the card's range. */
  | "range_unknown"
  | "directory_server_silent"
  | "wrong_code"
  | "cancelled"
  | "timed_out"
  | "bank_unavailable";

/** An authentication as its 3-D Secure server knows it. */
export interface Authentication {
  /** threeDSServerTransID, a UUID. */
  readonly id: string;
  /** dsTransID, a UUID. */
  readonly directoryServerId: string;
  /** The transaction's id in the form of 3-D Secure 1: 28 characters of base64. */
  readonly xid: string;
  readonly version: string;
  /** C: a challenge is under way, and the outcome is not known. */
  readonly status: AuthenticationOutcome | "C";
  readonly reason: AuthenticationReason | undefined;
  /** Electronic commerce indicator of the card's brand; undefined while it is not known. */
  readonly eci: string | undefined;
  /** The cryptogram, 28 characters of base64; only with Y, A and I. */
  readonly authenticationValue: string | undefined;
}

export interface AuthenticationRequest {
  readonly merchantId: MerchantId;
  /** From `begin`. A second request with the same id returns the authentication of the first. */
  readonly id: string;
  /** The caller wipes it when `authenticate` has settled. */
  readonly pan: Pan;
  readonly brand: Brand;
  readonly amount: Money;
  /** From `versionOf`; undefined makes the outcome U. */
  readonly version: string | undefined;
  /** Time that the issuer gives a challenge, in milliseconds. */
  readonly challengeMs: number;
}

/**
 * Port: a 3-D Secure server. Names of its messages and values follow EMV 3-D Secure 2.2. Its
 * outcome for an authentication never changes once it is known.
 */
export interface Authenticator {
  /** A new authentication: its id, and a token that proves that the id was made here. */
  begin(merchantId: MerchantId): { readonly id: string; readonly accessToken: string };
  /** Whether `begin` made the id with this token for the merchant. */
  began(merchantId: MerchantId, id: string, accessToken: string): boolean;
  /** Newest protocol version of the card's range; undefined if no directory server has the range. */
  versionOf(pan: Pan): Promise<string | undefined>;
  /** Sends the authentication request (AReq). */
  authenticate(request: AuthenticationRequest): Promise<Authentication>;
  /** The authentication as it is now; undefined if there is none. */
  result(merchantId: MerchantId, id: string): Promise<Authentication | undefined>;
}
