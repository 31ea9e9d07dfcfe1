import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { comparePairs, scenarioCount } from "./support/noninterference-pairs.ts";
import { Receiver } from "./support/noninterference.ts";

/*
 * A few of the pairs of lanes/noninterference.lane.ts: each scenario once with another security
 * code, a few with another number.
 */

const receiver = new Receiver();
before(() => receiver.listen());
after(() => receiver.close());

describe("two runs that differ in nothing", () => {
  test("but a security code leave the same behind, byte for byte", async () => {
    const { different } = await comparePairs({ pairs: scenarioCount, kind: "cvv", receiver });
    assert.deepEqual(different, new Map());
  });

  test("but a card number's middle digits differ in ciphertexts and the keyed MACs of their rows only", async () => {
    const { different } = await comparePairs({ pairs: 5, kind: "middle", receiver });
    assert.deepEqual(different, new Map());
  });
});
