import type { Instant } from "./instant.ts";
import type { Random } from "./random.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One merchant account: 8 lower-case hex characters. Leads every key of the store. */
export type MerchantId = Branded<"MerchantId">;

/**
 * One payment: 48 lower-case hex characters, of which the first 8 are the creation time in Unix seconds (interface 3.4,
 * measured there), so that keys grow with time and indexes stay warm. The seconds fit until 2106-02-07; later ones are counted from 0
 * again, and only the order is lost.
 */
export type PaymentId = Branded<"PaymentId">;

/** SHA-256 of a token, 64 lower-case hex characters: the only form of a token that is kept. */
export type TokenDigest = Branded<"TokenDigest">;

/** SHA-256 of an integration key, 64 lower-case hex characters. */
export type KeyDigest = Branded<"KeyDigest">;

export function newPaymentId(at: Instant, random: Random): PaymentId {
  return (timeInId(at) + hexOf(random.bytes(18))) as PaymentId;
}

/** The least id that a payment made at this moment can have: all made before have lesser ones. */
export function leastPaymentId(at: Instant): PaymentId {
  return timeInId(at).padEnd(48, "0") as PaymentId;
}

function timeInId(at: Instant): string {
  const seconds = Math.floor(at / 1_000);
  return hexDigits(seconds % 2 ** 32, 8) + hexDigits(Math.floor(at - seconds * 1_000), 4);
}

export function newMerchantId(random: Random): MerchantId {
  return hexOf(random.bytes(4)) as MerchantId;
}

export function isPaymentId(text: string): text is PaymentId {
  return /^[0-9a-f]{48}$/.test(text);
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

function hexDigits(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
