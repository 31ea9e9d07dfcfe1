import type { Instant } from "../../kernel/instant.ts";
import { formatMoney, type Money } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import { exchangeRate } from "../../payment/pricing-tables.ts";

/** Nobody pays cents of these, though the wire always prints two decimals. */
const withoutCents: ReadonlySet<string> = new Set(["CLP", "COP", "CRC", "PYG"]);
/** From so many units to a US dollar on, less than a dollar is no price but a slip. */
const smallUnit = 100n;

/**
 * For the header X-Cofre-Warning: an amount that looks 100 times too small for its currency, as it
 * comes about when a program divides by 100 what has no cents. Undefined for all others: a warning
 * that is often wrong is not read.
 */
export function amountWarning(
  { minor, currency }: Money,
  { settings }: Account,
  now: Instant,
): string | undefined {
  const shown = `${currency} ${formatMoney({ minor, currency })}`;
  if (withoutCents.has(currency) && minor % 100n !== 0n)
    return `${shown} has cents, which nobody pays in ${currency}: is it 100 times too small?`;
  const rate = exchangeRate(settings.rateTable, "USD", currency, now);
  const unitsPerDollar = rate === undefined ? 0n : BigInt(rate.slice(0, rate.indexOf(".")));
  if (unitsPerDollar < smallUnit || minor >= unitsPerDollar * 100n) return undefined;
  return `${shown} is less than one US dollar: is it 100 times too small?`;
}
