import { createHmac, timingSafeEqual } from "node:crypto";
import type { Instant } from "../kernel/instant.ts";

/**
 * Time-based one-time passwords (RFC 6238): HMAC-SHA-1, six digits, steps of 30 seconds, as in
 * every authenticator app. The previous and the next step are accepted too, to allow for clock
 * differences.
 */
const stepMs = 30_000;
const digits = 6;
const stepsAside = 1;

/** Length of a secret in bytes: as long as the hash (RFC 4226, 4). */
export const totpSecretLength = 20;

/** The code of a step (RFC 4226, 5.3). */
export function codeOf(secret: Uint8Array, step: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 0xf;
  const number = mac.readUInt32BE(at) & 0x7fff_ffff;
  return String(number % 10 ** length).padStart(length, "0");
}

export function stepAt(now: Instant): number {
  return Math.floor(now / stepMs);
}

/**
 * The step that this code belongs to, when it is near the present and above `lastUsed`; undefined
 * otherwise. The caller stores it as the last used step, so that no code is accepted twice.
 */
export function stepOfCode(
  secret: Uint8Array,
  code: string,
  now: Instant,
  lastUsed: number,
): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const given = Buffer.from(code);
  let found: number | undefined;
  // All are compared, so that the timing does not reveal which one matched.
  for (let step = stepAt(now) - stepsAside; step <= stepAt(now) + stepsAside; step += 1) {
    if (timingSafeEqual(Buffer.from(codeOf(secret, step)), given) && step > lastUsed)
      found ??= step;
  }
  return found;
}

const base32Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 4648, 6, without padding: the format for manual entry in apps. */
export function base32Of(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => base32Digits[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}

/** The URI in the QR code for apps (github.com/google/google-authenticator/wiki/Key-Uri-Format). */
export function totpUri(secret: Uint8Array, issuer: string, name: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`;
  return `otpauth://totp/${label}?secret=${base32Of(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${digits}&period=${stepMs / 1_000}`;
}
