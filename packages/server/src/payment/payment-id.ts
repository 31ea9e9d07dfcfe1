import { type Instant, instant } from "../kernel/instant.ts";
import { type Branded, hexOf, type MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";

/**
 * One payment: 48 lower-case hex characters. The first 8 are the creation time in Unix seconds
 * (interface 3.4, measured there), so that keys grow with time and recent index pages stay cached.
 * The seconds fit until 2106-02-07; later they restart from 0, which only affects the order.
 */
export type PaymentId = Branded<"PaymentId">;

/** Hexadecimal digits after the time. */
const randomDigits = 36;
/** Random digits that a step does not use. */
const stepSkips = 8;
/**
 * Pairs of merchant and millisecond per map: the last ids of at least this number are remembered.
 */
const maxMomentsPerMap = 1_000;

/**
 * If `above`, the id of another payment, is given, the digits after the time are greater than its
 * digits, by at least 1 and at most 2^112.
 */
export function newPaymentId(at: Instant, random: Random, above?: PaymentId): PaymentId {
  const drawn = hexOf(random.bytes(randomDigits / 2));
  return (timeInId(at) +
    (above === undefined
      ? drawn
      : randomDigitsAbove(above.slice(-randomDigits), drawn))) as PaymentId;
}

/** Creates the ids of payments. */
export type PaymentIds = (merchantId: MerchantId, at: Instant) => PaymentId;

/**
 * Payments of one merchant in the same millisecond get increasing ids, as long as the previous id
 * is remembered.
 */
export function paymentIds(random: Random): PaymentIds {
  /**
   * The last id per merchant and millisecond. Older entries are dropped as a whole map, which
   * avoids a search for the oldest key.
   */
  let last = new Map<string, PaymentId>();
  let earlier = new Map<string, PaymentId>();
  return (merchantId, at) => {
    const moment = `${merchantId} ${at}`;
    const id = newPaymentId(at, random, last.get(moment) ?? earlier.get(moment));
    if (last.size >= maxMomentsPerMap && !last.has(moment)) {
      earlier = last;
      last = new Map();
    }
    last.set(moment, id);
    return id;
  };
}

/** The first moment whose seconds do not fit into an id. */
export const endOfPaymentIds = instant(2 ** 32 * 1_000);

/** The lowest id of payments created at this moment: ids of earlier payments are lower. */
export function lowestPaymentId(at: Instant): PaymentId {
  return timeInId(at).padEnd(48, "0") as PaymentId;
}

/**
 * A thousand steps of 112 bits exceed the 144 bits once in eight million times; this only affects
 * the order.
 */
function randomDigitsAbove(digits: string, drawn: string): string {
  const next = BigInt(`0x${digits}`) + BigInt(`0x${drawn.slice(stepSkips)}`) + 1n;
  return next >= 1n << BigInt(randomDigits * 4)
    ? drawn
    : next.toString(16).padStart(randomDigits, "0");
}

function timeInId(at: Instant): string {
  const seconds = Math.floor(at / 1_000);
  return hexDigits(seconds % 2 ** 32, 8) + hexDigits(Math.floor(at - seconds * 1_000), 4);
}

export function isPaymentId(text: string): text is PaymentId {
  return /^[0-9a-f]{48}$/.test(text);
}

function hexDigits(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
