import ipaddr from "ipaddr.js";
import { assert } from "../kernel/assert.ts";

/** Rules for the addresses of receivers. */
export interface EgressPolicy {
  /** Ports of public addresses, which are reached over https only. */
  readonly ports: readonly number[];
  /**
   * Networks (CIDR) that may be reached although they are not public, on every port and also over
   * http. Addresses in `neverReached` stay refused.
   */
  readonly allowedNetworks: readonly string[];
}

const publicPorts = [443, 8443];

export const productionEgress: EgressPolicy = { ports: publicPorts, allowedNetworks: [] };
const thisMachine = ["127.0.0.0/8", "::1/128"];
/** On a laptop or in CI the receiver listens on the same machine. */
export const sandboxEgress: EgressPolicy = { ports: publicPorts, allowedNetworks: thisMachine };

/** The policy with the operator's networks (COFRE_NOTIFICATION_NETWORKS). */
export function withNetworks(policy: EgressPolicy, networks: readonly string[]): EgressPolicy {
  return networks.length === 0
    ? policy
    : { ...policy, allowedNetworks: [...policy.allowedNetworks, ...networks] };
}

/**
 * `url`: not a web address. `scheme`: http where https is required. `protocol`: a port of another
 * protocol.
 */
export type EgressRefusalCause = "url" | "scheme" | "port" | "protocol" | "address";

/** The server to connect to. `host` is a name, or an address without brackets. */
export interface Destination {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  readonly encrypted: boolean;
  /** The `Authorization` header (RFC 7617) for `user:password@` in the address. */
  readonly authorization: string | undefined;
}

/** Why an address is refused, for users: completes "the address ...". */
export const refusalTexts: Readonly<Record<EgressRefusalCause, string>> = {
  url: "must begin with http:// or https:// and name a host",
  scheme:
    "must begin with https://: http is used only for networks in COFRE_NOTIFICATION_NETWORKS, and for this machine by a sandbox that listens only on it",
  port: "must have port 443 or 8443",
  protocol: "has a port of another protocol, such as mail, which is never called",
  address:
    "is in a private or reserved network, which is called only where COFRE_NOTIFICATION_NETWORKS names it",
};

/**
 * Parses a receiver's address and refuses what no resolution of its name could allow. The WHATWG
 * parser behind URL normalizes decimal, hexadecimal, octal and shortened IPv4 addresses, so a
 * spelling cannot hide an address.
 */
export function readDestination(
  policy: EgressPolicy,
  text: string,
): Destination | { readonly refused: EgressRefusalCause } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const authorization = url === undefined ? undefined : basicAuthorization(url);
  if (url === undefined || authorization === null) return { refused: "url" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { refused: "scheme" };
  const encrypted = url.protocol === "https:";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const port = url.port === "" ? (encrypted ? 443 : 80) : Number(url.port);
  if (portsOfOtherProtocols.has(port)) return { refused: "protocol" };
  const destination = { url, host, port, encrypted, authorization };
  if (ipaddr.isValid(host)) {
    const refused = refusalOf(policy, destination, host);
    return refused === undefined ? destination : { refused };
  }
  if (policy.allowedNetworks.length > 0) return destination;
  if (!encrypted) return { refused: "scheme" };
  return policy.ports.includes(port) ? destination : { refused: "port" };
}

/**
 * The "bad ports" of the Fetch standard, which browsers refuse: a request there could be read as a
 * command of their protocol.
 */
const portsOfOtherProtocols: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10_080,
]);

/** null: it cannot be sent, because a colon ends the user name. */
function basicAuthorization({ username, password }: URL): string | undefined | null {
  if (username === "" && password === "") return undefined;
  const [user, secret] = [decoded(username), decoded(password)];
  return user.includes(":") ? null : `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text has a literal percent sign.
    return text;
  }
}

/** Why this address must not be connected to for this destination; undefined if it may be. */
export function refusalOf(
  policy: EgressPolicy,
  { port, encrypted }: Pick<Destination, "port" | "encrypted">,
  address: string,
): EgressRefusalCause | undefined {
  // The library treats the obsolete IPv4-compatible form as the IPv4 address in it; the operating
  // system connects to something else.
  if (!ipaddr.isValid(address) || /^::\d+\./.test(address)) return "address";
  // An IPv4 address in IPv6 notation is treated as the IPv4 address.
  const parsed = ipaddr.process(address);
  if (!neverReached.has(parsed.range()) && !cloudInternals.has(parsed.toString())) {
    if (policy.allowedNetworks.some((network) => isWithin(parsed, network))) return undefined;
  }
  if (!isPublic(parsed)) return "address";
  if (!encrypted) return "scheme";
  return policy.ports.includes(port) ? undefined : "port";
}

type Address = ReturnType<typeof ipaddr.process>;

/** Global unicast (RFC 4291); addresses outside of it are unassigned or translate to IPv4. */
const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Internal addresses of clouds outside link-local networks: the host agent of Azure, the metadata
 * service of AWS.
 */
const cloudInternals = new Set(["168.63.129.16", "fd00:ec2::254"]);
/**
 * An allowed network may contain such addresses, but none of them is a receiver: 169.254.169.254
 * returns a machine's credentials.
 */
const neverReached: ReadonlySet<string> = new Set([
  "unspecified",
  "broadcast",
  "multicast",
  "linkLocal",
]);

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast" || cloudInternals.has(address.toString())) return false;
  return address.kind() === "ipv4" || address.match(globalUnicast);
}

function isWithin(address: Address, network: string): boolean {
  const range = ipaddr.parseCIDR(network);
  assert(range[1] > 0, "an allowed network is not the whole internet");
  return range[0].kind() === address.kind() && address.match(range);
}
