import { errorAnswer, type WireAnswer } from "./answer.ts";
import { errorTable } from "../errors/error-table.ts";
import { type ErrorCode, type Filling, type PlainCode, refusal } from "../errors/refusal.ts";
import type { WireError } from "../decode/wire-error.ts";

type CodeWithOtherStatus = {
  [Code in PlainCode]: (typeof errorTable)[Code] extends { readonly otherStatus: number }
    ? Code
    : never;
}[PlainCode];

/** The error answer with this code. */
export function refusalAnswer<Code extends ErrorCode>(
  code: Code,
  ...filling: Filling<Code>
): WireAnswer {
  return answerOf(refusal(code, ...filling));
}

/** The error answer with the row's other status. */
export function answerWithOtherStatus(code: CodeWithOtherStatus): WireAnswer {
  const { message, otherStatus } = errorTable[code];
  return errorAnswer(code, message, otherStatus);
}

export function answerOf({ statusCode, message, httpStatus }: WireError): WireAnswer {
  return errorAnswer(statusCode, message, httpStatus);
}
