import assert from "node:assert/strict";
import { test } from "node:test";
import { instant } from "../kernel/instant.ts";
import { priceOrder } from "./pricing.ts";
import { needsReview } from "./review-rules.ts";

const at = instant(Date.UTC(2026, 10, 28));
const settings = {
  rateTable: "sandbox-2024",
  taxPolicy: "none",
  taxPaidBy: "customer",
  reviewAboveUsd: 500,
} as const;

function reviewed(minor: bigint, currency: string, reviewAboveUsd = 500): boolean {
  const own = { ...settings, reviewAboveUsd };
  return needsReview(
    { country: "br", pricing: priceOrder({ minor, currency }, "br", at, own), at },
    own,
  );
}

test("a payment above the account's amount waits for a reviewer, whatever its currency", () => {
  assert.deepEqual([reviewed(50_000n, "USD"), reviewed(50_001n, "USD")], [false, true]);
  // 500 USD at 5.8300 are 2915.00 BRL, the limit.
  assert.deepEqual([reviewed(291_500n, "BRL"), reviewed(291_501n, "BRL")], [false, true]);
});

test("no payment waits for its amount when the account says nothing of it", () => {
  assert.equal(reviewed(999_999n, "USD", 0), false);
});
