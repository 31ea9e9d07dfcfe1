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
 * An authority for one sandbox, and the certificate of its server. Whoever trusts it trusts it for
 * the hosts of hosts.ts and for TLS servers only: it is constrained to them, and certifies no other
 * authority. ECDSA over P-256, which every TLS client of the last ten years takes.
 */
export interface Certified {
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
}

interface Making {
  readonly now: Instant;
  readonly random: Random;
}

/**
 * A client that trusts it need not be told again for so long, less what isGoodAuthority asks to be
 * left.
 */
const authorityDays = 3_650;
/** Some clients take no server's certificate of more than 398 days. */
const serverDays = 397;
/** So long before its end a certificate is made anew. */
const marginDays = 30;

const generate = promisify(generateKeyPair);

export async function makeAuthority({ now, random }: Making): Promise<Certified> {
  const { privateKey: key, publicKey } = await generate("ec", { namedCurve: "prime256v1" });
  // Two installations' authorities can be told apart in a list of certificates.
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

/** `hosts`: what the certificate is for, within what the authority may certify. */
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
 * Whether this authority still serves: long enough for the certificate of a server, and for today's
 * hosts.
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
