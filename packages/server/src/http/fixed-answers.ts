import { errorAnswer, type WireAnswer } from "../wire/answers/answer.ts";
import { requestErrors, type PlainErrorKind } from "../wire/decode/request-errors.ts";

export const noContent: WireAnswer = { status: 204, body: "" };
export const headRefused: WireAnswer = { status: 405, body: "" };
/** Never written: there is nobody to read it. The status is what access logs use for this. */
export const goneAnswer: WireAnswer = { status: 499, body: "" };
/** Nothing of it, or not all, was written: the connection was cut on purpose. As some proxies log that. */
export const cutAnswer: WireAnswer = { status: 444, body: "" };
export const answers = {
  unknown_operation: answerTo("unknown_operation"),
  not_found: answerTo("not_found"),
  method_not_allowed: answerTo("method_not_allowed"),
  overloaded: answerTo("overloaded"),
  stopping: answerTo("stopping"),
  clock_off: answerTo("clock_off"),
  node_unreachable: answerTo("node_unreachable"),
  node_silent: answerTo("node_silent"),
  other_node: answerTo("other_node"),
  internal: answerTo("internal"),
} as const;

function answerTo(kind: PlainErrorKind): WireAnswer {
  const { code, message, httpStatus } = requestErrors[kind];
  return errorAnswer(code, message, httpStatus);
}
