import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newPaymentId } from "../../server/src/payment/payment-id.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { SystemRandom } from "../../server/src/kernel/system-random.ts";
import type { Random } from "../../server/src/kernel/random.ts";
import { newToken } from "../../server/src/vault/token.ts";

/*
 * Row 22 of the attack table: identifiers that can be guessed. Tokens have 512 random bits,
 * payments 144 beside their time, or 112 after another payment of the same merchant and millisecond
 * (payment-id.test.ts). architecture.test.ts checks that only the system's source is used; a program that
 * serves cannot have a seeded one.
 */

const count = 100_000;
const at = instant(Date.UTC(2026, 10, 25, 18, 13, 28));

function tokens(random: Random): string[] {
  return Array.from({ length: count }, () => newToken(random));
}

/** Chi-square statistic of the 16 hexadecimal digits at a position: 15 degrees of freedom. */
function chiSquare(ids: readonly string[], position: number): number {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id.charAt(position), (counts.get(id.charAt(position)) ?? 0) + 1);
  const expected = ids.length / 16;
  return Array.from(
    "0123456789abcdef",
    (digit) => ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
  ).reduce((sum, each) => sum + each, 0);
}

describe("identifiers", () => {
  test("of payments and tokens do not repeat, and no place of them prefers a digit", () => {
    const random = new SystemRandom();
    for (const [ids, from, length] of [
      [tokens(random), 0, 128],
      [Array.from({ length: count }, () => newPaymentId(at, random)), 12, 48],
    ] as const) {
      assert.equal(new Set(ids).size, count);
      assert.ok(ids.every((id) => /^[0-9a-f]+$/.test(id) && id.length === length));
      // By chance, one of 128 places exceeds 80 once in some ten million runs.
      for (let position = from; position < length; position += 1)
        assert.ok(chiSquare(ids, position) < 80, `place ${position}`);
    }
  });

  test("control: a source that prefers a digit a little is seen", () => {
    const random = new SystemRandom();
    const biased = tokens(random).map((token, index) =>
      index % 25 === 0 ? `0${token.slice(1)}` : token,
    );
    assert.ok(chiSquare(biased, 0) > 80);
    assert.equal(newToken(new SeededRandom("known")), newToken(new SeededRandom("known")));
  });
});
