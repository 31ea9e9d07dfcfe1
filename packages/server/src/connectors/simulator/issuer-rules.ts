import type { AuthorizeRequest } from "../connector.ts";
import type { Personal } from "./messages-and-books.ts";

/**
 * The request with the decline of the simulated issuer: it declines Brazilian debit payments
 * without 3-D Secure if the account requires it, unless an injected fault takes precedence.
 */
export function withIssuerRules(request: AuthorizeRequest): AuthorizeRequest & Personal {
  const { country, paymentType, threeDSecure, settings } = request;
  const isDeclined =
    settings.requireDebitThreeDSecure &&
    country === "br" &&
    paymentType === "debit" &&
    threeDSecure === undefined;
  if (!isDeclined) return request;
  const simulator = {
    fault: { decline: "three_d_secure_required" },
    ...settings.simulator,
  } as const;
  return { ...request, settings: { ...settings, simulator } };
}
