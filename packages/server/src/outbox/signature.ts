import { createHmac, sign } from "node:crypto";
import { promisify } from "node:util";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { NotificationKeys } from "./notification-keys.ts";

export interface Signable {
  readonly merchantId: MerchantId;
  readonly id: string;
  /** When this attempt is made. */
  readonly at: Instant;
  readonly body: string;
  /** Names of the secrets that sign, the newest first. */
  readonly secrets: readonly string[];
}

export type SignedHeaders = Readonly<Record<string, string>>;

/** Off the caller's thread: an RSA signature costs more than everything else about a notification. */
const signAside = promisify(sign);

/**
 * The headers that prove who sent a notification, twice over:
 * - as the interface has it (section 6): RSA with PKCS #1 v1.5 and SHA-1 over the raw body, base64. Its documentation and its sample
 *   code spell the three names differently, so both are sent.
 * - Standard Webhooks 1.0: HMAC-SHA256 (`v1`) under each secret and Ed25519 (`v1a`) over `id.timestamp.body`.
 */
export async function signatureHeaders(keys: NotificationKeys, message: Signable): Promise<SignedHeaders> {
  const { merchantId, id, at, body, secrets } = message;
  const timestamp = String(Math.floor(at / 1_000));
  const content = `${id}.${timestamp}.${body}`;
  const [rsa, ed25519] = await Promise.all([
    signAside("RSA-SHA1", Buffer.from(body), keys.rsa),
    signAside(undefined, Buffer.from(content), keys.ed25519(merchantId)),
  ]);
  const legacy = { Type: "rsa,sha1", Fingerprint: keys.certificate.fingerprint, Content: rsa.toString("base64") };
  const hmacs = secrets.map((name) => createHmac("sha256", keys.secret(merchantId, name)).update(content).digest("base64"));
  return {
    "X-SignatureType": legacy.Type,
    "X-SignatureFingerprint": legacy.Fingerprint,
    "X-SignatureContent": legacy.Content,
    "X-Signature-Type": legacy.Type,
    "X-Signature-Fingerprint": legacy.Fingerprint,
    "X-Signature-Content": legacy.Content,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": [...hmacs.map((hmac) => `v1,${hmac}`), `v1a,${ed25519.toString("base64")}`].join(" "),
  };
}
