import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import { maxTries } from "../payment/page.ts";
import type { PaymentPage } from "../payment/payment.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import type { OrderCard, Payment, PaymentOrder, Verdict } from "../payment/payment.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { FactSource } from "../stores/change.ts";
import {
  advance,
  cardUseOf,
  change,
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
  "instalments" | "paymentType" | "customer" | "manualReview" | "expectedLiability"
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
  const page = openPageOf(payment, now);
  if (page.refusedCards.includes(submitted.card.maskedPan))
    throw new ServiceError("card_exhausted");
  const { reroutedTo: _, ...rest } = payment;
  const order: PaymentOrder = {
    ...payment.order,
    ...submitted,
    page: { ...page, tries: page.tries + 1, declined: undefined },
  };
  const next = startAuthorization({ ...rest, order, verdict: undefined }, now, answerBy);
  const facts = [
    record("page_submitted", next.attempts, "merchant", { brand: submitted.card.brand }),
    record("authorization_sent", next.attempts, "merchant"),
  ];
  return { ...change(now, next, payment.version, facts), ...cardUseOf(order, now) };
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

/** The merchant cancels a page on which no card is being tried. Undefined for all other payments. */
export function decidePageCancelled(
  payment: Payment,
  now: Instant,
  request?: string,
): PaymentChange | undefined {
  if (payment.state !== "opened") return undefined;
  const next = advance(payment, "page_cancelled", now);
  const note = record("page_cancelled", undefined, "merchant", requestDetail(request));
  return change(now, next, payment.version, [note], [], "update");
}

/** The time of a page is over. Undefined if nothing lapses (any more). */
export function decidePageLapsed(payment: Payment, now: Instant): PaymentChange | undefined {
  const { page } = payment.order;
  if (payment.state !== "opened" || page === undefined || page.lapsesAt > now) return undefined;
  const next = advance(payment, "page_lapsed", now);
  return change(
    now,
    next,
    payment.version,
    [record("page_lapsed", undefined, "clock")],
    [],
    "update",
  );
}
