import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { bareCustomer, bareExtras } from "../../test/contract/store-fixtures.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import { instant } from "../kernel/instant.ts";
import { countryCodes, countryOf } from "../payment/countries.ts";
import type { PaymentState } from "../payment/payment-machine.ts";
import type { Chargeback } from "../payment/chargeback.ts";
import type { Payment } from "../payment/payment.ts";
import { taxPolicyNames } from "../payment/pricing-tables.ts";
import { priceOfPart, priceOrder, type PricingSettings } from "../payment/pricing.ts";
import { balancesOf, isBalanced } from "./balances.ts";
import { explain, type JournaledRow, type MoneyPosition } from "./explain.ts";
import { ledgerAccounts, type JournalEntry } from "./journal.ts";
import {
  captureEntries,
  chargebackCreditEntries,
  chargebackEntries,
  holdEntries,
  refundEntries,
  releaseEntries,
  saleEntries,
} from "./postings.ts";

const at = instant(Date.parse("2026-11-28T12:00:00Z"));
const sandbox: PricingSettings = {
  rateTable: "sandbox-2024",
  taxPolicy: "brazil-cross-border",
  taxPaidBy: "customer",
};

interface Order {
  readonly minor: bigint;
  readonly currency: string;
  readonly country: string;
  readonly settings: PricingSettings;
}

/** A payment whose whole order was authorized. */
function paymentOf(
  { minor, currency, country, settings }: Order,
  state: PaymentState,
  captured = 0n,
): Payment {
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
      customer: bareCustomer,
      ...bareExtras,
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
    authorization: 1,
    needsReview: false,
  };
}

/** The payment after these refunds were confirmed and this dispute was opened or won. */
function returning(
  payment: Payment,
  confirmed: readonly bigint[],
  dispute?: Pick<Chargeback, "amount" | "state">,
): Payment {
  return {
    ...payment,
    refunded: confirmed.reduce((sum, amount) => sum + amount, 0n),
    refunds: confirmed.map((amount, index) => ({
      id: index + 1,
      code: undefined,
      state: "confirmed",
      amount,
      description: "",
      request: undefined,
      requestedAt: at,
      pendingAt: at,
      confirmedAt: at,
      cancelledAt: undefined,
      attempts: 1,
      sentAt: at,
      answerBy: at,
      checks: 0,
      dueAt: undefined,
    })),
    chargeback:
      dispute === undefined
        ? undefined
        : {
            ...dispute,
            description: "",
            openedAt: at,
            creditedAt: dispute.state === "credited" ? at : undefined,
          },
  };
}

/** Refunds of a sale, one after the other. */
function refundsOf(
  payment: Payment,
  amounts: readonly bigint[],
): readonly (readonly JournalEntry[])[] {
  let before = 0n;
  return amounts.map((amount) => {
    before += amount;
    return refundEntries(payment, before - amount, amount);
  });
}

function rowsOf(...entries: readonly (readonly JournalEntry[])[]): readonly JournaledRow[] {
  return entries.map((each, index) => ({ version: index + 1, at, entries: each }));
}

