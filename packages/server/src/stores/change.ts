import type { KeyDigest, MerchantId, TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { SafeDetail } from "../payment/service-error.ts";
import type { JournalEntry } from "../ledger/journal.ts";
import type { Account } from "../merchant/account.ts";
import type { Delivery, EndpointId, Notification, QueueId } from "../notification/events.ts";
import type { ChargebackFact } from "../payment/chargeback.ts";
import type { PaymentFact, PaymentNote } from "../payment/payment-machine.ts";
import type { RefundFact } from "../payment/refund.ts";
import type { Payment } from "../payment/payment.ts";
import type { StoredCard } from "../vault/stored-card.ts";

/**
 * The only unit of writing: plain data, applied whole or not at all. `replaces` is the version that
 * was read, undefined for a new record. A change with a payment appends exactly one history row
 * (payment, next.version) with its facts and journal entries, and one outbox row for each
 * notification. The change is stale if a stored delivery differs from the version that was read, or
 * exists although the change adds it.
 */
export interface Change {
  readonly merchantId: MerchantId;
  readonly at: Instant;
  readonly payment?: { readonly next: Payment; readonly replaces: number | undefined };
  /** `from`: the digest under which the replaced card is stored, if the digest changes. */
  readonly card?: {
    readonly next: StoredCard;
    readonly replaces: number | undefined;
    readonly from?: TokenDigest;
  };
  /**
   * Moves a stored card's last use forward, never back. Unversioned, because uses commute. A
   * missing card is not a conflict.
   */
  readonly cardUse?: { readonly tokenDigest: TokenDigest; readonly at: Instant };
  /**
   * Deletes a stored card, unless it was used at `unusedSince` or later. A missing or used card is
   * not a conflict.
   */
  readonly cardErasure?: { readonly tokenDigest: TokenDigest; readonly unusedSince: Instant };
  readonly account?: {
    readonly next: Account;
    readonly replaces: number | undefined;
    /** Keys to add. An identical key that is already stored without a MAC gets this MAC. */
    readonly keys: readonly AccountKey[];
  };
  /**
   * Deletes Idempotency-Keys with their answers: those that were claimed before `claimedBefore` and
   * have an answer. Other listed keys stay and are not a conflict.
   */
  readonly requestDeletion?: { readonly keys: readonly string[]; readonly claimedBefore: Instant };
  /**
   * Deletes deliveries of this merchant that ended before `endedBefore`. Other listed deliveries
   * stay and are not a conflict.
   */
  readonly deliveryDeletion?: {
    readonly deliveries: readonly DeliveryKey[];
    readonly endedBefore: Instant;
  };
  /** A request with an Idempotency-Key: claimed before it runs, answered once. */
  readonly request?: { readonly next: IdempotentRequest; readonly replaces: "nothing" | "claim" };
  readonly facts: readonly FactRecord[];
  readonly entries: readonly JournalEntry[];
  readonly notifications: readonly Notification[];
  /** Endpoints to notify: each gets a new delivery of each of `notifications`. */
  readonly endpoints?: readonly EndpointId[];
  /** Those of `endpoints` that take several payments in one message (openMessage in events.ts). */
  readonly batchFor?: readonly EndpointId[];
  /**
   * Deliveries of this merchant that changed, or that a replay adds to notifications committed
   * earlier.
   */
  readonly deliveries?: readonly {
    readonly next: Delivery;
    readonly replaces: number | undefined;
  }[];
  /**
   * Nothing of this queue is due before `until`, because its endpoint is disabled in this version
   * of the account. If the account has another version, nothing is parked and there is no conflict.
   * The next change of the account ends the parking.
   */
  readonly parking?: {
    readonly queue: QueueId;
    readonly until: Instant;
    readonly accountVersion: number;
  };
}

export interface AccountKey {
  readonly digest: KeyDigest;
  readonly grants: KeyGrant;
  /** Covers the digest, the account and the grant. Undefined on a row of an earlier version. */
  readonly mac?: Uint8Array | undefined;
}

/** Identifies a delivery of a merchant. */
export type DeliveryKey = Pick<Delivery, "endpoint" | "number">;

/** The request recorded under an Idempotency-Key. */
export interface IdempotentRequest {
  /** Chosen by the merchant, 1 to 255 characters. */
  readonly key: string;
  /**
   * SHA-256 of the request, 64 lower-case hex characters: the same key for another request is
   * refused.
   */
  readonly digest: string;
  readonly claimedAt: Instant;
  /**
   * The answer; undefined while the request runs, or if the process died before it had an answer.
   */
  readonly answer: { readonly status: number; readonly body: string } | undefined;
}

/**
 * A secret key may do everything; a public one may only create tokens and the like (interface 1.6).
 */
export type KeyGrant = "secret" | "public";

/** All facts that a payment's history can contain. */
export type HistoryFact = PaymentFact | PaymentNote | RefundFact | ChargebackFact;

/**
 * `merchant`: requested by the merchant. `recovery`: resolved by an inquiry to the acquirer.
 * `clock`: fell due. `operator`: reported by the operator, directly or on behalf of the acquirer.
 */
export const factSources = ["merchant", "recovery", "clock", "operator"] as const;
export type FactSource = (typeof factSources)[number];

/** A fact about the payment, in the past tense, with details for readers of the history. */
export interface FactRecord {
  readonly fact: HistoryFact;
  /** The attempt of the fact; for a refund's fact the refund's id; or undefined. */
  readonly attempt: number | undefined;
  readonly by: FactSource;
  readonly detail: SafeDetail;
}

/** One row of a payment's history: one committed change. */
export interface HistoryRow {
  readonly version: number;
  readonly at: Instant;
  readonly facts: readonly FactRecord[];
  readonly entries: readonly JournalEntry[];
}

export type CommitResult =
  | { readonly outcome: "committed" }
  /** The version that the change replaces is no longer the stored one: read and decide again. */
  | { readonly outcome: "stale" }
  /**
   * A unique key is taken; nothing was written. `existing` is present if the key is a payment code.
   */
  | { readonly outcome: "duplicate"; readonly key: "payment_code"; readonly existing: Payment }
  | {
      readonly outcome: "duplicate";
      readonly key:
        | "payment_id"
        | "token"
        | "account"
        | "account_key"
        | "refund_id"
        | "refund_code"
        | "request_key";
    };
