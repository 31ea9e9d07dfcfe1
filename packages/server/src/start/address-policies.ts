import { isLoopbackHost } from "../config/readers.ts";
import type { Config } from "../config/settings.ts";
import {
  type EgressPolicy,
  productionEgress,
  readDestination,
  refusalTexts,
  sandboxEgress,
  withNetworks,
} from "../delivery/address-guard.ts";
import type { AddressCheck } from "../merchant/receiver-address.ts";

/** Allowed destinations of notifications, for the server's own accounts and for worlds. */
export interface EgressPolicies {
  readonly own: EgressPolicy;
  readonly worlds: EgressPolicy;
}

export function egressPolicies({
  environment,
  console: mode,
  host,
  notificationNetworks = [],
}: Config): EgressPolicies {
  const own = withNetworks(
    environment === "sandbox" ? sandboxEgress : productionEgress,
    notificationNetworks,
  );
  // Any client that reaches the server may create a world, and could otherwise reach services that
  // listen on this machine only.
  const isOpen = mode !== "login" && !isLoopbackHost(host);
  return { own, worlds: isOpen ? withNetworks(productionEgress, notificationNetworks) : own };
}

export function addressCheckOf(policy: EgressPolicy): AddressCheck {
  return (url) => {
    const destination = readDestination(policy, url);
    return "refused" in destination ? refusalTexts[destination.refused] : undefined;
  };
}
