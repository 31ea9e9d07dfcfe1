import { createHash, type KeyObject, X509Certificate } from "node:crypto";
import type { Instant } from "../kernel/instant.ts";
import {
  basicConstraints,
  keyUsage,
  makeCertificate,
  subjectKeyId,
} from "../certificates/certificate.ts";

/** Request for the self-signed certificate with the public key for notification signatures. */
export interface SelfSignedRequest {
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
  /**
   * SHA-1 of the DER in 40 upper-case hex digits, as the interface identifies a certificate
   * (interface 6).
   */
  readonly fingerprint: string;
}

/** Signs with SHA-256; the key is an RSA key. */
export function selfSignedCertificate({
  privateKey,
  commonName,
  ...request
}: SelfSignedRequest): Certificate {
  const extensions = [
    basicConstraints("end"),
    keyUsage("signatures"),
    subjectKeyId(request.publicKey),
  ];
  return certificateOf(
    makeCertificate({
      ...request,
      subject: commonName,
      issuer: commonName,
      signer: privateKey,
      extensions,
    }),
  );
}

/** Parses a stored certificate. Throws if the text is not a certificate. */
export function certificateFromPem(pem: string): Certificate {
  return certificateOf(new X509Certificate(pem));
}

function certificateOf(certificate: X509Certificate): Certificate {
  return {
    pem: certificate.toString(),
    fingerprint: createHash("sha1").update(certificate.raw).digest("hex").toUpperCase(),
  };
}
