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

export interface CountInput {
  readonly per: Period;
  /** Inclusive; the beginning of a period. */
  readonly from: Instant;
  /** Exclusive; the beginning of a period. */
  readonly to: Instant;
}

/** Totals of a group of payments. */
export interface Tally {
  readonly payments: number;
  readonly approved: number;
  readonly declined: number;
  /** Authorized and captured amounts in minor units, by currency. */
  readonly amounts: ReadonlyMap<string, { readonly authorized: bigint; readonly captured: bigint }>;
}

export interface Counted {
  /** One per period, including those without payments, oldest first. */
  readonly periods: readonly { readonly from: Instant; readonly tally: Tally }[];
  /** Brands with payments, the most used first. */
  readonly brands: readonly { readonly brand: Brand; readonly tally: Tally }[];
  readonly examined: number;
  /** false: there are more payments than the limit of one call, and the oldest are not counted. */
  readonly complete: boolean;
}

/** Counts the account's payments by creation time and by brand, newest first, up to 10,000. */
export const countPayments = defineOperation<CountInput, Counted>({
  name: "count_payments",
  errors: ["read_timed_out"],

  async run(context, input) {
    const { from, to } = input;
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

  async run(context) {
    const { figures, complete } = await newestFigures(context, undefined, instant(0));
    const counts: Counts = {};
    for (const { state, captured, refunded, disputed } of figures) {
      counts[state] = (counts[state] ?? 0) + 1;
      if (disputed) counts.disputed = (counts.disputed ?? 0) + 1;
      if (refunded === 0n) continue;
      const outcome = refunded === captured ? "refunded" : "partly_refunded";
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    return { counts, examined: figures.length, complete };
  },
});

interface Sum {
  payments: number;
  approved: number;
  declined: number;
  readonly amounts: Map<string, { authorized: bigint; captured: bigint }>;
}

function counted(
  figures: readonly PaymentFigure[],
  { per, from, to }: CountInput,
): Pick<Counted, "periods" | "brands"> {
  const length = periods[per];
  const byPeriod = Array.from({ length: Math.ceil((to - from) / length) }, newSum);
  const byBrand = new Map<Brand, Sum>();
  for (const figure of figures) {
    const period = byPeriod[Math.floor((figure.createdAt - from) / length)];
    if (period !== undefined) add(period, figure);
    const brand = byBrand.get(figure.brand) ?? newSum();
    byBrand.set(figure.brand, brand);
    add(brand, figure);
  }
  return {
    periods: byPeriod.map((tally, index) => ({ from: instant(from + index * length), tally })),
    brands: Array.from(byBrand, ([brand, tally]) => ({ brand, tally }))
      .toSorted((left, right) => (left.brand < right.brand ? -1 : 1))
      .toSorted((left, right) => right.tally.payments - left.tally.payments),
  };
}

function newSum(): Sum {
  return { payments: 0, approved: 0, declined: 0, amounts: new Map() };
}

function add(sum: Sum, { state, currency, authorized, captured }: PaymentFigure): void {
  sum.payments += 1;
  // A payment that was approved once counts as approved, whatever happened to it later.
  if (authorized > 0n) sum.approved += 1;
  else if (state === "declined") sum.declined += 1;
  const amounts = sum.amounts.get(currency);
  if (amounts === undefined) sum.amounts.set(currency, { authorized, captured });
  else {
    amounts.authorized += authorized;
    amounts.captured += captured;
  }
}
