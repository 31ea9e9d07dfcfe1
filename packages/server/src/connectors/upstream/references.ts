import { sha256Hex } from "../../kernel/digest.ts";
import type { MerchantId } from "../../kernel/ids.ts";

/**
 * Our references as the upstream's names. Both are made from the reference alone, so that a request
 * and the question that follows it after a crash use the same one. The interface takes 40
 * characters of each (interface 3.2, 5.3); a reference of ours has up to 64.
 */

const longest = 40;
const digestLength = 16;

/** merchant_payment_code: unique for ever at the upstream, where all of our merchants are one. */
export function paymentCodeOf(merchantId: MerchantId, reference: string): string {
  return sha256Hex(`${merchantId}\n${reference}`).slice(0, longest);
}

/**
 * The part of a reference that people look for: our payment's identifier, as far as an order number
 * is long.
 */
export function orderNumberOf(reference: string): string {
  return reference.slice(0, longest);
}

/**
 * merchant_refund_code of a refund of ours: unique at the upstream, and readable back
 * (`refundReferenceOf`).
 */
export function refundCodeOf(merchantId: MerchantId, original: string, reference: string): string {
  const prefix = prefixOf(merchantId, original);
  const stem = stemOf(original);
  const rest = reference.slice(stem.length);
  // What does not begin as its payment does, or goes on for too long, is none of ours: it gets a
  // name that is stable all the same.
  const readable = reference.startsWith(stem) && prefix.length + 1 + rest.length <= longest;
  return readable ? `${prefix}-${rest}` : `${prefix}.${sha256Hex(reference)}`.slice(0, longest);
}

/**
 * The reference that `refundCodeOf` named so; undefined for a refund that somebody else asked for.
 */
export function refundReferenceOf(
  merchantId: MerchantId,
  original: string,
  code: string,
): string | undefined {
  const start = `${prefixOf(merchantId, original)}-`;
  return code.startsWith(start) ? stemOf(original) + code.slice(start.length) : undefined;
}

/**
 * The refund that undoes a whole sale; `number` counts those that the upstream did not carry out.
 */
export function reversalCodeOf(merchantId: MerchantId, original: string, number: number): string {
  return `${reversalPrefixOf(merchantId, original)}${number}`;
}

export function isReversalCode(merchantId: MerchantId, original: string, code: string): boolean {
  return code.startsWith(reversalPrefixOf(merchantId, original));
}

function reversalPrefixOf(merchantId: MerchantId, original: string): string {
  return `${prefixOf(merchantId, original)}:reversal-`;
}

function prefixOf(merchantId: MerchantId, original: string): string {
  return paymentCodeOf(merchantId, original).slice(0, digestLength);
}

/**
 * References of one payment begin alike and differ after their last hyphen but for refunds, which
 * have two.
 */
function stemOf(original: string): string {
  return original.slice(0, original.lastIndexOf("-") + 1);
}
