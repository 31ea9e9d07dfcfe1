import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { Approval, OriginalAuthorization } from "../connector.ts";
import { SimulatedAcquirer } from "./acquirer.ts";
import type { AcquirerOptions } from "./acquirer.ts";
import type { AuthorizeMessage } from "./messages-and-books.ts";
import { issuerDecline } from "./magic-cards.ts";
import { defaultPersonality } from "./personality.ts";

const merchantId = "0000000a" as MerchantId;
const clock = { now: () => instant(Date.UTC(2026, 10, 28)) };
const amount = { minor: 100_00n, currency: "BRL" };

function acquirerWith(change: Partial<AcquirerOptions> = {}): SimulatedAcquirer {
  return new SimulatedAcquirer({
    clock,
    seed: "one",
    rememberedReferences: 100,
    personality: defaultPersonality,
    ...change,
  });
}

function message(reference: string, change: Partial<AuthorizeMessage> = {}): AuthorizeMessage {
  const card = { maskedPan: "411111xxxxxx1111" };
  return {
    merchantId,
    reference,
    amount,
    capture: false,
    card,
    storedCredential: undefined,
    threeDSecure: undefined,
    ...change,
  };
}

function approved(
  acquirer: SimulatedAcquirer,
  reference: string,
  change: Partial<AuthorizeMessage> = {},
): Approval {
  const answer = acquirer.authorize(message(reference, change), undefined);
  assert.equal(answer.kind, "approved");
  return answer;
}

function originalOf(
  reference: string,
  { authorizationCode, acquirerReference }: Approval,
): OriginalAuthorization {
  return { reference, amount, authorizationCode, acquirerReference };
}

function booksOf(acquirer: SimulatedAcquirer) {
  const books = acquirer.books().merchants[0];
  assert.ok(books !== undefined);
  return books;
}

describe("an acquirer that lost its books", () => {
  const original = originalOf("a-1", approved(acquirerWith(), "a-1"));
  const followUp = { merchantId, reference: "a-2", original, amount };

  test("honours a capture whose authorization code proves the authorization", () => {
    const restarted = acquirerWith();
    assert.deepEqual(restarted.capture(followUp, undefined), { kind: "approved" });
    assert.deepEqual(booksOf(restarted).money, [
      { currency: "BRL", held: 0n, captured: 100_00n, refunded: 0n },
    ]);
    assert.equal(restarted.capture({ ...followUp, reference: "a-3" }, undefined).kind, "declined");
  });

  test("honours a void and a reversal in the same way", () => {
    assert.deepEqual(acquirerWith().void(followUp, undefined), { kind: "approved" });
    const restarted = acquirerWith();
    assert.deepEqual(restarted.reverse(followUp), { kind: "reversed" });
    assert.equal(restarted.capture(followUp, undefined).kind, "declined");
  });

  test("knows nothing of it when asked", () => {
    assert.deepEqual(acquirerWith().inquire(followUp), { kind: "not_found" });
  });

  const wrong: Readonly<Record<string, Partial<OriginalAuthorization>>> = {
    "another reference": { reference: "b-1" },
    "another amount": { amount: { minor: 100_01n, currency: "BRL" } },
    "another currency": { amount: { minor: 100_00n, currency: "USD" } },
    "no code": { authorizationCode: undefined },
    "another code": {
      authorizationCode: original.authorizationCode === "000000" ? "000001" : "000000",
    },
  };
  for (const [name, change] of Object.entries(wrong)) {
    test(`does not honour ${name}`, () => {
      const request = { ...followUp, original: { ...original, ...change } };
      assert.deepEqual(acquirerWith().capture(request, undefined), {
        kind: "declined",
        responseCode: "25",
      });
      assert.deepEqual(acquirerWith().refund(request, undefined), {
        kind: "declined",
        responseCode: "25",
      });
      assert.deepEqual(acquirerWith().reverse(request), { kind: "unknown_original" });
    });
  }

  test("does not honour another merchant's code, nor one of an acquirer with another seed", () => {
    assert.equal(
      acquirerWith().capture({ ...followUp, merchantId: "0000000b" as MerchantId }, undefined).kind,
      "declined",
    );
    assert.equal(acquirerWith({ seed: "two" }).capture(followUp, undefined).kind, "declined");
  });

  test("undoes a sale, and does not capture it a second time", () => {
    const sale = originalOf("s-1", approved(acquirerWith(), "s-1", { capture: true }));
    assert.equal(
      acquirerWith().capture({ ...followUp, original: sale }, undefined).kind,
      "declined",
    );
    const restarted = acquirerWith();
    assert.deepEqual(restarted.reverse({ ...followUp, original: sale }), { kind: "reversed" });
    assert.deepEqual(booksOf(restarted).money, [
      { currency: "BRL", held: 0n, captured: 0n, refunded: 0n },
    ]);
  });

  test("gives back what was captured before, of a sale and of a hold, and no more than that", () => {
    const sale = originalOf("s-1", approved(acquirerWith(), "s-1", { capture: true }));
    for (const captured of [sale, original]) {
      const restarted = acquirerWith();
      const refund = { merchantId, original: captured, amount: { minor: 60_00n, currency: "BRL" } };
      assert.deepEqual(restarted.refund({ ...refund, reference: "r-1" }, undefined), {
        kind: "approved",
      });
      assert.deepEqual(restarted.refund({ ...refund, reference: "r-2" }, undefined), {
        kind: "declined",
        responseCode: "13",
      });
      assert.deepEqual(booksOf(restarted).money, [
        { currency: "BRL", held: 0n, captured: 40_00n, refunded: 60_00n },
      ]);
    }
  });
});

