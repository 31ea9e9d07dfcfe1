import { addMonths } from "../kernel/calendar.ts";
import { sha256Hex } from "../kernel/digest.ts";
import { hexOf, type TokenDigest } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { HmacSha256 } from "./hmac.ts";

const tokenBytes = 64;
const monthsUnused = 14;

/** A random token: 128 lower-case hex characters (interface 2.1), never derived from the card. */
export function newToken(random: Random): string {
  return hexOf(random.bytes(tokenBytes));
}

/** The digest of a token that earlier versions stored. Tokens are opaque and case-sensitive. */
export function unkeyedDigest(token: string): TokenDigest {
  return sha256Hex(token) as TokenDigest;
}

/** In bytes: length of a keyed digest's input. */
export const unkeyedLength = 32;

/**
 * The stored digest of a token: computed from the unkeyed digest, so that a row of an earlier
 * version can be converted without the token.
 */
export function keyedDigest(key: HmacSha256, unkeyed: TokenDigest): TokenDigest {
  return key.digest(key.message.write(unkeyed, "hex"), "hex") as TokenDigest;
}

/** Length of a token that a merchant chooses, in characters (interface 2.1). */
export const tokenLength = { shortest: 32, longest: 128 } as const;

/**
 * A merchant may choose the token: 32 to 128 printable ASCII characters without blanks (interface
 * 2.1).
 */
export function isAcceptableToken(text: string): boolean {
  return (
    text.length >= tokenLength.shortest &&
    text.length <= tokenLength.longest &&
    /^[\x21-\x7e]+$/.test(text)
  );
}

/**
 * When a token that was last used at `lastUsedAt` expires: 14 calendar months later in UTC, at the
 * month's end if it has no such day. Computed from the latest use, never from an earlier expiry,
 * because the adjustment to the month's end is not reversible.
 */
export function tokenExpiresAt(lastUsedAt: Instant): Instant {
  return addMonths(lastUsedAt, monthsUnused);
}
