import type { Instant } from "./instant.ts";
import type { Random } from "./random.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One merchant account: 8 lower-case hex characters. Leads every key of the store. */
export type MerchantId = Branded<"MerchantId">;

/**
 * One payment: 48 lower-case hex characters, of which the first 8 are the creation time in Unix
 * seconds (interface 3.4, measured there), so that keys grow with time and indexes stay warm. The
 * seconds fit until 2106-02-07; later ones are counted from 0 again, and only the order is lost.
 */
export type PaymentId = Branded<"PaymentId">;

/** SHA-256 of a token, 64 lower-case hex characters: the only form of a token that is kept. */
export type TokenDigest = Branded<"TokenDigest">;

/** SHA-256 of an integration key, 64 lower-case hex characters. */
export type KeyDigest = Branded<"KeyDigest">;

/** Hexadecimal digits behind the time. */
const randomDigits = 36;
/** Of those that were drawn, what a step leaves out. */
const stepSkips = 8;
/** Merchants and milliseconds of which the last id is remembered, at least. */
const leastMoments = 1_000;

/**
 * With `above`, the id of another payment, what stands behind the time is greater than there, by at
 * least 1 and at most 2^112.
 */
export function newPaymentId(at: Instant, random: Random, above?: PaymentId): PaymentId {
  const drawn = hexOf(random.bytes(randomDigits / 2));
  return (timeInId(at) +
    (above === undefined ? drawn : beyond(above.slice(-randomDigits), drawn))) as PaymentId;
}

/** Gives payments their ids. */
export type PaymentIds = (merchantId: MerchantId, at: Instant) => PaymentId;

/**
 * Of two payments of one merchant made in the same millisecond the later has the greater id, as
 * long as this remembers the former.
 */
export function paymentIds(random: Random): PaymentIds {
  /**
   * The last of each merchant and millisecond. The map of earlier ones is dropped whole: the oldest
   * key of one map has to be looked for.
   */
  let last = new Map<string, PaymentId>();
  let earlier = new Map<string, PaymentId>();
  return (merchantId, at) => {
    const moment = `${merchantId} ${at}`;
    const id = newPaymentId(at, random, last.get(moment) ?? earlier.get(moment));
    if (last.size >= leastMoments && !last.has(moment)) {
      earlier = last;
      last = new Map();
    }
    last.set(moment, id);
    return id;
  };
}

/** The least id that a payment made at this moment can have: all made before have lesser ones. */
export function leastPaymentId(at: Instant): PaymentId {
  return timeInId(at).padEnd(48, "0") as PaymentId;
}

/**
 * That a thousand steps of 112 bits go beyond the 144 happens once in eight million times; then
 * only the order is lost.
 */
function beyond(digits: string, drawn: string): string {
  const next = BigInt(`0x${digits}`) + BigInt(`0x${drawn.slice(stepSkips)}`) + 1n;
  return next >= 1n << BigInt(randomDigits * 4)
    ? drawn
    : next.toString(16).padStart(randomDigits, "0");
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
