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

/** Where notifications of the server's own accounts may go, and those of worlds. */
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
  // Anybody who reaches the server may make a world, and would reach what listens on this machine
  // alone.
  const isOpen = mode !== "login" && !isLoopbackHost(host);
  return { own, worlds: isOpen ? withNetworks(productionEgress, notificationNetworks) : own };
}

export function addressCheckOf(policy: EgressPolicy): AddressCheck {
  return (url) => {
    const destination = readDestination(policy, url);
    return "refused" in destination ? refusalTexts[destination.refused] : undefined;
  };
}
