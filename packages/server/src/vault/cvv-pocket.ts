import { createSecretKey, type KeyObject } from "node:crypto";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { type Instant, laterBy, minute } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength } from "./aes.ts";
import { Cvv } from "./pan.ts";

/** A security code that nobody used is forgotten after so long. */
const keptMs = 15 * minute;
const mostKept = 10_000;

interface Sealed {
  readonly nonce: Uint8Array;
  readonly encrypted: ReturnType<typeof encryptGcm>;
  readonly until: Instant;
}

/**
 * Security codes that a merchant's page left for the next payment with a token (interface 2.4). In
 * memory only, sealed under a key that this process makes at its start and never shows: a restart
 * forgets them all, and so it must (PCI DSS 3.3).
 *
 * Owns at most 10,000 of them; each is there once, for 15 minutes, and a newer one takes its place.
 */
export class CvvPocket {
  readonly #random: Random;
  readonly #key: KeyObject;
  readonly #codes = new Map<string, Sealed>();

  constructor(random: Random) {
    this.#random = random;
    const key = random.bytes(keyLength);
    this.#key = createSecretKey(key);
    key.fill(0);
  }

  /** Keeps the code for the token. The caller wipes `cvv`. */
  put(merchantId: MerchantId, token: TokenDigest, cvv: Cvv, now: Instant): void {
    const nonce = this.#random.bytes(nonceLength);
    const encrypted = encryptGcm(this.#key, nonce, Buffer.from(merchantId + token), cvv.reveal());
    this.forgetOld(now);
    this.#makeRoom();
    this.#codes.delete(merchantId + token);
    this.#codes.set(merchantId + token, { nonce, encrypted, until: laterBy(now, keptMs) });
  }

  /** Gives the code away: it is not there a second time. The caller wipes it. */
  take(merchantId: MerchantId, token: TokenDigest, now: Instant): Cvv | undefined {
    if (this.#codes.size === 0) return undefined;
    const sealed = this.#codes.get(merchantId + token);
    if (sealed === undefined) return undefined;
    this.#codes.delete(merchantId + token);
    // Of a time that the clock showed by mistake before it was set back, too: it would be kept for
    // longer than 15 minutes.
    if (sealed.until <= now || sealed.until - now > keptMs + minute) return undefined;
    const digits = decryptGcm(
      this.#key,
      sealed.nonce,
      Buffer.from(merchantId + token),
      sealed.encrypted,
    );
    return digits === undefined ? undefined : Cvv.from(digits);
  }

  /** How many wait. */
  get size(): number {
    return this.#codes.size;
  }

  /**
   * Forgets those that are over their time; the oldest come first in the map. Called each minute
   * too (recovery/card-expiry-job.ts).
   */
  forgetOld(now: Instant): void {
    for (const [key, { until }] of this.#codes) {
      if (until > now && until - now <= keptMs + minute) return;
      this.#codes.delete(key);
    }
  }

  #makeRoom(): void {
    const [oldest] = this.#codes.keys();
    if (this.#codes.size >= mostKept && oldest !== undefined) this.#codes.delete(oldest);
  }
}
