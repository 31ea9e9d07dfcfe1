import type { Authentication, AuthenticationOutcome } from "../authentication/authenticator.ts";
import type { CardToAuthorize } from "../connectors/connector.ts";
import {
  decideAuthenticated,
  decideAuthenticationUnanswered,
  decideNotAuthenticated,
  type NotAuthenticated,
  type Proof,
} from "../decisions/page-decisions.ts";
import { minute } from "../kernel/instant.ts";
import type { AccountSettings } from "../merchant/account.ts";
import { expectedLiability } from "../payment/liability.ts";
import type { OrderCard, Payment, PaymentOrder } from "../payment/payment.ts";
import type { PaymentOwner } from "../vault/vault.ts";
import { Cryptogram } from "../vault/pan.ts";
import { VaultError } from "../vault/vault.ts";
import { recordAuthorization, routingOf, sendAuthorization } from "./authorization.ts";
import { vaultErrorOf } from "./commit.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * 3-D Secure on a hosted page. The outcome comes from the 3-D Secure server, never from a browser,
 * and is committed together with the intention to authorize. An outcome that comes after the
 * payment stopped waiting for it has no effect.
 */

/** Time that a bank gives a challenge. */
const challengeMs = 10 * minute;
/** After this time a challenge counts as not completed. It is longer than that of the bank. */
export const authenticationMs = 12 * minute;

/** The outcome for an authorization, by the account's policy. */
type Judged =
  | { readonly kind: "passed"; readonly proof: Proof; readonly value: string | undefined }
  | { readonly kind: "failed"; readonly outcome: NotAuthenticated };

/** Sends the authentication request for a card. Nothing is committed before or for it. */
export async function authenticateCard(
  { account, authenticator }: OperationContext,
  { amount }: Pick<PaymentOrder, "amount">,
  { brand }: OrderCard,
  { card }: CardToAuthorize,
): Promise<Authentication | undefined> {
  if (authenticator === undefined) return undefined;
  const { id } = authenticator.begin(account.id);
  const { pan } = card;
  const version = await authenticator.versionOf(pan);
  return authenticator.authenticate({
    merchantId: account.id,
    id,
    pan,
    brand,
    amount,
    version,
    challengeMs,
  });
}

/**
 * What an outcome means for the authorization. Undefined: no 3-D Secure server could be asked,
 * which is treated like U. A challenge that is still under way counts as not completed.
 */
export function judge(
  authentication: Authentication | undefined,
  { paymentType }: Pick<PaymentOrder, "paymentType">,
  { brand }: Pick<OrderCard, "brand">,
  { pageAuthentication: policy }: Pick<AccountSettings, "pageAuthentication">,
): Judged {
  const {
    status = "U",
    eci,
    version,
    directoryServerId,
    authenticationValue,
  } = authentication ?? {};
  const outcome: AuthenticationOutcome = status === "C" ? "not_completed" : status;
  const isProven = outcome === "Y" || outcome === "A";
  const isTolerated =
    (outcome === "U" || outcome === "I") && policy === "normal" && paymentType === "credit";
  if (!isProven && !isTolerated)
    return { kind: "failed", outcome: { status: outcome, isFinal: outcome === "R" } };
  const threeDSecure =
    eci === undefined
      ? undefined
      : { eci, version, transactionId: directoryServerId, xid: undefined };
  return {
    kind: "passed",
    proof: { threeDSecure, expectedLiability: expectedLiability(brand, eci, false) },
    value: authenticationValue,
  };
}

/** The owner of the card that is sealed under a payment until its authentication has ended. */
export function paymentOwner({ merchantId, id, order }: Payment, number?: number): PaymentOwner {
  return { merchantId, payment: id, recordVersion: number ?? order.page?.tries ?? 0 };
}

/**
 * Asks for the outcome of the authentication that a payment waits for, and acts on it. Called by
 * the job when it is due, and by `checkAuthentication`.
 */
export async function settleAuthentication(
  context: OperationContext,
  payment: Payment,
  by: "recovery" | "merchant",
): Promise<Payment> {
  const { order, state } = payment;
  const { authentication } = order.page ?? {};
  if (state !== "authenticating" || authentication === undefined || order.card === undefined)
    return payment;
  const { id, endsAt } = authentication;
  const result = await context.authenticator?.result(payment.merchantId, id);
  if ((result === undefined || result.status === "C") && context.clock.now() < endsAt) {
    if (by === "merchant") return payment;
    const { payment: waiting } = await changePayment(context, payment, (current) =>
      decideAuthenticationUnanswered(current, id, context.clock.now()),
    );
    return waiting;
  }
  // Without an outcome at its end the challenge was not completed.
  const judged: Judged =
    result === undefined
      ? { kind: "failed", outcome: { status: "not_completed", isFinal: false } }
      : judge(result, order, order.card, context.account.settings);
  if (judged.kind === "failed") return fail(context, payment, id, judged.outcome);
  const ref = Uint8Array.from(Buffer.from(authentication.sealedCard, "base64"));
  try {
    return await context.vault.use(ref, paymentOwner(payment), (card) =>
      authorizeProven(context, payment, id, judged, {
        card,
        // The code was never stored; the authentication takes its place.
        cvv: undefined,
        cryptogram: cryptogramOf(judged.value),
      }),
    );
  } catch (error) {
    if (!(error instanceof VaultError)) throw vaultErrorOf(error);
    // Its keys may be gone: the customer submits the card again.
    context.reportUnreadableCard(error);
    return fail(context, payment, id, { status: "card_not_readable", isFinal: false });
  }
}

async function fail(
  context: OperationContext,
  payment: Payment,
  id: string,
  outcome: NotAuthenticated,
): Promise<Payment> {
  const { payment: ended } = await changePayment(context, payment, (current) =>
    decideNotAuthenticated(current, id, outcome, context.clock.now(), "recovery"),
  );
  return ended;
}

async function authorizeProven(
  context: OperationContext,
  payment: Payment,
  id: string,
  { proof }: Extract<Judged, { kind: "passed" }>,
  toAuthorize: CardToAuthorize,
): Promise<Payment> {
  try {
    const { payment: intended, change } = await changePayment(context, payment, (current) =>
      decideAuthenticated(current, id, proof, context.clock.now(), context.answerBy()),
    );
    const { card } = intended.order;
    if (change === undefined || card === undefined) return intended;
    const { route } = routingOf(
      context,
      intended.order,
      card.brand,
      toAuthorize,
      context.clock.now(),
    );
    const others = route.filter((connector) => connector !== intended.order.connector);
    const { sent, outcome } = await sendAuthorization(context, intended, others, toAuthorize);
    return (await recordAuthorization(context, sent, outcome, true)).payment;
  } finally {
    toAuthorize.cryptogram?.wipe();
  }
}

/** The authentication value as the acquirer gets it. The caller wipes it. */
export function cryptogramOf(value: string | undefined): Cryptogram | undefined {
  return value === undefined ? undefined : Cryptogram.from(Uint8Array.from(Buffer.from(value)));
}

/** The payment, after its authentication was asked about if it waits for one. */
export const checkAuthentication = defineOperation<{ readonly hash: string }, Payment>({
  name: "check_authentication",
  errors: ["payment_not_found", "card_not_readable"],

  async run(context, selector) {
    return settleAuthentication(context, await selectPayment(context, selector), "merchant");
  },
});
