import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cardOf, numberUnder, panOf } from "../../../test/vectors/cards.ts";
import { instant } from "../../kernel/instant.ts";
import { brandOf } from "../../vault/bin.ts";
import { Pan } from "../../vault/pan.ts";
import { cardJudge, issuerDecline, magicCards, scenarioCards, traitsOf } from "./magic-cards.ts";

const judge = cardJudge([]);
const now = instant(Date.UTC(2026, 10, 28));

describe("scenario cards", () => {
  for (const [digits, brand, traits] of scenarioCards) {
    test(`${digits} is ${JSON.stringify(traits)}, and the issuer approves it`, () => {
      assert.deepEqual(traitsOf(cardOf(digits)), traits);
      assert.equal(brandOf(panOf(digits)), brand);
      assert.equal(judge(cardOf(digits), now), undefined);
    });
  }

  test("differ from one another, from a magic card, and are none of them", () => {
    const ordinary = traitsOf(cardOf("4111111111111111"));
    assert.deepEqual(ordinary, {
      funding: "credit",
      foreign: false,
      ecommerce: true,
      exhausted: false,
    });
    const traits = [ordinary, ...scenarioCards.map(([, , each]) => each)].map((each) =>
      JSON.stringify(each),
    );
    assert.equal(new Set(traits).size, scenarioCards.length + 1);
    const numbers = [...magicCards, ...scenarioCards].map(([digits]) => digits);
    assert.equal(new Set(numbers).size, numbers.length);
  });

  test("the tables tell nothing of a card that the sandbox does not know", () => {
    assert.equal(traitsOf(cardOf("4242424242424242")), undefined);
  });
});

describe("magic cards", () => {
  for (const [digits, brand, result] of magicCards) {
    test(`${brand} ${digits}: ${result}`, () => {
      assert.deepEqual(
        judge(cardOf(digits), now),
        result === "approve" ? undefined : issuerDecline(result),
      );
    });
  }

  test("every number is a card number of the brand that the vault sees in it", () => {
    for (const [digits, brand] of magicCards) {
      assert.equal(brandOf(panOf(digits)), brand, digits);
    }
  });

  test("any other number is refused before it reaches an issuer", () => {
    for (const other of [
      "4242424242424242",
      "4111111111111129",
      numberUnder("411111111111", 15),
      numberUnder("3782822", 15),
      numberUnder("9", 19),
    ]) {
      const verdict = judge(cardOf(other), now);
      assert.equal(verdict?.reason, "invalid_card_number", other);
      assert.equal(verdict.responseCode, "14");
      assert.equal(verdict.refusedBeforeIssuer, true);
    }
  });

  test("a magic number that is cut or longer is another number", () => {
    const cut = magicCards
      .flatMap(([digits]) =>
        [14, 15, 16, 17, 18]
          .filter((length) => length < digits.length)
          .map((length) => digits.slice(0, length)),
      )
      .filter((digits) => Pan.from(Buffer.from(digits)) !== undefined);
    const longer = magicCards
      .filter(([digits]) => digits.length < 19)
      .map(([digits]) => numberUnder(digits, digits.length + 1));
    assert.ok(cut.length > 0);
    for (const other of [...cut, ...longer])
      assert.equal(judge(cardOf(other), now)?.reason, "invalid_card_number", other);
  });

  test("a refusal by the issuer does not say that it came before the issuer", () => {
    assert.equal(judge(cardOf("4716909774636285"), now)?.refusedBeforeIssuer, false);
  });

  test("a test BIN approves the numbers under it, but not a magic card that declines", () => {
    const judgeWide = cardJudge(["424242", "47169097"]);
    assert.equal(judgeWide(cardOf("4242424242424242"), now), undefined);
    assert.equal(judgeWide(cardOf(numberUnder("4242421", 16)), now), undefined);
    assert.equal(judgeWide(cardOf(numberUnder("424243", 16)), now)?.reason, "invalid_card_number");
    assert.equal(judgeWide(cardOf("4716909774636285"), now)?.reason, "insufficient_funds");
  });

  test("a test BIN of another length or with other characters is refused", () => {
    for (const bin of ["", "42424", "424242424", "4242x2"])
      assert.throws(() => cardJudge([bin]), { name: "BrokenInvariant" });
  });

  test("a card is good for as long as its month lasts anywhere, and declined as expired after that", () => {
    const card = { ...cardOf("4111111111111111"), expiryMonth: 2, expiryYear: 2028 };
    assert.equal(judge(card, instant(Date.UTC(2028, 2, 1, 12) - 1)), undefined);
    assert.deepEqual(judge(card, instant(Date.UTC(2028, 2, 1, 12))), issuerDecline("expired_card"));
    assert.equal(issuerDecline("expired_card").responseCode, "54");
  });

  test("what declines anyway declines for its own reason when it has expired", () => {
    const card = { ...cardOf("4716909774636285"), expiryYear: 2020 };
    assert.equal(judge(card, now)?.reason, "insufficient_funds");
  });
});
