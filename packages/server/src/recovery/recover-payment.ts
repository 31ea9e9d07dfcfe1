import type {
  AuthorizeOutcome,
  Connector,
  FollowUpOutcome,
  InquiryOutcome,
} from "../connectors/connector.ts";
import {
  decideAuthorizeOutcome,
  decideCaptureOutcome,
  decideRepeat,
  decideRepeatRefused,
  decideReversal,
  decideReversed,
  decideUnanswered,
  decideVoidOutcome,
} from "../decisions/payment-decisions.ts";
import type { PaymentChange } from "../decisions/steps.ts";
import { assert } from "../kernel/assert.ts";
import { laterBy } from "../kernel/instant.ts";
import { followUpWithNewDeadline, connectorFor, followUpRequest } from "../operations/follow-up.ts";
import { handleIfLate, undoLateCapture } from "../operations/late-approval.ts";
import type { OperationContext } from "../operations/operation.ts";
import { changePayment } from "../operations/payment-change.ts";
import type { Attempt, AttemptKind, Payment } from "../payment/payment.ts";

/**
 * Resolves the outcome of an attempt, or reverses it. One step: if the outcome stays open, the next
 * check is scheduled. Every write is a compare-and-set on the version that was read, so two
 * recoveries, or recovery and a late request, cannot both take effect.
 */
export async function recoverPayment(
  context: OperationContext,
  payment: Payment,
): Promise<Payment> {
  const { attempt } = payment;
  if (attempt === undefined || payment.needsReview) return payment;
  return recoverers[attempt.kind](context, payment, attempt);
}

type Recoverer = (
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
) => Promise<Payment>;

const recoverers = {
  authorize: recoverAuthorization,
  sale: recoverAuthorization,
  capture: recoverFollowUp,
  void: recoverFollowUp,
  lapse: recoverFollowUp,
  reject: recoverFollowUp,
  reverse: (context, payment, attempt) =>
    reverse(context, payment, attempt, canNoLongerArrive(context, payment, attempt)),
  undo: (context, payment) => undoLateCapture(context, payment, "recovery"),
} satisfies Record<AttemptKind, Recoverer>;

async function recoverAuthorization(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
): Promise<Payment> {
  // Without inquiries, a reversal is the only way to be sure that nothing is held.
  const conclusive = canNoLongerArrive(context, payment, attempt);
  if (!connectorFor(context, payment).capabilities.answersInquiries)
    return claimAndReverse(context, payment, attempt, conclusive);
  const inquiry = await inquire(context, payment);
  if (inquiry.kind === "not_found") {
    // Too early to trust: the request may still arrive. After that time the reversal is only a
    // precaution.
    return conclusive
      ? claimAndReverse(context, payment, attempt, conclusive)
      : checkLater(context, payment, attempt);
  }
  if (inquiry.kind === "unknown") return checkLater(context, payment, attempt);
  const outcome = matchingOutcome(payment, attempt, inquiry);
  return outcome === undefined
    ? claimAndReverse(context, payment, attempt, conclusive)
    : applyAuthorizationOutcome(context, payment, attempt, outcome);
}

/** The acquirer's outcome if it matches the request exactly; anything else is reversed. */
function matchingOutcome(
  payment: Payment,
  attempt: Attempt,
  found: Extract<InquiryOutcome, { kind: "found" }>,
): AuthorizeOutcome | undefined {
  if (found.authorization.kind === "declined") return found.authorization;
  const captured = attempt.kind === "sale" ? payment.order.amount.minor : 0n;
  return !found.voided && found.captured === captured ? found.authorization : undefined;
}

function applyAuthorizationOutcome(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
  outcome: AuthorizeOutcome,
): Promise<Payment> {
  const { captureWindowDays } = context.account.settings;
  const options = { attempt: attempt.number, notify: true, captureWindowDays };
  return applyDecision(context, payment, (current) =>
    decideAuthorizeOutcome(current, outcome, context.clock.now(), "recovery", options),
  );
}

/**
 * `conclusive`: determined when recovery began, while the clock was known to be right. The clock
 * may have been set ahead by the time the claim is written.
 */
async function claimAndReverse(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
  conclusive: boolean,
): Promise<Payment> {
  const { payment: claimed } = await changePayment(context, payment, (current) =>
    current.state === "authorizing" && current.attempt?.number === attempt.number
      ? decideReversal(current, context.clock.now(), context.answerBy())
      : undefined,
  );
  return claimed.attempt?.kind === "reverse"
    ? reverse(context, claimed, claimed.attempt, conclusive)
    : claimed;
}

async function reverse(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
  conclusive: boolean,
): Promise<Payment> {
  const outcome = await connectorFor(context, payment).reverse(
    followUpWithNewDeadline(context, payment),
  );
  // "Unknown original" counts only if the original could not arrive any more when the reversal was
  // sent (reliability 3.2, W8).
  if (outcome.kind === "reversed" || (outcome.kind === "unknown_original" && conclusive)) {
    return applyDecision(context, payment, (current) =>
      decideReversed(current, context.clock.now()),
    );
  }
  assert(outcome.kind !== "refused", "an acquirer undoes what was never captured for the merchant");
  return checkLater(context, payment, attempt);
}

