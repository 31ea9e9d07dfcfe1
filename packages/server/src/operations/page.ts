import type { CardToAuthorize } from "../connectors/connector.ts";
import {
  decideAuthenticationStarted,
  decidePageOpened,
  decidePageSubmitted,
  decideRefusedAtOnce,
  openPageOf,
  type Submitted,
} from "../decisions/page-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import { day, type Instant, laterBy } from "../kernel/instant.ts";
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
import { vaultErrorOf } from "./commit.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import {
  authenticateCard,
  authenticationMs,
  cryptogramOf,
  judge,
  paymentOwner,
} from "./page-authentication.ts";
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
  /**
   * Whether the page can show a bank's challenge. If not, a card that needs one is refused when the
   * account requires 3-D Secure.
   */
  readonly showsChallenges: boolean;
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
  const submitted: Submitted = {
    card,
    customer: order.customer,
    instalments,
    paymentType,
    manualReview,
    connector,
    threeDSecure: undefined,
    expectedLiability: "merchant",
  };
  if (context.account.settings.pageAuthentication !== "off")
    return submitAuthenticated(context, seen, input, submitted, others, toAuthorize);
  return submitAuthorized(context, seen, input, submitted, others, toAuthorize);
}

/** Decides on the page as it is now, if it still takes this try. */
async function changeOpenPage(
  context: OperationContext,
  seen: Payment,
  input: SubmitOnPageInput,
  decide: (payment: Payment, now: Instant) => PaymentChange,
): Promise<Payment> {
  const { payment } = await changePayment(context, seen, (current) => {
    const now = context.clock.now();
    refuseClosed(current, input, now);
    return decide(current, now);
  });
  return payment;
}

async function submitAuthorized(
  context: OperationContext,
  seen: Payment,
  input: SubmitOnPageInput,
  submitted: Submitted,
  others: readonly string[],
  toAuthorize: CardToAuthorize,
): Promise<Payment> {
  const payment = await changeOpenPage(context, seen, input, (current, now) =>
    decidePageSubmitted(current, submitted, now, context.answerBy()),
  );
  assert(
    payment.attempt !== undefined,
    "a submitted card is sent by the attempt that announces it",
  );

  // No transaction is open during the call. If the process dies here, the payment stays
  // `authorizing`, and recovery asks the acquirer for the outcome or reverses it.
  const { sent, outcome } = await sendAuthorization(context, payment, others, toAuthorize);
  return (await recordAuthorization(context, sent, outcome, true)).payment;
}

/**
 * 3-D Secure first. The authentication request moves no money and commits nothing; of two tabs that
 * both sent one, one is refused when the outcome is committed.
 */
async function submitAuthenticated(
  context: OperationContext,
  seen: Payment,
  input: SubmitOnPageInput,
  submitted: Submitted,
  others: readonly string[],
  toAuthorize: CardToAuthorize,
): Promise<Payment> {
  const { card } = submitted;
  const authentication = await authenticateCard(context, seen.order, card, toAuthorize);
  const started = {
    id: authentication?.id ?? "",
    endsAt: laterBy(context.clock.now(), authenticationMs),
    sealedCard: "",
  };
  if (authentication?.status === "C" && input.showsChallenges) {
    const sealedCard = await sealedUnder(context, seen, input, toAuthorize);
    return changeOpenPage(context, seen, input, (current, now) =>
      decideAuthenticationStarted(current, submitted, { ...started, sealedCard }, now),
    );
  }
  const judged = judge(authentication, submitted, card, context.account.settings);
  if (judged.kind === "failed")
    return changeOpenPage(context, seen, input, (current, now) =>
      decideRefusedAtOnce(current, submitted, started, judged.outcome, now),
    );
  const cryptogram = cryptogramOf(judged.value);
  try {
    const proven = { ...submitted, ...judged.proof };
    const proof = cryptogram === undefined ? {} : { cryptogram };
    return await submitAuthorized(context, seen, input, proven, others, {
      ...toAuthorize,
      ...proof,
    });
  } finally {
    cryptogram?.wipe();
  }
}

async function sealedUnder(
  context: OperationContext,
  seen: Payment,
  { number }: SubmitOnPageInput,
  { card }: CardToAuthorize,
): Promise<string> {
  try {
    const ref = await context.vault.put(card, paymentOwner(seen, number));
    return Buffer.from(ref).toString("base64");
  } catch (error) {
    throw vaultErrorOf(error);
  }
}
