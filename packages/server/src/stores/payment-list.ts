import { parseInstant } from "../kernel/calendar.ts";
import { isCurrency, scaleOf } from "../kernel/currency.ts";
import { endOfPaymentIds, lowestPaymentId, type PaymentId } from "../payment/payment-id.ts";
import { formatAmount, formatMoney, type Money, parseAmount } from "../kernel/money.ts";
import { ownValue } from "../kernel/own.ts";
import { countryOf } from "../payment/countries.ts";
import { isAmong, moneyOutcomes } from "../payment/money-outcome.ts";
import { paymentStates } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import type { ListPage, PaymentFilter, PaymentList } from "./store.ts";

/** The fields that a search covers. */
export interface Searched {
  readonly name: string;
  readonly email: string;
  readonly maskedPan: string;
  readonly brand: string;
  /** ISO 3166-1 alpha-2, lower case. */
  readonly country: string;
  /** The requested and the local amount, with their currencies. */
  readonly amounts: readonly Money[];
}

/** One payment of a list; the whole payment is built only if it matches. */
export interface Listed {
  readonly id: PaymentId;
  readonly state: string;
  readonly code: string;
  searched(): Searched;
  payment(): Payment;
}

/** In hex: greater than every payment id, because it is longer. */
export const aboveAllIds = "f".repeat(50);

/** Number of rows to read for a page: one more than it may examine shows whether there are more. */
function rowsFor(
  { states, outcomes, brand, text }: PaymentFilter,
  { limit, maxExamined }: ListPage,
): number {
  const takesAll =
    states === undefined && outcomes === undefined && brand === undefined && text === undefined;
  return (takesAll ? Math.min(limit, maxExamined) : maxExamined) + 1;
}

/** A page of payments, newest first. */
class Page {
  readonly #passes: (row: Listed) => boolean;
  readonly #page: ListPage;
  readonly #payments: Payment[] = [];
  #examined = 0;
  #last: PaymentId | undefined;

  constructor(filter: PaymentFilter, page: ListPage) {
    this.#passes = passesOf(filter);
    this.#page = page;
  }

