import type { PaymentId } from "../kernel/ids.ts";
import type { Payment } from "../payment/payment.ts";
import type { ListPage, PaymentFilter, PaymentList } from "./store.ts";

/** What a search looks into. */
export interface Searched {
  readonly name: string;
  readonly email: string;
  readonly maskedPan: string;
  readonly brand: string;
}

/** One payment as a store has it at hand: the whole of it is made only when it passes. */
export interface Listed {
  readonly id: PaymentId;
  readonly state: string;
  readonly code: string;
  searched(): Searched;
  payment(): Payment;
}

/** In hex: greater than every payment's id, for it goes on where that ends. */
export const aboveAllIds = "f".repeat(50);

/** How many rows have to be read for a page: one more than it may look at says whether there is more. */
export function rowsFor({ states, brand, text }: PaymentFilter, { limit, lookAt }: ListPage): number {
  const takesAll = states === undefined && brand === undefined && text === undefined;
  return (takesAll ? Math.min(limit, lookAt) : lookAt) + 1;
}

/** A page of what comes, in the order in which it comes. */
export function pageOf(rows: Iterable<Listed>, filter: PaymentFilter, { limit, lookAt }: ListPage): PaymentList {
  const passes = passesOf(filter);
  const payments: Payment[] = [];
  let looked = 0;
  let last: PaymentId | undefined;
  for (const row of rows) {
    if (looked === lookAt || payments.length === limit) return { payments, next: last };
    looked += 1;
    last = row.id;
    if (passes(row)) payments.push(row.payment());
  }
  return { payments, next: undefined };
}

export function listedPayment(payment: Payment): Listed {
  const { id, state, order } = payment;
  const { brand, maskedPan } = order.card;
  const { name, email } = order.customer;
  return { id, state, code: order.code, searched: () => ({ name, email, maskedPan, brand }), payment: () => payment };
}

function passesOf({ states, brand, text }: PaymentFilter): (row: Listed) => boolean {
  const among = states === undefined ? undefined : new Set<string>(states);
  const wanted = text === undefined ? undefined : folded(text);
  return (row) => {
    if (among !== undefined && !among.has(row.state)) return false;
    if (brand === undefined && wanted === undefined) return true;
    const searched = row.searched();
    if (brand !== undefined && searched.brand !== brand) return false;
    if (wanted === undefined) return true;
    // What stands on a line of its own is not found across its end.
    const lines = [row.code, row.id, searched.name, searched.email, searched.maskedPan, searched.brand].join("\n");
    return !wanted.includes("\n") && folded(lines).includes(wanted);
  };
}

/** Neither the letters' case nor their accents count. */
function folded(text: string): string {
  // Most texts have no accents, and taking them off costs several times as much as all the rest.
  return (isAscii(text) ? text : text.normalize("NFD").replaceAll(/\p{M}/gu, "")).toLowerCase();
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
