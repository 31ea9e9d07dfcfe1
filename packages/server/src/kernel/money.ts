import { assert } from "./assert.ts";
import { BoundedMap } from "./bounded-map.ts";
import { scaleOf, type CurrencyCode } from "./currency.ts";

/**
 * An exact amount: whole minor units of a currency, `scaleOf(currency)` decimals. Never converted
 * from or to a float.
 */
export interface Money {
  readonly minor: bigint;
  readonly currency: CurrencyCode;
}

const maxIntegerDigits = 15;

/**
 * Minor units from the decimal text of a request: `100`, `100.5`, `1.00`. Digits beyond `scale` are
 * accepted only if they are zeros, because nothing is lost then; a printed float such as `100.5000`
 * occurs in practice. Undefined for a sign, an exponent, blanks, a missing digit on either side of
 * the point, and more than 15 digits before it.
 */
export function parseAmount(text: string, scale: number): bigint | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  const whole = match?.[1];
  if (whole === undefined || whole.length > maxIntegerDigits) return undefined;
  const fraction = match?.[2] ?? "";
  if (/[^0]/.test(fraction.slice(scale))) return undefined;
  return BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"));
}

/**
 * Like `parseAmount`, but a text with more decimals than `scale` is rounded half up, digit by
 * digit: shops that compute instalment interest in floating point send `108.9909` and
 * `104.49540000000001`. Also undefined if an amount above zero would become zero.
 */
export function roundAmount(text: string, scale: number): bigint | undefined {
  const point = text.indexOf(".");
  const exact = parseAmount(text, scale);
  if (exact !== undefined || point < 0 || !/^\d+\.\d+$/.test(text)) return exact;
  const whole = parseAmount(text.slice(0, point), scale);
  const kept = BigInt(text.slice(point + 1, point + 1 + scale).padEnd(scale, "0"));
  const isUp = text.charAt(point + 1 + scale) >= "5";
  const minor = whole === undefined ? undefined : whole + kept + (isUp ? 1n : 0n);
  return minor === 0n ? undefined : minor;
}

/** Plain decimal text with exactly `scale` decimals, with `-` in front if negative. */
export function formatAmount(minor: bigint, scale: number): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(scale + 1, "0");
  const sign = minor < 0n ? "-" : "";
  if (scale === 0) return sign + digits;
  const point = digits.length - scale;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** `money` in the wire's format. */
export function formatMoney(money: Money): string {
  return formatAmount(money.minor, scaleOf(money.currency));
}

/**
 * `minor` times a rate, rounded half up to a whole minor unit (interface 8). The rate is plain
 * decimal text such as `5.8300` or `0.0038`, used exactly. Neither may be negative.
 */
export function multiplyRate(minor: bigint, rate: string): bigint {
  assert(minor >= 0n, "an amount that is converted is not negative");
  const { factor, divisor } = fractions.get(rate) ?? fractionOf(rate);
  return divideHalfUp(minor * factor, divisor);
}

interface Fraction {
  readonly factor: bigint;
  readonly divisor: bigint;
}

/**
 * Cache of rates as fractions: they come from a few tables, and each charge multiplies by several.
 */
const fractions = new BoundedMap<string, Fraction>(1_000);

function fractionOf(rate: string): Fraction {
  assert(/^\d+(\.\d+)?$/.test(rate), "a rate is plain decimal text");
  const point = rate.indexOf(".");
  const decimals = point < 0 ? 0 : rate.length - point - 1;
  const fraction = { factor: BigInt(rate.replace(".", "")), divisor: 10n ** BigInt(decimals) };
  fractions.set(rate, fraction);
  return fraction;
}

/** `part / whole` of `minor`, rounded half up. `whole` is above zero, nothing is negative. */
export function proportion(minor: bigint, part: bigint, whole: bigint): bigint {
  assert(minor >= 0n && part >= 0n, "a proportion is of amounts that are not negative");
  return divideHalfUp(minor * part, whole);
}

/**
 * Splits `minor` in proportion to `weights` without losing or creating a unit: each weight gets the
 * floor of its share, and the remaining units go to the largest remainders, the earlier one first
 * among equals.
 */
export function allocate(minor: bigint, weights: readonly bigint[]): readonly bigint[] {
  const sum = weights.reduce((total, weight) => total + weight, 0n);
  assert(minor >= 0n, "an amount that is split is not negative");
  assert(
    sum > 0n && weights.every((weight) => weight >= 0n),
    "an amount is split by weights of which one is above zero",
  );
  const shares = weights.map((weight, index) => ({
    index,
    floor: (minor * weight) / sum,
    remainder: (minor * weight) % sum,
  }));
  const left = minor - shares.reduce((total, { floor }) => total + floor, 0n);
  const byRemainder = shares.toSorted((one, other) =>
    one.remainder === other.remainder
      ? one.index - other.index
      : one.remainder > other.remainder
        ? -1
        : 1,
  );
  const roundedUp = new Set(byRemainder.slice(0, Number(left)).map(({ index }) => index));
  return shares.map(({ index, floor }) => (roundedUp.has(index) ? floor + 1n : floor));
}

export function addMoney(one: Money, other: Money): Money {
  assertSameCurrency(one, other);
  return { minor: one.minor + other.minor, currency: one.currency };
}

/** Negative, zero or positive if `one` is less than, equal to or greater than `other`. */
export function compareMoney(one: Money, other: Money): number {
  assertSameCurrency(one, other);
  return one.minor === other.minor ? 0 : one.minor < other.minor ? -1 : 1;
}

function assertSameCurrency(one: Money, other: Money): void {
  assert(one.currency === other.currency, "amounts that meet are of one currency");
}

function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  assert(divisor > 0n, "a divisor is above zero");
  return (2n * dividend + divisor) / (2n * divisor);
}
