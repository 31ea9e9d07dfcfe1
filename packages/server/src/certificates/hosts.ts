import type { Hosts } from "./certificate.ts";

/**
 * The hosts of this interface, which its client libraries have as constants: both families, with
 * their older names (interface 0).
 */
export const interfaceHosts = [
  "api.ebanxpay.com",
  "sandbox.ebanxpay.com",
  "api.ebanx.com",
  "sandbox.ebanx.com",
  "customer.ebanx.com",
  "js.ebanx.com",
  "api.ebanx.com.br",
  "staging.ebanx.com.br",
] as const;

/** The port that clients use there. */
export const interfacePort = 443;

/**
 * The hosts that the local authority may certify: those of the interface, and this machine for
 * clients without a proxy.
 */
export const certifiedHosts: Hosts = {
  names: [...interfaceHosts, "localhost"],
  addresses: [
    Uint8Array.of(127, 0, 0, 1),
    Uint8Array.of(...Array.from({ length: 15 }, () => 0), 1),
  ],
};

/**
 * The hosts of a certificate for clients that send SNI. It has no addresses: BoringSSL (Bun, Mono,
 * Chromium) refuses every certificate with an address under an authority that is constrained to
 * addresses.
 */
export const namedHosts: Hosts = { names: certifiedHosts.names, addresses: [] };
