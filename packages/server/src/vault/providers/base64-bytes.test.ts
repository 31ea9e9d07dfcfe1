import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { decodeBase64, encodeBase64 } from "./base64-bytes.ts";

test("base64 of bytes is the same as Node's, for every length and every byte", () => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const samples = [every, ...Array.from({ length: 100 }, (_, length) => randomBytes(length))];
  for (const bytes of samples) {
    const text = encodeBase64(bytes);
    assert.equal(text.toString("latin1"), bytes.toString("base64"));
    assert.deepEqual(decodeBase64(text), bytes);
  }
});

test("anything but complete groups of base64 is refused", () => {
  for (const text of [
    "A",
    "AA",
    "AAA",
    "AAA\n",
    "A===",
    "====",
    "AA=A",
    "AAAA=AAA",
    "AA-_",
    "AA A",
    "AAAA\0AAA",
  ])
    assert.equal(decodeBase64(Buffer.from(text)), undefined, JSON.stringify(text));
});
