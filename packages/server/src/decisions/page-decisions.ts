import type { MerchantId } from "../kernel/ids.ts";
import { assert } from "../kernel/assert.ts";
import { type Instant, laterBy, minute, second } from "../kernel/instant.ts";
import { maxTries } from "../payment/page.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type {
  DeclineReason,
  OrderCard,
  Payment,
  PaymentAuthentication,
  PaymentOrder,
  PaymentPage,
  Verdict,
} from "../payment/payment.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { FactSource } from "../stores/change.ts";
import {
  advance,
  cardUseOf,
  change,
  changed,
  isFinal,
  pageUpdate,
  type PaymentChange,
  receivedPayment,
  record,
  requestDetail,
  settle,
  startAuthorization,
} from "./steps.ts";

/**
 * Pure decisions about a payment with a hosted page: it is opened by the merchant, and its customer
 * tries one card after the other until one is approved.
 */

/** What the customer adds to the order: a try replaces what an earlier try added. */
export type Submitted = Pick<
  PaymentOrder,
  "instalments" | "paymentType" | "customer" | "manualReview" | "threeDSecure" | "expectedLiability"
> & { readonly card: OrderCard; readonly connector: string };

/** The merchant opens a page: the first version of the payment. */
export function decidePageOpened(
  merchantId: MerchantId,
  id: PaymentId,
  order: PaymentOrder & { readonly page: PaymentPage },
  now: Instant,
  request?: string,
): PaymentChange {
  const next = advance(receivedPayment(merchantId, id, order, now), "page_opened", now);
  return change(now, next, undefined, [
    record("page_opened", undefined, "merchant", requestDetail(request)),
  ]);
}

/** The payment with what the customer submitted; a refusal if the page does not take the card. */
function withSubmitted(payment: Payment, submitted: Submitted, now: Instant): Payment {
  const page = openPageOf(payment, now);
  if (page.refusedCards.includes(submitted.card.maskedPan))
    throw new ServiceError("card_exhausted");
  const { reroutedTo: _, ...rest } = payment;
  const order: PaymentOrder = {
    ...payment.order,
    ...submitted,
    page: { ...page, tries: page.tries + 1, declined: undefined },
  };
  return { ...rest, order, verdict: undefined };
}

/**
 * The customer submits a card: one commit with the intention, so that of two tabs one is refused
 * because the payment is in flight. The verdict and the route of the try before are gone.
 */
export function decidePageSubmitted(
  payment: Payment,
  submitted: Submitted,
  now: Instant,
  answerBy: Instant,
): PaymentChange {
  const next = startAuthorization(withSubmitted(payment, submitted, now), now, answerBy);
  const facts = [
    record("page_submitted", next.attempts, "merchant", { brand: submitted.card.brand }),
    record("authorization_sent", next.attempts, "merchant"),
  ];
  return { ...change(now, next, payment.version, facts), ...cardUseOf(next.order, now) };
}

/** Times between the questions of a job for the outcome of an authentication. */
const recheckMs = [10 * second, 30 * second, minute];

function recheckAuthenticationAt(now: Instant, checks: number): Instant {
  return laterBy(now, recheckMs[checks] ?? 2 * minute);
}

/** The customer submits a card and must pass a challenge before it is authorized. */
export function decideAuthenticationStarted(
  payment: Payment,
  submitted: Submitted,
  started: Pick<PaymentAuthentication, "id" | "endsAt" | "sealedCard">,
  now: Instant,
): PaymentChange {
  const before = withSubmitted(payment, submitted, now);
  const authentication: PaymentAuthentication = {
    ...started,
    startedAt: now,
    checks: 0,
    recheckAt: recheckAuthenticationAt(now, 0),
  };
  const next = advance(withPage(before, { authentication }), "authentication_started", now);
  const facts = [
    record("page_submitted", undefined, "merchant", { brand: submitted.card.brand }),
    record("authentication_started", undefined, "merchant"),
  ];
  return {
    ...change(now, next, payment.version, facts, [], pageUpdate(payment, next)),
    ...cardUseOf(next.order, now),
  };
}

/** What an authentication proves, for the authorization. */
export type Proof = Pick<PaymentOrder, "threeDSecure" | "expectedLiability">;

