import { warningOfNames } from "../decode/card-like-names.ts";
import type { Endpoint, KeyedEndpoint } from "../endpoint.ts";
import type { ErrorFamily } from "../answers/errors.ts";
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
import { publicKeyCheckEndpoint } from "./public-key-check.ts";
import { queryEndpoint } from "./query.ts";
import { refundEndpoint, refundOrCancelEndpoint } from "./refund.ts";
import { resendNotificationEndpoint } from "./resend-notification.ts";
import { misspeltSetCvvEndpoint, setCvvEndpoint } from "./set-cvv.ts";
import { tokenEndpoint } from "./token.ts";
import { verifyCardEndpoints } from "./verify-card.ts";

/** Every operation of the wire, one line each. */
export function wireEndpoints(deps: EndpointDeps): readonly Endpoint[] {
  const named = (endpoint: KeyedEndpoint, family: ErrorFamily): Endpoint =>
    warningOfNames(idempotent(endpoint, family, deps), deps.cardLikeNames);
  return [
    tokenEndpoint(deps),
    setCvvEndpoint(deps),
    misspeltSetCvvEndpoint,
    named(directEndpoint(deps), "direct"),
    ...verifyCardEndpoints(deps),
    named(captureEndpoint(deps), "capture"),
    named(cancelEndpoint(deps), "cancel"),
    named(refundEndpoint(deps), "refund"),
    named(refundOrCancelEndpoint(deps), "refund_or_cancel"),
    queryEndpoint(deps),
    exchangeEndpoint(deps),
    currencyRatesEndpoint(deps),
    resendNotificationEndpoint(deps),
    zipcodeEndpoint,
    documentBalanceEndpoint,
    publicKeyCheckEndpoint(deps),
    ...integrationPropertiesEndpoints(deps),
    ...fingerprintEndpoints(deps),
    ...notAvailableEndpoints,
  ];
}
