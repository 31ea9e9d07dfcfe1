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
 * The one way to write: plain data, applied whole or not at all. `replaces` is the version that was
 * read, undefined for a record that is new. A change with a payment appends exactly one history row
 * (payment, next.version) that holds its facts and journal entries, and one outbox row for each
 * notification. A delivery that is not as it was read, or is there although it is new to the
 * change, makes the change stale.
 */
export interface Change {
  readonly merchantId: MerchantId;
  readonly at: Instant;
  readonly payment?: { readonly next: Payment; readonly replaces: number | undefined };
  /** `from`: the digest under which the card that is replaced is stored, when that changes. */
  readonly card?: {
    readonly next: StoredCard;
    readonly replaces: number | undefined;
    readonly from?: TokenDigest;
  };
  /**
   * Moves a stored card's last use forward, never back. No version: uses commute. A card that is
   * gone is no conflict.
   */
  readonly cardUse?: { readonly tokenDigest: TokenDigest; readonly at: Instant };
  /**
   * Forgets a stored card, unless it was used at `unusedSince` or later. A card that is gone, or
   * used, is no conflict.
   */
  readonly cardErasure?: { readonly tokenDigest: TokenDigest; readonly unusedSince: Instant };
  readonly account?: {
    readonly next: Account;
    readonly replaces: number | undefined;
    /**
     * Keys to add. One that is there already, as it is here but without a MAC, is given the MAC.
     */
    readonly keys: readonly AccountKey[];
  };
  /**
   * Deletes Idempotency-Keys with their answers: those that were claimed before `claimedBefore` and
   * have an answer. Others of them stay, and are no conflict.
   */
  readonly requestDeletion?: { readonly keys: readonly string[]; readonly claimedBefore: Instant };
  /**
   * Deletes deliveries of this merchant: those that ended before `endedBefore`. Others of them
   * stay, and are no conflict.
   */
  readonly deliveryDeletion?: {
    readonly deliveries: readonly DeliveryName[];
    readonly endedBefore: Instant;
  };
  /** A request that is named by an Idempotency-Key: claimed before it runs, answered once. */
  readonly request?: { readonly next: NamedRequest; readonly replaces: "nothing" | "claim" };
  readonly facts: readonly FactRecord[];
  readonly entries: readonly JournalEntry[];
  readonly notifications: readonly Notification[];
  /**
   * Endpoints that are to hear of `notifications`: each of these gets a new delivery of each of
   * those.
   */
  readonly deliverTo?: readonly EndpointId[];
  /** Those of `deliverTo` that take several payments in one message (openMessage in events.ts). */
  readonly gatherFor?: readonly EndpointId[];
  /**
   * Deliveries of this merchant that moved on, or that a replay adds to notifications committed
   * before.
   */
  readonly deliveries?: readonly {
    readonly next: Delivery;
    readonly replaces: number | undefined;
  }[];
  /**
   * Nothing of this queue is due before `until`, because its endpoint is switched off in this
   * version of the account. Any other version is no conflict, and then nothing is parked. The next
   * change of the account ends it.
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

/** Names a delivery of a merchant. */
export type DeliveryName = Pick<Delivery, "endpoint" | "number">;

/** What an Idempotency-Key stands for. */
export interface NamedRequest {
  /** The merchant's word, 1 to 255 characters. */
  readonly key: string;
  /**
   * SHA-256 of what was asked, 64 lower-case hex characters: the same key for another request is
   * refused.
   */
  readonly digest: string;
  readonly claimedAt: Instant;
  /**
   * What was answered; undefined while it runs, or when the process died before it had an answer.
   */
  readonly answer: { readonly status: number; readonly body: string } | undefined;
}

/**
 * A secret key may do everything, a public one may only create tokens and the like (interface 1.6).
 */
export type KeyGrant = "secret" | "public";

/** Everything that a payment's history can tell. */
export type HistoryFact = PaymentFact | PaymentNote | RefundFact | ChargebackFact;

/**
 * `merchant`: asked for by a request. `recovery`: found out by asking the acquirer. `clock`: fell
 * due. `operator`: told by whoever runs the installation, or by the acquirer through them.
 */
export const factSources = ["merchant", "recovery", "clock", "operator"] as const;
export type FactSource = (typeof factSources)[number];

/**
 * What happened to the payment, in the past tense, with what a reader of its history wants to know.
 */
export interface FactRecord {
  readonly fact: HistoryFact;
  /** The attempt it belongs to; for a refund's fact the refund's id; or undefined. */
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
  /** The version that the change replaces is no longer the stored one: read again, decide again. */
  | { readonly outcome: "stale" }
  /**
   * A unique key is taken; nothing was written. `existing` is there when the key is a payment code.
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
