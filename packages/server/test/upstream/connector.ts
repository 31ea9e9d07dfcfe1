import {
  connectUpstream,
  type Upstream,
} from "../../src/connectors/upstream/upstream-connector.ts";
import type {
  AuthorizeRequest,
  CardToAuthorize,
  FollowUpRequest,
} from "../../src/connectors/connector.ts";
import { laterBy } from "../../src/kernel/instant.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import { Cvv } from "../../src/vault/pan.ts";
import { merchantId } from "../contract/store-fixtures.ts";
import { cardOf } from "../vectors/cards.ts";
import { testCustomer } from "./test-customer.ts";

export const upstreamKey = "test_ik_upstream_unit";
const settings = defaultAccountSettings();
const ofMerchant = merchantId(0xab_cdef);

/** The connector to a server at this address. */
export function upstreamAt(
  address: string,
  ca?: string,
  scheduler: Scheduler = systemScheduler,
): Upstream {
  const options = {
    clock: systemClock,
    scheduler,
    address: new URL(address),
    integrationKey: new Secret(upstreamKey),
  };
  return connectUpstream({ ...options, ca });
}

export function authorizeRequest(
  reference: string,
  changes: Partial<AuthorizeRequest> = {},
): AuthorizeRequest {
  return {
    merchantId: ofMerchant,
    reference,
    deadline: laterBy(systemClock.now(), 30_000),
    settings,
    amount: { minor: 12_34n, currency: "USD" },
    capture: true,
    instalments: 1,
    country: "br",
    descriptor: "SHOP",
    card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
    storedCredential: undefined,
    threeDSecure: undefined,
    customer: testCustomer,
    ...changes,
  };
}

export function followUpRequest(
  reference: string,
  original: string,
  minor = 12_34n,
): FollowUpRequest {
  const { deadline, amount } = authorizeRequest(reference);
  const followed = {
    reference: original,
    amount,
    authorizationCode: "123456",
    acquirerReference: "a hash",
  };
  return {
    merchantId: ofMerchant,
    reference,
    deadline,
    settings,
    original: followed,
    amount: { ...amount, minor },
  };
}

export function cardInHand(digits = "4111111111111111"): CardToAuthorize {
  return {
    card: cardOf(digits),
    cvv: Cvv.from(Uint8Array.from(Buffer.from("123"))),
    cryptogram: undefined,
  };
}
