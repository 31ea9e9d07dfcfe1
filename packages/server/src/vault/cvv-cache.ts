import { createSecretKey, type KeyObject } from "node:crypto";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { type Instant, laterBy, minute } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength } from "./aes.ts";
import { Cvv } from "./pan.ts";

/** Lifetime of an unused security code. */
const ttlMs = 15 * minute;
const maxCodes = 10_000;

interface Sealed {
  readonly nonce: Uint8Array;
  readonly encrypted: ReturnType<typeof encryptGcm>;
  readonly until: Instant;
}

/**
 * Security codes that a merchant's page submitted for the next payment with a token (interface
 * 2.4). In memory only, encrypted under a key that this process generates at startup and never
 * exposes: a restart loses all of them, as PCI DSS 3.3 requires.
 *
 * Owns at most 10,000; each can be used once, within 15 minutes, and a newer one replaces it.
 */
export class CvvCache {
  readonly #random: Random;
  readonly #key: KeyObject;
  readonly #codes = new BoundedMap<string, Sealed>(maxCodes);

  constructor(random: Random) {
    this.#random = random;
    const key = random.bytes(keyLength);
    this.#key = createSecretKey(key);
    key.fill(0);
  }

  /** Stores the code for the token. The caller wipes `cvv`. */
  put(merchantId: MerchantId, token: TokenDigest, cvv: Cvv, now: Instant): void {
    const nonce = this.#random.bytes(nonceLength);
    const encrypted = encryptGcm(this.#key, nonce, Buffer.from(merchantId + token), cvv.reveal());
    this.deleteExpired(now);
    this.#codes.set(merchantId + token, { nonce, encrypted, until: laterBy(now, ttlMs) });
  }

  /** Removes and returns the security code (single use). The caller wipes it. */
  take(merchantId: MerchantId, token: TokenDigest, now: Instant): Cvv | undefined {
    if (this.#codes.size === 0) return undefined;
    const sealed = this.#codes.get(merchantId + token);
    if (sealed === undefined) return undefined;
    this.#codes.delete(merchantId + token);
    // An expiry too far in the future means that the clock was set back: the code would be kept for
    // longer than 15 minutes.
    if (sealed.until <= now || sealed.until - now > ttlMs + minute) return undefined;
    const digits = decryptGcm(
      this.#key,
      sealed.nonce,
      Buffer.from(merchantId + token),
      sealed.encrypted,
    );
    return digits === undefined ? undefined : Cvv.from(digits);
  }

  /** Number of stored codes. */
  get size(): number {
    return this.#codes.size;
  }

  /**
   * Deletes expired codes; the oldest come first in the map. Also called each minute
   * (recovery/card-expiry-job.ts).
   */
  deleteExpired(now: Instant): void {
    for (const [key, { until }] of this.#codes) {
      if (until > now && until - now <= ttlMs + minute) return;
      this.#codes.delete(key);
    }
  }
}
