import { parseInstant } from "../kernel/calendar.ts";
import { isCurrency, scaleOf } from "../kernel/currency.ts";
import { endOfPaymentIds, lowestPaymentId, type PaymentId } from "../payment/payment-id.ts";
import { formatAmount, formatMoney, type Money, parseAmount } from "../kernel/money.ts";
import { ownValue } from "../kernel/own.ts";
import { countryOf } from "../payment/countries.ts";
import { isAmong, type MoneyOutcome, moneyOutcomes } from "../payment/money-outcome.ts";
import { paymentStates } from "../payment/payment-machine.ts";
import { declineReasonOf, declineReasons, type Payment } from "../payment/payment.ts";
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
  readonly amounts: readonly [requested: Money, local: Money];
}

/** One payment of a list; the whole payment is built only if it matches. */
export interface Listed {
  readonly id: PaymentId;
  readonly state: string;
  readonly code: string;
  searched(): Searched;
  payment(): Payment;
}

/**
 * A condition that every payment that passes a filter meets. A store may leave out payments that do
 * not meet it before it reads them.
 */
export type Condition =
  | {
      readonly kind: "state";
      readonly states: readonly string[];
      /** Or of which a part was refunded. */
      readonly orRefunded: boolean;
      /** Or with a chargeback. */
      readonly orDisputed: boolean;
    }
  /** A member of the order is exactly this text. */
  | { readonly kind: "member"; readonly text: string }
  /** The reason of a declined payment contains this text. */
  | { readonly kind: "reason"; readonly text: string }
  /** A text, such as the code, the name or the country, contains this one when both are folded. */
  | {
      readonly kind: "text";
      readonly text: string;
      /** Or the payment is in this state. */
      readonly orState?: string;
      /** Or the requested or the local amount has this number of minor units. */
      readonly orMinor?: string;
    };

/** Ids from `from` (included) to `below` (excluded), in hex. */
interface Ids {
  readonly from: string;
  readonly below: string;
}

/** What a store needs in order to read only payments that may pass a filter. */
export interface Narrowed {
  readonly ids: Ids;
  readonly conditions: readonly Condition[];
  /** The whole filter. */
  readonly passes: (row: Listed) => boolean;
}

/**
 * Consecutive rows by descending id. `rows` lacks those that fail a condition; `examined` includes
 * them, and `last` is the last of them all. `isEnd`: there are no more.
 */
export interface Piece {
  readonly rows: readonly Listed[];
  readonly examined: number;
  readonly last: string | undefined;
  readonly isEnd: boolean;
}

/** In hex: greater than every payment id, because it is longer. */
export const aboveAllIds = "f".repeat(50);

/** A page of payments, newest first. */
class Page {
  readonly #passes: (row: Listed) => boolean;
  readonly #page: ListPage;
  readonly #most: number;
  readonly #payments: Payment[] = [];
  #examined = 0;
  #last: PaymentId | undefined;

  constructor(filter: PaymentFilter, page: ListPage) {
    this.#passes = passesOf(filter);
    this.#page = page;
    this.#most = mostExamined(filter, page);
  }

  /** Rows that the page may still examine. */
  get left(): number {
    return this.#most - this.#examined;
  }

