import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { decodeRequest } from "../decode/decode.ts";
import { readCapture, readSelector } from "./payment-request.ts";
import { WireError } from "../decode/wire-error.ts";

const account: Account = {
  id: "0a1b2c3d" as MerchantId,
  version: 1,
  name: "Loja",
  settings: defaultAccountSettings(),
};
const hash = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";

function params(query: string, body = ""): ReturnType<typeof decodeRequest>["params"] {
  return decodeRequest(`/ws/capture?integration_key=key&${query}`, Buffer.from(body)).params;
}

describe("which payment a request is about", () => {
  test("the hash, the merchant's code, and the hash when both are given", () => {
    assert.deepEqual(readSelector(params(`hash=${hash}`), "BP-QRY-1"), { hash });
    assert.deepEqual(readSelector(params("merchant_payment_code=ord-1"), "BP-QRY-1"), {
      code: "ord-1",
    });
    assert.deepEqual(readSelector(params(`merchant_payment_code=ord-1&hash=${hash}`), "BP-QRY-1"), {
      hash,
    });
    assert.deepEqual(readSelector(params("hash=&merchant_payment_code=ord-1"), "BP-QRY-1"), {
      code: "ord-1",
    });
    assert.deepEqual(readSelector(params("", `{"merchant_payment_code":4238067283}`), "BP-QRY-1"), {
      code: "4238067283",
    });
  });

  test("blanks and line ends around a hash, and line ends around a code, are passed over", () => {
    // "Not found" made customers pay again: a hash from a file has a line end, one from a split
    // list a blank.
    for (const around of [`%20${hash}`, `${hash}%0A`, `${hash}%0D%0A`, `%09${hash}%C2%A0`]) {
      assert.deepEqual(readSelector(params(`hash=${around}`), "BP-QRY-1"), { hash }, around);
    }
    assert.deepEqual(readSelector(params("merchant_payment_code=%0Aord-1%0D%0A"), "BP-QRY-1"), {
      code: "ord-1",
    });
    assert.deepEqual(readSelector(params("hash=%0A&merchant_payment_code=ord-1"), "BP-QRY-1"), {
      code: "ord-1",
    });
    // Control: a blank is a part of a code.
    assert.deepEqual(readSelector(params("merchant_payment_code=ord-1%20"), "BP-QRY-1"), {
      code: "ord-1 ",
    });
  });

  test("a name of another shape is not passed over for the other name", () => {
    for (const query of [
      "hash[]=x&merchant_payment_code=ord-1",
      `hash=${hash}&merchant_payment_code[a]=x`,
    ]) {
      assert.throws(() => readSelector(params(query), "BP-CAP-1"), {
        name: "WireError",
        statusCode: "BP-CAP-1",
      });
    }
  });

  for (const code of ["BP-CAP-1", "BP-CAN-1", "BP-QRY-1", "BP-REF-1"] as const) {
    test(`a request that names none is refused with the code of its operation: ${code}`, () => {
      for (const none of ["", "hash=&merchant_payment_code=%20", "merchant_payment_code[]=1"]) {
        assert.throws(() => readSelector(params(none), code), {
          name: "WireError",
          statusCode: code,
          message: "Parameters hash or merchant_payment_code not informed",
        });
      }
    });
  }
});

describe("the amount of a capture", () => {
  test("missing, blank and zero mean everything", () => {
    for (const text of [
      "",
      "&amount=",
      "&amount=0",
      "&amount=0.0",
      "&amount=0.00",
      "&amount=%20",
    ]) {
      assert.deepEqual(readCapture(params(`hash=${hash}${text}`), account), {
        selector: { hash },
        amount: undefined,
      });
    }
    assert.equal(readCapture(params(`hash=${hash}`, '{"amount":0.0}'), account).amount, undefined);
    assert.equal(readCapture(params(`hash=${hash}`, '{"amount":null}'), account).amount, undefined);
  });

  test("is the text of the request", () => {
    assert.equal(readCapture(params(`hash=${hash}&amount=50.25`), account).amount, "50.25");
    assert.equal(
      readCapture(params(`hash=${hash}`, '{"amount":50.250}'), account).amount,
      "50.250",
    );
    // A shop captures the total with interest that it has authorized unrounded. An amount below a
    // cent must not be rounded to zero, which means everything.
    assert.equal(readCapture(params(`hash=${hash}&amount=108.9909`), account).amount, "108.99");
    assert.equal(readCapture(params(`hash=${hash}&amount=0.001`), account).amount, "0.001");
    const strict: Account = { ...account, settings: { ...account.settings, strictAmounts: true } };
    assert.equal(readCapture(params(`hash=${hash}&amount=108.9909`), strict).amount, "108.9909");
    // The operation checks whether it is an amount.
    assert.equal(readCapture(params(`hash=${hash}&amount=-1`), account).amount, "-1");
  });

  test("under another name, or inside of another value, is refused", () => {
    for (const hidden of [
      "Amount=40",
      "+amount=40",
      "amount_total=40",
      "amount%5B=40",
      "payment[amount]=40",
      "x=1;amount=40",
      "x=1%0Aamount:40",
    ]) {
      assert.throws(
        () => readCapture(params(`hash=${hash}&${hidden}`), account),
        (error) => error instanceof WireError && error.statusCode === "BP-CAP-6",
        hidden,
      );
    }
    // The control: words that do not name an amount.
    assert.equal(
      readCapture(
        params(`hash=${hash}&merchant_capture_code=paramount-1&note=the+amount+is+right`),
        account,
      ).amount,
      undefined,
    );
  });

  test("that is not a scalar does not select everything", () => {
    for (const body of ['{"amount":[1]}', '{"amount":{}}', '{"amount":[]}']) {
      assert.throws(
        () => readCapture(params(`hash=${hash}`, body), account),
        (error) => error instanceof WireError && error.statusCode === "BP-CAP-6",
      );
    }
  });
});
