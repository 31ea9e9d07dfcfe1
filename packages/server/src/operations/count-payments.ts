import { assert } from "../kernel/assert.ts";
import { lowestPaymentId, type PaymentId } from "../payment/payment-id.ts";
import { day, hour, type Instant, instant } from "../kernel/instant.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { PaymentFigure } from "../stores/store.ts";
import type { Brand } from "../vault/brand.ts";
import { read } from "./commit.ts";
import { defineOperation, type OperationContext } from "./operation.ts";

export const periods = { hour, day } as const;
export type Period = keyof typeof periods;

/** Maximum number of payments per call: 10,000 take about 30 ms of CPU. */
export const maxCounted = 10_000;
/** Payments per read: about 3 ms, after which other requests can run. */
const pieceSize = 1_000;
/** Payments per read where the store counts them: about 1 ms. */
const groupedPiece = 2_000;

/** Bounds of periods of one length, in which both times begin a period. */
export function evenBounds(per: Period, from: Instant, to: Instant): readonly Instant[] {
  const length = periods[per];
  const count = Math.max(0, Math.floor((to - from) / length));
  return Array.from({ length: count + 1 }, (_, index) => instant(from + index * length));
}

/** Members by which payments are grouped, and on which a count can be limited to one value. */
export const groupings = ["brand", "country", "currency"] as const;
export type Grouping = (typeof groupings)[number];

export interface CountInput {
  /** Beginnings of the periods, ascending, and the end of the last one: at least two. */
  readonly bounds: readonly Instant[];
  /** Only payments with these values. */
  readonly only: Readonly<Partial<Record<Grouping, string>>>;
}

/** Amounts in minor units. */
export interface Amounts {
  readonly authorized: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
}

/** Totals of a group of payments. */
export interface Tally {
  readonly payments: number;
  readonly approved: number;
  readonly declined: number;
  /** Charged back by the issuer, also if the merchant won since. */
  readonly disputed: number;
  /** By currency. */
  readonly amounts: ReadonlyMap<string, Amounts>;
}

/** Values with payments and their totals, the most used first. */
export type Group = readonly { readonly value: string; readonly tally: Tally }[];

export interface Counted {
  readonly total: Tally;
  /** One per period, including those without payments, oldest first. */
  readonly periods: readonly { readonly from: Instant; readonly tally: Tally }[];
  /**
   * A group is not limited by the value that the input has for the same member: the other values
   * keep their counts.
   */
  readonly groups: Readonly<Record<Grouping, Group>>;
  /** Why declined payments were declined. */
  readonly reasons: Group;
  readonly examined: number;
  /** false: there are more payments than the limit of one call, and the oldest are not counted. */
  readonly complete: boolean;
}

/**
 * Counts the account's payments by creation time, brand, country, currency and decline reason,
 * newest first, up to 10,000.
 */
export const countPayments = defineOperation<CountInput, Counted>({
  name: "count_payments",
  errors: ["read_timed_out"],

  async run(context, input) {
    const [from, to] = [boundAt(input, 0), boundAt(input, -1)];
    const { figures, complete } = await newestFigures(context, lowestPaymentId(to), from);
    return { ...counted(figures, input), examined: figures.length, complete };
  },
});

/** Reads the newest figures below `below`, of payments since `from`, up to 10,000. */
async function newestFigures(
  { store, account }: OperationContext,
  below: PaymentId | undefined,
  from: Instant,
): Promise<{ readonly figures: readonly PaymentFigure[]; readonly complete: boolean }> {
  const figures: PaymentFigure[] = [];
  let before = below;
  let isEnd = false;
  const next = async (limit: number): Promise<readonly PaymentFigure[]> => {
    if (isEnd) return [];
    const piece = await read(store.paymentFigures(account.id, before, limit));
    const within = piece.filter(({ createdAt }) => createdAt >= from);
    isEnd = within.length < limit;
    before = piece.at(-1)?.id;
    return within;
  };
  for (let pieces = 0; pieces < maxCounted / pieceSize; pieces += 1)
    figures.push(...(await next(pieceSize)));
  const isMore = (await next(1)).length > 0;
  return { figures, complete: !isMore };
}

/** What a payment can be counted as; `disputed` and a refund in addition to its state. */
export type Counts = Partial<
  Record<PaymentState | "refunded" | "partly_refunded" | "disputed", number>
>;

/** Counts the account's payments by state and outcome, newest first, up to 10,000. */
export const countStates = defineOperation<
  undefined,
  { readonly counts: Counts; readonly examined: number; readonly complete: boolean }
>({
  name: "count_states",
  errors: ["read_timed_out"],

  async run({ store, account }) {
    const counts: Counts = {};
    let before: PaymentId | undefined;
    let examined = 0;
    for (let pieces = 0; pieces < maxCounted / groupedPiece; pieces += 1) {
      const groups = await read(store.paymentsCounted(account.id, before, groupedPiece));
      for (const { state, refund, disputed, payments } of groups) {
        examined += payments;
        for (const name of [state, refund, disputed ? ("disputed" as const) : undefined])
          if (name !== undefined) counts[name] = (counts[name] ?? 0) + payments;
      }
      before = groups.at(-1)?.oldest;
      if (examined < (pieces + 1) * groupedPiece) return { counts, examined, complete: true };
    }
    const [next] = await read(store.paymentsCounted(account.id, before, 1));
    return { counts, examined, complete: next === undefined };
  },
});

