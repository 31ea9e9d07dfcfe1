import type { PlainCode } from "../errors/refusal.ts";

/**
 * What is not understood as a request of HTTP, so that neither its path nor its merchant is known. Not 200 as the errors of the
 * interface (1.3) are: proxies and client libraries stand between, and have to see that nothing was understood. No text holds input.
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
