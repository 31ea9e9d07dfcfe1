import { WireError } from "./wire-error.ts";

export interface RequestError {
  readonly code: string;
  readonly message: string;
  readonly httpStatus: number;
}

/**
 * What is wrong with a request as such. No public source settles codes for these, so they are our own. They answer 200 like
 * every error of the interface (1.3), internal failures too: several clients throw the body away on any other status, and
 * with it the code that tells their users what to do; an operator sees failures in the log, not in status codes. Not 200 are
 * only overload, where proxies and retry logic need the status and Retry-After, paths outside of /ws, which no client of
 * the interface calls, and what is between two nodes. No text holds input: `repeated_field` and `repeated_header` take names only from our own lists.
 */
export const requestErrors = {
  malformed_json: { code: "COFRE-1", message: "The request body is not valid JSON", httpStatus: 200 },
  too_large: { code: "COFRE-2", message: "The request is too large", httpStatus: 200 },
  too_deep: { code: "COFRE-3", message: "The request is nested too deeply", httpStatus: 200 },
  too_many_fields: { code: "COFRE-4", message: "The request has too many fields", httpStatus: 200 },
  name_too_long: { code: "COFRE-5", message: "The request has a field whose name is too long", httpStatus: 200 },
  repeated_field: { code: "COFRE-6", message: "Field {name} is given more than once", httpStatus: 200 },
  repeated_header: { code: "COFRE-163", message: "Header {name} is given more than once, with different values", httpStatus: 200 },
  unsupported_body: { code: "COFRE-7", message: "The request body is neither a JSON object nor a form", httpStatus: 200 },
  unreadable_text: {
    code: "COFRE-164",
    message: "The text of the request is not UTF-8: send UTF-8, or name ISO-8859-1 or windows-1252 as charset in Content-Type",
    httpStatus: 200,
  },
  cut_form: { code: "COFRE-8", message: "The form is not percent-encoded", httpStatus: 200 },
  unknown_operation: { code: "COFRE-9", message: "There is no such operation", httpStatus: 200 },
  method_not_allowed: { code: "COFRE-10", message: "The method is not GET or POST", httpStatus: 200 },
  not_found: { code: "COFRE-11", message: "There is nothing at this address", httpStatus: 404 },
  overloaded: { code: "COFRE-12", message: "Too many requests are in progress, try again later", httpStatus: 503 },
  account_overloaded: {
    code: "COFRE-165",
    message: "Too many requests of this account are in progress, try again later",
    httpStatus: 429,
  },
  stopping: { code: "COFRE-13", message: "The server is stopping, try again later", httpStatus: 503 },
  clock_off: {
    code: "COFRE-166",
    message: "Nothing was done, because this server's clock is off: send it again later",
    httpStatus: 503,
  },
  node_unreachable: {
    code: "COFRE-120",
    message: "Nothing was done: the node that has this world cannot be reached, send it again later",
    httpStatus: 503,
  },
  node_silent: {
    code: "COFRE-121",
    message: "The node that has this world did not say what became of the request: query the payment before you send it again",
    httpStatus: 200,
  },
  other_node: { code: "COFRE-122", message: "The request is for another node: nothing was done", httpStatus: 421 },
  internal: { code: "COFRE-14", message: "The request failed inside; query the payment before you send it again", httpStatus: 200 },
} as const satisfies Record<string, RequestError>;

export type RequestErrorKind = keyof typeof requestErrors;

/** Kinds whose message names what is repeated. */
type Naming = "repeated_field" | "repeated_header";
export type PlainErrorKind = Exclude<RequestErrorKind, Naming>;

export function requestError(kind: PlainErrorKind): WireError {
  const { code, message, httpStatus } = requestErrors[kind];
  return new WireError(code, message, httpStatus);
}

/** `name` comes from known-names.ts, never from the request. */
export function repeatedField(name: string): WireError {
  return naming("repeated_field", name);
}

/** `name` comes from headers.ts, never from the request. */
export function repeatedHeader(name: string): WireError {
  return naming("repeated_header", name);
}

function naming(kind: Naming, name: string): WireError {
  const { code, message, httpStatus } = requestErrors[kind];
  return new WireError(code, message.replace("{name}", name), httpStatus);
}
