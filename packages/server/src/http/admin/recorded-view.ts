import { formatInstant } from "../../kernel/calendar.ts";
import type { RecordedAttempt, RecordedCall, RecordedRequest } from "../../twin/recording/recorder.ts";

/** A recorded request as `/__cofre/requests` and the timeline show it. */
export function requestView(request: RecordedRequest): Readonly<Record<string, unknown>> {
  const { number, at, method, path, key, parameters, leftOut, answer } = request;
  return {
    number,
    at: formatInstant(at),
    method,
    path,
    key,
    parameters: JSON.parse(parameters) as unknown,
    parameters_left_out: leftOut,
    hash: answer?.hash ?? request.hash ?? null,
    merchant_payment_code: answer?.paymentCode ?? request.code ?? null,
    ...(answer === undefined
      ? { answer: null }
      : {
          http_status: answer.status,
          status_code: answer.code ?? null,
          duration_ms: answer.durationMs,
          replayed: answer.isReplayed,
          // The beginning of a longer one is no JSON any more.
          ...(answer.isCut ? { answer: null, answer_begins: answer.body } : { answer: JSON.parse(answer.body) as unknown }),
        }),
  };
}

/** A recorded call of an acquirer. What is missing is left out. */
export function callView(call: RecordedCall): Readonly<Record<string, unknown>> {
  const { at, connector, kind, reference, originalReference, amount, currency, capture, brand, maskedPan, answered } = call;
  return {
    connector,
    kind,
    sent_at: formatInstant(at),
    reference,
    original_reference: originalReference,
    amount,
    currency,
    capture,
    brand,
    masked_card_number: maskedPan,
    answered_at: answered === undefined ? null : formatInstant(answered.at),
    duration_ms: answered?.durationMs,
    outcome: answered?.outcome ?? null,
  };
}

/** A recorded attempt to deliver a notification. */
export function attemptView(attempt: RecordedAttempt): Readonly<Record<string, unknown>> {
  const { number, notificationType, endpoint, url, attempt: count, outcome, verdict, dueAt } = attempt;
  return {
    number,
    notification_type: notificationType,
    endpoint,
    url,
    attempt: count,
    outcome,
    verdict,
    due_at: dueAt === undefined ? undefined : formatInstant(dueAt),
  };
}
