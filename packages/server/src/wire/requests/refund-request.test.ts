import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { decodeRequest } from "../decode/decode.ts";
import { readRefundOrCancel, readRefundRequest } from "./refund-request.ts";
import { WireError } from "../decode/wire-error.ts";

const account: Account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const hash = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";

function params(query: string, body = ""): ReturnType<typeof decodeRequest>["params"] {
  return decodeRequest(`/ws/refund?integration_key=key&${query}`, Buffer.from(body)).params;
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof WireError);
    return error.statusCode;
  }
  return undefined;
}

describe("a refund that is asked for", () => {
  test("brings payment, amount, description and the merchant's code", () => {
    assert.deepEqual(
      readRefundRequest(
        params(
          `operation=Request&hash=${hash}&amount=+40.00&description=damaged+box&merchant_refund_code=r-1`,
        ),
        account,
      ),
      {
        kind: "request",
        input: { selector: { hash }, amount: "40.00", description: "damaged box", code: "r-1" },
      },
    );
  });

  test("is refused with a name or an operation of another shape", () => {
    for (const [query, code] of [
      ["operation[]=cancel", "BP-REF-2"],
      ["merchant_refund_code[]=r-1", "COFRE-47"],
      ["operation=cancel&merchant_refund_code=r-1&refund_id[]=7", "BP-REF-8"],
    ] as const) {
      assert.equal(
        codeOf(() => readRefundRequest(params(`hash=${hash}&amount=40&${query}`), account)),
        code,
      );
    }
  });

  test("has its amount under one name only", () => {
    for (const beside of ["Amount=50", "amount_total=50", "payment[amount]=50"]) {
      assert.equal(
        codeOf(() => readRefundRequest(params(`hash=${hash}&amount=40&${beside}`), account)),
        "BP-REF-4",
      );
    }
  });

  test("may be split among recipients, whose shares are not its amount", () => {
    // Regression: shares in per cent were accepted, shares in money were refused with BP-REF-4.
    for (const share of [{ percentage: 50 }, { amount: "20.00" }]) {
      const split = [{ recipient_code: "r-1", ...share, liable: true, charge_fee: true }];
      const requested = readRefundRequest(
        params("", JSON.stringify({ hash, amount: "40.00", split })),
        account,
      );
      assert.ok(requested.kind === "request");
      assert.equal(requested.input.amount, "40.00");
    }
    assert.equal(
      codeOf(() =>
        readRefundRequest(
          params("", JSON.stringify({ hash, split: [{ amount: "20.00" }] })),
          account,
        ),
      ),
      "BP-REF-3",
    );
  });

  test("may come without operation and description, and with the id 0 that one client always sends", () => {
    const body = `{"hash":"${hash}","amount":10.5,"refund_id":0,"split":[]}`;
    assert.deepEqual(readRefundRequest(params("", body), account), {
      kind: "request",
      input: { selector: { hash }, amount: "10.5", description: "", code: undefined },
    });
  });

  test("never means everything because its amount is missing, zero or no scalar", () => {
    for (const none of ["", "&amount=", "&amount=0", "&amount=0.00"]) {
      assert.equal(
        codeOf(() => readRefundRequest(params(`operation=request&hash=${hash}${none}`), account)),
        "BP-REF-3",
        none,
      );
    }
    assert.equal(
      codeOf(() => readRefundRequest(params(`hash=${hash}&amount[]=1`), account)),
      "BP-REF-4",
    );
  });

  test("has texts of the longer lengths that the sources give, and no longer ones", () => {
    const requested = (fields: string): unknown =>
      readRefundRequest(params(`hash=${hash}&amount=1&${fields}`), account);
    assert.equal(
      codeOf(() =>
        requested(`description=${"%C3%A9".repeat(1_500)}&merchant_refund_code=${"c".repeat(40)}`),
      ),
      undefined,
    );
    assert.equal(
      codeOf(() => requested(`description=${"d".repeat(1_501)}`)),
      "BP-REF-6",
    );
    assert.equal(
      codeOf(() => requested(`merchant_refund_code=${"c".repeat(41)}`)),
      "BP-REF-6",
    );
  });

  test("keeps no card number that its description holds", () => {
    const requested = readRefundRequest(
      params(`hash=${hash}&amount=1&description=card+4111111111111111`),
      account,
    );
    assert.ok(
      requested.kind === "request" && requested.input.description === "card 411111xxxxxx1111",
    );
  });
});

describe("a refund that is taken back", () => {
  test("is named by its id, else by the merchant's code", () => {
    const named = (fields: string): unknown =>
      readRefundRequest(params(`operation=cancel&${fields}`), account);
    assert.deepEqual(named("refund_id=20001&merchant_refund_code=r-1"), {
      kind: "cancel",
      selector: { id: 20_001 },
    });
    assert.deepEqual(named("refund_id=0&merchant_refund_code=r-1"), {
      kind: "cancel",
      selector: { code: "r-1" },
    });
    assert.equal(
      codeOf(() => named("refund_id=0")),
      "BP-REF-8",
    );
  });

  test("belongs to no account when its id is not a possible id", () => {
    for (const id of ["-1", "1.5", "2147483648", "99999999999", "x"]) {
      assert.deepEqual(readRefundRequest(params(`operation=cancel&refund_id=${id}`), account), {
        kind: "cancel",
        selector: { id: 0 },
      });
    }
  });
});

test("refundOrCancel returns everything, with any amount in the request", () => {
  const input = readRefundOrCancel(
    params(`operation=request&hash=${hash}&amount=1&description=gave+up`),
  );
  assert.deepEqual(input, {
    selector: { hash },
    amount: undefined,
    description: "gave up",
    code: undefined,
  });
  assert.equal(
    codeOf(() => readRefundOrCancel(params("description=gave+up"))),
    "BP-REF-1",
  );
});

test("another operation than request and cancel is refused", () => {
  assert.equal(
    codeOf(() => readRefundRequest(params(`operation=confirm&hash=${hash}&amount=1`), account)),
    "BP-REF-2",
  );
});
