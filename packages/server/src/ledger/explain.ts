import { scaleOf, type CurrencyCode } from "../kernel/currency.ts";
import type { Instant } from "../kernel/instant.ts";
import { formatAmount } from "../kernel/money.ts";
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

/** One posting with what stands on its account afterwards. Amounts are decimal text, debits positive. */
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

/** Where a payment's money is, by the books of one currency, in minor units. */
export interface MoneyPosition {
  readonly currency: CurrencyCode;
  /** What the issuer still holds. */
  readonly held: bigint;
  /** What the customer has paid, and the acquirer owes. */
  readonly captured: bigint;
  /** What was held and given back. */
  readonly released: bigint;
  /** What of `captured` is the state's. */
  readonly taxed: bigint;
  /** What of `captured` is the merchant's. */
  readonly payable: bigint;
}

export interface Explanation {
  readonly lines: readonly ExplainedLine[];
  /** One for each currency that the payment is kept in, the requested one first. */
  readonly positions: readonly MoneyPosition[];
  /** What should hold of the books and does not, one sentence each. Whoever audits wants to see the lines then, so nothing throws. */
  readonly problems: readonly string[];
}

/** Every cent of a payment, from its whole history, oldest row first. */
export function explain(history: readonly JournaledRow[], payment: Payment): Explanation {
  const entries = history.flatMap((row) => row.entries);
  const positions = currenciesOf(payment).map((currency) => positionIn(currency, entries));
  return {
    lines: linesOf(history),
    positions,
    problems: [...problemsOf(entries), ...positions.flatMap((each) => disagreements(each, payment))],
  };
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
  const balances = balancesOf(entries);
  const on = (account: LedgerAccount) => balances.find((each) => each.account === account && each.currency === currency)?.minor ?? 0n;
  const releases = balancesOf(entries.filter(({ kind }) => kind === "release"));
  const givenBack = releases.find((each) => each.account === "authorized_holds" && each.currency === currency)?.minor ?? 0n;
  return {
    currency,
    held: on("authorized_holds"),
    captured: on("acquirer_receivable"),
    released: -givenBack,
    taxed: -on("tax_payable"),
    payable: -on("merchant_payable"),
  };
}

function problemsOf(entries: readonly JournalEntry[]): readonly string[] {
  return entries.every(({ postings }) => isBalanced(postings)) ? [] : ["An entry does not sum to zero in each currency."];
}

/** The states in which everything that was authorized is held. */
const holdingStates: ReadonlySet<PaymentState> = new Set(["authorized", "in_review", "capturing", "voiding"]);

function disagreements(position: MoneyPosition, payment: Payment): readonly string[] {
  const { currency } = position;
  const held = holdingStates.has(payment.state) ? valueIn(currency, payment, payment.authorized) : 0n;
  const captured = valueIn(currency, payment, payment.captured);
  return [
    ...(position.held === held ? [] : [`The books hold another amount of ${currency} than the payment's state says.`]),
    ...(position.captured === captured ? [] : [`The books captured another amount of ${currency} than the payment.`]),
    ...(position.captured === position.taxed + position.payable ? [] : [`What was captured in ${currency} has no owner for a part of it.`]),
  ];
}

/** `minor` of the requested currency as the books of `currency` keep it. */
function valueIn(currency: CurrencyCode, { order }: Payment, minor: bigint): bigint {
  return currency === order.pricing.total.currency ? priceOfPart(order.pricing, order.amount, minor).total.minor : minor;
}
