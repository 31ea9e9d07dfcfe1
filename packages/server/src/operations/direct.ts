import type { AuthorizeOutcome, CardToAuthorize } from "../connectors/connector.ts";
import { decideIntention } from "../decisions/payment-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { OrderCard, Payment, Pricing } from "../payment/payment.ts";
import { expectedLiability } from "../payment/liability.ts";
import { priceOrder } from "../payment/pricing.ts";
import {
  cardRefusals,
  recordAuthorization,
  refuseByTraits,
  refuseInstalmentsOf,
  type Routing,
  routingOf,
  sendAuthorization,
} from "./authorization.ts";
import { cardByToken, withCard } from "./with-card.ts";
import { factsOf, paymentOfRequest, resultOrEarlier } from "./repeated-requests.ts";
import { read, vaultErrorOf } from "./commit.ts";
import { withoutCardNumber } from "./card-number-in-order.ts";
import type { DirectInput } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { sealUnderToken, type Tokenized } from "./tokenize.ts";

export interface Direct {
  readonly payment: Payment;
  /** The token requested with create_token, if the payment was approved. */
  readonly token: string | undefined;
}

/**
 * Charges or authorizes a card: commits the intention, sends one request to the acquirer, and
 * commits its outcome.
 */
export const direct = defineOperation<DirectInput, Direct>({
  name: "direct",
  errors: [
    "payment_code_holds_card",
    "payment_code_taken",
    "token_not_found",
    "token_taken",
    "card_not_storable",
    "card_not_for_tests",
    "card_not_readable",
    "mandate_mismatch",
    ...cardRefusals,
  ],

  run: (context, input) =>
    resultOrEarlier(
      () => charge(context, input),
      () => resultOfEarlier(context, input),
    ),
});

async function charge(context: OperationContext, requested: DirectInput): Promise<Direct> {
  return withCard(context, requested.source, async (orderCard, toAuthorize) => {
    const input = {
      ...requested,
      order: withoutCardNumber(requested.order, toAuthorize.card.pan, context.account),
    };
    refuseInstalmentsOf(orderCard.brand, input.order);
    const priced = priceAndRoute(context, input, orderCard, toAuthorize);
    refuseByTraits(context, priced.route, toAuthorize, input.source, input.order.instalments);
    if (input.createToken !== undefined) {
      await refuseUsedToken(context, input);
      await prepareVault(context);
    }
    if (input.order.storedCredential?.use === "stored")
      await refuseForeignMandate(context, input, orderCard);
    return authorize(context, input, priced, orderCard, toAuthorize);
  });
}

/**
 * The payment that an earlier sending of this request created, with the token that the merchant
 * chose if it was stored with the payment.
 */
async function resultOfEarlier(
  context: OperationContext,
  { order, request, createToken }: DirectInput,
): Promise<Direct | undefined> {
  const payment = await paymentOfRequest(context, { code: order.code, request });
  if (payment === undefined) return undefined;
  return {
    payment,
    token: (await hasStoredToken(context, payment)) ? createToken?.token : undefined,
  };
}

interface Priced extends Routing {
  readonly now: Instant;
  readonly pricing: Pricing;
}

function priceAndRoute(
  context: OperationContext,
  { local, order }: DirectInput,
  { brand }: OrderCard,
  toAuthorize: CardToAuthorize,
): Priced {
  const { account, clock } = context;
  const now = clock.now();
  const settings = local ? { ...account.settings, taxPolicy: "none" } : account.settings;
  const pricing = priceOrder(order.amount, order.country, now, settings);
  const routing = routingOf(context, { ...order, pricing }, brand, toAuthorize, now);
  return { now, pricing, ...routing };
}

