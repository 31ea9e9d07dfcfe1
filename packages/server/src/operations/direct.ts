import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  CardToAuthorize,
} from "../connectors/connector.ts";
import {
  decideAuthorizeOutcome,
  decideIntention,
  decideReroute,
  mayReroute,
} from "../decisions/payment-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import { countryOf } from "../payment/countries.ts";
import { offeredInstalments } from "../payment/instalments.ts";
import {
  type Attempt,
  attemptReference,
  type OrderCard,
  type Payment,
  type Pricing,
} from "../payment/payment.ts";
import { expectedLiability } from "../payment/liability.ts";
import { priceOrder } from "../payment/pricing.ts";
import { needsReview } from "../payment/review-rules.ts";
import type { Brand } from "../vault/brand.ts";
import { cardByToken, withCard } from "./with-card.ts";
import { factsOf, paymentOfRequest, resultOrEarlier } from "./repeated-requests.ts";
import { read, vaultErrorOf } from "./commit.ts";
import { withoutCardNumber } from "./card-number-in-order.ts";
import type { DirectInput } from "./direct-input.ts";
import { connectorFor } from "./follow-up.ts";
import { handleLateApproval, deferLateApproval } from "./late-approval.ts";
import { routeFor } from "./route.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { recordPayment } from "./payment-change.ts";
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
    "instalments_not_offered",
    "mandate_mismatch",
    "card_foreign",
    "card_not_eligible",
    "card_exhausted",
    "instalments_on_prepaid",
    "instalments_on_debit",
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
    refuseInstalmentsOf(orderCard.brand, input);
    const priced = priceAndRoute(context, input, orderCard, toAuthorize);
    refuseByTraits(context, priced, toAuthorize, input);
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

interface Priced {
  readonly now: Instant;
  readonly pricing: Pricing;
  readonly manualReview: boolean;
  /**
   * Connectors in order: the first gets the authorization, the others follow after a definite
   * refusal. Never empty.
   */
  readonly route: readonly string[];
}

function priceAndRoute(
  { account, clock, connectors }: OperationContext,
  { local, order }: DirectInput,
  { brand }: OrderCard,
  { card: { pan } }: CardToAuthorize,
): Priced {
  const now = clock.now();
  const { country } = order;
  const settings = local ? { ...account.settings, taxPolicy: "none" } : account.settings;
  const pricing = priceOrder(order.amount, country, now, settings);
  const manualReview = order.manualReview || needsReview({ country, pricing, at: now }, settings);
  const routed = routeFor(
    { brand, pan, currency: order.amount.currency, country, pricing, at: now },
    settings,
  );
  return { now, pricing, manualReview, route: routed ?? connectors.standard };
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
  assert(connector !== undefined, "a payment has a way to an acquirer");
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

/**
 * Sends the authorization to the payment's acquirer and, after a definite refusal, to the others in
 * turn; each attempt is committed before it is sent.
 */
async function sendAuthorization(
  context: OperationContext,
  first: Payment,
  others: readonly string[],
  toAuthorize: CardToAuthorize,
): Promise<{ readonly sent: Payment; readonly outcome: AuthorizeOutcome }> {
  const send = (payment: Payment) =>
    connectorFor(context, payment).authorize(authorizeRequest(context, payment), toAuthorize);
  let sent = first;
  let outcome = await send(sent);
  for (const connector of others) {
    if (!mayReroute(outcome)) break;
    const refusal = outcome;
    const { payment, change } = await recordPayment(context, sent, (current) =>
      decideReroute(
        current,
        attemptOf(sent).number,
        refusal,
        connector,
        context.clock.now(),
        context.answerBy(),
      ),
    );
    // The change was not committed, or that is unknown: nothing is sent. The last outcome is
    // recorded if that is still possible.
    if (change === undefined) break;
    sent = payment;
    outcome = await send(sent);
  }
  return { sent, outcome };
}

function attemptOf({ attempt }: Payment): Attempt {
  assert(attempt !== undefined, "an intention holds the attempt that it announces");
  return attempt;
}

async function recordOutcome(
  context: OperationContext,
  sent: Payment,
  outcome: AuthorizeOutcome,
  tokenized: Tokenized | undefined,
): Promise<Direct> {
  const { notifySynchronous: notify, captureWindowDays } = context.account.settings;
  const options = { attempt: attemptOf(sent).number, notify, captureWindowDays };
  try {
    const { payment, change, superseded } = await recordPayment(context, sent, (current) => {
      const decided = decideAuthorizeOutcome(
        current,
        outcome,
        context.clock.now(),
        "merchant",
        options,
      );
      return decided === undefined || tokenized === undefined
        ? decided
        : withCardStored(decided, tokenized);
    });
    if (change === undefined && outcome.kind === "approved") {
      const late = { kind: "authorization", attempt: options.attempt } as const;
      if (superseded)
        return {
          payment: await handleLateApproval(context, sent, late, "merchant", outcome),
          token: undefined,
        };
      deferLateApproval(context, sent, late, "merchant", outcome);
    }
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

function authorizeRequest(context: OperationContext, payment: Payment): AuthorizeRequest {
  const { order } = payment;
  const attempt = attemptOf(payment);
  return {
    merchantId: payment.merchantId,
    reference: attemptReference(payment.id, attempt.number),
    deadline: attempt.answerBy,
    settings: context.account.settings,
    amount: order.amount,
    capture: attempt.kind === "sale",
    instalments: order.instalments,
    country: order.country,
    descriptor: order.softDescriptor ?? context.account.settings.descriptor,
    card: order.card,
    storedCredential: order.storedCredential,
    threeDSecure: order.threeDSecure,
    customer: order.customer,
    paymentType: order.paymentType,
  };
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

/**
 * Checks instalments against the brand. With a card number the brand is checked while the request
 * is parsed; with a token it is known only here (interface 3.5).
 */
function refuseInstalmentsOf(brand: Brand, { order }: DirectInput): void {
  const country = countryOf(order.country);
  assert(country !== undefined, "an order names a country of the table");
  if (offeredInstalments(country, brand).has(order.instalments)) return;
  throw new ServiceError("instalments_not_offered", {
    brand,
    country: country.code,
    count: order.instalments,
  });
}

/**
 * Refuses what the acquirer's card tables rule out, before anything is committed, in the order of
 * the interface's error numbers (7.2).
 */
function refuseByTraits(
  { connectors }: OperationContext,
  { route }: Priced,
  { card }: CardToAuthorize,
  { order, source }: DirectInput,
): void {
  // The number of a network token is not the card's number, so the tables do not apply.
  const traits =
    source.kind === "network_token" ? undefined : connectors.of(route[0]).cardTraits?.(card);
  if (traits === undefined) return;
  if (traits.foreign) throw new ServiceError("card_foreign");
  if (traits.funding === "prepaid" && order.instalments > 1)
    throw new ServiceError("instalments_on_prepaid");
  if (traits.funding === "debit" && order.instalments > 1)
    throw new ServiceError("instalments_on_debit");
  if (!traits.ecommerce) throw new ServiceError("card_not_eligible");
  if (traits.exhausted) throw new ServiceError("card_exhausted");
}
