import { assert } from "../kernel/assert.ts";
import type { CurrencyCode } from "../kernel/currency.ts";
import { proportion } from "../kernel/money.ts";
import type { Payment } from "../payment/payment.ts";
import { priceOfPart, type LocalAmounts } from "../payment/pricing.ts";
import { isBalanced } from "./balances.ts";
import type { EntryKind, JournalEntry, LedgerAccount, Posting } from "./journal.ts";

/**
 * The journal entries of a payment's money facts. If the customer's currency differs from the
 * requested one there are two sets of books: one in the requested currency, where captured never
 * exceeds authorized, and one in the local currency, with the tax. If both are the same there is
 * one set of books, with the tax. The two are never added together, and each entry balances in each
 * currency.
 */

/** Holds the whole authorized amount, taxes included. */
export function holdEntries(payment: Payment): readonly JournalEntry[] {
  return [entry("hold", holdPostings(payment, amountsOf(payment, payment.authorized), 1n))];
}

/**
 * Captures `amount` minor units of the requested currency from the hold and releases the rest to
 * the cardholder.
 */
export function captureEntries(payment: Payment, amount: bigint): readonly JournalEntry[] {
  assert(
    amount > 0n && amount <= payment.authorized,
    "captured is above zero and never exceeds authorized",
  );
  const held = amountsOf(payment, payment.authorized);
  const taken = amountsOf(payment, amount);
  const captured = entry("capture", [
    ...holdPostings(payment, taken, -1n),
    ...takingPostings(payment, taken),
  ]);
  if (amount === payment.authorized) return [captured];
  return [captured, entry("release", holdPostings(payment, difference(held, taken), -1n))];
}

/** Releases the whole hold to the cardholder. */
export function releaseEntries(payment: Payment): readonly JournalEntry[] {
  assert(
    payment.captured === 0n,
    "a payment is captured once, and what remained was released then",
  );
  return [entry("release", holdPostings(payment, amountsOf(payment, payment.authorized), -1n))];
}

/** Authorization and capture in one; there was no hold before. */
export function saleEntries(payment: Payment): readonly JournalEntry[] {
  return [entry("capture", takingPostings(payment, amountsOf(payment, payment.captured)))];
}

/**
 * Refunds `amount` minor units of the captured amount, after `before` have been returned already.
 */
export function refundEntries(
  payment: Payment,
  before: bigint,
  amount: bigint,
): readonly JournalEntry[] {
  return [
    entry("refund", takingPostings(payment, negated(returnedAmounts(payment, before, amount)))),
  ];
}

/** Charges back a captured amount that was not returned yet; `before` as above. */
export function chargebackEntries(
  payment: Payment,
  before: bigint,
  amount: bigint,
): readonly JournalEntry[] {
  return [
    entry("chargeback", takingPostings(payment, negated(returnedAmounts(payment, before, amount)))),
  ];
}

/** Reverses a chargeback that the merchant won. */
export function chargebackCreditEntries(
  payment: Payment,
  before: bigint,
  amount: bigint,
): readonly JournalEntry[] {
  return [
    entry("chargeback_credit", takingPostings(payment, returnedAmounts(payment, before, amount))),
  ];
}

/**
 * The amounts of a return of `amount` after `before` have been returned: the difference of two
 * shares of the captured amounts, so that all returns together add up to exactly the captured
 * amount, to the cent, in both currencies.
 */
function returnedAmounts(payment: Payment, before: bigint, amount: bigint): Amounts {
  assert(
    amount > 0n && before >= 0n && before + amount <= payment.captured,
    "refunded never exceeds captured",
  );
  const captured = amountsOf(payment, payment.captured);
  return difference(shareOf(captured, before + amount), shareOf(captured, before));
}

function shareOf(captured: Amounts, requested: bigint): Amounts {
  const tax = proportion(captured.tax, requested, captured.requested);
  const total = proportion(captured.total, requested, captured.requested);
  return { requested, gross: total - tax, tax, total };
}

function negated({ requested, gross, tax, total }: Amounts): Amounts {
  return { requested: -requested, gross: -gross, tax: -tax, total: -total };
}

/** A part of a payment in the requested currency and its local amounts, in minor units. */
interface Amounts {
  readonly requested: bigint;
  readonly gross: bigint;
  readonly tax: bigint;
  /** What the customer pays. */
  readonly total: bigint;
}

function amountsOf({ order }: Payment, requested: bigint): Amounts {
  const { gross, tax, total }: LocalAmounts = priceOfPart(order.pricing, order.amount, requested);
  return { requested, gross: gross.minor, tax: tax.minor, total: total.minor };
}

function difference(whole: Amounts, part: Amounts): Amounts {
  return {
    requested: whole.requested - part.requested,
    gross: whole.gross - part.gross,
    tax: whole.tax - part.tax,
    total: whole.total - part.total,
  };
}

/** Places a hold of `amounts` when `direction` is 1, releases it when it is -1. */
function holdPostings(
  payment: Payment,
  { requested, total }: Amounts,
  direction: 1n | -1n,
): readonly Posting[] {
  const { requestedCurrency, localCurrency } = currenciesOf(payment);
  return [
    ...(requestedCurrency === localCurrency
      ? []
      : transfer(
          "authorized_holds",
          "cardholder_commitments",
          requestedCurrency,
          requested * direction,
        )),
    ...transfer("authorized_holds", "cardholder_commitments", localCurrency, total * direction),
  ];
}

/**
 * The acquirer owes what the customer pays; the merchant is owed that amount without the tax,
 * whichever party bears the tax.
 */
function takingPostings(payment: Payment, { requested, tax, total }: Amounts): readonly Posting[] {
  const { requestedCurrency, localCurrency } = currenciesOf(payment);
  return [
    ...(requestedCurrency === localCurrency
      ? []
      : transfer("acquirer_receivable", "merchant_payable", requestedCurrency, requested)),
    posting("acquirer_receivable", localCurrency, total),
    posting("merchant_payable", localCurrency, tax - total),
    posting("tax_payable", localCurrency, -tax),
  ];
}

function transfer(
  debit: LedgerAccount,
  credit: LedgerAccount,
  currency: CurrencyCode,
  minor: bigint,
): readonly Posting[] {
  return [posting(debit, currency, minor), posting(credit, currency, -minor)];
}

function posting(account: LedgerAccount, currency: CurrencyCode, minor: bigint): Posting {
  return { account, currency, minor };
}

function currenciesOf({ order }: Payment): {
  readonly requestedCurrency: CurrencyCode;
  readonly localCurrency: CurrencyCode;
} {
  return { requestedCurrency: order.amount.currency, localCurrency: order.pricing.gross.currency };
}

/** Zero postings are omitted: most countries have no tax. */
function entry(kind: EntryKind, postings: readonly Posting[]): JournalEntry {
  const kept = postings.filter(({ minor }) => minor !== 0n);
  assert(isBalanced(kept), "a journal entry sums to zero in each currency");
  return { kind, postings: kept };
}
