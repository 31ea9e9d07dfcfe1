import { defineMachine } from "../kernel/machine.ts";

export const paymentStates = [
  "received",
  "opened",
  "authenticating",
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
  "page_opened",
  "try_declined",
  "page_cancelled",
  "page_lapsed",
  "authentication_started",
  "authentication_failed",
  "try_not_authenticated",
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

/** Entries of a history that do not change the state. */
export const paymentNotes = [
  /** The bank authenticated the customer as the account's policy requires. */
  "authentication_passed",
  /** The outcome of the authentication is not known yet: a job asks again later. */
  "authentication_unanswered",
  /** The customer submitted a card on the hosted page, and its authorization is sent. */
  "page_submitted",
  /** The acquirer's answer is missing or inconclusive: recovery checks again later. */
  "attempt_unanswered",
  /** The acquirer definitely holds nothing, and the authorization goes to another one. */
  "authorization_rerouted",
  /**
   * Recovery repeats a capture or void under its first reference, which the connector declares
   * safe.
   */
  "attempt_repeated",
  /** The merchant requested the last announcement again. */
  "notification_resent",
  /** The acquirer approved an attempt that was already recorded as not done. */
  "approval_came_late",
  /** The effect of such an approval was undone at the acquirer. */
  "late_approval_undone",
  /** An invariant is broken: an operator must review the payment. */
  "marked_for_review",
] as const;
export type PaymentNote = (typeof paymentNotes)[number];

/** Facts are in the past tense: the event has happened, and the machine defines the next state. */
export const paymentMachine = defineMachine<PaymentState, PaymentFact>({
  states: paymentStates,
  initial: "received",
  final: ["captured", "declined", "voided", "expired"],
  rows: [
    ["received", "authorization_sent", "authorizing"],

    // The customer pays on a hosted page, and may try another card after a decline.
    ["received", "page_opened", "opened"],
    ["opened", "authorization_sent", "authorizing"],
    ["authorizing", "try_declined", "opened"],
    ["opened", "page_cancelled", "voided"],
    ["opened", "page_lapsed", "expired"],

    // The customer passes 3-D Secure before the card is authorized.
    ["opened", "authentication_started", "authenticating"],
    ["authenticating", "authorization_sent", "authorizing"],
    ["authenticating", "try_not_authenticated", "opened"],
    ["authenticating", "authentication_failed", "declined"],
    ["authenticating", "page_cancelled", "voided"],
    ["authenticating", "page_lapsed", "expired"],

    ["authorizing", "authorization_approved", "authorized"],
    ["authorizing", "sale_approved", "captured"],
    ["authorizing", "authorization_held", "in_review"],
    ["authorizing", "authorization_declined", "declined"],
    // The answer never arrived, and the acquirer cannot report the outcome or has no record of the
    // request yet.
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

    // The capture window is over: the authorization is voided at the acquirer too.
    ["authorized", "authorization_lapsed", "voiding"],
    ["voiding", "lapse_approved", "expired"],
  ],
});