async function recoverFollowUp(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
): Promise<Payment> {
  const { capabilities } = connectorFor(context, payment);
  assert(
    capabilities.answersInquiries || capabilities.repeatsFollowUps,
    "an acquirer answers inquiries or takes a request again",
  );
  const conclusive = canNoLongerArrive(context, payment, attempt);
  const inquiry: InquiryOutcome = capabilities.answersInquiries
    ? await inquire(context, payment)
    : { kind: "unknown", cause: "refused_to_say" };
  if (inquiry.kind === "found" && isDone(attempt, inquiry))
    return applyFollowUpOutcome(context, payment, attempt, { kind: "approved" });
  if (inquiry.kind === "found" && isExcluded(attempt, inquiry)) {
    return applyFollowUpOutcome(context, payment, attempt, {
      kind: "declined",
      responseCode: notDoneCode,
    });
  }
  if (inquiry.kind === "unknown" && capabilities.answersInquiries)
    return checkLater(context, payment, attempt);
  if (capabilities.repeatsFollowUps) return repeat(context, payment, attempt, conclusive);
  // It was not done, and cannot arrive any more: the merchant may request it again.
  if (inquiry.kind === "found" && conclusive) {
    return applyFollowUpOutcome(context, payment, attempt, {
      kind: "declined",
      responseCode: notDoneCode,
    });
  }
  return checkLater(context, payment, attempt);
}

/** Not an acquirer's code: recovery found that the request was never carried out. */
const notDoneCode = "not_done";

function isDone(attempt: Attempt, found: Extract<InquiryOutcome, { kind: "found" }>): boolean {
  if (attempt.kind !== "capture") return found.voided;
  assert(
    found.captured === 0n || found.captured === attempt.amount,
    "an acquirer captures what it was asked to capture",
  );
  return found.captured === attempt.amount;
}

/** The opposite was done: a captured payment cannot be voided, nor a voided one captured. */
function isExcluded(attempt: Attempt, found: Extract<InquiryOutcome, { kind: "found" }>): boolean {
  return attempt.kind === "capture" ? found.voided : found.captured > 0n;
}

/**
 * `conclusive`: no earlier sending could arrive any more when recovery began, so a refusal of the
 * repeat is final.
 */
async function repeat(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
  conclusive: boolean,
): Promise<Payment> {
  const { payment: claimed, change } = await changePayment(context, payment, (current) =>
    decideRepeat(current, attempt.number, context.clock.now(), context.answerBy()),
  );
  if (change === undefined) return claimed;
  const request = followUpRequest(context.account, claimed);
  const connector = connectorFor(context, claimed);
  const outcome =
    attempt.kind === "capture" ? await connector.capture(request) : await connector.void(request);
  if (outcome.kind === "declined" && !conclusive) {
    const earlier = {
      answerBy: attempt.answerBy,
      mayArriveUntil: laterBy(attempt.answerBy, connector.capabilities.lateArrivalMs),
    };
    return applyDecision(context, claimed, (current) =>
      decideRepeatRefused(current, attempt.number, earlier, context.clock.now()),
    );
  }
  return applyFollowUpOutcome(context, claimed, attempt, outcome);
}

async function applyFollowUpOutcome(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
  outcome: FollowUpOutcome,
): Promise<Payment> {
  const decide = attempt.kind === "capture" ? decideCaptureOutcome : decideVoidOutcome;
  const settled = await changePayment(context, payment, (current) =>
    decide(current, attempt.number, outcome, context.clock.now(), "recovery"),
  );
  return handleIfLate(
    context,
    payment,
    { ...settled, superseded: settled.change === undefined },
    outcome,
    "recovery",
  );
}

function checkLater(
  context: OperationContext,
  payment: Payment,
  attempt: Attempt,
): Promise<Payment> {
  return applyDecision(context, payment, (current) =>
    decideUnanswered(current, attempt.number, context.clock.now(), "recovery"),
  );
}

async function applyDecision(
  context: OperationContext,
  payment: Payment,
  decide: (payment: Payment) => PaymentChange | undefined,
): Promise<Payment> {
  return (await changePayment(context, payment, decide)).payment;
}

function inquire(context: OperationContext, payment: Payment): ReturnType<Connector["inquire"]> {
  return connectorFor(context, payment).inquire(followUpWithNewDeadline(context, payment));
}

/**
 * True if the authorization, sent or not, can no longer reach the acquirer: it is not sent after
 * `answerBy`, and takes at most the connector's `lateArrivalMs`. Evaluated before the inquiry,
 * because the answer describes the moment of the inquiry and not that of its arrival.
 */
function canNoLongerArrive(
  context: OperationContext,
  payment: Payment,
  { answerBy }: Pick<Attempt, "answerBy">,
): boolean {
  return (
    context.clock.now() >=
    laterBy(answerBy, connectorFor(context, payment).capabilities.lateArrivalMs)
  );
}
