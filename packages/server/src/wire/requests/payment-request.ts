import { holdsAmount } from "../decode/amount-text.ts";
import type { Account } from "../../merchant/account.ts";
import type { CaptureInput, PaymentSelector } from "../../operations/direct-input.ts";
import { roundedText } from "./amounts.ts";
import { echoName } from "../decode/card-like.ts";
import { hashOf, hasWrongShape } from "./fields.ts";
import { refusal, type ValuesOf } from "../errors/refusal.ts";
import { isTreeObject, textOf, type Tree, type TreeObject } from "../decode/tree.ts";
import type { WireError } from "../decode/wire-error.ts";

/**
 * The code for a request that names no payment: number 1 of each operation's own series; the series
 * of query is Cofre's own (interface 5).
 */
export type UnnamedCode = "BP-CAP-1" | "BP-CAN-1" | "BP-QRY-1" | "BP-REF-1";

/** The payment that a request refers to. The hash wins if both names are given (interface 5.1). */
export function readSelector(params: TreeObject, unnamed: UnnamedCode): PaymentSelector {
  // A name of the wrong shape is not ignored in favour of the other name: that might be another
  // payment.
  if (hasWrongShape(params, "hash") || hasWrongShape(params, "merchant_payment_code"))
    throw refusal(unnamed);
  const hash = hashOf(params);
  if (hash !== undefined) return { hash };
  const code = codeOf(params);
  if (code !== undefined) return { code };
  throw refusal(unnamed);
}

/** The name by which the payment of a refund was searched (interface 5.3). */
export function unknownPayment(selector: PaymentSelector): ValuesOf<"BP-REF-CAN-2"> {
  return "hash" in selector
    ? { kind: "hash", name: echoName(selector.hash) }
    : { kind: "merchant_payment_code", name: echoName(selector.code) };
}

/**
 * Blanks are significant: two codes that differ in one are two payments. Line ends and tabs around
 * a code are not, because no payment code has any.
 */
export function codeOf(params: TreeObject): string | undefined {
  const text = textOf(params, "merchant_payment_code")?.replaceAll(/^[\t\n\r]+|[\t\n\r]+$/g, "");
  return text === undefined || text.trim() === "" ? undefined : text;
}

export function readCapture(params: TreeObject, account: Account): CaptureInput {
  if (hasOtherAmount(params) || hasAmountInValue(params)) throw amountInvalid();
  return { selector: readSelector(params, "BP-CAP-1"), amount: amountOf(params, account) };
}

/**
 * Zero and missing both mean everything (interface 1.2: some clients always send `0.0`). An amount
 * that is not a scalar does not count as missing, because that would capture more than requested.
 * The operation checks whether a text is an amount.
 */
function amountOf(params: TreeObject, account: Account): string | undefined {
  const value = params["amount"];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw amountInvalid();
  const text = value.trim();
  return text === "" || /^0+(\.0*)?$/.test(text) ? undefined : roundedText(text, account);
}

function amountInvalid(): WireError {
  return refusal("BP-CAP-6");
}

/**
 * Whether an amount is given under a name other than `amount`, or inside any node but `known`. The
 * sender means a partial amount, so ignoring it would move more money than requested.
 */
export function hasOtherAmount(params: TreeObject, known?: string): boolean {
  return Object.entries(params).some(
    ([name, value]) =>
      (name !== "amount" && isAmountName(name)) || (name !== known && hasAmountInside(value)),
  );
}

function hasAmountInside(value: Tree): boolean {
  if (Array.isArray(value)) return value.some(hasAmountInside);
  return (
    isTreeObject(value) &&
    Object.entries(value).some(([name, inner]) => isAmountName(name) || hasAmountInside(inner))
  );
}

/** Matches `Amount`, `amount `, `[amount]`, `amount_total`, `capture_amount`. */
function isAmountName(name: string): boolean {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^a-z]/g, "")
    .includes("amount");
}

/** A separator other than `&` leaves the amount in the value before it: `x=1;amount=40`. */
function hasAmountInValue(params: TreeObject): boolean {
  return Object.values(params).some((value) => typeof value === "string" && holdsAmount(value));
}
