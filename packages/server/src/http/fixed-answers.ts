import type { WireAnswer } from "../wire/answers/answer.ts";
import { refusalAnswer } from "../wire/answers/refusal-answer.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";

export const noContent: WireAnswer = { status: 204, body: "" };
export const headRefused: WireAnswer = { status: 405, body: "" };
/** Never written: there is nobody to read it. The status is what access logs use for this. */
export const goneAnswer: WireAnswer = { status: 499, body: "" };
/**
 * Nothing of it, or not all, was written: the connection was cut on purpose. As some proxies log
 * that.
 */
export const cutAnswer: WireAnswer = { status: 444, body: "" };
export const answers = {
  unknown_operation: refusalAnswer("COFRE-9", { hint: "" }),
  not_found: refusalAnswer(requestErrors.not_found),
  method_not_allowed: refusalAnswer(requestErrors.method_not_allowed),
  overloaded: refusalAnswer(requestErrors.overloaded),
  stopping: refusalAnswer(requestErrors.stopping),
  clock_off: refusalAnswer(requestErrors.clock_off),
  internal: refusalAnswer(requestErrors.internal),
} as const;
