import type { CurrencyCode } from "../kernel/currency.ts";
import { ledgerAccounts, type JournalEntry, type LedgerAccount, type Posting } from "./journal.ts";

/** The balance of one account in one currency: debits less credits, in minor units. */
export interface Balance {
  readonly account: LedgerAccount;
  readonly currency: CurrencyCode;
  readonly minor: bigint;
}

/**
 * The balances after `entries`, ordered by account, then by currency code; `before` are the
 * balances before the entries. An account that returned to zero is included.
 */
export function balancesOf(
  entries: Iterable<JournalEntry>,
  before: readonly Balance[] = [],
): readonly Balance[] {
  const byKey = new Map(before.map((balance) => [keyOf(balance), balance]));
  for (const { postings } of entries) {
    for (const { account, currency, minor } of postings) {
      const key = keyOf({ account, currency });
      byKey.set(key, { account, currency, minor: (byKey.get(key)?.minor ?? 0n) + minor });
    }
  }
  return [...byKey.values()].toSorted(inOrder);
}

/** Whether postings sum to zero in each currency. */
export function isBalanced(postings: readonly Posting[]): boolean {
  return postings.every(({ currency }) => sumIn(currency, postings) === 0n);
}

function sumIn(currency: CurrencyCode, postings: readonly Posting[]): bigint {
  return postings.reduce(
    (sum, posting) => (posting.currency === currency ? sum + posting.minor : sum),
    0n,
  );
}

function keyOf({ account, currency }: Pick<Balance, "account" | "currency">): string {
  return `${account} ${currency}`;
}

function inOrder(one: Balance, other: Balance): number {
  const accounts = ledgerAccounts.indexOf(one.account) - ledgerAccounts.indexOf(other.account);
  return accounts !== 0 ? accounts : one.currency < other.currency ? -1 : 1;
}
