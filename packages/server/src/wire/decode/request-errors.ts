import { type ErrorCode, type PlainCode, refusal } from "../errors/refusal.ts";
import type { WireError } from "./wire-error.ts";

/**
 * The codes for malformed requests, overload and internal failures. No public source has codes for
 * these. They are sent with status 200, as every error of the interface (1.3), even for internal
 * failures: several clients discard the body of any other status, and with it the code that says
 * what to do next; operators see failures in the log. The exceptions are overload, where proxies
 * and retry logic need the status and Retry-After, and paths outside /ws, which no client of the
 * interface calls.
 */
export const requestErrors = {
  malformed_json: "COFRE-1",
  too_large: "COFRE-2",
  too_deep: "COFRE-3",
  too_many_fields: "COFRE-4",
  name_too_long: "COFRE-5",
  repeated_field: "COFRE-6",
  repeated_header: "COFRE-163",
  unsupported_body: "COFRE-7",
  unreadable_text: "COFRE-164",
  cut_form: "COFRE-8",
  unknown_operation: "COFRE-9",
  method_not_allowed: "COFRE-10",
  not_found: "COFRE-11",
  overloaded: "COFRE-12",
  account_overloaded: "COFRE-165",
  stopping: "COFRE-13",
  clock_off: "COFRE-166",
  internal: "COFRE-14",
} as const satisfies Record<string, ErrorCode>;

export type RequestErrorKind = keyof typeof requestErrors;
export type PlainErrorKind = {
  [Kind in RequestErrorKind]: (typeof requestErrors)[Kind] extends PlainCode ? Kind : never;
}[RequestErrorKind];

export function requestError(kind: PlainErrorKind): WireError {
  return refusal(requestErrors[kind]);
}

/** `name` comes from known-names.ts, never from the request. */
export function repeatedField(name: string): WireError {
  return refusal("COFRE-6", { name });
}

/** `name` comes from headers.ts, never from the request. */
export function repeatedHeader(name: string): WireError {
  return refusal("COFRE-163", { name });
}
