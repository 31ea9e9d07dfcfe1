import { scaleOf, type CurrencyCode } from "../kernel/currency.ts";
import type { Instant } from "../kernel/instant.ts";
import { formatAmount, proportion } from "../kernel/money.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import { priceOfPart } from "../payment/pricing.ts";
import { balancesOf, isBalanced } from "./balances.ts";
import type { EntryKind, JournalEntry, LedgerAccount } from "./journal.ts";

/** The part of a history row that the ledger reads. */
export interface JournaledRow {
  readonly version: number;
  readonly at: Instant;
  readonly entries: readonly JournalEntry[];
}

/**
 * One posting with the resulting balance of its account. Amounts are decimal text, debits positive.
 */
interface ExplainedLine {
  /** The payment's version that posted it. */
  readonly version: number;
  readonly at: Instant;
  readonly kind: EntryKind;
  readonly account: LedgerAccount;
  readonly currency: CurrencyCode;
  readonly amount: string;
  readonly balance: string;
}

/** The state of a payment's money in the books of one currency, in minor units. */
export interface MoneyPosition {
  readonly currency: CurrencyCode;
  /** Currently held by the issuer. */
  readonly held: bigint;
  /** Paid by the customer. */
  readonly captured: bigint;
  /** Held and then released. */
  readonly released: bigint;
  /** The part of `captured` that was refunded. */
  readonly refunded: bigint;
  /** The part of `captured` that was charged back and not credited again. */
  readonly chargedBack: bigint;
  /** The part of the rest that is tax. */
  readonly taxed: bigint;
  /** The part of the rest that is owed to the merchant. */
  readonly payable: bigint;
}

export interface Explanation {
  readonly lines: readonly ExplainedLine[];
  /** One for each currency of the payment, the requested one first. */
  readonly positions: readonly MoneyPosition[];
  /** Violated rules of the books, in the order of `problems`. */
  readonly violations: readonly Violation[];
  /**
   * Violated rules of the books, one sentence each. Returned instead of thrown, because an auditor
   * then needs to see the lines.
   */
  readonly problems: readonly string[];
}

/** The rules of the books that a payment may violate, one sentence each. */
export const bookProblems = {
  unbalanced: "An entry does not sum to zero in each currency.",
  held: "The books hold another amount of {currency} than the payment's state says.",
  captured: "The books captured another amount of {currency} than the payment.",
  left: "The books are left with another amount of {currency} than the payment's refunds and dispute say.",
  divided:
    "The books divide what was returned in {currency} between refunds and dispute in another way than the payment.",
  owner: "What was captured in {currency} has no owner for a part of it.",
  tax: "The books owe another tax in {currency} than the payment.",
} as const;

export interface Violation {
  readonly rule: keyof typeof bookProblems;
  /** undefined: the rule is about all currencies. */
  readonly currency?: CurrencyCode;
}

/** Explains every cent of a payment from its whole history, oldest row first. */
export function explain(history: readonly JournaledRow[], payment: Payment): Explanation {
  const entries = history.flatMap((row) => row.entries);
  const positions = currenciesOf(payment).map((currency) => positionIn(currency, entries));
  const violations = [
    ...imbalances(entries),
    ...positions.flatMap((each) => disagreements(each, payment)),
  ];
  const problems = violations.map(({ rule, currency = "" }) =>
    bookProblems[rule].replace("{currency}", currency),
  );
  return { lines: linesOf(history), positions, violations, problems };
}

function currenciesOf({ order }: Payment): readonly CurrencyCode[] {
  return [...new Set([order.amount.currency, order.pricing.total.currency])];
}

function linesOf(history: readonly JournaledRow[]): readonly ExplainedLine[] {
  const running = new Map<string, bigint>();
  const lines: ExplainedLine[] = [];
  for (const { version, at, entries } of history) {
    for (const { kind, postings } of entries) {
      for (const { account, currency, minor } of postings) {
        const key = `${account} ${currency}`;
        const balance = (running.get(key) ?? 0n) + minor;
        running.set(key, balance);
        const scale = scaleOf(currency);
        const [amount, after] = [formatAmount(minor, scale), formatAmount(balance, scale)];
        lines.push({ version, at, kind, account, currency, amount, balance: after });
      }
    }
  }
  return lines;
}