  /** Returns the page if it is full, so that this row belongs to the next page. */
  add(row: Listed): PaymentList | undefined {
    const full = this.full();
    if (full !== undefined) return full;
    this.#examined += 1;
    this.#last = row.id;
    // Built once, however many words of a search need it.
    let whole: Payment | undefined;
    const payment = (): Payment => (whole ??= row.payment());
    if (this.#passes({ ...row, payment })) this.#payments.push(payment());
    return undefined;
  }

  /** Counts `count` rows that were left out, down to `last`. */
  skip(count: number, last: string): void {
    this.#examined += count;
    this.#last = last as PaymentId;
  }

  /** Returns the page if no further row belongs to it. */
  full(): PaymentList | undefined {
    const isFull = this.left === 0 || this.#payments.length === this.#page.limit;
    return isFull ? { payments: this.#payments, next: this.#last } : undefined;
  }

  /** Returns the page after the last row. */
  end(): PaymentList {
    return { payments: this.#payments, next: undefined };
  }
}

/** The number of payments that a page may examine. */
export function mostExamined(
  filter: PaymentFilter,
  { maxExamined, maxTested = maxExamined }: ListPage,
): number {
  return narrowedBy(filter).conditions.length === 0 ? maxExamined : maxTested;
}

/** A page of the rows, in their order. */
export function pageOf(
  rows: Iterable<Listed>,
  filter: PaymentFilter,
  range: ListPage,
): PaymentList {
  const page = new Page(filter, range);
  const { from, below } = narrowedBy(filter).ids;
  for (const row of rows) {
    if (row.id >= below) continue;
    if (row.id < from) break;
    const full = page.add(row);
    if (full !== undefined) return full;
  }
  return page.end();
}

/**
 * A page that is read and searched piece by piece: other requests are served between two pieces.
 * `read` returns the piece below `before`, of at most `limit` rows.
 */
export async function pageInPieces(
  read: (before: string, limit: number) => Promise<Piece>,
  filter: PaymentFilter,
  range: ListPage,
): Promise<PaymentList> {
  const page = new Page(filter, range);
  const { below } = narrowedBy(filter).ids;
  let before: string = range.before ?? aboveAllIds;
  if (below < before) before = below;
  for (;;) {
    // One more row shows whether there are more.
    const limit = page.full() === undefined ? page.left : 1;
    const { rows, examined, last, isEnd } = await read(before, limit);
    for (const row of rows) {
      const full = page.add(row);
      if (full !== undefined) return full;
    }
    if (last === undefined) return page.end();
    const full = last === rows.at(-1)?.id ? undefined : page.full();
    if (full !== undefined) return full;
    page.skip(examined - rows.length, last);
    if (isEnd) return page.end();
    before = last;
  }
}

/** A piece without the rows that were left out by their ids; `limit` were requested. */
export function wholePiece(rows: readonly Listed[], limit: number, { from }: Ids): Piece {
  const within = rows.filter(({ id }) => id >= from);
  return {
    rows: within,
    examined: within.length,
    last: within.at(-1)?.id,
    isEnd: within.length < limit,
  };
}

export function listedPayment(payment: Payment): Listed {
  const { id, state, order } = payment;
  const { brand = "", maskedPan = "" } = order.card ?? {};
  const { name, email } = order.customer;
  const { country, amount, pricing } = order;
  const amounts = [amount, pricing.total] as const;
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
  const tests = text === undefined ? undefined : wordsOf(text).map(({ passes }) => passes);
  return (row) => {
    if (!isAmong(filter, row.state, () => row.payment())) return false;
    if (brand === undefined && tests === undefined) return true;
    const searched = row.searched();
    if (brand !== undefined && searched.brand !== brand) return false;
    if (tests === undefined) return true;
    const folded = foldedText(searchedText(row.id, row.code, searched));
    return tests.every((isIn) => isIn({ folded, row, searched }));
  };
}

/** What every payment that passes the filter has. */
export function narrowedBy(filter: PaymentFilter): Narrowed {
  const { states, outcomes, brand, text = "" } = filter;
  const words = wordsOf(text);
  const ids = words.map((word) => word.ids ?? allIds);
  return {
    ids: {
      from: ids.reduce((most, { from }) => (from > most ? from : most), allIds.from),
      below: ids.reduce((least, { below }) => (below < least ? below : least), allIds.below),
    },
    conditions: [
      ...(states === undefined && outcomes === undefined
        ? []
        : [stateCondition(states ?? [], outcomes ?? [])]),
      ...(brand === undefined ? [] : [memberCondition(brand)]),
      ...words.flatMap(({ needs }) => (needs === undefined ? [] : [needs])),
    ],
    passes: passesOf(filter),
  };
}

const allIds: Ids = { from: "", below: aboveAllIds };

function stateCondition(states: readonly string[], outcomes: readonly MoneyOutcome[]): Condition {
  const has = (...names: readonly MoneyOutcome[]): boolean =>
    outcomes.some((outcome) => names.includes(outcome));
  return {
    kind: "state",
    states,
    orRefunded: has("refunded", "partly_refunded"),
    orDisputed: has("charged_back", "disputed"),
  };
}

function memberCondition(text: string): Condition {
  return { kind: "member", text };
}

/** Of a folded word; undefined where it may be found across two texts. */
function textCondition(
  text: string,
  or: { readonly orState?: string; readonly orMinor?: string } = {},
): Condition | undefined {
  return text === "" || text.includes("\n") ? undefined : { kind: "text", text, ...or };
}

/** The texts of which a word must be a part, not folded. */
export function searchedText(
  id: string,
  code: string,
  { name, email, maskedPan, brand }: Pick<Searched, "name" | "email" | "maskedPan" | "brand">,
): string {
  return `${id}\n${code}\n${name}\n${email}\n${maskedPan}\n${brand}`;
}

interface Candidate {
  readonly folded: string;
  readonly row: Listed;
  readonly searched: Searched;
}
/** One word of a search. What passes it has `ids` and meets `needs`. */
interface Word {
  readonly passes: (candidate: Candidate) => boolean;
  readonly ids?: Ids;
  readonly needs?: Condition | undefined;
}

/** Words such as `status:declined`, by their value; undefined: the value cannot be one. */
const operators: Readonly<Record<string, (value: string) => Word | undefined>> = {
  status(text) {
    const value = wireName(text);
    const states = paymentStates.filter((state) => state === value);
    const outcomes = moneyOutcomes.filter((outcome) => outcome === value);
    if (states.length + outcomes.length === 0) return undefined;
    return {
      passes: ({ row }) => isAmong({ states, outcomes }, row.state, () => row.payment()),
      needs: stateCondition(states, outcomes),
    };
  },
  amount: amountWord,
  currency: (value) => ({
    passes: ({ searched }) => searched.amounts[0].currency.toLowerCase() === value,
    needs: memberCondition(value.toUpperCase()),
  }),
  country: (value) => ({
    passes: ({ searched }) => searched.country === value,
    needs: memberCondition(value),
  }),
  brand: (value) => ({
    passes: ({ searched }) => searched.brand === value,
    needs: memberCondition(value),
  }),
  reason(text) {
    const value = wireName(text);
    // `invalid_card` is also a part of another reason.
    const isWhole = declineReasons.some((reason) => reason === value);
    const isMeant = (reason: string): boolean =>
      isWhole ? reason === value : reason.includes(value);
    return {
      passes({ row }) {
        const reason = row.state === "declined" ? declineReasonOf(row.payment()) : undefined;
        return reason !== undefined && isMeant(reason);
      },
      needs: { kind: "reason", text: value },
    };
  },
  after: (value) => idWord(value, (lowest) => ({ ...allIds, from: lowest })),
  before: (value) => idWord(value, (lowest) => ({ ...allIds, below: lowest })),
};

/** The name of a state or a reason that is written as the console shows it. */
const wireName = (text: string): string => text.trim().replaceAll(/[\s-]+/g, "_");

/** A time outside of those that ids have is before or after every payment. */
function idWord(value: string, idsOf: (lowest: string) => Ids): Word | undefined {
  const at = parseInstant(value.toUpperCase());
  if (at === undefined) return undefined;
  const ids = idsOf(at < 0 ? "" : at < endOfPaymentIds ? lowestPaymentId(at) : aboveAllIds);
  return { passes: ({ row }) => row.id >= ids.from && row.id < ids.below, ids };
}

/** More decimals than any currency has, so that amounts of several currencies can be compared. */
const finestScale = 4;

/** `500`, `500,00`, `1.250,50` or `1,250.50`. */
const typedAmount = String.raw`\d{1,15}(?:[.,]\d{1,2})?|[1-9]\d{0,2}(?:\.\d{3})+(?:,\d{1,2})?|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d{1,2})?`;
const amountAlone = new RegExp(`^(?:${typedAmount})$`);
const amountsOfWord = new RegExp(`^(>=?|<=?)?(${typedAmount})(?:\\.\\.(${typedAmount}))?$`);

/**
 * An amount as people type and copy it. No currency of payments has three decimals, so three digits
 * after a point or a comma are thousands; before thousands there is no 0.
 */
function parseTypedAmount(text: string, scale: number): bigint | undefined {
  const [, whole = "", decimals] = /^(.*?)(?:[.,](\d{1,2}))?$/.exec(text) ?? [];
  const digits = whole.replaceAll(/[.,]/g, "");
  return parseAmount(decimals === undefined ? digits : `${digits}.${decimals}`, scale);
}

/** `500`; `>500`, `>=500`, `<500`, `<=500`; `100..500`. */
function amountWord(value: string): Word | undefined {
  const [, sign = "", low = "", high] = amountsOfWord.exec(value) ?? [];
  const [from, to] = [low, high ?? low].map((text) => parseTypedAmount(text, finestScale));
  if (from === undefined || to === undefined || (high !== undefined && sign !== ""))
    return undefined;
  const passes = (amount: bigint): boolean => {
    if (sign.startsWith(">")) return amount > from || (sign === ">=" && amount === from);
    if (sign.startsWith("<")) return amount < from || (sign === "<=" && amount === from);
    return amount >= from && amount <= to;
  };
  return {
    passes: ({ searched: { amounts } }) => {
      const [requested] = amounts;
      return passes(requested.minor * 10n ** BigInt(finestScale - scaleOf(requested.currency)));
    },
  };
}

/**
 * Every word of a search must be found. A word with an operator, such as `amount:>500`, is compared
 * with that member of the payment (amount and currency: those requested); a value that cannot be one
 * matches nothing. Quotes keep several words together: `reason:"invalid card"`. A currency code in
 * capitals, a country code and an amount are compared with those of the payment; the name of a
 * state also matches that state; any other word must be part of a text.
 */
function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(/(?:(\w+):)?"([^"]+)"|\S+/g), ([word, name, quoted]): Word => {
    if (quoted === undefined) return wordOf(word);
    if (name !== undefined) return wordOf(`${name}:${quoted}`);
    const folded = foldedText(quoted);
    return {
      passes: (candidate) => candidate.folded.includes(folded),
      needs: textCondition(folded),
    };
  });
}