/**
 * The authentication ended as the policy requires: its outcome and the intention are one commit.
 * Undefined if the payment does not wait for it any more: then the outcome has no effect.
 */
export function decideAuthenticated(
  payment: Payment,
  id: string,
  { threeDSecure, expectedLiability }: Proof,
  now: Instant,
  answerBy: Instant,
): PaymentChange | undefined {
  if (!waitsFor(payment, id) || pageOf(payment).lapsesAt <= now) return undefined;
  const proven = withPage(payment, { authentication: undefined });
  const order = { ...proven.order, threeDSecure, expectedLiability };
  const next = startAuthorization({ ...proven, order }, now, answerBy);
  const facts = [
    record("authentication_passed", undefined, "recovery", { eci: threeDSecure?.eci ?? "" }),
    record("authorization_sent", next.attempts, "recovery"),
  ];
  return change(now, next, payment.version, facts, [], pageUpdate(payment, next));
}

/** Outcome of an authentication that the policy does not accept. */
export interface NotAuthenticated {
  /** transStatus, or `not_completed`. */
  readonly status: string;
  /** The issuer does not want this card to be tried again (transStatus R). */
  readonly isFinal: boolean;
}

/**
 * The card is not authorized: the customer may try another one, or the payment ends. Undefined if
 * the payment does not wait for this authentication any more.
 */
export function decideNotAuthenticated(
  payment: Payment,
  id: string,
  { status, isFinal }: NotAuthenticated,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  if (!waitsFor(payment, id)) return undefined;
  const page = pageOf(payment);
  const mask = payment.order.card?.maskedPan;
  const ended = withPage(payment, {
    authentication: undefined,
    declined: notAuthenticated.reason,
    refusedCards: isFinal && mask !== undefined ? [...page.refusedCards, mask] : page.refusedCards,
  });
  const fact = mayTryAgain(payment, now) ? "try_not_authenticated" : "authentication_failed";
  const next = settle(advance(ended, fact, now), {
    verdict: fact === "authentication_failed" ? notAuthenticated : undefined,
  });
  const note = record(fact, undefined, by, { status });
  return change(now, next, payment.version, [note], [], "update");
}

/** The card was refused without a challenge: a try that starts and ends in one commit. */
export function decideRefusedAtOnce(
  payment: Payment,
  submitted: Submitted,
  started: Pick<PaymentAuthentication, "id" | "endsAt" | "sealedCard">,
  outcome: NotAuthenticated,
  now: Instant,
): PaymentChange {
  const first = decideAuthenticationStarted(payment, submitted, started, now);
  const { next: waiting } = first.payment;
  const version = payment.version;
  const second = decideNotAuthenticated(
    { ...waiting, version },
    started.id,
    outcome,
    now,
    "merchant",
  );
  assert(second !== undefined, "a try waits for the authentication that it starts");
  const { next } = second.payment;
  const facts = [...first.facts, ...second.facts];
  const kind = isFinal(next.state) ? "update" : pageUpdate(payment, next);
  return { ...change(now, next, version, facts, [], kind), ...cardUseOf(next.order, now) };
}

/** A job asked for the outcome, and it is not known yet. */
export function decideAuthenticationUnanswered(
  payment: Payment,
  id: string,
  now: Instant,
): PaymentChange | undefined {
  const { authentication } = payment.order.page ?? {};
  if (!waitsFor(payment, id) || authentication === undefined) return undefined;
  const checks = authentication.checks + 1;
  const recheckAt = recheckAuthenticationAt(now, checks);
  const next = changed(
    withPage(payment, { authentication: { ...authentication, checks, recheckAt } }),
    {},
  );
  const note = record("authentication_unanswered", undefined, "recovery");
  return change(now, next, payment.version, [note]);
}

/** DE 39 of a card whose issuer requires an authentication. */
const notAuthenticated: Verdict & { readonly reason: DeclineReason } = {
  approved: false,
  authorizationCode: undefined,
  responseCode: "65",
  reason: "three_d_secure_required",
  adviceCode: undefined,
  acquirerReference: undefined,
  networkTransactionId: undefined,
  refusedBeforeIssuer: true,
};

function waitsFor({ state, order }: Payment, id: string): boolean {
  return state === "authenticating" && order.page?.authentication?.id === id;
}

