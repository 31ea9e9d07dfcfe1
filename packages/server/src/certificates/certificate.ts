import { createHash, type KeyObject, sign, X509Certificate } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import {
  bitString,
  boolean,
  explicit,
  integer,
  octetString,
  oid,
  sequence,
  set,
  tagged,
  time,
  utf8String,
} from "./der.ts";

/**
 * X.509 version 3 (RFC 5280), implemented here because node:crypto can read certificates but not
 * create them.
 */
export interface CertificateRequest {
  /** Common names, 1 to 64 characters. */
  readonly subject: string;
  readonly issuer: string;
  /** 16 random bytes. */
  readonly serial: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly publicKey: KeyObject;
  /** The issuer's private key: RSA, or EC over P-256. */
  readonly signer: KeyObject;
  readonly extensions: readonly Uint8Array[];
}

/** Signs with SHA-256. */
export function makeCertificate(request: CertificateRequest): X509Certificate {
  const { subject, issuer, serial, notBefore, notAfter, publicKey, signer } = request;
  for (const name of [subject, issuer])
    assert(name.length >= 1 && name.length <= 64, "a common name has 1 to 64 characters");
  assert(serial.length === 16, "a serial number has 16 bytes");
  assert(notBefore < notAfter, "a certificate is valid for some time");
  const algorithm = signer.asymmetricKeyType === "ec" ? sha256WithEcdsa : sha256WithRsa;
  const toBeSigned = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(serial),
    algorithm,
    commonName(issuer),
    sequence(time(notBefore), time(notAfter)),
    commonName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...request.extensions)),
  );
  return new X509Certificate(
    sequence(toBeSigned, algorithm, bitString(sign("sha256", toBeSigned, signer), 0)),
  );
}

const sha256WithRsa = sequence(oid("1.2.840.113549.1.1.11"), tagged(0x05));
const sha256WithEcdsa = sequence(oid("1.2.840.10045.4.3.2"));

function commonName(name: string): Uint8Array {
  return sequence(set(sequence(oid("2.5.4.3"), utf8String(name))));
}

// --- Extensions (RFC 5280 4.2.1) -----------------------------------------------------------------

function extension(id: string, critical: boolean, value: Uint8Array): Uint8Array {
  return critical
    ? sequence(oid(id), boolean(true), octetString(value))
    : sequence(oid(id), octetString(value));
}

/** `authority`: one that cannot certify other authorities. */
export function basicConstraints(kind: "authority" | "end"): Uint8Array {
  return extension(
    "2.5.29.19",
    true,
    kind === "authority" ? sequence(boolean(true), integer(Uint8Array.of(0))) : sequence(),
  );
}

/** The bits of a key's uses; each row omits the bits after the last one set. */
const uses = {
  /** digitalSignature */
  signatures: bitString(Uint8Array.of(0b1000_0000), 7),
  /** keyCertSign */
  certificates: bitString(Uint8Array.of(0b0000_0100), 2),
} as const;

export function keyUsage(use: keyof typeof uses): Uint8Array {
  return extension("2.5.29.15", true, uses[use]);
}

/** Restricts the key, or an authority and all keys that it signs, to TLS servers. */
export function forTlsServers(): Uint8Array {
  return extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1")));
}

export function subjectKeyId(publicKey: KeyObject): Uint8Array {
  return extension("2.5.29.14", false, octetString(keyId(publicKey)));
}

export function authorityKeyId(publicKey: KeyObject): Uint8Array {
  return extension("2.5.29.35", false, sequence(tagged(0x80, keyId(publicKey))));
}

/** SHA-1 of the key's bits, without their algorithm: an identifier, not a security measure. */
function keyId(publicKey: KeyObject): Uint8Array {
  const bits =
    publicKey.asymmetricKeyType === "rsa"
      ? publicKey.export({ type: "pkcs1", format: "der" })
      : ecPoint(publicKey);
  return createHash("sha1").update(bits).digest();
}

/** The uncompressed point of a P-256 key: the end of its SubjectPublicKeyInfo. */
function ecPoint(publicKey: KeyObject): Uint8Array {
  return publicKey.export({ type: "spki", format: "der" }).subarray(-65);
}

/** Hosts by name, and by the bytes of their IPv4 or IPv6 address. */
export interface Hosts {
  readonly names: readonly string[];
  readonly addresses: readonly Uint8Array[];
}

export function alternativeNames({ names, addresses }: Hosts): Uint8Array {
  return extension(
    "2.5.29.17",
    false,
    sequence(...names.map(dnsName), ...addresses.map((address) => tagged(0x87, address))),
  );
}

/**
 * Restricts certificates under an authority with this extension to these hosts and their
 * subdomains.
 */
export function nameConstraints({ names, addresses }: Hosts): Uint8Array {
  // An address is encoded with its mask: all bits set.
  const alone = addresses.map((address) =>
    tagged(0x87, address, new Uint8Array(address.length).fill(0xff)),
  );
  const permitted = [...names.map(dnsName), ...alone].map((each) => sequence(each));
  return extension("2.5.29.30", true, sequence(explicit(0, ...permitted)));
}

function dnsName(name: string): Uint8Array {
  return tagged(0x82, Buffer.from(name, "latin1"));
}
