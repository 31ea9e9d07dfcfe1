import { isIP, isIPv4 } from "node:net";

/**
 * Whether the text is exactly an IPv4 or IPv6 address, without a zone, which could be any text of
 * any length.
 */
export function isAddress(text: string): boolean {
  return !text.includes("%") && isIP(text) !== 0;
}

/**
 * The network of an address, used as the identity of a client: the IPv4 address, also in IPv6
 * notation, or the IPv6 /64, because one customer has a whole /64. Other texts are returned
 * unchanged.
 */
export function networkOf(address: string): string {
  const plain = address.split("%")[0]?.toLowerCase() ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain;
  if (isIPv4(mapped) || !isAddress(mapped)) return mapped;
  const [before = "", after] = mapped.split("::");
  const groups = before.split(":").filter((group) => group !== "");
  if (after !== undefined) {
    const behind = after.split(":").filter((group) => group !== "");
    // A dotted end counts as two groups.
    const length = behind.length + (after.includes(".") ? 1 : 0);
    while (groups.length + length < 8) groups.push("0");
    groups.push(...behind);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