function positionIn(currency: CurrencyCode, entries: readonly JournalEntry[]): MoneyPosition {
  const on = (account: LedgerAccount) => sumOn(account, currency, entries);
  const by = (account: LedgerAccount, ...kinds: readonly EntryKind[]) =>
    sumOn(
      account,
      currency,
      entries.filter(({ kind }) => kinds.includes(kind)),
    );
  return {
    currency,
    held: on("authorized_holds"),
    captured: by("acquirer_receivable", "capture"),
    released: -by("authorized_holds", "release"),
    refunded: -by("acquirer_receivable", "refund"),
    chargedBack: -by("acquirer_receivable", "chargeback", "chargeback_credit"),
    taxed: -on("tax_payable"),
    payable: -on("merchant_payable"),
  };
}

function sumOn(
  account: LedgerAccount,
  currency: CurrencyCode,
  entries: readonly JournalEntry[],
): bigint {
  return (
    balancesOf(entries).find((each) => each.account === account && each.currency === currency)
      ?.minor ?? 0n
  );
}

function imbalances(entries: readonly JournalEntry[]): readonly Violation[] {
  return entries.every(({ postings }) => isBalanced(postings)) ? [] : [{ rule: "unbalanced" }];
}

/** The states in which the whole authorized amount is held. */
const holdingStates: ReadonlySet<PaymentState> = new Set([
  "authorized",
  "in_review",
  "capturing",
  "voiding",
]);

function disagreements(position: MoneyPosition, payment: Payment): readonly Violation[] {
  const { currency, held, captured, refunded, chargedBack, taxed, payable } = position;
  const heldByState = holdingStates.has(payment.state) ? payment.authorized : 0n;
  const returned = returnedOf(payment);
  const left = leftOf(currency, payment, returned.refunded + returned.chargedBack);
  const owned = captured - refunded - chargedBack;
  return [
    ...(held === valueIn(currency, payment, heldByState)
      ? []
      : [{ rule: "held", currency } as const]),
    ...(captured === valueIn(currency, payment, payment.captured)
      ? []
      : [{ rule: "captured", currency } as const]),
    ...(owned === left.total ? [] : [{ rule: "left", currency } as const]),
    ...(isLocal(currency, payment) ||
    (refunded === returned.refunded && chargedBack === returned.chargedBack)
      ? []
      : [{ rule: "divided", currency } as const]),
    ...(owned === taxed + payable ? [] : [{ rule: "owner", currency } as const]),
    ...(taxed === left.tax ? [] : [{ rule: "tax", currency } as const]),
  ];
}

/** The amounts that have left the merchant's account, in minor units of the requested currency. */
function returnedOf({ refunds, chargeback }: Payment): {
  readonly refunded: bigint;
  readonly chargedBack: bigint;
} {
  return {
    refunded: refunds.reduce(
      (sum, { state, amount }) => (state === "confirmed" ? sum + amount : sum),
      0n,
    ),
    chargedBack: chargeback?.state === "opened" ? chargeback.amount : 0n,
  };
}

/**
 * The rest of the captured amount after `returned` was given back. In the local currency a single
 * return may differ by a cent, depending on the returns before it; their sum never does.
 */
function leftOf(
  currency: CurrencyCode,
  payment: Payment,
  returned: bigint,
): { readonly total: bigint; readonly tax: bigint } {
  if (payment.captured === 0n) return { total: 0n, tax: 0n };
  if (!isLocal(currency, payment)) return { total: payment.captured - returned, tax: 0n };
  const { total, tax } = priceOfPart(payment.order.pricing, payment.order.amount, payment.captured);
  return {
    total: total.minor - proportion(total.minor, returned, payment.captured),
    tax: tax.minor - proportion(tax.minor, returned, payment.captured),
  };
}

/** Converts `minor` of the requested currency to the amount in the books of `currency`. */
function valueIn(currency: CurrencyCode, payment: Payment, minor: bigint): bigint {
  const { pricing, amount } = payment.order;
  return isLocal(currency, payment) ? priceOfPart(pricing, amount, minor).total.minor : minor;
}

function isLocal(currency: CurrencyCode, { order }: Payment): boolean {
  return currency === order.pricing.total.currency;
}
