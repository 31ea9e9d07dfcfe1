import type { AuthorizeOutcome, AuthorizeRequest, CardToAuthorize } from "../connectors/connector.ts";
import { decideAuthorizeOutcome, decideIntention } from "../decisions/payment-decisions.ts";
import { assert } from "../kernel/assert.ts";
import { newPaymentId } from "../kernel/ids.ts";
import { ServiceError } from "../kernel/service-error.ts";
import { countryOf } from "../payment/countries.ts";
import { offeredInstalments } from "../payment/instalments.ts";
import { attemptReference, type OrderCard, type Payment } from "../payment/payment.ts";
import { priceOrder } from "../payment/pricing.ts";
import { brandOf } from "../vault/bin.ts";
import type { Brand } from "../vault/brand.ts";
import { maskOf } from "../vault/mask.ts";
import type { StoredCard } from "../vault/stored-card.ts";
import { digestOfToken, tokenExpiresAt } from "../vault/token.ts";
import { VaultError } from "../vault/vault.ts";
import { read } from "./commit.ts";
import type { DirectInput } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { recordPayment } from "./payment-change.ts";
import { sealUnderToken, type Tokenized } from "./tokenize.ts";

export interface Direct {
  readonly payment: Payment;
  /** The token that was asked for with create_token, when the payment was approved. */
  readonly token: string | undefined;
}

/** Charges or authorizes a card: the intention is committed, the acquirer is asked once, and what it said is committed. */
export const direct = defineOperation<DirectInput, Direct>({
  name: "direct",
  errors: ["payment_code_taken", "token_not_found", "token_taken", "card_not_storable", "instalments_not_offered"],

  async run(context, input) {
    const { source } = input;
    if (source.kind === "token") {
      const stored = await usableCard(context, source.token);
      refusePlanOf(stored.brand, input);
      const owner = { merchantId: stored.merchantId, tokenDigest: stored.tokenDigest, recordVersion: stored.version };
      // Opened before the intention is written: a card that does not open leaves no payment behind.
      return openCard(
        context.vault.use(stored.ref, owner, async (card) =>
          authorize(context, input, orderCardOf(stored), { card, cvv: source.cvv, cryptogram: undefined }),
        ),
      );
    }
    const brand = brandOf(source.card.pan);
    if (brand === undefined) throw new ServiceError("card_not_storable");
    await refuseTakenToken(context, input);
    const orderCard: OrderCard = { brand, maskedPan: maskOf(source.card.pan), tokenDigest: undefined };
    const cryptogram = source.kind === "network_token" ? source.cryptogram : undefined;
    return authorize(context, input, orderCard, { card: source.card, cvv: source.cvv, cryptogram });
  },
});

async function authorize(
  context: OperationContext,
  input: DirectInput,
  orderCard: OrderCard,
  toAuthorize: CardToAuthorize,
): Promise<Direct> {
  const { account, clock } = context;
  const now = clock.now();
  const pricing = priceOrder(input.order.amount, input.order.country, now, account.settings);
  const order = { ...input.order, card: orderCard, pricing };
  const id = newPaymentId(now, context.random);
  const intention = await context.change(async () => decideIntention(account.id, id, order, now, context.answerBy()));

  // Nothing is open during the call. Should the process die here, the payment stays `authorizing` and recovery asks the
  // acquirer, or reverses: it can never be sent again, the security code is gone with this request.
  const sent = intention.payment.next;
  const outcome = await context.connector.authorize(authorizeRequest(context, sent), toAuthorize);

  return recordOutcome(context, sent, outcome, await tokenFor(context, input, outcome, toAuthorize));
}

async function recordOutcome(
  context: OperationContext,
  sent: Payment,
  outcome: AuthorizeOutcome,
  tokenized: Tokenized | undefined,
): Promise<Direct> {
  const options = { notify: context.account.settings.notifySynchronous, cardUsed: sent.order.card.tokenDigest };
  try {
    const { payment, change } = await recordPayment(context, sent, (current) => {
      const decided = decideAuthorizeOutcome(current, outcome, context.clock.now(), "merchant", options);
      return decided === undefined || tokenized === undefined
        ? decided
        : { ...decided, card: { next: tokenized.card, replaces: undefined } };
    });
    return { payment, token: change === undefined ? undefined : tokenized?.token };
  } catch (error) {
    // Another request took the token between our look and now. The money has moved: the payment stands, without the token.
    if (error instanceof ServiceError && error.code === "token_taken") return recordOutcome(context, sent, outcome, undefined);
    throw error;
  }
}

async function tokenFor(
  context: OperationContext,
  input: DirectInput,
  outcome: AuthorizeOutcome,
  { card }: CardToAuthorize,
): Promise<Tokenized | undefined> {
  if (input.createToken === undefined || outcome.kind !== "approved") return undefined;
  return sealUnderToken(context, card, input.createToken.token);
}

function authorizeRequest(context: OperationContext, payment: Payment): AuthorizeRequest {
  const { order, attempt } = payment;
  assert(attempt !== undefined, "an intention holds the attempt that it announces");
  return {
    merchantId: payment.merchantId,
    reference: attemptReference(payment.id, attempt.number),
    deadline: context.answerBy(),
    simulator: context.account.settings.simulator,
    amount: order.amount,
    capture: attempt.kind === "sale",
    instalments: order.instalments,
    country: order.country,
    descriptor: order.softDescriptor ?? context.account.settings.descriptor,
    card: order.card,
  };
}

/** Another merchant's token, an expired one and one that never was get the same answer (interface 2.1). */
async function usableCard(context: OperationContext, token: string): Promise<StoredCard> {
  const stored = await read(context.store.cardByToken(context.account.id, digestOfToken(token)));
  if (stored === undefined || tokenExpiresAt(stored.lastUsedAt) <= context.clock.now()) throw new ServiceError("token_not_found");
  return stored;
}

/** A token of the merchant's choice that is taken is refused before money moves. */
async function refuseTakenToken(context: OperationContext, input: DirectInput): Promise<void> {
  const chosen = input.createToken?.token;
  if (chosen === undefined) return;
  const taken = await read(context.store.cardByToken(context.account.id, digestOfToken(chosen)));
  if (taken !== undefined) throw new ServiceError("token_taken");
}

/** A card number brings its brand with the request; a token's is known only now (interface 3.5). */
function refusePlanOf(brand: Brand, { order }: DirectInput): void {
  const country = countryOf(order.country);
  assert(country !== undefined, "an order names a country of the table");
  if (offeredInstalments(country, brand).has(order.instalments)) return;
  throw new ServiceError("instalments_not_offered", { brand, country: country.code, count: order.instalments });
}

function orderCardOf(stored: StoredCard): OrderCard {
  return { brand: stored.brand, maskedPan: stored.maskedPan, tokenDigest: stored.tokenDigest };
}

async function openCard<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof VaultError) throw new ServiceError("card_not_readable");
    throw error;
  }
}