  /** Returns the page if it is full, so that this row belongs to the next page. */
  add(row: Listed): PaymentList | undefined {
    if (this.#examined === this.#page.maxExamined || this.#payments.length === this.#page.limit)
      return { payments: this.#payments, next: this.#last };
    this.#examined += 1;
    this.#last = row.id;
    // Built once, however many words of a search need it.
    let whole: Payment | undefined;
    const payment = (): Payment => (whole ??= row.payment());
    if (this.#passes({ ...row, payment })) this.#payments.push(payment());
    return undefined;
  }

  /** Returns the page after the last row. */
  end(): PaymentList {
    return { payments: this.#payments, next: undefined };
  }
}

/** A page of the rows, in their order. */
export function pageOf(
  rows: Iterable<Listed>,
  filter: PaymentFilter,
  range: ListPage,
): PaymentList {
  const page = new Page(filter, range);
  for (const row of rows) {
    const full = page.add(row);
    if (full !== undefined) return full;
  }
  return page.end();
}

/**
 * A page that is read and searched `size` rows at a time: other requests are served between two
 * pieces. `read` returns at most `limit` rows with ids below `before`, greatest first.
 */
export async function pageInPieces(
  read: (before: string, limit: number) => Promise<readonly Listed[]>,
  size: number,
  filter: PaymentFilter,
  range: ListPage,
): Promise<PaymentList> {
  const page = new Page(filter, range);
  let before: string = range.before ?? aboveAllIds;
  for (let left = rowsFor(filter, range); left > 0;) {
    const limit = Math.min(left, size);
    const rows = await read(before, limit);
    for (const row of rows) {
      const full = page.add(row);
      if (full !== undefined) return full;
    }
    left -= limit;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) break;
    before = last.id;
  }
  return page.end();
}

export function listedPayment(payment: Payment): Listed {
  const { id, state, order } = payment;
  const { brand, maskedPan } = order.card;
  const { name, email } = order.customer;
  const { country, amount, pricing } = order;
  const amounts = [amount, pricing.total];
  return {
    id,
    state,
    code: order.code,
    searched: () => ({ name, email, maskedPan, brand, country, amounts }),
    payment: () => payment,
  };
}

function passesOf(filter: PaymentFilter): (row: Listed) => boolean {
  const { brand, text } = filter;
  const tests = text === undefined ? undefined : wordsOf(text);
  return (row) => {
    if (!isAmong(filter, row.state, () => row.payment())) return false;
    if (brand === undefined && tests === undefined) return true;
    const searched = row.searched();
    if (brand !== undefined && searched.brand !== brand) return false;
    if (tests === undefined) return true;
    const folded = foldedText(
      [row.code, row.id, searched.name, searched.email, searched.maskedPan, searched.brand].join(
        "\n",
      ),
    );
    return tests.every((isIn) => isIn({ folded, row, searched }));
  };
}

interface Candidate {
  readonly folded: string;
  readonly row: Listed;
  readonly searched: Searched;
}
type Test = (candidate: Candidate) => boolean;

/** Words such as `status:declined`: the test of a value, or undefined if it is none. */
const operators: Readonly<Record<string, (value: string) => Test | undefined>> = {
  status(value) {
    const states = paymentStates.filter((state) => state === value);
    const outcomes = moneyOutcomes.filter((outcome) => outcome === value);
    if (states.length + outcomes.length === 0) return undefined;
    return ({ row }) => isAmong({ states, outcomes }, row.state, () => row.payment());
  },
  amount: amountTest,
  currency:
    (value) =>
    ({ searched }) =>
      searched.amounts.some(({ currency }) => currency.toLowerCase() === value),
  country:
    (value) =>
    ({ searched }) =>
      searched.country === value,
  brand:
    (value) =>
    ({ searched }) =>
      searched.brand === value,
  reason:
    (value) =>
    ({ row }) =>
      row.state === "declined" && row.payment().verdict?.reason.includes(value) === true,
  after: (value) => idTest(value, (id, lowest) => id >= lowest),
  before: (value) => idTest(value, (id, lowest) => id < lowest),
};

/** A time outside of those that ids have is before or after every payment. */
function idTest(value: string, passes: (id: string, lowest: string) => boolean): Test | undefined {
  const at = parseInstant(value.toUpperCase());
  if (at === undefined) return undefined;
  const lowest = at < 0 ? "" : at < endOfPaymentIds ? lowestPaymentId(at) : aboveAllIds;
  return ({ row }) => passes(row.id, lowest);
}

/** More decimals than any currency has, so that amounts of several currencies can be compared. */
const finestScale = 4;

/**
 * `500` or `500,00`; `>500`, `>=500`, `<500`, `<=500`; `100..500`. Three digits after a point or a
 * comma match nothing: in `1.000` it may separate thousands or decimals.
 */
function amountTest(value: string): Test | undefined {
  const [, sign = "", low = "", high] =
    /^(>=?|<=?)?(\d{1,15}(?:[.,]\d{1,2})?)(?:\.\.(\d{1,15}(?:[.,]\d{1,2})?))?$/.exec(value) ?? [];
  const [from, to] = [low, high ?? low].map((text) =>
    parseAmount(text.replace(",", "."), finestScale),
  );
  if (from === undefined || to === undefined || (high !== undefined && sign !== ""))
    return undefined;
  const passes = (amount: bigint): boolean => {
    if (sign.startsWith(">")) return amount > from || (sign === ">=" && amount === from);
    if (sign.startsWith("<")) return amount < from || (sign === "<=" && amount === from);
    return amount >= from && amount <= to;
  };
  return ({ searched }) => {
    const [requested] = searched.amounts;
    return (
      requested !== undefined &&
      passes(requested.minor * 10n ** BigInt(finestScale - scaleOf(requested.currency)))
    );
  };
}

/**
 * Every word of a search must be found. A word with an operator, such as `amount:>500`, is compared
 * with that member of the payment; a value that cannot be one matches nothing. A currency code in
 * capitals, a country code and an amount are compared with those of the payment; the name of a
 * state also matches that state; any other word must be part of a text.
 */
function wordsOf(text: string): readonly Test[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  return words.map((word) => {
    const [, name = "", value = ""] = /^(\w+):(.+)$/.exec(word.toLowerCase()) ?? [];
    const operator = ownValue(operators, name);
    if (operator !== undefined) return operator(value) ?? (() => false);
    if (/^[A-Z]{3}$/.test(word) && isCurrency(word))
      return ({ searched }) => searched.amounts.some(({ currency }) => currency === word);
    const folded = foldedText(word);
    // `do` is both a country code and a word of Portuguese names.
    if (countryOf(folded) !== undefined) {
      const alone = new RegExp(`\\b${folded}\\b`);
      return (candidate) =>
        candidate.searched.country === folded || alone.test(foldedText(candidate.searched.name));
    }
    if (isState(folded))
      return (candidate) => candidate.row.state === folded || candidate.folded.includes(folded);
    const amount = /^\d{1,15}(?:[.,]\d{1,2})?$/.test(word)
      ? parseAmount(word.replace(",", "."), 2)
      : undefined;
    if (amount === undefined) return (candidate) => candidate.folded.includes(folded);
    const printed = formatAmount(amount, 2);
    return (candidate) =>
      candidate.folded.includes(folded) ||
      candidate.searched.amounts.some((each) => formatMoney(each) === printed);
  });
}

const isState = (word: string): boolean => paymentStates.some((state) => state === word);

/**
 * Folds case and accents; a letter that becomes two in upper case (ß, also as a capital) is
 * replaced by the two.
 */
function foldedText(text: string): string {
  // Most texts are ASCII, and removing accents costs several times as much as the rest.
  return (
    isAscii(text)
      ? text
      : text.toLowerCase().normalize("NFD").replaceAll(/\p{M}/gu, "").toUpperCase()
  ).toLowerCase();
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
