import { sha256Hex } from "../../kernel/digest.ts";
import type { MerchantId } from "../../kernel/ids.ts";

/**
 * Maps our references to the upstream's. Both are derived from the reference alone, so that a
 * request and the query after a crash use the same one. The interface allows 40 characters for each
 * (interface 3.2, 5.3); our references have up to 64.
 */

const longest = 40;
const digestLength = 16;

/**
 * merchant_payment_code: unique without time limit at the upstream, where all our merchants share
 * one account.
 */
export function paymentCodeOf(merchantId: MerchantId, reference: string): string {
  return sha256Hex(`${merchantId}\n${reference}`).slice(0, longest);
}

/**
 * The part of a reference that people search by: our payment's identifier, cut to the length of an
 * order number.
 */
export function orderNumberOf(reference: string): string {
  return reference.slice(0, longest);
}

/**
 * merchant_refund_code of our refund: unique at the upstream, and reversible (`refundReferenceOf`).
 */
export function refundCodeOf(merchantId: MerchantId, original: string, reference: string): string {
  const prefix = prefixOf(merchantId, original);
  const stem = stemOf(original);
  const rest = reference.slice(stem.length);
  // A reference that does not begin like its payment's, or is too long, is not one of ours: it
  // still gets a stable code.
  const readable = reference.startsWith(stem) && prefix.length + 1 + rest.length <= longest;
  return readable ? `${prefix}-${rest}` : `${prefix}.${sha256Hex(reference)}`.slice(0, longest);
}

/**
 * The reference from which `refundCodeOf` made this code; undefined for a refund that we did not
 * request.
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
 * References of one payment share a prefix and differ after their last hyphen, except for refunds,
 * which have two.
 */
function stemOf(original: string): string {
  return original.slice(0, original.lastIndexOf("-") + 1);
}
