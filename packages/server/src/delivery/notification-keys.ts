import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPair,
  type KeyObject,
} from "node:crypto";
import { promisify } from "node:util";
import { assert } from "../kernel/assert.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { day, laterBy } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { type Certificate, certificateFromPem, selfSignedCertificate } from "./certificate.ts";

/**
 * The keys that sign an installation's notifications: an RSA pair with its certificate for the
 * interface's own signature, and a root from which the Standard Webhooks keys of accounts and
 * endpoints are derived, so that no receiver's secret is ever stored.
 */
export interface NotificationKeys {
  readonly rsa: KeyObject;
  readonly certificate: Certificate;
  /**
   * The 24-byte HMAC key for a secret's name (endpoint.ts). Receivers get it as `whsec_` and
   * base64.
   */
  secret(merchantId: MerchantId, name: string): Uint8Array;
  /** The account's Ed25519 key. */
  ed25519(merchantId: MerchantId): KeyObject;
}

/**
 * Storage of the keys: encrypted by the installation's root key, written as a whole. The content
 * that was saved first stays.
 */
export interface KeyStorage {
  load(): Promise<Uint8Array | undefined>;
  /** Resolves with the stored content: `content`, or what another process saved before. */
  save(content: Uint8Array): Promise<Uint8Array>;
}

/** 20 years: a receiver should not outlive it, and it is never revoked. */
const validDays = 20 * 365;
const rootLength = 32;

/** A new pair, not assigned to an installation yet. */
export interface RsaPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * Creates a pair in a separate thread, which takes 50 to 300 milliseconds: callers should start it
 * as early as possible.
 */
export function makeRsaPair(): Promise<RsaPair> {
  return generate("rsa", { modulusLength: 2_048 });
}

interface NewNotificationKeys {
  readonly environment: string;
  readonly random: Random;
  readonly clock: Clock;
  readonly pair?: Promise<RsaPair> | undefined;
}

/** Opens the keys of an installation, or creates them from `pair` or a new pair. */
export async function openNotificationKeys({
  storage,
  ...parts
}: NewNotificationKeys & { readonly storage: KeyStorage }): Promise<NotificationKeys> {
  return notificationKeysOf(
    (await storage.load()) ?? (await storage.save(await makeNotificationKeys(parts))),
  );
}

/** The keys that makeNotificationKeys made. Wipes `content`. */
export function notificationKeysOf(content: Uint8Array): NotificationKeys {
  const { format, pkcs8, certificate, root } = JSON.parse(
    Buffer.from(content).toString("utf8"),
  ) as StoredKeys;
  content.fill(0);
  assert(format === storedFormat, "kept notification keys have a known form");
  const rootBytes = Buffer.from(root, "base64");
  assert(rootBytes.length === rootLength, "the root of the webhook secrets has 256 bits");
  const keys = new Keys(
    createPrivateKey({ key: Buffer.from(pkcs8, "base64"), format: "der", type: "pkcs8" }),
    certificateFromPem(certificate),
    createSecretKey(rootBytes),
  );
  rootBytes.fill(0);
  return keys;
}

/**
 * The keys for notifications of worlds: the installation's RSA pair, whose certificate receivers
 * have, and secrets that depend only on the world's name, the same in every installation. A world's
 * name is derived from its seed, so the seed reveals the secrets; those of a world without a seed
 * cannot be guessed.
 */
export function worldNotificationKeys({ rsa, certificate }: NotificationKeys): NotificationKeys {
  return new Keys(
    rsa,
    certificate,
    createSecretKey(createHash("sha256").update("cofre notification keys of worlds 1").digest()),
  );
}

const storedFormat = "cofre notification keys 1";

interface StoredKeys {
  readonly format: typeof storedFormat;
  /** Base64, like root. */
  readonly pkcs8: string;
  readonly certificate: string;
  readonly root: string;
}

const generate = promisify(generateKeyPair);

/** New keys, about 3 kilobytes, from `pair` or a new pair. The caller stores them and wipes them. */
export async function makeNotificationKeys({
  environment,
  random,
  clock,
  pair,
}: NewNotificationKeys): Promise<Uint8Array> {
  const { privateKey, publicKey } = await (pair ?? makeRsaPair());
  const now = clock.now();
  const { pem } = selfSignedCertificate({
    privateKey,
    publicKey,
    commonName: `Cofre notifications ${environment}`.slice(0, 64),
    serial: random.bytes(16),
    // A receiver's clock may be behind.
    notBefore: laterBy(now, -day),
    notAfter: laterBy(now, validDays * day),
  });
  const root = random.bytes(rootLength);
  const content: StoredKeys = {
    format: storedFormat,
    pkcs8: privateKey.export({ type: "pkcs8", format: "der" }).toString("base64"),
    certificate: pem,
    root: Buffer.from(root).toString("base64"),
  };
  root.fill(0);
  return Buffer.from(JSON.stringify(content), "utf8");
}

/** PKCS #8 of an Ed25519 key before its 32 bytes (RFC 8410). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");
/** Maximum number of accounts whose keys are cached; others are derived again. */
const maxCachedKeys = 4_096;

class Keys implements NotificationKeys {
  readonly rsa: KeyObject;
  readonly certificate: Certificate;
  readonly #root: KeyObject;
  readonly #ed25519 = new BoundedMap<MerchantId, KeyObject>(maxCachedKeys);

  constructor(rsa: KeyObject, certificate: Certificate, root: KeyObject) {
    this.rsa = rsa;
    this.certificate = certificate;
    this.#root = root;
  }

  secret(merchantId: MerchantId, name: string): Uint8Array {
    return this.#derive("hmac", merchantId, name).subarray(0, 24);
  }

  ed25519(merchantId: MerchantId): KeyObject {
    const cached = this.#ed25519.get(merchantId);
    if (cached !== undefined) return cached;
    const der = Buffer.concat([ed25519Prefix, this.#derive("ed25519", merchantId, "")]);
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    der.fill(0);
    this.#ed25519.set(merchantId, key);
    return key;
  }

  #derive(use: "hmac" | "ed25519", merchantId: MerchantId, name: string): Buffer {
    return createHmac("sha256", this.#root)
      .update(`cofre notification ${use} 1\0${merchantId}\0${name}`)
      .digest();
  }
}

/**
 * The secret of an endpoint for its receiver, in the form that Standard Webhooks libraries take.
 */
export function receiverSecret(
  keys: NotificationKeys,
  merchantId: MerchantId,
  name: string,
): string {
  return `whsec_${Buffer.from(keys.secret(merchantId, name)).toString("base64")}`;
}

/**
 * The public key of an account's Ed25519 signatures, in the form of Standard Webhooks: `whpk_` and
 * 32 bytes in base64.
 */
export function receiverPublicKey(keys: NotificationKeys, merchantId: MerchantId): string {
  const spki = createPublicKey(keys.ed25519(merchantId)).export({ type: "spki", format: "der" });
  return `whpk_${spki.subarray(-32).toString("base64")}`;
}