async function authorize(
  context: OperationContext,
  input: DirectInput,
  { now, pricing, manualReview, route }: Priced,
  orderCard: OrderCard,
  toAuthorize: CardToAuthorize,
): Promise<Direct> {
  const { account } = context;
  const [connector, ...others] = route;
  const { threeDSecure, storedCredential } = input.order;
  const order = {
    ...input.order,
    manualReview,
    card: orderCard,
    pricing,
    connector,
    expectedLiability: expectedLiability(
      orderCard.brand,
      threeDSecure?.eci,
      storedCredential?.use === "stored" && storedCredential.initiator === "MIT",
    ),
  };
  const id = context.newPaymentId(now);
  const intention = await context.change(() =>
    decideIntention(account.id, id, order, now, context.answerBy(), input.request),
  );

  // No transaction is open during the call. If the process dies here, the payment stays
  // `authorizing` and recovery inquires at the acquirer or reverses. It cannot be sent again,
  // because the security code is lost with this request.
  const { sent, outcome } = await sendAuthorization(
    context,
    intention.payment.next,
    others,
    toAuthorize,
  );

  const tokenized =
    input.createToken === undefined
      ? undefined
      : await tokenFor(context, input, outcome, toAuthorize);
  return recordOutcome(context, sent, outcome, tokenized);
}

async function recordOutcome(
  context: OperationContext,
  sent: Payment,
  outcome: AuthorizeOutcome,
  tokenized: Tokenized | undefined,
): Promise<Direct> {
  const { notifySynchronous } = context.account.settings;
  try {
    const { payment, change } = await recordAuthorization(
      context,
      sent,
      outcome,
      notifySynchronous,
      (decided) => (tokenized === undefined ? decided : withCardStored(decided, tokenized)),
    );
    return { payment, token: change === undefined ? undefined : tokenized?.token };
  } catch (error) {
    // Another request took the token after our check. The money has moved, so the payment is
    // recorded without the token.
    if (error instanceof ServiceError && error.code === "token_taken")
      return recordOutcome(context, sent, outcome, undefined);
    throw error;
  }
}

/**
 * Stores the card with the approval and marks the approval, so that a later sending of the same
 * request can see that the token was stored.
 */
function withCardStored(change: PaymentChange, { card }: Tokenized): PaymentChange {
  const facts = change.facts.map((record) => ({
    ...record,
    detail: { ...record.detail, tokenStored: true },
  }));
  return { ...change, facts, card: { next: card, replaces: undefined } };
}

async function hasStoredToken(context: OperationContext, { id }: Payment): Promise<boolean> {
  return (await factsOf(context, id)).some(({ detail }) => detail["tokenStored"] === true);
}

async function tokenFor(
  context: OperationContext,
  input: DirectInput,
  outcome: AuthorizeOutcome,
  { card }: CardToAuthorize,
): Promise<Tokenized | undefined> {
  if (input.createToken === undefined || outcome.kind !== "approved") return undefined;
  try {
    return await sealUnderToken(context, card, input.createToken.token);
  } catch (error) {
    // The merchant's key was ready and is not any more. The money has moved, so the payment is
    // recorded without the token.
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Makes the merchant's first key, if it has none, before money moves. */
async function prepareVault({ vault, account }: OperationContext): Promise<void> {
  try {
    await vault.prepare(account.id);
  } catch (error) {
    throw vaultErrorOf(error);
  }
}

/** Refuses a token that is already taken, before money moves. */
async function refuseUsedToken(context: OperationContext, input: DirectInput): Promise<void> {
  const chosen = input.createToken?.token;
  if (chosen === undefined) return;
  const existing = await cardByToken(context, chosen);
  if (existing !== undefined) throw new ServiceError("token_taken");
}

/**
 * On a strict account a stored-credential payment must have the mandate of an initial payment with
 * the same card. The comparison uses brand and mask, because a payment stores nothing else of its
 * card.
 */
async function refuseForeignMandate(
  context: OperationContext,
  { order }: DirectInput,
  card: OrderCard,
): Promise<void> {
  const { storedCredential } = order;
  if (storedCredential?.use !== "stored" || !context.account.settings.strictMandates) return;
  const { mandateId } = storedCredential;
  const initial =
    mandateId === undefined
      ? undefined
      : await read(context.store.paymentByMandate(context.account.id, mandateId));
  const { brand, maskedPan } = initial?.order.card ?? {};
  if (brand !== card.brand || maskedPan !== card.maskedPan)
    throw new ServiceError("mandate_mismatch");
}
