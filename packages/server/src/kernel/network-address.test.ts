import assert from "node:assert/strict";
import { test } from "node:test";
import { isAddress, networkOf } from "./network-address.ts";

test("the network of an address", () => {
  for (const [address, network] of [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:0DB8:0:0:1:2:3:4", "2001:db8:0:0::/64"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["::", "0:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::2:3:4:5:6:7", "0:0:2:3::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4::/64"],
    ["::3:4:5:192.0.2.1", "0:0:0:3::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["unknown", "unknown"],
    ["", ""],
  ] as const)
    assert.equal(networkOf(address), network, address);
});

test("what is an address", () => {
  for (const address of ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
    assert.ok(isAddress(address), address);
  for (const text of [
    "",
    "unknown",
    "192.0.2.1:80",
    "[2001:db8::1]",
    "192.0.2.1, 192.0.2.2",
    "192.0.2.256",
    "_hidden",
    "4111111111111111",
    "::1%4111111111111111",
    "fe80::1%eth0",
    `::1%${"a".repeat(9_000)}`,
  ])
    assert.ok(!isAddress(text), text);
});
