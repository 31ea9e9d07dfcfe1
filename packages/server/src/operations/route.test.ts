import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { start } from "../../test/contract/store-fixtures.ts";
import { panOf } from "../../test/vectors/cards.ts";
import { readRoutes, type Route } from "../merchant/routing.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { priceOrder } from "../payment/pricing.ts";
import { type Routable, routeFor } from "./route.ts";

const settings = defaultAccountSettings();

function usd(minor: bigint): Routable["pricing"] {
  return priceOrder({ minor, currency: "USD" }, "br", start, settings);
}

/** A payment of 50.00 USD. */
const payment: Routable = {
  brand: "visa",
  pan: panOf("4111111111111111"),
  currency: "USD",
  country: "br",
  pricing: usd(50_00n),
  at: start,
};

const to = (name: string, over: Partial<Route> = {}): Route => ({ connectors: [name], ...over });

function fits(over: Partial<Route>, of: Partial<Routable> = {}): boolean {
  return routeFor({ ...payment, ...of }, { ...settings, routes: [to("a", over)] }) !== undefined;
}

describe("the route of a payment", () => {
  test("is the first that fits, and none when none does", () => {
    const routes = [to("a", { countries: ["mx"] }), { connectors: ["b", "c"] }, to("d")];
    assert.deepEqual(routeFor(payment, { ...settings, routes }), ["b", "c"]);
    assert.equal(
      routeFor(payment, { ...settings, routes: [to("a", { countries: ["mx"] })] }),
      undefined,
    );
    assert.equal(routeFor(payment, { ...settings, routes: [] }), undefined);
  });

  test("fits by brand, by the card number's first digits, by currency and by country, and by all that it names", () => {
    assert.equal(fits({}), true);
    assert.equal(fits({ brands: ["amex", "visa"] }), true);
    assert.equal(fits({ brands: ["amex"] }), false);
    assert.equal(fits({ bins: ["5", "411111"] }), true);
    assert.equal(fits({ bins: ["5", "411112"] }), false);
    assert.equal(fits({ currencies: ["EUR", "USD"] }), true);
    assert.equal(fits({ currencies: ["EUR"] }), false);
    assert.equal(fits({ countries: ["mx", "br"] }), true);
    assert.equal(fits({ countries: ["mx"] }), false);
    const all = { brands: ["visa"], bins: ["4"], currencies: ["USD"], countries: ["br"] } as const;
    assert.equal(fits(all), true);
    const wrong = {
      brands: ["amex"],
      bins: ["5"],
      currencies: ["EUR"],
      countries: ["mx"],
    } as const;
    for (const name of ["brands", "bins", "currencies", "countries"] as const)
      assert.equal(fits({ ...all, [name]: wrong[name] }), false);
  });

  test("fits from an amount on, and below another", () => {
    for (const [minor, fromFifty, belowFifty] of [
      [49_99n, false, true],
      [50_00n, true, false],
      [50_01n, true, false],
    ] as const) {
      assert.equal(fits({ fromUsd: 50 }, { pricing: usd(minor) }), fromFifty);
      assert.equal(fits({ belowUsd: 50 }, { pricing: usd(minor) }), belowFifty);
    }
    assert.equal(fits({ fromUsd: 40, belowUsd: 60 }), true);
    assert.equal(fits({ fromUsd: 40, belowUsd: 45 }), false);
    assert.equal(fits({ fromUsd: 55, belowUsd: 60 }), false);
    assert.equal(fits({ fromUsd: 40, countries: ["mx"] }), false);
  });

  test("of a card that is asked for no amount is none from or below one", () => {
    assert.equal(fits({ fromUsd: 1 }, { pricing: undefined }), false);
    assert.equal(fits({ belowUsd: 1 }, { pricing: undefined }), false);
    assert.equal(fits({ brands: ["visa"] }, { pricing: undefined }), true);
  });
});

describe("routes of an account", () => {
  test("are read from plain JSON, where a BIN may have become a number", () => {
    const all = {
      connectors: ["a", "b", "c", "d"],
      brands: ["visa"],
      currencies: ["USD"],
      countries: ["br"],
      fromUsd: 1,
      belowUsd: 1_000_000_000,
    };
    assert.deepEqual(readRoutes([]), []);
    assert.deepEqual(readRoutes([{ connectors: ["a"] }]), [{ connectors: ["a"] }]);
    assert.deepEqual(readRoutes([{ ...all, bins: [4, "0123", 12_345_678] }]), [
      { ...all, bins: ["4", "0123", "12345678"] },
    ]);
    assert.equal(readRoutes(Array.from({ length: 50 }, () => ({ connectors: ["a"] })))?.length, 50);
    assert.equal(
      readRoutes([{ connectors: ["a"], bins: Array.from({ length: 200 }, (_, index) => index) }])
        ?.length,
      1,
    );
  });

  test("are none when one of them is not as it should be", () => {
    const a = ["a"];
    const wrong: readonly unknown[] = [
      undefined,
      null,
      {},
      "a",
      Array.from({ length: 51 }, () => ({ connectors: a })),
      [null],
      ["a"],
      [[]],
      [{}],
      [{ brands: ["visa"] }],
      [{ connectors: "a" }],
      [{ connectors: [] }],
      [{ connectors: ["a", "b", "c", "d", "e"] }],
      [{ connectors: ["a", "a"] }],
      [{ connectors: ["A b"] }],
      [{ connectors: [null] }],
      [{ connectors: ["a", "A b"] }],
      [{ connectors: a, bins: ["4", "x"] }],
      [{ connectors: a, bins: ["4", null] }],
      [{ connectors: a, toString: "a" }],
      [{ connectors: a, unknown: ["a"] }],
      [{ connectors: a, brands: ["vis"] }],
      [{ connectors: a, bins: Array.from({ length: 201 }, (_, index) => index) }],
      ...["", "123456789", "4x", "x4", 1.5, -1].map((bin) => [{ connectors: a, bins: [bin] }]),
      ...["usd", "US", "USDX", "AUSD"].map((code) => [{ connectors: a, currencies: [code] }]),
      [{ connectors: a, countries: ["xx"] }],
      ...[0, 1.5, -1, 1_000_000_001, "1"].flatMap((fromUsd) => [
        [{ connectors: a, fromUsd }],
        [{ connectors: a, belowUsd: fromUsd }],
      ]),
      [{ connectors: a, fromUsd: 5, belowUsd: 5 }],
      [{ connectors: a, fromUsd: 6, belowUsd: 5 }],
      [{ connectors: a }, { connectors: [] }],
    ];
    for (const value of wrong) assert.equal(readRoutes(value), undefined, JSON.stringify(value));
  });
});
