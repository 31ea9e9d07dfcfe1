import { defineMachine } from "../kernel/machine.ts";

export const paymentStates = [
  "received",
  "authorizing",
  "authorized",
  "in_review",
  "capturing",
  "captured",
  "voiding",
  "reversing",
  "declined",
  "voided",
  "expired",
] as const;
export type PaymentState = (typeof paymentStates)[number];

export const paymentFacts = [
  "authorization_sent",
  "authorization_approved",
  "authorization_held",
  "sale_approved",
  "authorization_declined",
  "review_accepted",
  "review_rejected",
  "capture_sent",
  "capture_approved",
  "capture_declined",
  "void_sent",
  "void_approved",
  "void_declined",
  "void_declined_in_review",
  "reversal_sent",
  "reversal_approved",
  "authorization_lapsed",
  "lapse_approved",
] as const;
export type PaymentFact = (typeof paymentFacts)[number];

/** What a history tells beside the facts: the state stays as it is. */
export const paymentNotes = [
  /**
   * The acquirer's answer did not come, or did not settle the question: recovery looks again later.
   */
  "attempt_unanswered",
  /** The acquirer certainly holds nothing, and another one is asked. */
  "authorization_rerouted",
  /**
   * Recovery sends a capture or void again under its first reference, which the connector declares
   * safe.
   */
  "attempt_repeated",
  /** The merchant asked to be told once more of what was announced last. */
  "notification_resent",
  /** The acquirer approved an attempt that had been taken for never done. */
  "approval_came_late",
  /** What such an approval had left at the acquirer was undone there. */
  "late_approval_undone",
  /** A broken invariant was met: people must look. */
  "marked_for_review",
] as const;
export type PaymentNote = (typeof paymentNotes)[number];

/** Facts are in the past tense: the thing has happened, the machine only says what follows. */
export const paymentMachine = defineMachine<PaymentState, PaymentFact>({
  states: paymentStates,
  initial: "received",
  final: ["captured", "declined", "voided", "expired"],
  rows: [
    ["received", "authorization_sent", "authorizing"],

    ["authorizing", "authorization_approved", "authorized"],
    ["authorizing", "sale_approved", "captured"],
    ["authorizing", "authorization_held", "in_review"],
    ["authorizing", "authorization_declined", "declined"],
    // The answer never came and the acquirer cannot say what became of it, or says that it knows
    // nothing of it yet.
    ["authorizing", "reversal_sent", "reversing"],
    ["reversing", "reversal_approved", "voided"],

    ["in_review", "review_accepted", "authorized"],
    ["in_review", "review_rejected", "voiding"],
    ["in_review", "void_sent", "voiding"],
    ["in_review", "authorization_lapsed", "voiding"],

    ["authorized", "capture_sent", "capturing"],
    ["capturing", "capture_approved", "captured"],
    // The issuer's hold outlives a declined capture: the merchant may capture again, or void.
    ["capturing", "capture_declined", "authorized"],

    ["authorized", "void_sent", "voiding"],
    ["voiding", "void_approved", "voided"],
    ["voiding", "void_declined", "authorized"],
    ["voiding", "void_declined_in_review", "in_review"],

    // The capture window is over: what is held is given up at the acquirer too.
    ["authorized", "authorization_lapsed", "voiding"],
    ["voiding", "lapse_approved", "expired"],
  ],
});
