import type { PaymentChange } from "../decisions/steps.ts";
import { ServiceError, type ServiceErrorCode } from "../payment/service-error.ts";
import type { Payment } from "../payment/payment.ts";
import type { FactRecord, HistoryFact } from "../stores/change.ts";
import { read } from "./commit.ts";
import type { IdempotentInput } from "./direct-input.ts";
import { defineOperation, type OperationContext } from "./operation.ts";
import { PaymentCodeTaken } from "./payment-code-taken.ts";
import { changePayment, selectPayment } from "./payment-change.ts";

/**
 * A client interprets a refusal as "nothing was done". That is true only if an earlier sending of
 * the same request did nothing either, and the client may have lost the answer to that sending.
 * This file owns the rule: a request is refused only after the service has checked whether it was
 * carried out before. A request is identified by its payment code or refund code, and by a digest
 * of its Idempotency-Key and its content (`request`), which is committed with everything that the
 * request starts. The check costs nothing unless a request is refused.
 */

/** Failures that do not depend on the request itself: repeating it may succeed. */
const openOutcomes: ReadonlySet<ServiceErrorCode> = new Set([
  "payment_in_flight",
  "request_key_taken",
  "store_unavailable",
  "cards_stopped",
  "outcome_unknown",
  "internal_failure",
]);

/**
 * Runs `run`. If it is refused, `find` searches for the result of an earlier sending; the refusal
 * is thrown if there is none.
 */
export async function resultOrEarlier<T>(
  run: () => Promise<T>,
  find: () => Promise<T | undefined>,
): Promise<T> {
  try {
    return await run();
  } catch (refusal) {
    if (!(refusal instanceof ServiceError) || openOutcomes.has(refusal.code)) throw refusal;
    const found = await find();
    if (found === undefined) throw refusal;
    return found;
  }
}

/**
 * The fact that records that a request was sent, and the fact of the same attempt (or refund) that
 * records its success.
 */
export const requestFacts = {
  direct: { sent: "authorization_sent", done: "authorization_sent" },
  capture: { sent: "capture_sent", done: "capture_approved" },
  void: { sent: "void_sent", done: "void_approved" },
  pageCancel: { sent: "page_cancelled", done: "page_cancelled" },
  refundCancel: { sent: "refund_cancelled", done: "refund_cancelled" },
} as const satisfies Record<string, { readonly sent: HistoryFact; readonly done: HistoryFact }>;

export type RequestFacts = (typeof requestFacts)[keyof typeof requestFacts];

/**
 * Commits the attempt of a request, unless the acquirer has declined an earlier sending of the same
 * request: the client received that decline, so this sending ends with the same `refusal`. Both
 * sendings may run at the same time in two processes if one process was paused for a long time. So
 * the decision is made on the payment version whose history was read; if the payment has changed,
 * its history is read again. Resolves with the payment in flight.
 */
export async function startAttemptOnce(
  context: OperationContext,
  found: Payment,
  { request, sent, refused, refusal }: KeyedSending,
  decide: (payment: Payment) => PaymentChange,
): Promise<Payment> {
  let seen = found;
  for (let tries = 0; tries < maxAttempts; tries += 1) {
    const { id, version } = seen;
    // Without a key two sendings cannot be linked. Before the second attempt, no attempt can have
    // been declined.
    if (request !== undefined && seen.attempts > 1) {
      // Refusals by the payment's state come first.
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

/** Maximum number of concurrent changes of the payment that are tolerated. */
const maxAttempts = 8;

interface KeyedSending {
  readonly request: string | undefined;
  readonly sent: HistoryFact;
  readonly refused: readonly HistoryFact[];
  readonly refusal: ServiceErrorCode;
}

/** Numbers of the attempts that this request started. */
function attemptsOfRequest(
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
 * Whether the acquirer declined an attempt of this request. A decline that recovery found later
 * does not count: no client received it as the answer to this request.
 */
function wasRefused(
  facts: readonly FactRecord[],
  request: string,
  sent: HistoryFact,
  refused: readonly HistoryFact[],
): boolean {
  const ownAttempts = attemptsOfRequest(facts, request, sent);
  return facts.some(
    ({ fact, by, attempt }) =>
      refused.includes(fact) && by === "merchant" && ownAttempts.has(attempt),
  );
}

/** The current payment, if the request with this digest was carried out on it (see `requestFacts`). */
export async function paymentIfDone(
  context: OperationContext,
  { id }: Pick<Payment, "id">,
  request: string | undefined,
  { sent, done }: RequestFacts,
): Promise<Payment | undefined> {
  if (request === undefined) return undefined;
  const facts = await factsOf(context, id);
  const own = attemptsOfRequest(facts, request, sent);
  const isDone = facts.some(({ fact, attempt }) => fact === done && own.has(attempt));
  return isDone ? selectPayment(context, { hash: id }) : undefined;
}

/**
 * Whether this attempt is known to have ended with the fact `done`, no matter which process
 * recorded it. Never rejects: the call was made, so the request must not be refused.
 */
export async function attemptEndedWith(
  context: OperationContext,
  { id }: Pick<Payment, "id">,
  number: number,
  done: HistoryFact,
): Promise<boolean> {
  const facts = await factsOf(context, id).catch(() => []);
  return facts.some(({ fact, attempt }) => fact === done && attempt === number);
}

/** All facts of a payment, oldest first. */
export async function factsOf(
  context: OperationContext,
  id: Payment["id"],
): Promise<readonly FactRecord[]> {
  return (await read(context.store.history(context.account.id, id))).flatMap(({ facts }) => facts);
}

export interface PaymentName extends IdempotentInput {
  readonly code: string;
}

/**
 * The payment that an earlier sending of this request created, matched by its key. Rejects with
 * PaymentCodeTaken if the code belongs to another payment; undefined if the code is free.
 */
export async function paymentOfRequest(
  context: OperationContext,
  { code, request }: PaymentName,
): Promise<Payment | undefined> {
  const existing = await read(context.store.paymentByCode(context.account.id, code));
  if (existing === undefined) return undefined;
  const payment = await paymentIfDone(context, existing, request, requestFacts.direct);
  if (payment === undefined) throw new PaymentCodeTaken(existing);
  return payment;
}

/**
 * `paymentOfRequest` as an operation, for requests that were refused while they were parsed, before any
 * operation ran.
 */
export const findPayment = defineOperation<PaymentName, Payment | undefined>({
  name: "find_payment",
  errors: ["payment_code_taken"],

  run: paymentOfRequest,
});