/** Postings as short text: `authorized_holds USD 10000`. */
function shown(entries: readonly JournalEntry[]): readonly (readonly string[])[] {
  return entries.map(({ kind, postings }) => [
    kind,
    ...postings.map(({ account, currency, minor }) => `${account} ${currency} ${minor}`),
  ]);
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
      [
        "capture",
        "acquirer_receivable BRL 10000",
        "merchant_payable BRL -9962",
        "tax_payable BRL -38",
      ],
    ]);
  });

  test("a refund is a capture the other way round, in both books, with its share of the tax", () => {
    const sale = paymentOf(hundredDollars, "captured", 10_000n);
    assert.deepEqual(shown(refundEntries(sale, 0n, 2_550n)), [
      [
        "refund",
        "acquirer_receivable USD -2550",
        "merchant_payable USD 2550",
        "acquirer_receivable BRL -14923",
        "merchant_payable BRL 14866",
        "tax_payable BRL 57",
      ],
    ]);
  });

  test("a chargeback takes what refunds have left, and its credit gives back the same", () => {
    const sale = paymentOf(hundredReais, "captured", 10_000n);
    assert.deepEqual(
      shown([
        ...chargebackEntries(sale, 3_333n, 6_667n),
        ...chargebackCreditEntries(sale, 3_333n, 6_667n),
      ]),
      [
        [
          "chargeback",
          "acquirer_receivable BRL -6692",
          "merchant_payable BRL 6667",
          "tax_payable BRL 25",
        ],
        [
          "chargeback_credit",
          "acquirer_receivable BRL 6692",
          "merchant_payable BRL -6667",
          "tax_payable BRL -25",
        ],
      ],
    );
  });

  test("thirds, instalments' remainders and single cents come to exactly what was captured", () => {
    const cases: readonly (readonly [minor: bigint, refunds: readonly bigint[]])[] = [
      [10_000n, [3_333n, 3_333n, 3_334n]],
      // 559.30 in three parts, the remainder first; 22.94, 10 and 10 of 42.94.
      [55_930n, [18_644n, 18_643n, 18_643n]],
      [4_294n, [2_294n, 1_000n, 1_000n]],
      [100n, Array.from({ length: 100 }, () => 1n)],
      [1n, [1n]],
    ];
    for (const [minor, amounts] of cases) {
      for (const order of [hundredDollars, hundredReais].map((each) => ({ ...each, minor }))) {
        const sale = paymentOf(order, "captured", minor);
        const entries = [...saleEntries(sale), ...refundsOf(sale, amounts).flat()];
        assert.ok(
          balancesOf(entries).every((balance) => balance.minor === 0n),
          `${amounts.join(", ")} of ${order.currency}`,
        );
      }
    }
    // Control: rounded by itself, each third's tax would be 13, a cent too much in total.
    const thirds = refundsOf(paymentOf(hundredReais, "captured", 10_000n), [
      3_333n,
      3_333n,
      3_334n,
    ]).flat();
    const tax = thirds.map(
      ({ postings }) => postings.find(({ account }) => account === "tax_payable")?.minor,
    );
    assert.deepEqual(tax, [13n, 12n, 13n]);
  });

  test("more than was captured is never returned, nor nothing, nor anything of what was not captured", () => {
    const half = paymentOf(hundredDollars, "captured", 4_000n);
    for (const entries of [refundEntries, chargebackEntries, chargebackCreditEntries]) {
      assert.throws(() => entries(half, 0n, 4_001n), { name: "BrokenInvariant" });
      assert.throws(() => entries(half, 3_999n, 2n), { name: "BrokenInvariant" });
      assert.throws(() => entries(half, 0n, 0n), { name: "BrokenInvariant" });
      assert.throws(() => entries(half, -1n, 1n), { name: "BrokenInvariant" });
      assert.throws(() => entries(paymentOf(hundredDollars, "authorized"), 0n, 1n), {
        name: "BrokenInvariant",
      });
      assert.equal(entries(half, 3_999n, 1n).length, 1, "control: all of it may go back");
    }
  });

  test("more than was authorized is never captured, nor nothing, nor a hold given up after a capture", () => {
    const payment = paymentOf(hundredDollars, "capturing");
    assert.throws(() => captureEntries(payment, 10_001n), { name: "BrokenInvariant" });
    assert.throws(() => captureEntries(payment, 0n), { name: "BrokenInvariant" });
    assert.throws(() => releaseEntries(paymentOf(hundredDollars, "captured", 4_000n)), {
      name: "BrokenInvariant",
    });
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
  const held = (positions: readonly MoneyPosition[]): readonly bigint[] =>
    positions.map((each) => each.held);

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
        assert.deepEqual(
          [local?.captured, local?.taxed, local?.payable],
          [total.minor, tax.minor, total.minor - tax.minor],
        );
        assert.equal(
          (local?.captured ?? 0n) + (local?.released ?? 0n),
          payment.order.pricing.total.minor,
        );
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

  /**
   * Possible steps after a capture. A refund counts against the rest from its request on, and is
   * posted when it is confirmed: a dispute may be opened and won in between.
   */
  const anySteps = fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant("request" as const),
          millionths: fc.integer({ min: 1, max: 1_000_000 }),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom("confirm" as const, "cancel" as const),
          which: fc.nat(3),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constantFrom("dispute" as const, "win" as const) }),
      },
    ),
    { minLength: 4, maxLength: 24, size: "max" },
  );

  test("refunds, a chargeback and its credit leave exactly the captured amounts less what was returned, in both books", () => {
    const met = { refundAfterDispute: 0, refundAfterCredit: 0, everythingReturned: 0 };
    fc.assert(
      fc.property(
        anyOrder,
        fc.integer({ min: 1, max: 1_000_000 }),
        anySteps,
        (order, millionths, steps) => {
          const captured = partOf(order.minor, millionths);
          const payment = paymentOf(order, "captured", captured);
          const { total, tax } = priceOfPart(payment.order.pricing, payment.order.amount, captured);
          const rows: (readonly JournalEntry[])[] = [
            holdEntries(payment),
            captureEntries(payment, captured),
          ];
          const open: bigint[] = [];
          const confirmed: bigint[] = [];
          let dispute: Pick<Chargeback, "amount" | "state"> | undefined;
          const sum = (amounts: readonly bigint[]): bigint =>
            amounts.reduce((all, amount) => all + amount, 0n);
          const disputed = (): bigint => (dispute?.state === "opened" ? dispute.amount : 0n);

          for (const step of steps) {
            const left = captured - sum(open) - sum(confirmed) - disputed();
            if (step.kind === "request" && left > 0n && disputed() === 0n)
              open.push(partOf(left, step.millionths));
            if (step.kind === "cancel") open.splice(step.which, 1);
            if (step.kind === "confirm") {
              for (const amount of open.splice(step.which, 1)) {
                rows.push(refundEntries(payment, sum(confirmed) + disputed(), amount));
                confirmed.push(amount);
                if (dispute?.state === "opened") met.refundAfterDispute += 1;
                if (dispute?.state === "credited") met.refundAfterCredit += 1;
              }
            }
            if (step.kind === "dispute" && dispute === undefined && left > 0n) {
              rows.push(chargebackEntries(payment, sum(confirmed), left));
              dispute = { amount: left, state: "opened" };
            }
            if (step.kind === "win" && dispute?.state === "opened") {
              rows.push(chargebackCreditEntries(payment, sum(confirmed), dispute.amount));
              dispute = { ...dispute, state: "credited" };
            }

            const { positions, problems } = explain(
              rowsOf(...rows),
              returning(payment, confirmed, dispute),
            );
            assert.deepEqual(problems, []);
            const returned = sum(confirmed) + disputed();
            const [requested, local] = [positions[0], positions.at(-1)];
            if (requested !== local) assert.equal(requested?.payable, captured - returned);
            // Rounded half up, computed independently: the remaining share of the merchant and the
            // state.
            const share = (whole: bigint): bigint =>
              whole - (2n * whole * returned + captured) / (2n * captured);
            assert.deepEqual(
              [local?.taxed, (local?.payable ?? 0n) + (local?.taxed ?? 0n)],
              [share(tax.minor), share(total.minor)],
            );
            if (returned === captured) {
              assert.ok(balancesOf(rows.flat()).every(({ minor }) => minor === 0n));
              met.everythingReturned += 1;
            }
          }
          for (const { kind, postings } of rows.flat()) {
            const sign = kind === "refund" || kind === "chargeback" ? -1n : 1n;
            if (kind === "hold" || kind === "release") continue;
            for (const { account, minor } of postings) {
              if (account === "acquirer_receivable") assert.ok(minor * sign > 0n);
              if (account === "tax_payable" || account === "merchant_payable")
                assert.ok(minor * sign < 0n, "nobody pays for what they get back");
            }
          }
        },
      ),
      { numRuns: 1_500 },
    );
    for (const [name, times] of Object.entries(met))
      assert.ok(times > 20, `control: ${name} was met ${times} times`);
  });

  test("a sale and a hold that is captured whole end with the same balances", () => {
    fc.assert(
      fc.property(anyOrder, (order) => {
        const payment = paymentOf(order, "captured", order.minor);
        const sale = balancesOf(saleEntries(payment));
        const later = balancesOf([
          ...holdEntries(payment),
          ...captureEntries(payment, order.minor),
        ]);
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

  test("every posting is listed with its row and the balance after it", () => {
    const { lines } = explain(history, payment);
    const holds = lines.filter(
      ({ account, currency }) => account === "authorized_holds" && currency === "BRL",
    );
    assert.deepEqual(
      holds.map(({ version, kind, amount, balance }) => [version, kind, amount, balance]),
      [
        [2, "hold", "585.22", "585.22"],
        [4, "capture", "-234.09", "351.13"],
        [4, "release", "-351.13", "0.00"],
      ],
    );
    assert.equal(
      lines.length,
      history.flatMap((row) => row.entries.flatMap(({ postings }) => postings)).length,
    );
  });

  test("it says where the money is, in both books", () => {
    assert.deepEqual(explain(history, payment).positions, [
      {
        currency: "USD",
        held: 0n,
        captured: 4_000n,
        released: 6_000n,
        refunded: 0n,
        chargedBack: 0n,
        taxed: 0n,
        payable: 4_000n,
      },
      {
        currency: "BRL",
        held: 0n,
        captured: 23_409n,
        released: 35_113n,
        refunded: 0n,
        chargedBack: 0n,
        taxed: 89n,
        payable: 23_320n,
      },
    ]);
  });

  test("it says what of it went back, and by which way", () => {
    const sale = paymentOf(hundredDollars, "captured", 10_000n);
    const after = returning(sale, [1_000n], { amount: 9_000n, state: "opened" });
    const entries = [
      saleEntries(sale),
      refundEntries(sale, 0n, 1_000n),
      chargebackEntries(sale, 1_000n, 9_000n),
    ];
    const { positions, problems } = explain(rowsOf(...entries), after);
    assert.deepEqual(problems, []);
    assert.deepEqual(positions, [
      {
        currency: "USD",
        held: 0n,
        captured: 10_000n,
        released: 0n,
        refunded: 1_000n,
        chargedBack: 9_000n,
        taxed: 0n,
        payable: 0n,
      },
      {
        currency: "BRL",
        held: 0n,
        captured: 58_522n,
        released: 0n,
        refunded: 5_852n,
        chargedBack: 52_670n,
        taxed: 0n,
        payable: 0n,
      },
    ]);
    const won = explain(
      rowsOf(...entries, chargebackCreditEntries(sale, 1_000n, 9_000n)),
      returning(sale, [1_000n], { amount: 9_000n, state: "credited" }),
    );
    assert.deepEqual(won.problems, []);
    assert.deepEqual(won.positions.at(-1), {
      currency: "BRL",
      held: 0n,
      captured: 58_522n,
      released: 0n,
      refunded: 5_852n,
      chargedBack: 0n,
      taxed: 200n,
      payable: 52_470n,
    });
  });

  test("a refund that was not posted, was posted twice or as a chargeback, and a dispute that was won and not credited are reported", () => {
    const sale = paymentOf(hundredDollars, "captured", 10_000n);
    const refund = refundEntries(sale, 0n, 1_000n);
    const refunded = returning(sale, [1_000n]);
    const left = (currency: string) =>
      `The books are left with another amount of ${currency} than the payment's refunds and dispute say.`;
    const divided =
      "The books divide what was returned in USD between refunds and dispute in another way than the payment.";
    const tax = "The books owe another tax in BRL than the payment.";
    const problems = (after: Payment, ...entries: readonly (readonly JournalEntry[])[]) =>
      explain(rowsOf(saleEntries(sale), ...entries), after).problems;

    assert.deepEqual(problems(refunded, refund), [], "control");
    assert.deepEqual(problems(refunded), [left("USD"), divided, left("BRL"), tax]);
    assert.deepEqual(problems(refunded, refund, refund), [left("USD"), divided, left("BRL"), tax]);
    assert.deepEqual(problems(sale, refund), [left("USD"), divided, left("BRL"), tax]);
    assert.deepEqual(problems(refunded, chargebackEntries(sale, 0n, 1_000n)), [divided]);
    const won = returning(sale, [], { amount: 10_000n, state: "credited" });
    assert.deepEqual(problems(won, chargebackEntries(sale, 0n, 10_000n)), [
      left("USD"),
      divided,
      left("BRL"),
      tax,
    ]);
  });

  test("a refund that is requested, on its way or cancelled has moved nothing yet", () => {
    const sale = paymentOf(hundredDollars, "captured", 10_000n);
    for (const state of ["requested", "pending", "sending", "cancelled"] as const) {
      const [refund] = returning(sale, [1_000n]).refunds;
      assert.ok(refund !== undefined);
      const payment = {
        ...sale,
        refunded: state === "cancelled" ? 0n : 1_000n,
        refunds: [{ ...refund, state }],
      };
      assert.deepEqual(explain(rowsOf(saleEntries(sale)), payment).problems, [], state);
    }
  });

  test("while everything is held the books agree with the payment, and not with one that was voided", () => {
    const heldOnly = rowsOf(holdEntries(payment));
    for (const state of ["authorized", "in_review", "capturing", "voiding"] as const) {
      assert.deepEqual(explain(heldOnly, paymentOf(hundredDollars, state)).problems, [], state);
    }
    assert.equal(explain(heldOnly, paymentOf(hundredDollars, "voided")).problems.length, 2);
  });

  test("a capture that was posted twice, a tax that vanished and an unbalanced entry are reported", () => {
    const twice = rowsOf(
      holdEntries(payment),
      captureEntries(payment, 4_000n),
      captureEntries(payment, 4_000n),
    );
    assert.match(explain(twice, payment).problems.join(" "), /captured another amount of USD/);
    const withoutTax = history.map((row) => ({
      ...row,
      entries: row.entries.map(({ kind, postings }) => ({
        kind,
        postings: postings.filter(({ account }) => account !== "tax_payable"),
      })),
    }));
    assert.deepEqual(explain(withoutTax, payment).problems, [
      "An entry does not sum to zero in each currency.",
      "What was captured in BRL has no owner for a part of it.",
      "The books owe another tax in BRL than the payment.",
    ]);
  });
});
