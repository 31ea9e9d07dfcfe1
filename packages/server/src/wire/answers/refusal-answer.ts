import { errorAnswer, type WireResponse } from "./answer.ts";
import { errorTable } from "../errors/error-table.ts";
import { type ErrorCode, type Filling, type PlainCode, refusal } from "../errors/refusal.ts";
import type { WireError } from "../decode/wire-error.ts";
import { json, NamedSchema } from "../schema.ts";

type CodeWithOtherStatus = {
  [Code in PlainCode]: (typeof errorTable)[Code] extends { readonly otherStatus: number }
    ? Code
    : never;
}[PlainCode];

/** What every error answer has. */
export const errorSchema = new NamedSchema("Error", {
  ...json.object(
    { status: json.exactly("ERROR"), status_code: json.text, status_message: json.text },
    { message: json.text },
  ),
  description:
    "Every error, nearly always with HTTP status 200: check `status`, then `status_code`.",
});

/** The error answer with this code. */
export function refusalAnswer<Code extends ErrorCode>(
  code: Code,
  ...filling: Filling<Code>
): WireResponse {
  return answerOf(refusal(code, ...filling));
}

/** The error answer with the row's other status. */
export function answerWithOtherStatus(code: CodeWithOtherStatus): WireResponse {
  const { message, otherStatus } = errorTable[code];
  return errorAnswer(code, message, otherStatus);
}

export function answerOf({
  statusCode,
  message,
  httpStatus,
  field,
  retryAfterMs,
}: WireError): WireResponse {
  const answer = errorAnswer(statusCode, message, httpStatus, field);
  if (retryAfterMs === undefined) return answer;
  return {
    ...answer,
    keep: false,
    // Browsers of other origins read only the headers that are named.
    headers: [
      ["Retry-After", String(Math.ceil(retryAfterMs / 1_000))],
      ["Access-Control-Expose-Headers", "Retry-After"],
    ],
  };
}