interface SumOfAmounts {
  authorized: bigint;
  captured: bigint;
  refunded: bigint;
}

interface Sum {
  payments: number;
  approved: number;
  declined: number;
  disputed: number;
  readonly amounts: Map<string, SumOfAmounts>;
}

/** Payments of one brand, country, currency and decline reason: far fewer than payments. */
interface Cell {
  readonly like: FigureWithCard;
  /** Members whose values are not those of the input. */
  readonly others: readonly Grouping[];
  readonly sum: Sum;
}

/** A payment with a card: pages on which none was submitted are not counted. */
type FigureWithCard = PaymentFigure & { readonly brand: Brand };

function hasCard(figure: PaymentFigure): figure is FigureWithCard {
  return figure.brand !== undefined;
}

function counted(
  figures: readonly PaymentFigure[],
  { bounds, only }: CountInput,
): Pick<Counted, "total" | "periods" | "groups" | "reasons"> {
  const byPeriod = bounds.slice(0, -1).map((from) => ({ from, tally: newSum() }));
  const cells = new Map<string, Cell>();
  const placeOf = placesIn(bounds);
  for (const figure of figures.filter(hasCard)) {
    const { brand, country, currency, reason, createdAt } = figure;
    const key = `${brand} ${country} ${currency} ${reason}`;
    const cell = cells.get(key) ?? { like: figure, others: othersOf(figure, only), sum: newSum() };
    if (cell.sum.payments === 0) cells.set(key, cell);
    add(cell.sum, figure);
    if (cell.others.length > 0) continue;
    const period = byPeriod[placeOf(createdAt)];
    if (period !== undefined) add(period.tally, figure);
  }
  return { ...grouped(cells.values()), periods: byPeriod };
}

/** Finds the period of a time, fast for times that follow each other. */
function placesIn(bounds: readonly Instant[]): (at: Instant) => number {
  let place = bounds.length - 2;
  return (at) => {
    while ((bounds[place] ?? -Infinity) > at) place -= 1;
    while ((bounds[place + 1] ?? Infinity) <= at) place += 1;
    return place;
  };
}

function boundAt({ bounds }: CountInput, index: number): Instant {
  const bound = bounds.at(index);
  assert(bound !== undefined, "periods have bounds");
  return bound;
}

function othersOf(figure: PaymentFigure, only: CountInput["only"]): readonly Grouping[] {
  return groupings.filter(
    (member) => only[member] !== undefined && only[member] !== figure[member],
  );
}

function grouped(cells: Iterable<Cell>): Pick<Counted, "total" | "groups" | "reasons"> {
  const total = newSum();
  const [brand, country, currency, reasons] = [newSums(), newSums(), newSums(), newSums()];
  const byValue = { brand, country, currency };
  for (const { like, others, sum } of cells) {
    for (const member of groupings)
      if (others.every((other) => other === member))
        merge(sumOf(byValue[member], like[member]), sum);
    if (others.length > 0) continue;
    merge(total, sum);
    if (like.reason !== undefined) merge(sumOf(reasons, like.reason), sum);
  }
  return {
    total,
    groups: {
      brand: mostUsedFirst(brand),
      country: mostUsedFirst(country),
      currency: mostUsedFirst(currency),
    },
    reasons: mostUsedFirst(reasons),
  };
}

function newSum(): Sum {
  return { payments: 0, approved: 0, declined: 0, disputed: 0, amounts: new Map() };
}

function newSums(): Map<string, Sum> {
  return new Map();
}

function sumOf(sums: Map<string, Sum>, value: string): Sum {
  const known = sums.get(value);
  if (known !== undefined) return known;
  const sum = newSum();
  sums.set(value, sum);
  return sum;
}

function mostUsedFirst(sums: ReadonlyMap<string, Sum>): Group {
  return Array.from(sums, ([value, tally]) => ({ value, tally }))
    .toSorted((left, right) => (left.value < right.value ? -1 : 1))
    .toSorted((left, right) => right.tally.payments - left.tally.payments);
}

function add(sum: Sum, figure: PaymentFigure): void {
  sum.payments += 1;
  // A payment that was approved once counts as approved, whatever happened to it later.
  if (figure.authorized > 0n) sum.approved += 1;
  else if (figure.state === "declined") sum.declined += 1;
  if (figure.disputed) sum.disputed += 1;
  addAmounts(sum, figure.currency, figure);
}

/** Adds one sum to another. */
function merge(sum: Sum, more: Sum): void {
  sum.payments += more.payments;
  sum.approved += more.approved;
  sum.declined += more.declined;
  sum.disputed += more.disputed;
  for (const [currency, amounts] of more.amounts) addAmounts(sum, currency, amounts);
}

function addAmounts(sum: Sum, currency: string, { authorized, captured, refunded }: Amounts): void {
  const amounts = sum.amounts.get(currency);
  if (amounts === undefined) sum.amounts.set(currency, { authorized, captured, refunded });
  else {
    // Most payments have no refund: a sum with zero costs as much as any other.
    if (authorized > 0n) amounts.authorized += authorized;
    if (captured > 0n) amounts.captured += captured;
    if (refunded > 0n) amounts.refunded += refunded;
  }
}
