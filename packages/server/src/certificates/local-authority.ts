import {
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  type X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import { hexOf } from "../kernel/ids.ts";
import { day, type Instant, laterBy } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import {
  alternativeNames,
  authorityKeyId,
  basicConstraints,
  forTlsServers,
  type Hosts,
  keyUsage,
  makeCertificate,
  nameConstraints,
  subjectKeyId,
} from "./certificate.ts";
import { certifiedHosts } from "./hosts.ts";

/**
 * An authority for one sandbox, and the certificate of its server. It is constrained to TLS servers
 * on the hosts of hosts.ts and cannot certify other authorities, so trusting it covers nothing
 * else. ECDSA over P-256, which every TLS client of the last ten years supports.
 */
export interface Certified {
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
}

interface Making {
  readonly now: Instant;
  readonly random: Random;
}

/** A client need not trust a new authority for this long, minus the margin of isGoodAuthority. */
const authorityDays = 3_650;
/** Some clients refuse server certificates that are valid for more than 398 days. */
const serverDays = 397;
/** A certificate is renewed this long before its end. */
const marginDays = 30;

const generate = promisify(generateKeyPair);

export async function makeAuthority({ now, random }: Making): Promise<Certified> {
  const { privateKey: key, publicKey } = await generate("ec", { namedCurve: "prime256v1" });
  // Distinguishes the authorities of two installations in a list of certificates.
  const name = `Cofre sandbox authority ${hexOf(random.bytes(4))}`;
  const certificate = makeCertificate({
    subject: name,
    issuer: name,
    serial: random.bytes(16),
    notBefore: laterBy(now, -day),
    notAfter: laterBy(now, authorityDays * day),
    publicKey,
    signer: key,
    extensions: [
      basicConstraints("authority"),
      keyUsage("certificates"),
      forTlsServers(),
      subjectKeyId(publicKey),
      nameConstraints(certifiedHosts),
    ],
  });
  return { key, certificate };
}

/** `hosts`: the certificate's hosts, a subset of those that the authority may certify. */
export async function makeServerCertificate(
  authority: Certified,
  hosts: Hosts,
  { now, random }: Making,
): Promise<Certified> {
  const { privateKey: key, publicKey } = await generate("ec", { namedCurve: "prime256v1" });
  const certificate = makeCertificate({
    subject: "Cofre sandbox",
    issuer: authority.certificate.subject.replace(/^CN=/, ""),
    serial: random.bytes(16),
    notBefore: laterBy(now, -day),
    notAfter: laterBy(now, serverDays * day),
    publicKey,
    signer: authority.key,
    extensions: [
      basicConstraints("end"),
      keyUsage("signatures"),
      forTlsServers(),
      subjectKeyId(publicKey),
      authorityKeyId(createPublicKey(authority.key)),
      alternativeNames(hosts),
    ],
  });
  return { key, certificate };
}

/**
 * Whether this authority can still be used: valid for a new server certificate's lifetime, and for
 * the present hosts.
 */
export function isGoodAuthority({ certificate }: Certified, now: Instant): boolean {
  return (
    holds(certificate, now, serverDays + marginDays) &&
    certificate.raw.includes(nameConstraints(certifiedHosts))
  );
}

export function isGoodServer(
  { certificate }: Certified,
  hosts: Hosts,
  authority: Certified,
  now: Instant,
): boolean {
  return (
    holds(certificate, now, marginDays) &&
    certificate.raw.includes(alternativeNames(hosts)) &&
    certificate.verify(createPublicKey(authority.key))
  );
}

function holds(
  { validFromDate, validToDate }: X509Certificate,
  now: Instant,
  moreDays: number,
): boolean {
  return validFromDate.getTime() <= now && laterBy(now, moreDays * day) < validToDate.getTime();
}
