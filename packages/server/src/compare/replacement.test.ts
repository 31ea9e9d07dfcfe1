import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Replacement, withReplaced } from "./replacement.ts";

const hash = { names: ["hash"], from: "a".repeat(48), to: "b".repeat(48) };

function replaced(text: string, ...replacements: readonly Replacement[]): string {
  return withReplaced(Buffer.from(text), replacements).bytes.toString();
}

describe("replacing values in a request", () => {
  for (const [form, before, after] of [
    ["JSON", `{"hash":"@1","x":"@1"}`, `{"hash":"@2","x":"@1"}`],
    ["JSON with blanks", `{ "hash" : "@1" }`, `{ "hash" : "@2" }`],
    ["a query", `/ws/query?x=1&hash=@1&y=@1`, `/ws/query?x=1&hash=@2&y=@1`],
    [
      "percent-encoded JSON",
      `request_body=%7B%22hash%22%3A%22@1%22%7D`,
      `request_body=%7B%22hash%22%3A%22@2%22%7D`,
    ],
    ["a nested form", `payment[hash]=@1`, `payment[hash]=@2`],
    ["an encoded nested form", `payment%5Bhash%5D=@1`, `payment%5Bhash%5D=@2`],
    ["a part", `name="hash"\r\n\r\n@1\r\n--cut--`, `name="hash"\r\n\r\n@2\r\n--cut--`],
  ] as const) {
    test(`works in ${form}, and leaves other members unchanged`, () => {
      const at = (text: string): string =>
        text.replaceAll("@1", hash.from).replaceAll("@2", hash.to);
      assert.equal(replaced(at(before), hash), at(after));
    });
  }

  test("finds a key in every spelling of clients", () => {
    const key = { names: ["integration_key"], from: "clé/1 é", to: "own" };
    for (const text of [
      `{"integration_key":"clé/1 é"}`,
      String.raw`{"integration_key":"cl\u00e9\/1 \u00e9"}`,
      "integration_key=cl%C3%A9%2F1+%C3%A9&a=1",
      "integration_key=cl%C3%A9%2F1%20%C3%A9",
    ]) {
      const { made, bytes } = withReplaced(Buffer.from(text), [key]);
      assert.ok(made.has(key), text);
      assert.match(bytes.toString(), /integration_key(?:":"|=)own/);
    }
  });

  test("does not replace the beginning of a longer value, or a name without a value", () => {
    const refund = { names: ["refund_id"], from: "12", to: "7" };
    assert.equal(replaced("refund_id=123&refund_id=12", refund), "refund_id=123&refund_id=7");
    assert.equal(replaced(`{"refund_id":12}`, refund), `{"refund_id":7}`);
    assert.equal(replaced("refund_id12", refund), "refund_id12");
    assert.equal(withReplaced(Buffer.from("refund_id=123"), [refund]).made.size, 0);
  });

  test("finds the digits of a card in groups", () => {
    const card = {
      names: ["card_number"],
      from: Buffer.from("4111111111111111"),
      to: "5555555555554444",
    };
    for (const number of [
      "4111111111111111",
      "4111 1111 1111 1111",
      "4111-1111-1111-1111",
      "4111+1111%201111 1111",
    ])
      assert.equal(replaced(`"card_number":"${number}"`, card), `"card_number":"5555555555554444"`);
    assert.equal(
      replaced(`"card_number":"41111111111111112"`, card),
      `"card_number":"41111111111111112"`,
    );
  });

  test("returns separate memory, so that wiping it leaves the original", () => {
    const source = Buffer.from("hash=1");
    const { bytes } = withReplaced(source, []);
    bytes.fill(0);
    assert.equal(source.toString(), "hash=1");
  });
});
