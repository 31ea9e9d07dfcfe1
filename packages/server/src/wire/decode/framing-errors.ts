import type { PlainCode } from "../errors/refusal.ts";

/**
 * The codes of input that is not a valid HTTP request, so that its path and merchant are unknown.
 * Their status is not 200, unlike that of the interface's errors (1.3): proxies and client
 * libraries must see that the request was not understood.
 */
export const framingErrors = {
  not_http: "COFRE-130",
  tls_unexpected: "COFRE-131",
  tls_missing: "COFRE-161",
  address_unreadable: "COFRE-132",
  header_unreadable: "COFRE-133",
  length_unclear: "COFRE-134",
  length_missing: "COFRE-167",
  cut_short: "COFRE-135",
  host_missing: "COFRE-136",
  host_unclear: "COFRE-160",
  head_too_large: "COFRE-137",
  too_slow: "COFRE-138",
  unknown_expectation: "COFRE-139",
  chunks_too_large: "COFRE-2",
} as const satisfies Record<string, PlainCode>;

export type FramingErrorKind = keyof typeof framingErrors;
