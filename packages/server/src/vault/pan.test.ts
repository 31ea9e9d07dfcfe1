import assert from "node:assert/strict";
import { Console } from "node:console";
import { Writable } from "node:stream";
import { test } from "node:test";
import { format, inspect } from "node:util";
import { numberUnder, panOf, testCards } from "../../test/vectors/cards.ts";
import { Cryptogram, Cvv, Pan } from "./pan.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"));

test("a card number has 14 to 19 digits and a right check digit", () => {
  for (const [digits] of testCards) assert.ok(Pan.from(bytes(digits)) !== undefined, digits);
  for (let length = 14; length <= 19; length += 1)
    assert.equal(Pan.from(bytes(numberUnder("4", length)))?.length, length);
  for (const text of [
    "",
    numberUnder("4", 13),
    numberUnder("4", 20),
    "4111111111111112",
    "411111111111111a",
    "4111 1111 1111 1111",
    "４111111111111111",
    // Characters next to the ASCII digits: with the values ten and minus one, they would make the
    // sums right.
    `:${"0".repeat(12)}9`,
    `0:${"0".repeat(11)}9`,
    `${"0".repeat(12)}/2`,
    `${"0".repeat(11)}10/`,
  ]) {
    assert.equal(Pan.from(bytes(text)), undefined, text);
  }
});

test("every wrong digit and nearly every swap of neighbours is noticed", () => {
  const right = "4716909774636285";
  for (let index = 0; index < right.length; index += 1) {
    for (let digit = 0; digit <= 9; digit += 1) {
      const text = right.slice(0, index) + String(digit) + right.slice(index + 1);
      assert.equal(Pan.from(bytes(text)) !== undefined, text === right, text);
    }
  }
});

test("a security code has 3 or 4 digits, a cryptogram 1 to 64 characters of base64 or base64url", () => {
  for (const text of ["", "12", "12345", "12a", "-12"])
    assert.equal(Cvv.from(bytes(text)), undefined, text);
  for (const text of ["000", "1234"]) assert.equal(Cvv.from(bytes(text))?.length, text.length);
  for (const text of ["", "a".repeat(65), "a b", "a*"])
    assert.equal(Cryptogram.from(bytes(text)), undefined, text);
  assert.equal(Cryptogram.from(bytes("AAABBEg0VhI0VniQEjRWAAAAAAA="))?.length, 28);
  assert.equal(Cryptogram.from(bytes("a".repeat(64)))?.length, 64);
  const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=";
  for (let byte = 0; byte < 256; byte += 1) {
    assert.equal(
      Cryptogram.from(Uint8Array.of(byte)) !== undefined,
      base64.includes(String.fromCharCode(byte)),
      `${byte}`,
    );
    assert.equal(
      Cvv.from(Uint8Array.of(0x31, byte, 0x31)) !== undefined,
      byte >= 0x30 && byte <= 0x39,
      `${byte}`,
    );
  }
});

test("what is refused is wiped", () => {
  for (const [take, text] of [
    [(digits: Uint8Array) => Pan.from(digits), "4111111111111112"],
    [(digits: Uint8Array) => Cvv.from(digits), "12345"],
    [(text: Uint8Array) => Cryptogram.from(text), "no base64!"],
  ] as const) {
    const taken = bytes(text);
    assert.equal(take(taken), undefined);
    assert.ok(taken.every((byte) => byte === 0));
  }
});

test("what is wiped is gone from its buffer and cannot be used", () => {
  const taken = bytes("4111111111111111");
  const pan = Pan.from(taken);
  assert.ok(pan !== undefined);
  assert.equal(Buffer.from(pan.reveal()).toString(), "4111111111111111");
  pan.wipe();
  assert.ok(taken.every((byte) => byte === 0));
  assert.throws(() => pan.reveal(), { name: "BrokenInvariant" });
  pan.wipe();
});

/** Every way in which a program shows a value. */
function shownForms(value: object): string[] {
  const written: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      done();
    },
  });
  const shown = new Console(sink, sink);
  shown.log(value);
  shown.log("%s %o %O %j %d", value, value, value, value, value);
  shown.error(new Error("failed", { cause: value }));
  shown.table([value]);
  shown.dir(value, { showHidden: true });
  return [
    ...written,
    // oxlint-disable-next-line typescript/restrict-template-expressions, typescript/no-base-to-string -- what must not print is printed
    `${value}`,
    // oxlint-disable-next-line typescript/no-base-to-string -- as above
    String(value),
    JSON.stringify(value),
    JSON.stringify({ nested: [value] }),
    inspect(value),
    inspect({ nested: value }, { showHidden: true, depth: null, getters: true }),
    inspect(value, { customInspect: false, showHidden: true }),
    format("%s", value),
    inspect(new AggregateError([new Error("failed", { cause: { value } })])),
    Object.entries(value).join(),
    Reflect.ownKeys(value).map(String).join(),
    JSON.stringify(structuredClone(value)),
    JSON.stringify({ ...value }),
  ];
}

test("every conversion says that there is a secret", () => {
  const pan = panOf("4111111111111111");
  // oxlint-disable-next-line typescript/restrict-template-expressions -- what must not print is printed
  assert.equal(`${pan}`, "[secret]");
  assert.equal(JSON.stringify({ pan }), '{"pan":"[secret]"}');
  assert.equal(inspect({ pan }), "{ pan: [secret] }");
  assert.equal(format("%s %o", pan, pan), "[secret] [secret]");
});

test("no conversion shows a digit", () => {
  const control = shownForms({ digits: "7531864209" }).filter((text) =>
    text.includes("7531864209"),
  );
  assert.ok(control.length > 10, "an ordinary object is shown by most of them");

  const cvv = Cvv.from(bytes("7531"));
  const cryptogram = Cryptogram.from(bytes("7531864209"));
  assert.ok(cvv !== undefined && cryptogram !== undefined);
  for (const secret of [panOf(numberUnder("75318642097531", 16)), cvv, cryptogram]) {
    for (const text of shownForms(secret)) {
      assert.ok(!text.includes("7531"), text);
      // Bytes shown as a list of numbers, or in hex.
      assert.ok(!/55\D+53\D+51\D+49/.test(text) && !text.includes("37353331"), text);
    }
  }
});
