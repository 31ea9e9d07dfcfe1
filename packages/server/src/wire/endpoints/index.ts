import { warningOfNames } from "../decode/card-like-names.ts";
import type { Endpoint, KeyedEndpoint } from "../endpoint.ts";
import { commonErrors } from "../answers/errors.ts";
import { idempotent } from "../idempotency.ts";
import { cancelEndpoint } from "./cancel.ts";
import { captureEndpoint } from "./capture.ts";
import type { EndpointDeps } from "./deps.ts";
import { directEndpoint } from "./direct.ts";
import { currencyRatesEndpoint, exchangeEndpoint } from "./exchange.ts";
import { fingerprintEndpoints } from "./fingerprint.ts";
import { integrationPropertiesEndpoints } from "./integration-properties.ts";
import { documentBalanceEndpoint, zipcodeEndpoint } from "./lookups.ts";
import { notAvailableEndpoints } from "./not-available.ts";
import { pageEndpoint } from "./page.ts";
import { publicKeyCheckEndpoint } from "./public-key-check.ts";
import { queryEndpoint } from "./query.ts";
import { refundEndpoint, refundOrCancelEndpoint } from "./refund.ts";
import { resendNotificationEndpoint } from "./resend-notification.ts";
import { misspeltSetCvvEndpoint, setCvvEndpoint } from "./set-cvv.ts";
import { threeDSecureEndpoints } from "./three-d-secure.ts";
import { tokenEndpoint } from "./token.ts";
import { verifyCardEndpoints } from "./verify-card.ts";

/** Every operation of the wire, one line each. */
export function wireEndpoints(deps: EndpointDeps): readonly Endpoint[] {
  const endpoints: readonly Endpoint[] = [
    tokenEndpoint(deps),
    setCvvEndpoint(deps),
    misspeltSetCvvEndpoint,
    directEndpoint(deps),
    pageEndpoint(deps),
    ...verifyCardEndpoints(deps),
    captureEndpoint(deps),
    cancelEndpoint(deps),
    refundEndpoint(deps),
    refundOrCancelEndpoint(deps),
    queryEndpoint(deps),
    exchangeEndpoint(deps),
    currencyRatesEndpoint(deps),
    resendNotificationEndpoint(deps),
    zipcodeEndpoint,
    documentBalanceEndpoint,
    publicKeyCheckEndpoint(deps),
    ...integrationPropertiesEndpoints(deps),
    ...fingerprintEndpoints(deps),
    ...threeDSecureEndpoints(deps),
    ...notAvailableEndpoints,
  ];
  return endpoints.map((endpoint) =>
    endpoint.key === "none" ? endpoint : withIdempotencyKey(endpoint, deps),
  );
}

/** The endpoint with an Idempotency-Key, if it is documented to accept one. */
function withIdempotencyKey(endpoint: KeyedEndpoint, deps: EndpointDeps): KeyedEndpoint {
  const { doc } = endpoint;
  if (typeof doc === "string" || doc.idempotent !== true) return endpoint;
  const idempotentOne = idempotent(endpoint, doc.errors ?? commonErrors, deps);
  return warningOfNames(idempotentOne, deps.cardLikeNames);
}
