import { createHash, type KeyObject, sign, X509Certificate } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import { civilFromInstant } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";

/**
 * Makes the self-signed certificate that carries the public half of the key that signs notifications: node:crypto reads
 * certificates and makes none. X.509 version 3 (RFC 5280) in DER, with the few types that such a certificate needs.
 */
export interface CertificateRequest {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Common name of subject and issuer, 1 to 64 characters. */
  readonly commonName: string;
  /** 16 random bytes. */
  readonly serial: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

export interface Certificate {
  readonly pem: string;
  /** SHA-1 of the DER in 40 upper-case hex digits, as the interface names a certificate (interface 6). */
  readonly fingerprint: string;
}

/** Signs with SHA-256; the key is an RSA key. */
export function selfSignedCertificate(request: CertificateRequest): Certificate {
  const { privateKey, publicKey, commonName, serial, notBefore, notAfter } = request;
  assert(commonName.length >= 1 && commonName.length <= 64, "a common name has 1 to 64 characters");
  assert(serial.length === 16, "a serial number has 16 bytes");
  assert(notBefore < notAfter, "a certificate is valid for some time");
  const name = sequence(set(sequence(oid("2.5.4.3"), utf8String(commonName))));
  const toBeSigned = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(serial),
    sha256WithRsa,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions(publicKey))),
  );
  const der = sequence(toBeSigned, sha256WithRsa, bitString(sign("sha256", toBeSigned, privateKey), 0));
  return certificateOf(new X509Certificate(der));
}

/** A certificate that was kept. Throws when the text is none. */
export function certificateFromPem(pem: string): Certificate {
  return certificateOf(new X509Certificate(pem));
}

function certificateOf(certificate: X509Certificate): Certificate {
  return { pem: certificate.toString(), fingerprint: createHash("sha1").update(certificate.raw).digest("hex").toUpperCase() };
}

function extensions(publicKey: KeyObject): Uint8Array[] {
  const keyId = createHash("sha1")
    .update(publicKey.export({ type: "pkcs1", format: "der" }))
    .digest();
  return [
    // Not an authority.
    extension("2.5.29.19", true, sequence()),
    // digitalSignature is the first bit; the seven that follow it are left out.
    extension("2.5.29.15", true, bitString(Uint8Array.of(0b1000_0000), 7)),
    extension("2.5.29.14", false, octetString(keyId)),
  ];
}

function extension(id: string, critical: boolean, value: Uint8Array): Uint8Array {
  return critical ? sequence(oid(id), tagged(0x01, Uint8Array.of(0xff)), octetString(value)) : sequence(oid(id), octetString(value));
}

// --- DER (X.690): tag, length, content ---------------------------------------------------------------------------------------

function tagged(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(content.length), content]);
}

/** Below 128 one byte, else the number of bytes that follow and the length in them. */
function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
}

function sequence(...contents: readonly Uint8Array[]): Uint8Array {
  return tagged(0x30, ...contents);
}

function set(...contents: readonly Uint8Array[]): Uint8Array {
  return tagged(0x31, ...contents);
}

function explicit(number: number, content: Uint8Array): Uint8Array {
  return tagged(0xa0 | number, content);
}

/** A number that is not negative, most significant byte first: without zeros in front, but one where it would read as negative. */
function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return tagged(0x02, (digits[0] ?? 0) >= 0x80 ? Uint8Array.of(0, ...digits) : digits);
}

function bitString(bytes: Uint8Array, unusedBits: number): Uint8Array {
  return tagged(0x03, Uint8Array.of(unusedBits), bytes);
}

function octetString(bytes: Uint8Array): Uint8Array {
  return tagged(0x04, bytes);
}

function utf8String(text: string): Uint8Array {
  return tagged(0x0c, Buffer.from(text, "utf8"));
}

/** The first two numbers share a byte; each further one is written in groups of seven bits, all but its last marked. */
function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const bytes = others.flatMap((number) => {
    const groups = [number % 128];
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128)) groups.unshift((left % 128) | 0x80);
    return groups;
  });
  return tagged(0x06, Uint8Array.of(first * 40 + second, ...bytes));
}

/** UTCTime through 2049, GeneralizedTime from 2050 on (RFC 5280 4.1.2.5). */
function time(at: Instant): Uint8Array {
  const { year, month, day, hour, minute, second } = civilFromInstant(at);
  const digits = [month, day, hour, minute, second].map((part) => String(part).padStart(2, "0")).join("");
  return year < 2050
    ? tagged(0x17, Buffer.from(`${String(year % 100).padStart(2, "0")}${digits}Z`, "latin1"))
    : tagged(0x18, Buffer.from(`${year}${digits}Z`, "latin1"));
}

const sha256WithRsa = sequence(oid("1.2.840.113549.1.1.11"), tagged(0x05));
