import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { Account } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { amountWarning } from "./amount-warning.ts";

const account: Account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const warned = (minor: bigint, currency: string): boolean =>
  amountWarning({ minor, currency }, account, instant(Date.UTC(2026, 10, 28))) !== undefined;

describe("the warning of an amount that looks 100 times too small", () => {
  test("is given for cents of what has none", () => {
    for (const currency of ["CLP", "COP", "CRC", "PYG"])
      assert.ok(warned(1_599_050n, currency), currency);
  });

  test("is given below a dollar where a dollar is a hundred units or more", () => {
    assert.ok(warned(94_900n, "CLP") && !warned(95_000n, "CLP"));
    assert.ok(warned(99_900n, "ARS") && !warned(100_000n, "ARS"));
  });

  test("is not given for prices that are merely small, nor for cents where people pay them", () => {
    for (const [minor, currency] of [
      [100n, "USD"],
      [50n, "BRL"],
      [1_599_050n, "ARS"],
      [300n, "MXN"],
      [15_990_00n, "CLP"],
      [64_55n, "USD"],
    ] as const) {
      assert.ok(!warned(minor, currency), `${minor} ${currency}`);
    }
  });
});
