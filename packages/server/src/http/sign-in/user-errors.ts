import { ServiceError } from "../../payment/service-error.ts";
import { UserError } from "../../sign-in/users.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { readErrors, wireErrorOf } from "../../wire/answers/errors.ts";
import { answerOf } from "../../wire/answers/refusal-answer.ts";
import { type ErrorCode, type PlainCode, refusal } from "../../wire/errors/refusal.ts";
import { WireError } from "../../wire/decode/wire-error.ts";

const userErrors = {
  not_signed_in: "COFRE-110",
  sign_in_refused: "COFRE-111",
  busy: "COFRE-12",
  rate_limited: "COFRE-123",
  no_invitation: "COFRE-114",
  password_refused: "COFRE-115",
  code_refused: "COFRE-116",
  name_refused: "COFRE-117",
  name_taken: "COFRE-117",
  no_such_user: "COFRE-119",
  last_admin: "COFRE-118",
} as const satisfies Record<UserError["code"], ErrorCode>;

/** Refusals by the console's endpoints themselves. */
const pageErrors = {
  not_signed_in: userErrors.not_signed_in,
  not_from_page: "COFRE-112",
  role: "COFRE-113",
} as const satisfies Record<string, PlainCode>;

export function userError(kind: keyof typeof pageErrors): WireError {
  return refusal(pageErrors[kind]);
}

/** `name` is the name of a parameter or header of this program, never from the request. */
export function invalid(kind: "Parameter" | "Header", name: string): WireError {
  return refusal("COFRE-119", { kind, name });
}

/**
 * The answer, or the refusal in the wire's codes. Other errors are thrown for the server to log.
 */
export async function answeringUsers(work: () => Promise<WireResponse>): Promise<WireResponse> {
  try {
    return await work();
  } catch (error) {
    const answer = answerOf(refusalOf(error));
    return error instanceof UserError && error.waitMs !== undefined
      ? { ...answer, headers: [retryAfter(error.waitMs)] }
      : answer;
  }
}

/** In whole seconds, rounded up. */
function retryAfter(waitMs: number): readonly [name: string, value: string] {
  return ["Retry-After", String(Math.ceil(waitMs / 1_000))];
}

/** Rethrows an error that is not a refusal. */
export function refusalOf(error: unknown): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof UserError) {
    const code = userErrors[error.code];
    return code === "COFRE-119" ? invalid("Parameter", "id") : refusal(code);
  }
  if (error instanceof ServiceError) return wireErrorOf(error, readErrors);
  throw error;
}
