import assert from "node:assert/strict";
import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { test } from "node:test";
import { HmacSha256 } from "./hmac.ts";

function digestOf(
  key: Uint8Array,
  message: Uint8Array,
  encoding: "hex" | "latin1" = "hex",
): string {
  const hmac = new HmacSha256(createSecretKey(key), message.length);
  hmac.message.set(message);
  return hmac.digest(message.length, encoding);
}

test("HMAC-SHA-256 gives what RFC 4231 lists", () => {
  const text = (words: string): Uint8Array => Buffer.from(words, "latin1");
  for (const [key, message, digest] of [
    [
      Buffer.alloc(20, 0x0b),
      text("Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ],
    [
      text("Jefe"),
      text("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ],
    [
      Buffer.alloc(20, 0xaa),
      Buffer.alloc(50, 0xdd),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    ],
  ] as const) {
    assert.equal(digestOf(key, message), digest);
  }
});

test("the digest is that of createHmac for keys and messages of every length, one message after another", () => {
  for (const keyLength of [1, 31, 32, 63, 64]) {
    const key = randomBytes(keyLength);
    const hmac = new HmacSha256(createSecretKey(key), 300);
    for (const length of [300, 0, 1, 55, 56, 63, 64, 65, 119, 128, 299]) {
      const message = randomBytes(length);
      hmac.message.set(message);
      for (const encoding of ["hex", "latin1"] as const) {
        assert.equal(
          hmac.digest(length, encoding),
          createHmac("sha256", key).update(message).digest(encoding),
        );
      }
    }
  }
});

test("a key that is longer than a block and a message that is longer than the room for it are refused", () => {
  assert.throws(() => new HmacSha256(createSecretKey(randomBytes(65)), 10), {
    name: "BrokenInvariant",
  });
  assert.throws(() => new HmacSha256(createSecretKey(randomBytes(32)), 10).digest(11, "hex"), {
    name: "BrokenInvariant",
  });
});
