import { wirePaths } from "../../interface/paths.ts";
import type { AnswerFacts, RecordedRequest } from "../../sandbox/recording/recorder.ts";
import { connectionCutStatus } from "../../wire/answers/answer.ts";
import { unknownOutcomeCodes } from "../../wire/errors/unknown-outcome.ts";
import { paymentIn } from "./answer-view.ts";

/**
 * `declined`: the answer is a new payment that was not accepted. `failed`: HTTP 5xx, a connection
 * that a fault has cut, an internal error or an unknown outcome. `in_flight`: no answer yet.
 */
export const requestOutcomes = ["succeeded", "declined", "refused", "failed", "in_flight"] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

/** What a recorded request came to, by its answer alone. */
export function outcomeOf({
  path,
  answer,
}: Pick<RecordedRequest, "path" | "answer">): RequestOutcome {
  if (answer === undefined) return "in_flight";
  const { status, code = "" } = answer;
  if (status >= 500 || status === connectionCutStatus || unknownOutcomeCodes.has(code))
    return "failed";
  if (status >= 400 || code !== "") return "refused";
  return path === wirePaths.direct && isCancelled(answer) ? "declined" : "succeeded";
}

/** A quotation mark within a text has a backslash before it, so that no text looks like the member. */
function isCancelled(answer: AnswerFacts): boolean {
  return paymentIn(answer) !== undefined && answer.body.includes('"status":"CA"');
}
