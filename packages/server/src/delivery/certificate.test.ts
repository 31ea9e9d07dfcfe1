import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import { certificateFromPem, selfSignedCertificate } from "./certificate.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const request = {
  privateKey,
  publicKey,
  commonName: "Cofre notifications (sandbox)",
  serial: Uint8Array.of(0x80, ...Array.from({ length: 15 }, (_, index) => index)),
  notBefore: instant(Date.UTC(2026, 10, 28, 1, 2, 3)),
  notAfter: instant(Date.UTC(2046, 10, 28, 1, 2, 3)),
};

describe("the certificate of the notification key", () => {
  test("parses, verifies under its own key and under no other, and holds that key", () => {
    const parsed = new X509Certificate(selfSignedCertificate(request).pem);

    assert.ok(parsed.verify(publicKey));
    assert.ok(!parsed.verify(other.publicKey));
    assert.ok(parsed.checkPrivateKey(privateKey));
    assert.ok(parsed.publicKey.equals(publicKey));
  });

  test("names its subject, its serial number and its time as asked", () => {
    const parsed = new X509Certificate(selfSignedCertificate(request).pem);

    assert.equal(parsed.subject, "CN=Cofre notifications (sandbox)");
    assert.equal(parsed.issuer, parsed.subject);
    assert.equal(parsed.serialNumber, "80000102030405060708090A0B0C0D0E");
    assert.equal(parsed.validFrom, "Nov 28 01:02:03 2026 GMT");
    assert.equal(parsed.validTo, "Nov 28 01:02:03 2046 GMT");
    assert.equal(parsed.ca, false);
  });

  test("an end in 2049 and one in 2050 are written in the two forms that the standard wants", () => {
    for (const [year, text] of [
      [2049, "Dec 31 23:59:59 2049 GMT"],
      [2050, "Dec 31 23:59:59 2050 GMT"],
    ] as const) {
      const parsed = new X509Certificate(
        selfSignedCertificate({ ...request, notAfter: instant(Date.UTC(year, 11, 31, 23, 59, 59)) })
          .pem,
      );
      assert.equal(parsed.validTo, text);
      assert.ok(parsed.verify(publicKey));
    }
  });

  test("a serial number that begins with zeros, or is zero, is still minimal DER", () => {
    for (const [serial, text] of [
      [Uint8Array.of(0, 0, 0x7f, ...new Uint8Array(13)), `7F${"00".repeat(13)}`],
      [Uint8Array.of(0, 0x80, ...new Uint8Array(14)), `80${"00".repeat(14)}`],
      [new Uint8Array(16), "0"],
    ] as const) {
      const parsed = new X509Certificate(selfSignedCertificate({ ...request, serial }).pem);
      assert.equal(parsed.serialNumber, text);
      assert.ok(parsed.verify(publicKey));
    }
  });

  test("the fingerprint is the SHA-1 of the DER in upper-case hex, and the same when the certificate is read back", () => {
    const made = selfSignedCertificate(request);
    const { raw, fingerprint } = new X509Certificate(made.pem);

    assert.match(made.fingerprint, /^[0-9A-F]{40}$/);
    assert.equal(made.fingerprint, createHash("sha1").update(raw).digest("hex").toUpperCase());
    assert.equal(made.fingerprint, fingerprint.replaceAll(":", ""));
    assert.deepEqual(certificateFromPem(made.pem), made);
  });

  test("a changed byte is noticed", () => {
    const { raw } = new X509Certificate(selfSignedCertificate(request).pem);
    const altered = Buffer.from(raw);
    altered.write(
      "Cofre notifications (SANDBOX)",
      altered.indexOf("Cofre notifications"),
      "latin1",
    );

    assert.ok(!new X509Certificate(altered).verify(publicKey));
  });
});
