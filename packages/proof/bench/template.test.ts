import assert from "node:assert/strict";
import { test } from "node:test";
import { patchCardNumber, patchNumber, patchText, RequestTemplate } from "./template.ts";

test("a template keeps its length whatever is patched in, and copies do not share bytes", () => {
  const template = RequestTemplate.post(
    "/ws/direct",
    { code: "bench0000000000", hash: "h".repeat(48) },
    { code: "0000000000", hash: "h".repeat(48) },
  );
  const one = template.copy();
  const two = template.copy();
  patchNumber(one, template.slot("code"), 1_234_567_890);
  patchText(one, template.slot("hash"), "0123456789abcdef".repeat(3));
  const [head = "", body = ""] = one.toString("latin1").split("\r\n\r\n");
  assert.match(head, new RegExp(`Content-Length: ${String(body.length)}$`));
  assert.deepEqual(JSON.parse(new URLSearchParams(body).get("request_body") ?? ""), {
    code: "bench1234567890",
    hash: "0123456789abcdef".repeat(3),
  });
  assert.match(two.toString("latin1"), /bench0000000000/);
});

test("a marker that occurs twice is refused", () => {
  assert.throws(
    () => RequestTemplate.post("/", { a: "mark", b: "mark" }, { a: "mark" }),
    /exactly once/,
  );
});

test("card numbers are distinct and pass the Luhn test", () => {
  const template = RequestTemplate.post("/", { n: "4111110000000000" }, { n: "4111110000000000" });
  const bytes = template.copy();
  const slot = template.slot("n");
  const seen = new Set<string>();
  for (let value = 0; value < 2_000; value++) {
    patchCardNumber(bytes, slot, value * 77_777);
    const number = bytes.toString("latin1", slot.offset, slot.offset + slot.width);
    seen.add(number);
    const sum = Array.from(number)
      .toReversed()
      .reduce((total, digit, at) => {
        const weighted = Number(digit) * (at % 2 === 1 ? 2 : 1);
        return total + (weighted > 9 ? weighted - 9 : weighted);
      }, 0);
    assert.equal(sum % 10, 0, number);
  }
  assert.equal(seen.size, 2_000);
});
