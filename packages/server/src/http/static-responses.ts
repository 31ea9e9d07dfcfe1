import { connectionCutStatus, type WireResponse } from "../wire/answers/answer.ts";
import { refusalAnswer } from "../wire/answers/refusal-answer.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";

export const noContent: WireResponse = { status: 204, body: "" };
export const headNotAllowed: WireResponse = { status: 405, body: "" };
/**
 * Never written, because the client is gone. The status is the one that access logs use for this.
 */
export const clientGone: WireResponse = { status: 499, body: "" };
/** Nothing or only a part was written: the connection was cut on purpose. */
export const connectionCut: WireResponse = { status: connectionCutStatus, body: "" };
export const answers = {
  unknown_operation: refusalAnswer("COFRE-9", { hint: "" }),
  not_found: refusalAnswer(requestErrors.not_found),
  method_not_allowed: refusalAnswer(requestErrors.method_not_allowed),
  overloaded: refusalAnswer(requestErrors.overloaded),
  stopping: refusalAnswer(requestErrors.stopping),
  clock_off: refusalAnswer(requestErrors.clock_off),
  internal: refusalAnswer(requestErrors.internal),
} as const;
