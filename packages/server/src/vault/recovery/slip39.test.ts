import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SystemRandom } from "../../kernel/system-random.ts";
import slip from "../../../test/vectors/slip39.json" with { type: "json" };
import { joinShares, makeShares, readShare, ShareError } from "./slip39.ts";
import slip39Words from "./slip39-words.json" with { type: "json" };

const random = new SystemRandom();
const passphrase = Buffer.from("TREZOR");

function sharesOf(secret: Uint8Array, threshold = 3, count = 5): string[] {
  return makeShares({ secret, threshold, count, random });
}

/** All ways to choose `size` items, in order. */
function choices<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) =>
    choices(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]),
  );
}

describe("SLIP-39", () => {
  test("the list has 1,024 words, which differ in their first four letters", () => {
    assert.equal(slip39Words.length, 1_024);
    assert.equal(new Set(slip39Words.map((word) => word.slice(0, 4))).size, 1_024);
    assert.deepEqual(slip39Words.toSorted(), slip39Words);
  });

  assert.equal(slip.vectors.length, 45);
  for (const { name, shares, secret } of slip.vectors) {
    test(`vector ${name}`, () => {
      const join = (): Uint8Array =>
        joinShares(
          shares.map((share) => readShare(share)),
          passphrase,
        );
      if (secret === "") assert.throws(join, ShareError);
      else assert.equal(Buffer.from(join()).toString("hex"), secret);
    });
  }

  test("each three of five shares open the secret, and no two do", () => {
    const secret = random.bytes(32);
    const shares = sharesOf(secret).map((share) => readShare(share));
    for (const chosen of choices(shares, 3))
      assert.deepEqual(joinShares(chosen), Buffer.from(secret));
    for (const chosen of choices(shares, 2))
      assert.throws(
        () => joinShares(chosen),
        /^ShareError: 3 shares are needed, but 2 were given$/,
      );
  });

  test("a share of 256 bits has 33 words, is extendable and has no passphrase", () => {
    for (const share of sharesOf(random.bytes(32))) {
      assert.equal(share.split(" ").length, 33);
      const { isExtendable, iterationExponent, groupCount, memberThreshold } = readShare(share);
      assert.deepEqual(
        [isExtendable, iterationExponent, groupCount, memberThreshold],
        [true, 0, 1, 3],
      );
    }
  });

  test("the only wrong word of a share is numbered, wherever it is", () => {
    const [share = ""] = sharesOf(random.bytes(32));
    const words = share.split(" ");
    for (const at of words.keys()) {
      const wrong = words.with(at, words[at] === "acid" ? "acne" : "acid");
      assert.throws(() => readShare(wrong.join(" ")), {
        name: "ShareError",
        message: `its checksum does not fit: word ${at + 1} is wrong`,
      });
    }
  });

  test("refuses words that are not in the list, missing words and exchanged words, and quotes none", () => {
    const [share = ""] = sharesOf(random.bytes(32));
    const words = share.split(" ");
    const [first = "", second = ""] = words;
    for (const [text, message] of [
      [words.with(6, "cofre").join(" "), /^word 7 is not in the list of words$/],
      [words.with(6, "cofre").with(8, "x").join(" "), /^words 7, 9 are not in the list of words$/],
      [words.slice(1).join(" "), /^it has 32 words; a share of 256 bits has 33$/],
      ["", /^it has 0 words/],
      [words.with(0, second).with(1, first).join(" "), /two or more words are wrong/],
    ] as const) {
      assert.throws(
        () => readShare(text),
        (error) => error instanceof ShareError && message.test(error.message),
        text,
      );
    }
  });

  test("reads words in capitals and with other blanks", () => {
    const secret = random.bytes(32);
    const shares = sharesOf(secret, 2, 2).map((share) =>
      readShare(`  ${share.toUpperCase().replaceAll(" ", "\n  ")} `),
    );
    assert.deepEqual(joinShares(shares), Buffer.from(secret));
  });

  test("shares of two secrets, a share given twice and an altered share do not open", () => {
    const [one, other] = [random.bytes(32), random.bytes(32)].map((secret) =>
      sharesOf(secret).map((share) => readShare(share)),
    );
    assert.ok(one?.[0] !== undefined && one[1] !== undefined && other?.[2] !== undefined);
    const [first, second] = one;
    const [third] = one.slice(2);
    assert.ok(third !== undefined);
    assert.throws(() => joinShares([first, second, other[2] ?? first]), ShareError);
    assert.throws(() => joinShares([first, second, first]), /given twice/);
    const altered = {
      ...third,
      value: third.value.map((byte, at) => (at === 9 ? byte ^ 1 : byte)),
    };
    assert.throws(() => joinShares([first, second, altered]), /not genuine/);
    // Control: unchanged they open.
    assert.equal(joinShares([first, second, third]).length, 32);
  });
});
