import assert from "node:assert/strict";
import type { Payment } from "../../src/payment/payment.ts";
import { listedPayment, pageOf } from "../../src/stores/payment-list.ts";
import type { ListPage, PaymentFilter, RunningStore } from "../../src/stores/store.ts";
import * as given from "./store-fixtures.ts";

/** Names and codes in all forms in which a search may find them. */
export const searchedNames: readonly string[] = [
  "Ana Lima",
  "JOAO ANTONIO",
  "João Antônio",
  "Joa\u0303o decomposed",
  "Strauß",
  'quote " and \\ backslash',
  "50% off_now",
  "replaced \ufffd João",
  "do Carmo",
  "\u212aelvin",
  "captured by text",
  "control \u0001 character",
];

function payments(names: readonly string[]): readonly Payment[] {
  const { order } = given.newPayment(1);
  return Array.from({ length: 600 }, (_, index) => {
    const number = index + 1;
    const isMexican = number % 7 === 0;
    const name = names[number % names.length] ?? "";
    const code = number % 50 === 0 ? `código-${number}` : order.code.replace("1", String(number));
    const changed = {
      ...order,
      code,
      country: isMexican ? "mx" : "br",
      card: { ...given.cardIn(order), brand: number % 5 === 0 ? "mastercard" : "visa" },
      customer: { ...order.customer, name },
    } as const;
    const id = given.newPayment(0xff0000 - number).id;
    if (number % 11 === 0) {
      const amount = number % 2 === 0 ? 10_050n : 50n;
      const refunds = [given.newRefund(number, { amount })];
      const money = { authorized: 10_050n, captured: 10_050n, refunded: amount, refunds };
      return given.newPayment(number, { id, order: changed, state: "captured", ...money });
    }
    if (number % 9 !== 0) return given.newPayment(number, { id, order: changed });
    return given.newPayment(number, {
      id,
      order: changed,
      state: "declined",
      verdict: {
        approved: false,
        authorizationCode: undefined,
        responseCode: "51",
        reason: "insufficient_funds",
        adviceCode: undefined,
        acquirerReference: undefined,
        networkTransactionId: undefined,
        refusedBeforeIssuer: false,
      },
    });
  });
}

const filters: readonly PaymentFilter[] = [
  {},
  { states: ["captured"] },
  { states: ["declined", "voided"] },
  { states: [], outcomes: ["refunded"] },
  { states: ["declined"], outcomes: ["partly_refunded", "disputed"] },
  { brand: "mastercard" },
  { brand: "mastercard", states: ["declined"], text: "country:mx" },
  ...[
    "joao",
    "joão",
    "JOÃO antonio",
    "strauss",
    'quote "',
    "\\ backslash",
    "50%",
    "off_now",
    "_",
    "%",
    "do",
    "kelvin",
    "captured",
    "declined",
    "control",
    "código",
    "codigo-1",
    "order-59",
    "feff",
    "100,50",
    "10050",
    "100.50 joao",
    "50",
    '"ana lima"',
    '"lima\nana"',
    '"50% off_now" declined',
    "joao authorizing declined",
    "\u0301",
    "田",
    "declined mx",
    "USD",
    "usd",
    "mx",
    "nobody",
    "status:declined country:mx",
    "status:refunded",
    "status:unknown",
    "reason:insufficient joao",
    "reason:%",
    "brand:mastercard joao",
    "currency:usd amount:>100 strauss",
    'country:"mx',
    "after:1969-01-01 before:2200-01-01 joao",
    "after:2200-01-01",
    "before:1969-01-01",
    "after:nonsense",
  ].map((text) => ({ text })),
];

/** Limits of pages that end at, before and after the ends of the pieces that the stores read. */
export const pageLimits: readonly ListPage[] = [
  { limit: 1_000, maxExamined: 1_000 },
  { limit: 9, maxExamined: 1_000 },
  { limit: 25, maxExamined: 2_000 },
  { limit: 50, maxExamined: 60 },
  { limit: 12, maxExamined: 251 },
  { limit: 1_000, maxExamined: 250 },
  { limit: 40, maxExamined: 20, maxTested: 300 },
];

/**
 * Asserts that the pages of a store, which narrows its lists down before it reads payments, are those
 * of a list of all payments, page after page. The store must be empty.
 */
export async function assertListedAsAll(
  store: RunningStore,
  ranges: readonly ListPage[],
  names: readonly string[],
): Promise<void> {
  const all = payments(names);
  await Promise.all(all.map((payment) => store.commit(given.paymentChange(payment))));
  const newestFirst = all
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
    .map(listedPayment);
  let found = 0;
  for (const filter of filters) {
    for (const range of ranges) {
      // Every page that a reader gets from the one before it.
      let page: ListPage | undefined = range;
      for (let count = 0; page !== undefined && count < newestFirst.length; count += 1) {
        const { before = "g" } = page;
        const rows = newestFirst.slice(newestFirst.findIndex(({ id }) => id < before));
        const expected = pageOf(rows, filter, page);
        const listed = await store.paymentsListed(given.merchantA, filter, page);
        assert.deepEqual(listed, expected, JSON.stringify([filter, page]));
        found += listed.payments.length;
        page = listed.next === undefined ? undefined : { ...page, before: listed.next };
      }
      assert.equal(page, undefined, "the last page was reached");
    }
  }
  assert.ok(found > 800 * ranges.length, `control: ${found} were found`);
}
