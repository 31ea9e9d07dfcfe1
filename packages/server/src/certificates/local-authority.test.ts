import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { connect, createServer } from "node:tls";
import { day, instant, laterBy } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { alternativeNames, basicConstraints, type Hosts, makeCertificate } from "./certificate.ts";
import { certifiedHosts, interfaceHosts, namedHosts } from "./hosts.ts";
import {
  type Certified,
  isGoodAuthority,
  isGoodServer,
  makeAuthority,
  makeServerCertificate,
} from "./local-authority.ts";

const random = new SeededRandom("authority");
const now = systemClock.now();
const authority = await makeAuthority({ now, random });
const server = await makeServerCertificate(authority, certifiedHosts, { now, random });
const named = await makeServerCertificate(authority, namedHosts, { now, random });

/** A certificate that the authority should never have signed. */
function misused(
  hosts: Hosts,
  kind: "end" | "authority" = "end",
  signer: Certified = authority,
): Certified {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const certificate = makeCertificate({
    subject: `Stolen ${kind}`,
    issuer: signer.certificate.subject.replace(/^CN=/, ""),
    serial: random.bytes(16),
    notBefore: laterBy(now, -day),
    notAfter: laterBy(now, day),
    publicKey,
    signer: signer.key,
    extensions: [basicConstraints(kind), alternativeNames(hosts)],
  });
  return { key, certificate };
}

/**
 * The result for a client that trusts only the authority: undefined when it accepts the server,
 * otherwise OpenSSL's reason.
 */
async function refusalOf(
  name: string,
  { key, certificate }: Certified,
  chain: readonly Certified[] = [],
): Promise<unknown> {
  const cert = [certificate, ...chain.map((each) => each.certificate)].map(String).join("");
  const listening = createServer({ key: pemOf(key), cert }, (socket) => socket.end("here"));
  listening.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  try {
    return await new Promise((resolve) => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        servername: name,
        ca: authority.certificate.toString(),
      });
      socket.on("error", (error) => resolve(error.message));
      socket.on("secureConnect", () => {
        socket.destroy();
        resolve(undefined);
      });
    });
  } finally {
    listening.close();
  }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" });
}

describe("the local authority", () => {
  test("is believed for each host of the interface and for this machine", async () => {
    for (const name of [...interfaceHosts, "localhost"]) {
      assert.equal(await refusalOf(name, named), undefined, name);
      assert.equal(await refusalOf(name, server), undefined, name);
    }
    // BoringSSL refuses a certificate with an address under an authority that is constrained to
    // addresses.
    assert.equal(named.certificate.checkIP("127.0.0.1"), undefined);
    assert.equal(server.certificate.checkIP("127.0.0.1"), "127.0.0.1");
    assert.equal(server.certificate.checkIP("::1"), "::1");
  });

  test("is trusted for no other name or address, and its key makes no other authority", async () => {
    const elsewhere = { names: ["example.com"], addresses: [] };
    assert.equal(await refusalOf("example.com", misused(elsewhere)), "permitted subtree violation");
    // Together with a name that it may certify.
    assert.equal(
      await refusalOf("localhost", misused({ names: ["localhost", "ebanx.com"], addresses: [] })),
      "permitted subtree violation",
    );
    const address = { names: ["localhost"], addresses: [Uint8Array.of(10, 0, 0, 1)] };
    assert.equal(await refusalOf("localhost", misused(address)), "permitted subtree violation");
    const below = misused({ names: ["localhost"], addresses: [] }, "authority");
    assert.equal(
      await refusalOf("localhost", misused({ names: ["localhost"], addresses: [] }, "end", below), [
        below,
      ]),
      "path length constraint exceeded",
    );
  });

  test("control: what it signs for a name that it may is believed", async () => {
    assert.equal(
      await refusalOf("localhost", misused({ names: ["localhost"], addresses: [] })),
      undefined,
    );
    // A subdomain of a permitted name is permitted too, as defined for constraints (RFC 5280
    // 4.2.1.10).
    assert.equal(
      await refusalOf(
        "www.api.ebanx.com",
        misused({ names: ["www.api.ebanx.com"], addresses: [] }),
      ),
      undefined,
    );
  });

  test("outlives what it signs, and both are renewed before they expire", async () => {
    const at = (days: number) => laterBy(now, days * day);
    assert.ok(
      isGoodAuthority(authority, now) && isGoodServer(server, certifiedHosts, authority, now),
    );
    assert.ok(
      isGoodServer(server, certifiedHosts, authority, at(360)) &&
        !isGoodServer(server, certifiedHosts, authority, at(370)),
    );
    assert.ok(isGoodAuthority(authority, at(3_200)) && !isGoodAuthority(authority, at(3_230)));
    assert.ok(
      !isGoodServer(server, certifiedHosts, authority, at(-2)),
      "not yet valid, for a clock that was set back",
    );
    assert.ok(!isGoodServer(server, namedHosts, authority, now), "for other hosts");
    const other = await makeAuthority({ now: instant(now), random });
    assert.ok(!isGoodServer(server, certifiedHosts, other, now), "signed by another authority");
    assert.notEqual(other.certificate.subject, authority.certificate.subject);
  });

  test("an authority that was constrained to other hosts is replaced", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const request = {
      subject: "Old",
      issuer: "Old",
      serial: random.bytes(16),
      publicKey,
      signer: authority.key,
    };
    const times = { notBefore: laterBy(now, -day), notAfter: laterBy(now, 3_000 * day) };
    const certificate = makeCertificate({
      ...request,
      ...times,
      extensions: [basicConstraints("authority")],
    });
    assert.ok(!isGoodAuthority({ key: authority.key, certificate }, now));
    assert.equal(certifiedHosts.names.length, interfaceHosts.length + 1);
  });
});