function pageOf({ order: { page } }: Payment): PaymentPage {
  assert(page !== undefined, "only a page waits for an authentication");
  return page;
}

/** Members that are undefined are removed from the page. */
function withPage(
  payment: Payment,
  over: Partial<Omit<PaymentPage, "authentication">> & {
    readonly authentication: PaymentAuthentication | undefined;
  },
): Payment {
  const { authentication: _, ...page } = pageOf(payment);
  const { authentication, ...rest } = over;
  const next = { ...page, ...rest, ...(authentication === undefined ? {} : { authentication }) };
  return { ...payment, order: { ...payment.order, page: next } };
}

/** The page, if it takes a card; otherwise the reason why it does not. */
export function openPageOf({ state, order: { page } }: Payment, now: Instant): PaymentPage {
  if (page === undefined) throw new ServiceError("payment_not_found");
  if (state === "opened") {
    if (page.lapsesAt <= now) throw new ServiceError("payment_cancelled");
    return page;
  }
  if (state === "declined" || state === "voided" || state === "expired")
    throw new ServiceError("payment_cancelled");
  if (state === "captured" || state === "authorized" || state === "in_review")
    throw new ServiceError("payment_already_captured");
  throw new ServiceError("payment_in_flight");
}

/** Whether a decline leaves the page open for another card. */
export function mayTryAgain({ order: { page } }: Payment, now: Instant): boolean {
  return page !== undefined && page.tries < maxTries && now < page.lapsesAt;
}

/** Merchant advice code: do not try this card again, at any acquirer. */
export const neverAgain = "03";
/**
 * Response codes (DE 39) after which this card must not be tried again: pick-up of a lost (41) or
 * stolen (43) card, and the cardholder's stop of this payment (R0), of all payments of the merchant
 * (R1) and of all merchants (R3).
 */
const finalCodes: ReadonlySet<string> = new Set(["41", "43", "R0", "R1", "R3"]);

/**
 * A card was declined, and the customer may try another one. The order keeps what the customer
 * typed; the attempt has no verdict any more, because the next reader would take it for that of the
 * payment.
 */
export function decideTryDeclined(
  payment: Payment,
  verdict: Verdict,
  now: Instant,
  by: FactSource,
): PaymentChange | undefined {
  const { attempt, order } = payment;
  const { page, card } = order;
  if (attempt === undefined || page === undefined || card === undefined) return undefined;
  const { adviceCode, responseCode, reason } = verdict;
  const isFinal = adviceCode === neverAgain || finalCodes.has(responseCode);
  const declined: PaymentPage = {
    ...page,
    declined: reason === "approved" ? undefined : reason,
    refusedCards: isFinal ? [...page.refusedCards, card.maskedPan] : page.refusedCards,
  };
  const { reroutedTo: _, ...rest } = payment;
  const next = settle(advance(rest, "try_declined", now), {
    verdict: undefined,
    order: { ...order, page: declined },
  });
  const note = record("try_declined", attempt.number, by, { reason, responseCode });
  return change(now, next, payment.version, [note], [], pageUpdate(payment, next));
}

/** The merchant cancels a page on which no card is being authorized. Undefined for all other payments. */
export function decidePageCancelled(
  payment: Payment,
  now: Instant,
  request?: string,
): PaymentChange | undefined {
  if (payment.state !== "opened" && payment.state !== "authenticating") return undefined;
  const next = advance(withPage(payment, { authentication: undefined }), "page_cancelled", now);
  const note = record("page_cancelled", undefined, "merchant", requestDetail(request));
  return change(now, next, payment.version, [note], [], "update");
}

/** The time of a page is over. Undefined if nothing lapses (any more). */
export function decidePageLapsed(payment: Payment, now: Instant): PaymentChange | undefined {
  const { page } = payment.order;
  const takesCards = payment.state === "opened" || payment.state === "authenticating";
  if (!takesCards || page === undefined || page.lapsesAt > now) return undefined;
  const next = advance(withPage(payment, { authentication: undefined }), "page_lapsed", now);
  return change(
    now,
    next,
    payment.version,
    [record("page_lapsed", undefined, "clock")],
    [],
    "update",
  );
}
