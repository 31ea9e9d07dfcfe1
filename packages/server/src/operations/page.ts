import type { CardToAuthorize } from "../connectors/connector.ts";
import { decidePageOpened, decidePageSubmitted, openPageOf } from "../decisions/page-decisions.ts";
import { assert } from "../kernel/assert.ts";
import { day, type Instant, laterBy } from "../kernel/instant.ts";
import { expectedLiability } from "../payment/liability.ts";
import type { PaymentPage } from "../payment/payment.ts";
import type { Customer, OrderCard, Payment, PaymentOrder } from "../payment/payment.ts";
import { priceOrder } from "../payment/pricing.ts";
import { ServiceError } from "../payment/service-error.ts";
import {
  cardRefusals,
  recordAuthorization,
  refuseByTraits,
  refuseInstalmentsOf,
  routingOf,
  sendAuthorization,
} from "./authorization.ts";
import { withoutCardNumber } from "./card-number-in-order.ts";
import type { CardSource, DirectOrder, IdempotentInput } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";
import { paymentOfRequest, resultOrEarlier } from "./repeated-requests.ts";
import { withCard } from "./with-card.ts";

/** Hosted pages: the merchant opens one, and its customer submits cards on it. */

/** A validated request for a page: the order without what the customer adds. */
export interface OpenPageInput extends IdempotentInput {
  readonly order: Omit<
    DirectOrder,
    | "instalments"
    | "paymentType"
    | "storedCredential"
    | "threeDSecure"
    | "deviceId"
    | "connector"
    | "page"
  >;
  readonly page: Pick<PaymentPage, "lapsesAt" | "paymentTypes" | "instalments" | "redirectUrl">;
  /** Processed within the country: no cross-border tax (interface 8). */
  readonly local: boolean;
}

/** Longest time of a page whose customer pays in another currency: its rate is fixed at opening. */
const exchangedPageMs = day;

/** Opens a page: prices are fixed now, and the customer adds the card later. */
export const openPage = defineOperation<OpenPageInput, Payment>({
  name: "open_page",
  errors: ["payment_code_taken"],

  run: (context, input) =>
    resultOrEarlier(
      () => open(context, input),
      () => paymentOfRequest(context, { code: input.order.code, request: input.request }),
    ),
});

async function open(
  context: OperationContext,
  { order, page, local, request }: OpenPageInput,
): Promise<Payment> {
  const { account, clock } = context;
  const now = clock.now();
  const settings = local ? { ...account.settings, taxPolicy: "none" } : account.settings;
  const pricing = priceOrder(order.amount, order.country, now, settings);
  const longest = laterBy(now, exchangedPageMs);
  const isExchanged = pricing.total.currency !== order.amount.currency;
  const lapsesAt = isExchanged && page.lapsesAt > longest ? longest : page.lapsesAt;
  const opened = {
    ...order,
    pricing,
    instalments: page.instalments[0],
    paymentType: "credit",
    card: undefined,
    storedCredential: undefined,
    threeDSecure: undefined,
    deviceId: undefined,
    expectedLiability: "merchant",
    page: { ...page, lapsesAt, tries: 0, declined: undefined, refusedCards: [] },
  } as const;
  const id = context.newPaymentId(now);
  const { payment } = await context.change(() =>
    decidePageOpened(account.id, id, opened, now, request),
  );
  return payment.next;
}

/** What the customer submits on a page. The caller wipes the source afterwards. */
export interface SubmitOnPageInput {
  readonly hash: string;
  /**
   * The number of this try, from 1: a repeated sending of a try that was carried out is refused, so
   * that it charges nothing twice.
   */
  readonly number: number;
  readonly source: CardSource;
  readonly instalments: number;
  readonly paymentType: PaymentOrder["paymentType"];
  readonly customer: Customer;
}

/**
 * Authorizes a card on a page. Resolves with the payment after that: approved, declined, open for
 * another card, or pending while the outcome is unknown.
 */
export const submitOnPage = defineOperation<SubmitOnPageInput, Payment>({
  name: "submit_on_page",
  errors: [
    "payment_not_found",
    "payment_cancelled",
    "payment_already_captured",
    "payment_in_flight",
    "payment_code_holds_card",
    "token_not_found",
    "card_not_storable",
    "card_not_for_tests",
    "card_not_readable",
    ...cardRefusals,
  ],

  async run(context, input) {
    const seen = await selectPayment(context, { hash: input.hash });
    refuseClosed(seen, input, context.clock.now());
    return withCard(context, input.source, (card, toAuthorize) =>
      submit(context, seen, input, card, toAuthorize),
    );
  },
});

function refuseClosed(
  payment: Payment,
  { number, instalments }: SubmitOnPageInput,
  now: Instant,
): void {
  const page = openPageOf(payment, now);
  if (page.tries + 1 !== number) throw new ServiceError("payment_in_flight");
  const [least, most] = page.instalments;
  if (instalments < least || instalments > most)
    throw new ServiceError("instalments_not_offered", {
      country: payment.order.country,
      count: instalments,
    });
}

async function submit(
  context: OperationContext,
  seen: Payment,
  input: SubmitOnPageInput,
  card: OrderCard,
  toAuthorize: CardToAuthorize,
): Promise<Payment> {
  const { source, paymentType, instalments } = input;
  const now = context.clock.now();
  const order = withoutCardNumber(
    { ...seen.order, customer: input.customer, instalments, paymentType },
    toAuthorize.card.pan,
    context.account,
  );
  refuseInstalmentsOf(card.brand, order);
  const { manualReview, route } = routingOf(
    context,
    { ...order, pricing: seen.order.pricing },
    card.brand,
    toAuthorize,
    now,
  );
  refuseByTraits(context, route, toAuthorize, source, instalments);
  const [connector, ...others] = route;
  const { payment } = await changePayment(context, seen, (current) => {
    refuseClosed(current, input, context.clock.now());
    return decidePageSubmitted(
      current,
      {
        card,
        customer: order.customer,
        instalments,
        paymentType,
        manualReview,
        connector,
        expectedLiability: expectedLiability(card.brand, undefined, false),
      },
      context.clock.now(),
      context.answerBy(),
    );
  });
  assert(
    payment.attempt !== undefined,
    "a submitted card is sent by the attempt that announces it",
  );

  // No transaction is open during the call. If the process dies here, the payment stays
  // `authorizing`, and recovery asks the acquirer for the outcome or reverses it.
  const { sent, outcome } = await sendAuthorization(context, payment, others, toAuthorize);
  return (await recordAuthorization(context, sent, outcome, true)).payment;
}
