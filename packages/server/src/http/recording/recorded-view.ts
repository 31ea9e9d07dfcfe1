import { formatInstant } from "../../kernel/calendar.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import type {
  AnswerFacts,
  ParameterList,
  RecordedAttempt,
  RecordedCall,
  RecordedRequest,
} from "../../sandbox/recording/recorder.ts";
import { paymentIn } from "./answer-view.ts";
import { outcomeOf } from "./request-outcome.ts";

/** The payment that a request was about, as far as the request or its answer named it. */
export interface Concerned {
  readonly hash: string | undefined;
  /** With the middle of any card number masked. */
  readonly code: string | undefined;
}

export function concernedBy({
  parameters,
  answer,
}: Pick<RecordedRequest, "parameters" | "answer">): Concerned {
  const answered = answer === undefined ? undefined : paymentIn(answer);
  if (answered !== undefined) return answered;
  const hash = memberOf(parameters, "hash");
  const payment = memberOf(parameters, "payment");
  const code = memberOf(
    typeof payment === "object" ? payment : parameters,
    "merchant_payment_code",
  );
  return {
    hash: typeof hash === "string" && isPaymentId(hash) ? hash : undefined,
    code: typeof code === "string" ? code : undefined,
  };
}

function memberOf(list: ParameterList, name: string): string | ParameterList | undefined {
  for (let index = 0; index < list.length; index += 2)
    if (list[index] === name) return list[index + 1];
  return undefined;
}

/** A list of parameters as an object. */
export function objectOf(list: ParameterList): Readonly<Record<string, unknown>> {
  const members: [string, unknown][] = [];
  for (let index = 0; index + 1 < list.length; index += 2) {
    const [name, value] = [list[index], list[index + 1]];
    if (typeof name === "string")
      members.push([name, typeof value === "object" ? objectOf(value) : value]);
  }
  return Object.fromEntries(members);
}

/** A recorded request as `/__cofre/requests` and the timeline show it. */
export function requestView(request: RecordedRequest): Readonly<Record<string, unknown>> {
  const { parameters, leftOut, answer } = request;
  return {
    ...requestSummary(request),
    parameters: objectOf(parameters),
    parameters_omitted: leftOut,
    ...(answer === undefined ? { response: null } : answerView(answer)),
  };
}

/** A recorded request without its parameters and the body of its answer. */
export function requestSummary(request: RecordedRequest): Readonly<Record<string, unknown>> {
  const { number, at, method, path, key, answer, durationMs } = request;
  const { hash, code } = concernedBy(request);
  return {
    number,
    at: formatInstant(at),
    method,
    path,
    key,
    hash: hash ?? null,
    merchant_payment_code: code ?? null,
    outcome: outcomeOf(request),
    ...(answer === undefined
      ? {}
      : {
          http_status: answer.status,
          status_code: answer.code ?? null,
          field: answer.field ?? null,
          message: messageIn(answer) ?? null,
          duration_ms: durationMs,
          replayed: answer.isReplayed,
          fault: answer.fault ?? null,
        }),
  };
}

/** The text of a refusal. */
function messageIn({ code, isCut, body }: AnswerFacts): string | undefined {
  if (code === undefined || isCut) return undefined;
  const { status_message: message } = JSON.parse(body) as { readonly status_message?: unknown };
  return typeof message === "string" ? message : undefined;
}

/** The beginning of a longer body is no longer valid JSON. */
function answerView({ body, isCut }: AnswerFacts): Readonly<Record<string, unknown>> {
  if (isCut) return { response: null, response_prefix: body };
  try {
    return { response: JSON.parse(body) as unknown };
  } catch {
    return { response: null, response_prefix: body };
  }
}

/** A recorded call to an acquirer. Missing values are left out. */
export function callView(call: RecordedCall): Readonly<Record<string, unknown>> {
  const {
    at,
    connector,
    kind,
    reference,
    originalReference,
    amount,
    currency,
    capture,
    brand,
    maskedPan,
    answered,
  } = call;
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
  const {
    number,
    notificationType,
    endpoint,
    url,
    attempt: count,
    outcome,
    verdict,
    dueAt,
  } = attempt;
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
