import { isCurrency, scaleOf } from "../../kernel/currency.ts";
import { formatAmount, type Money, parseAmount, roundAmount } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";

/**
 * Decimals of every amount that the wire prints (interface 8). No currency of the interface's
 * countries has more.
 */
const wireScale = 2;

/**
 * The amount of a payment; undefined if the text is not an amount, or has too many decimals for a
 * strict account.
 */
export function amountIn(
  text: string | undefined,
  currency: string | undefined,
  { settings }: Account,
): Money | undefined {
  if (text === undefined || currency === undefined || !isCurrency(currency)) return undefined;
  const minor = settings.strictAmounts
    ? parseAmount(text, scaleOf(currency))
    : roundAmount(text, scaleOf(currency));
  return minor === undefined ? undefined : { minor, currency };
}

/**
 * The amount of a follow-up request with two decimals at most; unchanged if it is not an amount, or
 * the account is strict.
 */
export function roundedText(text: string, { settings }: Account): string {
  const minor =
    settings.strictAmounts || !hasMoreDecimals(text) ? undefined : roundAmount(text, wireScale);
  return minor === undefined ? text : formatAmount(minor, wireScale);
}

/**
 * Whether the parts add up to the total: their exact sum, rounded, or the sum of the rounded parts.
 */
export function addUpTo(total: Money, parts: readonly string[], account: Account): boolean {
  const scale = scaleOf(total.currency);
  const rounded = parts.map((text) => amountIn(text, total.currency, account)?.minor);
  if (sumOf(rounded) === total.minor) return true;
  const exact = sumOf(parts.map((text) => parseAmount(text, finestScale)));
  return (
    !account.settings.strictAmounts &&
    exact !== undefined &&
    roundAmount(formatAmount(exact, finestScale), scale) === total.minor
  );
}

/** More decimals than a double prints. */
const finestScale = 30;

function sumOf(minors: readonly (bigint | undefined)[]): bigint | undefined {
  return minors.reduce(
    (total, minor) => (total === undefined || minor === undefined ? undefined : total + minor),
    0n,
  );
}

/**
 * For the header X-Cofre-Warning: the field's amount has more than two decimals and was rounded.
 * Contains only the field's name.
 */
export function roundingWarnings(
  object: TreeObject,
  field: string,
  account: Account,
): readonly string[] {
  const text = textOf(object, field)?.trim() ?? "";
  const isRounded =
    !account.settings.strictAmounts &&
    hasMoreDecimals(text) &&
    roundAmount(text, wireScale) !== undefined;
  return isRounded ? [`${field} has more than two decimals and was rounded half up`] : [];
}

function hasMoreDecimals(text: string): boolean {
  return /^\d+\.\d+$/.test(text) && parseAmount(text, wireScale) === undefined;
}
