import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  CardToAuthorize,
} from "../connectors/connector.ts";
import {
  decideAuthorizeOutcome,
  decideReroute,
  mayReroute,
} from "../decisions/payment-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import { countryOf } from "../payment/countries.ts";
import { offeredInstalments } from "../payment/instalments.ts";
import {
  type Attempt,
  attemptReference,
  type Payment,
  type PaymentOrder,
} from "../payment/payment.ts";
import { needsReview } from "../payment/review-rules.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Brand } from "../vault/brand.ts";
import type { CardSource } from "./direct-input.ts";
import { connectorFor } from "./follow-up.ts";
import { deferLateApproval, handleLateApproval } from "./late-approval.ts";
import type { OperationContext } from "./operation.ts";
import { recordPayment } from "./payment-change.ts";
import { routeFor } from "./route.ts";

/** The parts of an authorization that a direct payment and a hosted page have in common. */

/** The refusals of `refuseInstalmentsOf` and `refuseByTraits`. */
export const cardRefusals = [
  "instalments_not_offered",
  "card_foreign",
  "card_not_eligible",
  "card_exhausted",
  "instalments_on_prepaid",
  "instalments_on_debit",
] as const;

export interface Routing {
  /** Whether an approved payment waits for a reviewer. */
  readonly manualReview: boolean;
  /**
   * Connectors in order: the first gets the authorization, the others follow after a definite
   * refusal.
   */
  readonly route: readonly [connector: string, ...others: string[]];
}

/** The way of an order to an acquirer, by the account's routes and rules of review. */
export function routingOf(
  { account, connectors }: OperationContext,
  order: Pick<PaymentOrder, "amount" | "country" | "pricing" | "manualReview">,
  brand: Brand,
  { card: { pan } }: CardToAuthorize,
  at: Instant,
): Routing {
  const { amount, country, pricing } = order;
  const { settings } = account;
  const manualReview = order.manualReview || needsReview({ country, pricing, at }, settings);
  const routed = routeFor(
    { brand, pan, currency: amount.currency, country, pricing, at },
    settings,
  );
  const [connector, ...others] = routed ?? connectors.standard;
  assert(connector !== undefined, "a payment has a way to an acquirer");
  return { manualReview, route: [connector, ...others] };
}

/**
 * Checks instalments against the brand. With a card number the brand is checked while the request
 * is parsed; with a token it is known only here (interface 3.5).
 */
export function refuseInstalmentsOf(
  brand: Brand,
  order: Pick<PaymentOrder, "country" | "instalments">,
): void {
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
export function refuseByTraits(
  { connectors }: OperationContext,
  [connector]: Routing["route"],
  { card }: CardToAuthorize,
  { kind }: CardSource,
  instalments: number,
): void {
  // The number of a network token is not the card's number, so the tables do not apply.
  const traits = kind === "network_token" ? undefined : connectors.of(connector).cardTraits?.(card);
  if (traits === undefined) return;
  if (traits.foreign) throw new ServiceError("card_foreign");
  if (traits.funding === "prepaid" && instalments > 1)
    throw new ServiceError("instalments_on_prepaid");
  if (traits.funding === "debit" && instalments > 1) throw new ServiceError("instalments_on_debit");
  if (!traits.ecommerce) throw new ServiceError("card_not_eligible");
  if (traits.exhausted) throw new ServiceError("card_exhausted");
}

/**
 * Sends the authorization to the payment's acquirer and, after a definite refusal, to the others in
 * turn; each attempt is committed before it is sent.
 */
export async function sendAuthorization(
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

function authorizeRequest(context: OperationContext, payment: Payment): AuthorizeRequest {
  const { order } = payment;
  const attempt = attemptOf(payment);
  assert(order.card !== undefined, "an authorization is sent for a card");
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

/**
 * Records the outcome of an authorization; `extend` adds to its change. An approval whose attempt
 * has ended meanwhile is undone. `change`: undefined if the outcome was not recorded.
 */
export async function recordAuthorization(
  context: OperationContext,
  sent: Payment,
  outcome: AuthorizeOutcome,
  notify: boolean,
  extend: (change: PaymentChange) => PaymentChange = (change) => change,
): Promise<{ readonly payment: Payment; readonly change: PaymentChange | undefined }> {
  const { captureWindowDays } = context.account.settings;
  const options = { attempt: attemptOf(sent).number, notify, captureWindowDays };
  const { payment, change, superseded } = await recordPayment(context, sent, (current) => {
    const now = context.clock.now();
    const decided = decideAuthorizeOutcome(current, outcome, now, "merchant", options);
    return decided === undefined ? undefined : extend(decided);
  });
  if (change !== undefined || outcome.kind !== "approved") return { payment, change };
  const late = { kind: "authorization", attempt: options.attempt } as const;
  if (superseded) {
    const after = await handleLateApproval(context, sent, late, "merchant", outcome);
    return { payment: after, change };
  }
  deferLateApproval(context, sent, late, "merchant", outcome);
  return { payment, change };
}
