import { isIP, isIPv4 } from "node:net";

/**
 * Whether it is an IPv4 or IPv6 address, with nothing around it: no zone either, which may be any
 * text of any length.
 */
export function isAddress(text: string): boolean {
  return !text.includes("%") && isIP(text) !== 0;
}

/**
 * Whoever is behind an address, as far as that can be told: the IPv4 address, also when it is
 * written as one of IPv6; of IPv6 the 64 bits that one customer is given, who has all the others.
 * What is no address is itself.
 */
export function networkOf(address: string): string {
  const plain = address.split("%")[0]?.toLowerCase() ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain;
  if (isIPv4(mapped) || !isAddress(mapped)) return mapped;
  const [before = "", after] = mapped.split("::");
  const groups = before.split(":").filter((group) => group !== "");
  if (after !== undefined) {
    const behind = after.split(":").filter((group) => group !== "");
    // A dotted end is two groups.
    const length = behind.length + (after.includes(".") ? 1 : 0);
    while (groups.length + length < 8) groups.push("0");
    groups.push(...behind);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
