import { defineMachine } from "../kernel/machine.ts";
import type { Instant } from "../kernel/instant.ts";

export const refundStates = ["requested", "pending", "sending", "confirmed", "cancelled"] as const;
export type RefundState = (typeof refundStates)[number];

export const refundFacts = [
  "refund_requested",
  "refund_queued",
  "refund_sent",
  "refund_approved",
  "refund_declined",
  "refund_not_done",
  "refund_cancelled",
] as const;
export type RefundFact = (typeof refundFacts)[number];

/** A refund is a record within its payment, with its own state machine (interface 4.4). */
export const refundMachine = defineMachine<RefundState, RefundFact>({
  states: refundStates,
  initial: "requested",
  final: ["confirmed", "cancelled"],
  rows: [
    ["requested", "refund_queued", "pending"],
    ["requested", "refund_cancelled", "cancelled"],

    // Nothing has been sent yet: the merchant may still cancel.
    ["pending", "refund_cancelled", "cancelled"],
    ["pending", "refund_sent", "sending"],

    ["sending", "refund_approved", "confirmed"],
    ["sending", "refund_declined", "cancelled"],
    // Recovery found that the acquirer never executed it: it is sent again, under a new reference.
    ["sending", "refund_not_done", "pending"],
  ],
});

/** The wire's refund id: a whole number that clients parse as a 32-bit integer (interface 4.4). */
export type RefundId = number;

/**
 * Money returned to the cardholder: part of its payment, so that the payment's version guards the
 * sum of the refunds.
 */
export interface Refund {
  /** 1 to 2^31 - 1, unique in the installation. */
  readonly id: RefundId;
  /** merchant_refund_code: unique for the merchant, optional. */
  readonly code: string | undefined;
  readonly state: RefundState;
  /** Minor units of the payment's currency, above zero. */
  readonly amount: bigint;
  readonly description: string;
  /** SHA-256 of the Idempotency-Key and the request: repeating the request returns this refund. */
  readonly request: string | undefined;
  readonly requestedAt: Instant;
  readonly pendingAt: Instant | undefined;
  readonly confirmedAt: Instant | undefined;
  readonly cancelledAt: Instant | undefined;
  /** Number of sendings, each with a new reference; the last one is under way while `sending`. */
  readonly attempts: number;
  readonly sentAt: Instant | undefined;
  /** After this moment the attempt is not sent any more, and its outcome is unknown. */
  readonly answerBy: Instant | undefined;
  /** Number of recovery checks of the current attempt. */
  readonly checks: number;
  /** Time of the next step; undefined once it is final. */
  readonly dueAt: Instant | undefined;
}

/**
 * The acquirer's reference of a refund's attempt: stable, so that recovery can inquire about it
 * after a crash.
 */
export function refundReference(paymentId: string, refund: Refund): string {
  return `${paymentId}-r${refund.id}-${refund.attempts}`;
}
