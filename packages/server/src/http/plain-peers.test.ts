import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { plainPeers } from "./plain-peers.ts";
import { startTestServer } from "../../test/server.ts";

test("only this machine and the named networks connect without TLS", () => {
  const allows = plainPeers(["10.1.2.0/24", "fd00:1::/64"]);
  const isAllowed = (remoteAddress: string) =>
    allows({ remoteAddress, remoteFamily: remoteAddress.includes(":") ? "IPv6" : "IPv4" });
  for (const address of ["10.1.3.1", "192.0.2.1", "::ffff:10.1.3.1", "fd00:2::1"])
    assert.equal(isAllowed(address), false, address);
  for (const address of [
    "10.1.2.9",
    "::ffff:10.1.2.9",
    "fd00:1::9",
    "127.0.0.1",
    "127.9.9.9",
    "::1",
  ])
    assert.equal(isAllowed(address), true, address);
});

test("a server behind a proxy still answers this machine", async () => {
  await using server = await startTestServer({
    environment: { COFRE_BEHIND_PROXY: "10.1.2.3/32" },
  });
  assert.equal((await server.get("/healthz")).status, 200);
  // A half-open client is not cut off either.
  const socket = connect(server.port, "127.0.0.1");
  socket.end("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const answer = await socket.toArray();
  assert.match(Buffer.concat(answer).toString(), /^HTTP\/1.1 200 /);
});