function wordOf(word: string): Word {
  const [, name = "", value = ""] = /^(\w+):(.+)$/s.exec(word.toLowerCase()) ?? [];
  const operator = ownValue(operators, name);
  if (operator !== undefined) return operator(value) ?? { passes: () => false };
  if (/^[A-Z]{3}$/.test(word) && isCurrency(word))
    return {
      passes: ({ searched }) => searched.amounts.some(({ currency }) => currency === word),
      needs: memberCondition(word),
    };
  const folded = foldedText(word);
  const needs = textCondition(folded);
  // `do` is both a country code and a word of Portuguese names.
  if (countryOf(folded) !== undefined) {
    const alone = new RegExp(`\\b${folded}\\b`);
    return {
      passes: ({ searched }) =>
        searched.country === folded || alone.test(foldedText(searched.name)),
      needs,
    };
  }
  if (isState(folded))
    return {
      passes: (candidate) => candidate.row.state === folded || candidate.folded.includes(folded),
      needs: textCondition(folded, { orState: folded }),
    };
  const amount = amountAlone.test(word) ? parseTypedAmount(word, 2) : undefined;
  if (amount === undefined)
    return { passes: (candidate) => candidate.folded.includes(folded), needs };
  const printed = formatAmount(amount, 2);
  return {
    passes: (candidate) =>
      candidate.folded.includes(folded) ||
      candidate.searched.amounts.some((each) => formatMoney(each) === printed),
    needs: textCondition(folded, { orMinor: String(amount) }),
  };
}

const isState = (word: string): boolean => paymentStates.some((state) => state === word);

/**
 * Folds case and accents; a letter that becomes two in upper case (ß, also as a capital) is
 * replaced by the two.
 */
export function foldedText(text: string): string {
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
