import type { Instant } from "../../kernel/instant.ts";
import { formatMoney, type Money } from "../../kernel/money.ts";
import type { Account } from "../../merchant/account.ts";
import { exchangeRate } from "../../payment/pricing-tables.ts";

/** Currencies in which cents are not in use, although the wire always prints two decimals. */
const withoutCents: ReadonlySet<string> = new Set(["CLP", "COP", "CRC", "PYG"]);
/** If a US dollar is worth at least this many units, an amount below one dollar is a mistake. */
const smallUnit = 100n;

/**
 * For the header X-Cofre-Warning: an amount that looks 100 times too small for its currency, as if
 * a program had divided an amount without cents by 100. Undefined for all others: a warning that is
 * often wrong is ignored.
 */
export function amountWarning(
  { minor, currency }: Money,
  { settings }: Account,
  now: Instant,
): string | undefined {
  const shown = `${currency} ${formatMoney({ minor, currency })}`;
  if (withoutCents.has(currency) && minor % 100n !== 0n)
    return `${shown} has cents, which are not used in ${currency}: is it 100 times too small?`;
  const rate = exchangeRate(settings.rateTable, "USD", currency, now);
  const unitsPerDollar = rate === undefined ? 0n : BigInt(rate.slice(0, rate.indexOf(".")));
  if (unitsPerDollar < smallUnit || minor >= unitsPerDollar * 100n) return undefined;
  return `${shown} is less than one US dollar: is it 100 times too small?`;
}
