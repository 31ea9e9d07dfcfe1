import { BlockList, type Socket } from "node:net";

/** Whether a connection comes from this machine or from one of the networks. */
export type AllowsPeer = (socket: Pick<Socket, "remoteAddress" | "remoteFamily">) => boolean;

/** `networks`: in CIDR notation. */
export function plainPeers(networks: readonly string[]): AllowsPeer {
  const allowed = new BlockList();
  allowed.addSubnet("127.0.0.0", 8, "ipv4");
  allowed.addAddress("::1", "ipv6");
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    allowed.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
  }
  return ({ remoteAddress, remoteFamily }) =>
    remoteAddress !== undefined &&
    allowed.check(remoteAddress, remoteFamily === "IPv6" ? "ipv6" : "ipv4");
}
