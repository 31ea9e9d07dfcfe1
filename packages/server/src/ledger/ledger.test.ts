import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { MerchantId, PaymentId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { countryCodes, countryOf } from "../payment/countries.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { Payment } from "../payment/payment.ts";
import { taxPolicyNames } from "../payment/pricing-tables.ts";
import { priceOfPart, priceOrder, type PricingSettings } from "../payment/pricing.ts";
import { balancesOf, isBalanced } from "./balances.ts";
import { explain, type JournaledRow, type MoneyPosition } from "./explain.ts";
import { ledgerAccounts, type JournalEntry } from "./journal.ts";
import { captureEntries, holdEntries, releaseEntries, saleEntries } from "./postings.ts";

const at = instant(Date.parse("2026-11-28T12:00:00Z"));
const sandbox: PricingSettings = { rateTable: "sandbox-2024", taxPolicy: "brazil-cross-border", taxPaidBy: "customer" };

interface Order {
  readonly minor: bigint;
  readonly currency: string;
  readonly country: string;
  readonly settings: PricingSettings;
}

/** A payment whose whole order was authorized. */
function paymentOf({ minor, currency, country, settings }: Order, state: PaymentState, captured = 0n): Payment {
  const amount = { minor, currency };
  return {
    merchantId: "0a0b0c0d" as MerchantId,
    id: "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831" as PaymentId,
    version: 1,
    state,
    createdAt: at,
    statusAt: undefined,
    capturedAt: undefined,
    order: {
      code: "ord-1",
      orderNumber: undefined,
      amount,
      pricing: priceOrder(amount, country, at, settings),
      instalments: 1,
      autoCapture: false,
      manualReview: false,
      country,
      paymentType: "credit",
      card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
      customer: {
        name: "Ana Lima",
        email: "ana.lima@example.com",
        document: undefined,
        birthDate: undefined,
        personType: "personal",
        phone: undefined,
        zipcode: undefined,
        address: undefined,
        streetNumber: undefined,
        streetComplement: undefined,
        city: undefined,
        state: undefined,
        ip: undefined,
        responsible: undefined,
      },
      softDescriptor: undefined,
      note: undefined,
      userValues: [],
      notificationUrl: undefined,
      deviceId: undefined,
      storedCredential: undefined,
      threeDSecure: undefined,
    },
    captureBy: undefined,
    authorized: minor,
    captured,
    refunded: 0n,
    refunds: [],
    chargeback: undefined,
    review: "none",
    attempt: undefined,
    attempts: 1,
    verdict: undefined,
    needsReview: false,
  };
}

function rowsOf(...entries: readonly (readonly JournalEntry[])[]): readonly JournaledRow[] {
  return entries.map((each, index) => ({ version: index + 1, at, entries: each }));
}

/** Postings as short text: `authorized_holds USD 10000`. */
function shown(entries: readonly JournalEntry[]): readonly (readonly string[])[] {
  return entries.map(({ kind, postings }) => [kind, ...postings.map(({ account, currency, minor }) => `${account} ${currency} ${minor}`)]);
}

const hundredDollars: Order = { minor: 10_000n, currency: "USD", country: "br", settings: sandbox };
const hundredReais: Order = { ...hundredDollars, currency: "BRL" };

describe("entries", () => {
  test("100 USD held in Brazil are in both books, with the tax in the local one", () => {
    assert.deepEqual(shown(holdEntries(paymentOf(hundredDollars, "authorized"))), [
      [
        "hold",
        "authorized_holds USD 10000",
        "cardholder_commitments USD -10000",
        "authorized_holds BRL 58522",
        "cardholder_commitments BRL -58522",
      ],
    ]);
  });

  test("100 BRL held in Brazil are in one book, with the tax", () => {
    assert.deepEqual(shown(holdEntries(paymentOf(hundredReais, "authorized"))), [
      ["hold", "authorized_holds BRL 10038", "cardholder_commitments BRL -10038"],
    ]);
  });

  test("40 of 100 USD are captured, and the rest goes back in both books", () => {
    assert.deepEqual(shown(captureEntries(paymentOf(hundredDollars, "captured", 4_000n), 4_000n)), [
      [
        "capture",
        "authorized_holds USD -4000",
        "cardholder_commitments USD 4000",
        "authorized_holds BRL -23409",
        "cardholder_commitments BRL 23409",
        "acquirer_receivable USD 4000",
        "merchant_payable USD -4000",
        "acquirer_receivable BRL 23409",
        "merchant_payable BRL -23320",
        "tax_payable BRL -89",
      ],
      [
        "release",
        "authorized_holds USD -6000",
        "cardholder_commitments USD 6000",
        "authorized_holds BRL -35113",
        "cardholder_commitments BRL 35113",
      ],
    ]);
  });

  test("a sale holds nothing, and a country without tax has no line for it", () => {
    const sale: Order = { minor: 6_455n, currency: "USD", country: "co", settings: sandbox };
    assert.deepEqual(shown(saleEntries(paymentOf(sale, "captured", 6_455n))), [
      [
        "capture",
        "acquirer_receivable USD 6455",
        "merchant_payable USD -6455",
        "acquirer_receivable COP 15202300",
        "merchant_payable COP -15202300",
      ],
    ]);
  });

  test("a merchant who bears the tax gets what the customer pays less the tax", () => {
    const borne: Order = { ...hundredReais, settings: { ...sandbox, taxPaidBy: "merchant" } };
    assert.deepEqual(shown(saleEntries(paymentOf(borne, "captured", 10_000n))), [
      ["capture", "acquirer_receivable BRL 10000", "merchant_payable BRL -9962", "tax_payable BRL -38"],
    ]);
  });

  test("more than was authorized is never captured, nor nothing, nor a hold given up after a capture", () => {
    const payment = paymentOf(hundredDollars, "capturing");
    assert.throws(() => captureEntries(payment, 10_001n), { name: "BrokenInvariant" });
    assert.throws(() => captureEntries(payment, 0n), { name: "BrokenInvariant" });
    assert.throws(() => releaseEntries(paymentOf(hundredDollars, "captured", 4_000n)), { name: "BrokenInvariant" });
  });
});

describe("whatever the order", () => {
  const anyOrder: fc.Arbitrary<Order> = fc
    .record({
      minor: fc.bigInt({ min: 1n, max: 10n ** 11n }),
      country: fc.constantFrom(...countryCodes),
      foreign: fc.constantFrom("USD", "EUR", undefined),
      taxPolicy: fc.constantFrom(...taxPolicyNames),
      taxPaidBy: fc.constantFrom("customer" as const, "merchant" as const),
    })
    .map(({ minor, country, foreign, taxPolicy, taxPaidBy }) => ({
      minor,
      country,
      currency: foreign ?? countryOf(country)?.currency ?? "",
      settings: { ...sandbox, taxPolicy, taxPaidBy },
    }));
  const partOf = (minor: bigint, millionths: number): bigint => {
    const part = (minor * BigInt(millionths)) / 1_000_000n;
    return part === 0n ? 1n : part;
  };
  const held = (positions: readonly MoneyPosition[]): readonly bigint[] => positions.map((each) => each.held);

  test("a hold and its capture leave nothing held, and every cent has an owner", () => {
    fc.assert(
      fc.property(anyOrder, fc.integer({ min: 1, max: 1_000_000 }), (order, millionths) => {
        const captured = partOf(order.minor, millionths);
        const payment = paymentOf(order, "captured", captured);
        const entries = [...holdEntries(payment), ...captureEntries(payment, captured)];
        assert.ok(entries.every(({ postings }) => isBalanced(postings)));
        const { positions, problems } = explain(rowsOf(entries), payment);
        assert.deepEqual(problems, []);
        assert.ok(held(positions).every((minor) => minor === 0n));
        const { total, tax } = priceOfPart(payment.order.pricing, payment.order.amount, captured);
        const local = positions.at(-1);
        assert.deepEqual([local?.captured, local?.taxed, local?.payable], [total.minor, tax.minor, total.minor - tax.minor]);
        assert.equal((local?.captured ?? 0n) + (local?.released ?? 0n), payment.order.pricing.total.minor);
      }),
      { numRuns: 3_000 },
    );
  });

  test("a hold and its release leave nothing anywhere", () => {
    fc.assert(
      fc.property(anyOrder, (order) => {
        const payment = paymentOf(order, "voided");
        const entries = [...holdEntries(payment), ...releaseEntries(payment)];
        assert.ok(balancesOf(entries).every(({ minor }) => minor === 0n));
        assert.deepEqual(explain(rowsOf(entries), payment).problems, []);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a sale and a hold that is captured whole end with the same balances", () => {
    fc.assert(
      fc.property(anyOrder, (order) => {
        const payment = paymentOf(order, "captured", order.minor);
        const sale = balancesOf(saleEntries(payment));
        const later = balancesOf([...holdEntries(payment), ...captureEntries(payment, order.minor)]);
        assert.deepEqual(
          later.filter(({ minor }) => minor !== 0n),
          sale.filter(({ minor }) => minor !== 0n),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("balances", () => {
  test("they can be carried on from, and come in the order of the accounts", () => {
    const payment = paymentOf(hundredDollars, "captured", 4_000n);
    const [hold, capture] = [holdEntries(payment), captureEntries(payment, 4_000n)];
    const together = balancesOf([...hold, ...capture]);
    assert.deepEqual(balancesOf(capture, balancesOf(hold)), together);
    const places = together.map(({ account }) => ledgerAccounts.indexOf(account));
    assert.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
    assert.deepEqual(balancesOf([]), []);
  });

  test("postings that sum to zero across currencies only do not balance", () => {
    const across = [
      { account: "acquirer_receivable", currency: "BRL", minor: 5n },
      { account: "merchant_payable", currency: "USD", minor: -5n },
    ] as const;
    assert.equal(isBalanced(across), false);
    assert.equal(isBalanced(across.map((each) => ({ ...each, currency: "USD" }))), true);
  });
});

describe("explaining a payment", () => {
  const payment = paymentOf(hundredDollars, "captured", 4_000n);
  const history = rowsOf([], holdEntries(payment), [], captureEntries(payment, 4_000n));

  test("every posting stands there with its row and the balance after it", () => {
    const { lines } = explain(history, payment);
    const holds = lines.filter(({ account, currency }) => account === "authorized_holds" && currency === "BRL");
    assert.deepEqual(
      holds.map(({ version, kind, amount, balance }) => [version, kind, amount, balance]),
      [
        [2, "hold", "585.22", "585.22"],
        [4, "capture", "-234.09", "351.13"],
        [4, "release", "-351.13", "0.00"],
      ],
    );
    assert.equal(lines.length, history.flatMap((row) => row.entries.flatMap(({ postings }) => postings)).length);
  });

  test("it says where the money is, in both books", () => {
    assert.deepEqual(explain(history, payment).positions, [
      { currency: "USD", held: 0n, captured: 4_000n, released: 6_000n, taxed: 0n, payable: 4_000n },
      { currency: "BRL", held: 0n, captured: 23_409n, released: 35_113n, taxed: 89n, payable: 23_320n },
    ]);
  });

  test("while everything is held the books agree with the payment, and not with one that was voided", () => {
    const heldOnly = rowsOf(holdEntries(payment));
    for (const state of ["authorized", "in_review", "capturing", "voiding"] as const) {
      assert.deepEqual(explain(heldOnly, paymentOf(hundredDollars, state)).problems, [], state);
    }
    assert.equal(explain(heldOnly, paymentOf(hundredDollars, "voided")).problems.length, 2);
  });

  test("a capture that was posted twice, a tax that vanished and an unbalanced entry are told", () => {
    const twice = rowsOf(holdEntries(payment), captureEntries(payment, 4_000n), captureEntries(payment, 4_000n));
    assert.match(explain(twice, payment).problems.join(" "), /captured another amount of USD/);
    const withoutTax = history.map((row) => ({
      ...row,
      entries: row.entries.map(({ kind, postings }) => ({ kind, postings: postings.filter(({ account }) => account !== "tax_payable") })),
    }));
    assert.deepEqual(explain(withoutTax, payment).problems, [
      "An entry does not sum to zero in each currency.",
      "What was captured in BRL has no owner for a part of it.",
    ]);
  });
});