describe("the books", () => {
  test("remember a bounded number of references; the totals continue to count", () => {
    const acquirer = acquirerWith({ rememberedReferences: 3 });
    for (let number = 1; number <= 5; number += 1)
      acquirer.authorize(message(`p-${number}`), undefined);

    const books = booksOf(acquirer);
    assert.deepEqual(
      books.authorizations.map(({ reference }) => reference),
      ["p-3", "p-4", "p-5"],
    );
    assert.equal(books.totals.approvals, 5);
    assert.deepEqual(books.money, [{ currency: "BRL", held: 500_00n, captured: 0n, refunded: 0n }]);
    assert.equal(acquirer.books().forgottenReferences, 2);
  });

  test("tell of declines, of repeats and of who wanted what", () => {
    const acquirer = acquirerWith();
    acquirer.authorize(message("a-1"), issuerDecline("insufficient_funds"));
    acquirer.authorize(message("a-1"), undefined);
    acquirer.authorize(message("b-1", { merchantId: "0000000b" as MerchantId }), undefined);

    const [first, second] = acquirer.books().merchants;
    assert.deepEqual(first?.totals, {
      approvals: 0,
      declines: 1,
      captures: 0,
      voids: 0,
      refunds: 0,
      reversals: 0,
      verifications: 0,
      duplicates: 1,
    });
    assert.deepEqual(first.authorizations, [
      {
        reference: "a-1",
        at: clock.now(),
        sale: false,
        maskedPan: "411111xxxxxx1111",
        storedCredential: undefined,
        threeDSecure: undefined,
        amount,
        answer: issuerDecline("insufficient_funds"),
        approvals: 0,
        captures: 0,
        captured: 0n,
        held: 0n,
        refunds: [],
        voided: false,
        reversed: false,
        duplicates: 1,
      },
    ]);
    assert.equal(second?.merchantId, "0000000b");
    assert.equal(second.totals.approvals, 1);
  });

  test("are a copy: what happens later does not change them", () => {
    const acquirer = acquirerWith();
    const approval = approved(acquirer, "a-1");
    const before = booksOf(acquirer);
    acquirer.capture(
      { merchantId, reference: "a-2", original: originalOf("a-1", approval), amount },
      undefined,
    );

    assert.equal(before.authorizations[0]?.captures, 0);
    assert.equal(before.totals.captures, 0);
    assert.equal(before.money[0]?.held, 100_00n);
    assert.equal(booksOf(acquirer).authorizations[0]?.captures, 1);
  });
});

describe("refunds", () => {
  test("are recognized however many followed, and end at 400", () => {
    const acquirer = acquirerWith();
    const original = originalOf("a-1", approved(acquirer, "a-1", { capture: true }));
    const cents = (reference: string) =>
      acquirer.refund(
        { merchantId, reference, original, amount: { minor: 1n, currency: "BRL" } },
        undefined,
      );
    for (let number = 1; number <= 400; number += 1)
      assert.equal(cents(`r-${number}`).kind, "approved");
    assert.deepEqual(cents("r-1"), { kind: "approved" });
    assert.deepEqual(cents("r-401"), { kind: "declined", responseCode: "61" });
    assert.equal(booksOf(acquirer).money[0]?.refunded, 4_00n);
  });

  test("that the issuer refuses give nothing back", () => {
    const acquirer = acquirerWith();
    const original = originalOf("a-1", approved(acquirer, "a-1", { capture: true }));
    const request = { merchantId, reference: "r-1", original, amount };
    assert.deepEqual(acquirer.refund(request, "not_accepted"), {
      kind: "declined",
      responseCode: "05",
    });
    assert.equal(booksOf(acquirer).money[0]?.refunded, 0n);
  });

  test("are of an amount above zero in the authorization's currency", () => {
    const acquirer = acquirerWith();
    const original = originalOf("a-1", approved(acquirer, "a-1", { capture: true }));
    for (const wrong of [
      { ...amount, minor: 0n },
      { ...amount, minor: -1n },
      { ...amount, currency: "USD" },
    ]) {
      const request = {
        merchantId,
        reference: `r-${wrong.currency}${wrong.minor}`,
        original,
        amount: wrong,
      };
      assert.deepEqual(acquirer.refund(request, undefined), {
        kind: "declined",
        responseCode: "13",
      });
    }
  });
});

