import { ServiceError } from "../../kernel/service-error.ts";
import { PeopleError } from "../../sign-in/users.ts";
import { errorAnswer, type WireAnswer } from "../../wire/answers/answer.ts";
import { wireErrorOf } from "../../wire/answers/errors.ts";
import { requestErrors } from "../../wire/decode/request-errors.ts";
import { WireError } from "../../wire/decode/wire-error.ts";

/** What people are told. No text holds anything of what they gave. */
export const peopleErrors = {
  not_signed_in: { code: "COFRE-110", message: "Nobody is signed in, or the session has ended" },
  sign_in_refused: { code: "COFRE-111", message: "Name, password or code is wrong, or the name cannot sign in now" },
  not_from_page: { code: "COFRE-112", message: "The request does not come from this server's own page" },
  role: { code: "COFRE-113", message: "Your role does not allow this" },
  no_invitation: { code: "COFRE-114", message: "The invitation is not known, was used, or is over" },
  password_refused: {
    code: "COFRE-115",
    message: "A password has 12 to 128 characters, does not hold the name, and is none of the last four",
  },
  code_refused: { code: "COFRE-116", message: "The six digits are wrong or were used before" },
  name: { code: "COFRE-117", message: "A name has 3 to 64 letters, digits and . _ @ + -, and is nobody else's" },
  last_admin: { code: "COFRE-118", message: "There must be an active admin: make somebody else one before" },
  held_back: { code: "COFRE-123", message: "Too many tries to sign in failed: wait and try again", httpStatus: 429 },
  not_passed: { code: "COFRE-124", message: "No other node of this installation has led this request here: nothing was done" },
  parameter: { code: "COFRE-119", message: "{Parameter | Header} {name} is invalid" },
} as const;

const rows: Readonly<Record<PeopleError["code"], { readonly code: string; readonly message: string; readonly httpStatus?: number }>> = {
  not_signed_in: peopleErrors.not_signed_in,
  sign_in_refused: peopleErrors.sign_in_refused,
  busy: requestErrors.overloaded,
  held_back: peopleErrors.held_back,
  no_invitation: peopleErrors.no_invitation,
  password_refused: peopleErrors.password_refused,
  code_refused: peopleErrors.code_refused,
  name_refused: peopleErrors.name,
  name_taken: peopleErrors.name,
  no_such_person: { code: peopleErrors.parameter.code, message: "Parameter id is invalid" },
  last_admin: peopleErrors.last_admin,
};

export function peopleError(kind: Exclude<keyof typeof peopleErrors, "parameter" | "held_back">): WireError {
  const { code, message } = peopleErrors[kind];
  return new WireError(code, message);
}

/** `what`: a name of ours, with its kind before it, such as `Parameter role`. */
export function invalid(what: string): WireError {
  return new WireError(peopleErrors.parameter.code, `${what} is invalid`);
}

/** The answer, or the refusal in words of ours. What is no refusal is the server's to log. */
export async function answeringPeople(work: () => Promise<WireAnswer>): Promise<WireAnswer> {
  try {
    return await work();
  } catch (error) {
    const { statusCode, message, httpStatus } = refusalOf(error);
    const answer = errorAnswer(statusCode, message, httpStatus);
    return error instanceof PeopleError && error.waitMs !== undefined ? { ...answer, headers: [retryAfter(error.waitMs)] } : answer;
  }
}

/** In whole seconds, up. */
function retryAfter(waitMs: number): readonly [name: string, value: string] {
  return ["Retry-After", String(Math.ceil(waitMs / 1_000))];
}

/** Throws what is no refusal. */
export function refusalOf(error: unknown): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof PeopleError) {
    const { code, message, httpStatus = 200 } = rows[error.code];
    return new WireError(code, message, httpStatus);
  }
  if (error instanceof ServiceError) return wireErrorOf(error, "query");
  throw error;
}
