import { requestErrors, type RequestError } from "./request-errors.ts";

/**
 * What is not understood as a request of HTTP, so that neither its path nor its merchant is known. Not 200 as the errors of the
 * interface (1.3) are: proxies and client libraries stand between, and have to see that nothing was understood. No text holds input.
 */
export const framingErrors = {
  not_http: { code: "COFRE-130", message: "The request is not one of HTTP/1.1", httpStatus: 400 },
  tls_unexpected: { code: "COFRE-131", message: "This port speaks HTTP without TLS", httpStatus: 400 },
  tls_missing: { code: "COFRE-161", message: "This port speaks HTTP with TLS: the address begins with https://", httpStatus: 400 },
  address_unreadable: {
    code: "COFRE-132",
    message: "The address holds characters that have to be percent-encoded: blanks, and all beyond ASCII",
    httpStatus: 400,
  },
  header_unreadable: { code: "COFRE-133", message: "The request has a header that cannot be read", httpStatus: 400 },
  length_unclear: { code: "COFRE-134", message: "It is not clear where the body of the request ends", httpStatus: 400 },
  length_missing: {
    code: "COFRE-167",
    message: "The request is a POST without Content-Length or Transfer-Encoding, so its body would not be read",
    httpStatus: 411,
  },
  cut_short: { code: "COFRE-135", message: "The request ended before it was whole", httpStatus: 400 },
  host_missing: { code: "COFRE-136", message: "The request has no Host header", httpStatus: 400 },
  host_unclear: { code: "COFRE-160", message: "The request has two Host headers, or one that names no host", httpStatus: 400 },
  head_too_large: { code: "COFRE-137", message: "The address and the headers together are too large", httpStatus: 431 },
  too_slow: { code: "COFRE-138", message: "The request took too long to arrive", httpStatus: 408 },
  unknown_expectation: { code: "COFRE-139", message: "The request expects something else than 100-continue", httpStatus: 417 },
  chunks_too_large: { ...requestErrors.too_large, httpStatus: 413 },
} as const satisfies Record<string, RequestError>;

export type FramingErrorKind = keyof typeof framingErrors;