describe("authorization codes", () => {
  test("are six digits, equal for equal runs, and differ over references", () => {
    const references = Array.from({ length: 200 }, (_, number) => `r-${number}`);
    const codes = references.map(
      (reference) => approved(acquirerWith(), reference).authorizationCode,
    );
    assert.ok(codes.every((code) => /^\d{6}$/.test(code)));
    assert.deepEqual(
      references.map((reference) => approved(acquirerWith(), reference).authorizationCode),
      codes,
    );
    assert.ok(new Set(codes).size > 190);
  });

  test("come with a network transaction id of fifteen digits, equal for equal runs, that is each transaction's own", () => {
    const references = Array.from({ length: 200 }, (_, number) => `r-${number}`);
    const ids = references.map(
      (reference) => approved(acquirerWith(), reference).networkTransactionId,
    );
    assert.ok(ids.every((id) => id !== undefined && /^\d{15}$/.test(id)));
    assert.deepEqual(
      references.map((reference) => approved(acquirerWith(), reference).networkTransactionId),
      ids,
    );
    assert.equal(new Set(ids).size, 200);
  });
});

describe("a reference that named another request", () => {
  // After the restore of an older copy of the books, references were used again; the first answer
  // was returned for any request, and nothing was done.
  const part = { ...amount, minor: 40_00n };
  const kinds = ["capture", "void", "refund"] as const;
  for (const first of kinds) {
    for (const second of kinds) {
      for (const again of [amount, part]) {
        const same = first === second && again === amount;
        test(`${first}, then ${second} of ${again.minor}: ${same ? "the same answer" : "refused"}`, () => {
          const acquirer = acquirerWith();
          const original = originalOf(
            "a-1",
            approved(acquirer, "a-1", { capture: first === "refund" }),
          );
          assert.deepEqual(
            acquirer[first]({ merchantId, reference: "a-2", original, amount }, undefined),
            { kind: "approved" },
          );
          const before = booksOf(acquirer).money;
          const answer = acquirer[second](
            { merchantId, reference: "a-2", original, amount: again },
            undefined,
          );
          assert.deepEqual(
            answer,
            same ? { kind: "approved" } : { kind: "declined", responseCode: "94" },
          );
          assert.deepEqual(booksOf(acquirer).money, before);
        });
      }
    }
  }

  for (const [what, change] of [
    ["amount", { amount: part }],
    ["currency", { amount: { ...amount, currency: "USD" } }],
    ["kind", { capture: true }],
  ] as const) {
    test(`is refused for an authorization of another ${what}, and holds nothing more`, () => {
      const acquirer = acquirerWith();
      const first = approved(acquirer, "a-1");
      const { kind, ...answer } = acquirer.authorize(message("a-1", change), undefined);
      assert.equal(kind, "declined");
      assert.ok("responseCode" in answer && answer.responseCode === "94");
      assert.deepEqual(booksOf(acquirer).money, [
        { currency: "BRL", held: 100_00n, captured: 0n, refunded: 0n },
      ]);
      assert.deepEqual(acquirer.authorize(message("a-1"), undefined), first);
    });
  }
});

test("a capture of a part is the last, and the rest is held no longer, on the authorization as in the totals", () => {
  const acquirer = acquirerWith();
  const original = originalOf("a-1", approved(acquirer, "a-1"));
  const part = (reference: string, minor: bigint) =>
    acquirer.capture(
      { merchantId, reference, original, amount: { minor, currency: "BRL" } },
      undefined,
    );
  assert.deepEqual(part("a-2", 40_00n), { kind: "approved" });
  const { authorizations, money } = booksOf(acquirer);
  assert.deepEqual([authorizations[0]?.held, authorizations[0]?.captured], [0n, 40_00n]);
  assert.deepEqual(money, [{ currency: "BRL", held: 0n, captured: 40_00n, refunded: 0n }]);
  assert.deepEqual(part("a-3", 60_00n), { kind: "declined", responseCode: "12" });
});

test("the currency of a capture is the authorization's", () => {
  const acquirer = acquirerWith();
  const original = originalOf("a-1", approved(acquirer, "a-1"));
  const inDollars = {
    merchantId,
    reference: "a-2",
    original,
    amount: { minor: 100_00n, currency: "USD" },
  };
  assert.deepEqual(acquirer.capture(inDollars, undefined), {
    kind: "declined",
    responseCode: "13",
  });
});

test("nothing and less than nothing are not captured", () => {
  const acquirer = acquirerWith();
  const original = originalOf("a-1", approved(acquirer, "a-1"));
  for (const minor of [0n, -1n]) {
    const request = {
      merchantId,
      reference: `a-${minor}`,
      original,
      amount: { minor, currency: "BRL" },
    };
    assert.equal(acquirer.capture(request, undefined).kind, "declined");
  }
});

test("an acquirer that does not dedupe reports the approval that followed a decline of the same reference", () => {
  const acquirer = acquirerWith({ personality: { ...defaultPersonality, dedupes: false } });
  acquirer.authorize(message("a-1"), issuerDecline("insufficient_funds"));
  approved(acquirer, "a-1");

  const inquiry = acquirer.inquire({
    merchantId,
    reference: "a-1-i",
    original: {
      reference: "a-1",
      amount,
      authorizationCode: undefined,
      acquirerReference: undefined,
    },
  });
  assert.ok(inquiry.kind === "found" && inquiry.authorization.kind === "approved");
});
