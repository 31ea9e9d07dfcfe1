import type { PaymentChange } from "../decisions/steps.ts";
import { ServiceError, type ServiceErrorCode } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import type { FactRecord, HistoryFact } from "../stores/change.ts";
import { read } from "./commit.ts";
import type { NamedByKey } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { PaymentCodeTaken } from "./payment-code-taken.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * A client takes a refusal for "nothing was done". That is true only if an earlier sending of the
 * same request did nothing either, and the answer to that sending may be lost. This file owns the
 * rule: a refusal is answered after it is known whether the request was carried out before. What
 * names a request is its payment code or refund code, and its Idempotency-Key, whose digest
 * (`request`) is committed with everything that the request starts. Costs nothing unless a request
 * is refused.
 */

/** Failures that say nothing of the request itself: the next sending may end otherwise. */
const undecided: ReadonlySet<ServiceErrorCode> = new Set([
  "payment_in_flight",
  "request_key_taken",
  "store_unavailable",
  "outcome_unknown",
  "internal_failure",
]);

/**
 * Runs `run`. When it ends in a refusal, `find` looks for what an earlier sending did; the refusal
 * is thrown when it finds nothing.
 */
export async function unlessCarriedOut<T>(
  run: () => Promise<T>,
  find: () => Promise<T | undefined>,
): Promise<T> {
  try {
    return await run();
  } catch (refusal) {
    if (!(refusal instanceof ServiceError) || undecided.has(refusal.code)) throw refusal;
    const found = await find();
    if (found === undefined) throw refusal;
    return found;
  }
}

/**
 * The fact that says that a request was sent, and the fact of the same attempt (or refund) that
 * says that it was done.
 */
export const traces = {
  direct: { sent: "authorization_sent", done: "authorization_sent" },
  capture: { sent: "capture_sent", done: "capture_approved" },
  void: { sent: "void_sent", done: "void_approved" },
  refundCancel: { sent: "refund_cancelled", done: "refund_cancelled" },
} as const satisfies Record<string, { readonly sent: HistoryFact; readonly done: HistoryFact }>;

export type Trace = (typeof traces)[keyof typeof traces];

/**
 * Commits the attempt that a request asks for, unless the acquirer has refused an earlier sending
 * of the request: that refusal was the answer to the client, and this sending ends in the same
 * `refusal`. Both sendings may run at once on two processes, if one process was paused for long. So
 * the decision is made on the payment whose history was read; if the payment has changed, its
 * history is read again. Resolves with the payment in flight.
 */
export async function beginOnce(
  context: OperationContext,
  found: Payment,
  { request, sent, refused, refusal }: KeyedSending,
  decide: (payment: Payment) => PaymentChange,
): Promise<Payment> {
  let seen = found;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { id, version } = seen;
    // Without a key nothing connects two sendings, and before the second attempt there was none to
    // be refused.
    if (request !== undefined && seen.attempts > 1) {
      // What the payment itself refuses is answered first.
      decide(seen);
      if (wasRefused(await factsOf(context, id), request, sent, refused))
        throw new ServiceError(refusal);
    }
    const { payment, change } = await changePayment(context, seen, (current) =>
      request !== undefined && current.version !== version ? undefined : decide(current),
    );
    if (change !== undefined) return payment;
    seen = payment;
  }
  throw new ServiceError("payment_in_flight");
}

/** How often another change of the payment may come first. */
const mostTries = 8;

interface KeyedSending {
  readonly request: string | undefined;
  readonly sent: HistoryFact;
  readonly refused: readonly HistoryFact[];
  readonly refusal: ServiceErrorCode;
}

/** The attempts that this request started. */
function attemptsUnder(
  facts: readonly FactRecord[],
  request: string,
  sent: HistoryFact,
): ReadonlySet<number | undefined> {
  return new Set(
    facts
      .filter(({ fact, detail }) => fact === sent && detail["request"] === request)
      .map(({ attempt }) => attempt),
  );
}

/**
 * A refusal that recovery found out later does not count: no client got it as the answer to this
 * request.
 */
function wasRefused(
  facts: readonly FactRecord[],
  request: string,
  sent: HistoryFact,
  refused: readonly HistoryFact[],
): boolean {
  const own = attemptsUnder(facts, request, sent);
  return facts.some(
    ({ fact, by, attempt }) => refused.includes(fact) && by === "merchant" && own.has(attempt),
  );
}

/** The payment as it is now, when the request that `request` names did to it what `trace` says. */
export async function carriedOutOn(
  context: OperationContext,
  { id }: Pick<Payment, "id">,
  request: string | undefined,
  { sent, done }: Trace,
): Promise<Payment | undefined> {
  if (request === undefined) return undefined;
  const facts = await factsOf(context, id);
  const own = attemptsUnder(facts, request, sent);
  const isDone = facts.some(({ fact, attempt }) => fact === done && own.has(attempt));
  return isDone ? selectPayment(context, { hash: id }) : undefined;
}

/**
 * Whether this attempt is known to have ended as `done` says, whichever process learned of it.
 * Never rejects: the call was made, so nothing is refused.
 */
export async function endedSo(
  context: OperationContext,
  { id }: Pick<Payment, "id">,
  number: number,
  done: HistoryFact,
): Promise<boolean> {
  const facts = await factsOf(context, id).catch(() => []);
  return facts.some(({ fact, attempt }) => fact === done && attempt === number);
}

/** All that happened to a payment, oldest first. */
export async function factsOf(
  context: OperationContext,
  id: Payment["id"],
): Promise<readonly FactRecord[]> {
  return (await read(context.store.history(context.account.id, id))).flatMap(({ facts }) => facts);
}

export interface PaymentName extends NamedByKey {
  readonly code: string;
}

/**
 * The payment that this request made, when its key says so. Rejects with PaymentCodeTaken when the
 * code has a payment of which that is not known; undefined when the code is free.
 */
export async function madeUnder(
  context: OperationContext,
  { code, request }: PaymentName,
): Promise<Payment | undefined> {
  const existing = await read(context.store.paymentByCode(context.account.id, code));
  if (existing === undefined) return undefined;
  const made = await carriedOutOn(context, existing, request, traces.direct);
  if (made === undefined) throw new PaymentCodeTaken(existing);
  return made;
}

/**
 * For a request that was refused while it was read, so that no operation ran: what `madeUnder`
 * finds.
 */
export const findPayment = defineOperation<PaymentName, Payment | undefined>({
  name: "find_payment",
  errors: ["payment_code_taken"],

  run: madeUnder,
});
