import { createHmac, sign } from "node:crypto";
import { promisify } from "node:util";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import { type SignatureKind, signatureKinds } from "../notification/endpoint.ts";
import type { NotificationKeys } from "./notification-keys.ts";

export interface Signable {
  readonly merchantId: MerchantId;
  readonly id: string;
  /** Time of this attempt. */
  readonly at: Instant;
  readonly body: string;
  /** Names of the signing secrets, newest first. */
  readonly secrets: readonly string[];
  /** The signatures that the receiver checks; default: all. */
  readonly signatures?: readonly SignatureKind[];
}

export type SignedHeaders = Readonly<Record<string, string>>;

/**
 * In another thread: an RSA signature takes 0.8 ms of CPU, more than everything else about a
 * notification together.
 */
const signInThread = promisify(sign);

/**
 * Maximum number of cached RSA signatures: a body is the same for each endpoint and each
 * repetition.
 */
const maxCachedSignatures = 1_024;

/**
 * Creates the headers that authenticate a notification:
 * - the interface's signature (section 6): RSA with PKCS #1 v1.5 and SHA-1 over the raw body,
 *   base64. The interface's documentation and sample code spell the three names differently, so
 *   both are sent.
 * - Standard Webhooks 1.0: HMAC-SHA256 (`v1`) with each secret and Ed25519 (`v1a`) over
 *   `id.timestamp.body`.
 *
 * The id and the time are always present.
 */
export function createSigner(
  keys: NotificationKeys,
): (message: Signable) => Promise<SignedHeaders> {
  const cache = new BoundedMap<string, Promise<string>>(maxCachedSignatures);
  const rsaOf = (body: string): Promise<string> => {
    const cached = cache.get(body);
    if (cached !== undefined) return cached;
    const made = signInThread("RSA-SHA1", Buffer.from(body), keys.rsa).then((signature) =>
      signature.toString("base64"),
    );
    cache.set(body, made);
    return made;
  };
  return async (message) => {
    const { signatures = signatureKinds } = message;
    const rsa = signatures.includes("rsa") ? rsaHeaders(keys, await rsaOf(message.body)) : {};
    return { ...rsa, ...webhookHeaders(keys, message, signatures) };
  };
}

function rsaHeaders(
  { certificate: { fingerprint } }: NotificationKeys,
  rsa: string,
): SignedHeaders {
  return {
    "X-SignatureType": "rsa,sha1",
    "X-SignatureFingerprint": fingerprint,
    "X-SignatureContent": rsa,
    "X-Signature-Type": "rsa,sha1",
    "X-Signature-Fingerprint": fingerprint,
    "X-Signature-Content": rsa,
  };
}

function webhookHeaders(
  keys: NotificationKeys,
  { merchantId, id, at, body, secrets }: Signable,
  signatures: readonly SignatureKind[],
): SignedHeaders {
  const timestamp = String(Math.floor(at / 1_000));
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  const hmacOf = (name: string): string =>
    createHmac("sha256", keys.secret(merchantId, name)).update(content).digest("base64");
  const made = [
    ...(signatures.includes("hmac") ? secrets.map((name) => `v1,${hmacOf(name)}`) : []),
    ...(signatures.includes("ed25519")
      ? [`v1a,${sign(undefined, content, keys.ed25519(merchantId)).toString("base64")}`]
      : []),
  ];
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    ...(made.length === 0 ? {} : { "webhook-signature": made.join(" ") }),
  };
}
