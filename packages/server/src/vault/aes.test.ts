import assert from "node:assert/strict";
import { createCipheriv, createSecretKey } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import vectors from "../../test/vectors/aes.json" with { type: "json" };
import {
  decryptGcm,
  encryptGcm,
  keyLength,
  nonceLength,
  tagLength,
  unwrapKey,
  wrapKey,
  wrappedKeyLength,
} from "./aes.ts";

const hex = (text: string): Buffer => Buffer.from(text, "hex");

/** Every copy of `bytes` with one bit flipped. */
function* flipped(bytes: Uint8Array): Generator<Uint8Array> {
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const copy = Uint8Array.from(bytes);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    yield copy;
  }
}

test("AES-256-GCM agrees with the published vectors, with raw keys and with KeyObjects", () => {
  for (const { source, ...vector } of vectors.gcm) {
    for (const key of [hex(vector.key), createSecretKey(hex(vector.key))]) {
      const { ciphertext, tag } = encryptGcm(
        key,
        hex(vector.nonce),
        hex(vector.aad),
        hex(vector.plaintext),
      );
      assert.deepEqual(
        [Buffer.from(ciphertext), Buffer.from(tag)],
        [hex(vector.ciphertext), hex(vector.tag)],
        source,
      );
      assert.deepEqual(
        decryptGcm(key, hex(vector.nonce), hex(vector.aad), { ciphertext, tag }),
        hex(vector.plaintext),
        source,
      );
    }
  }
});

test("AES-GCM refuses every single-bit change of nonce, authenticated data, ciphertext and tag of the vectors", () => {
  for (const { source, ...vector } of vectors.gcm) {
    const [key, nonce, aad, ciphertext, tag] = [
      vector.key,
      vector.nonce,
      vector.aad,
      vector.ciphertext,
      vector.tag,
    ].map(hex) as [Buffer, Buffer, Buffer, Buffer, Buffer];
    for (const other of flipped(nonce))
      assert.equal(decryptGcm(key, other, aad, { ciphertext, tag }), undefined, source);
    for (const other of flipped(aad))
      assert.equal(decryptGcm(key, nonce, other, { ciphertext, tag }), undefined, source);
    for (const other of flipped(ciphertext))
      assert.equal(decryptGcm(key, nonce, aad, { ciphertext: other, tag }), undefined, source);
    for (const other of flipped(tag))
      assert.equal(decryptGcm(key, nonce, aad, { ciphertext, tag: other }), undefined, source);
  }
});

test("tags of 0 to 15 bytes are refused even when they are genuine", () => {
  const key = Buffer.alloc(keyLength, 1);
  const nonce = Buffer.alloc(nonceLength, 2);
  const plaintext = Buffer.from("a card");
  const { ciphertext, tag } = encryptGcm(key, nonce, Buffer.alloc(0), plaintext);
  for (let length = 0; length < tagLength; length += 1) {
    assert.equal(
      decryptGcm(key, nonce, Buffer.alloc(0), { ciphertext, tag: tag.subarray(0, length) }),
      undefined,
    );
  }
  // The tag lengths that GCM itself allows, created with that length rather than truncated.
  for (const length of [4, 8, 12, 13, 14, 15]) {
    const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: length });
    const short = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    assert.equal(
      decryptGcm(key, nonce, Buffer.alloc(0), { ciphertext: short, tag: cipher.getAuthTag() }),
      undefined,
    );
  }
  assert.equal(
    decryptGcm(key, nonce, Buffer.alloc(0), {
      ciphertext,
      tag: Buffer.concat([tag, Buffer.of(0)]),
    }),
    undefined,
  );
  assert.deepEqual(decryptGcm(key, nonce, Buffer.alloc(0), { ciphertext, tag }), plaintext);
});

test("AES key wrap agrees with RFC 3394 and refuses every single-bit change and every other length", () => {
  for (const { source, ...vector } of vectors.keyWrap) {
    const wrapping = createSecretKey(hex(vector.wrapping));
    const wrapped = wrapKey(wrapping, hex(vector.key));
    assert.deepEqual(Buffer.from(wrapped), hex(vector.wrapped), source);
    assert.deepEqual(unwrapKey(wrapping, wrapped), hex(vector.key), source);
    for (const other of flipped(wrapped))
      assert.equal(unwrapKey(wrapping, other), undefined, source);
    for (let length = 0; length < wrappedKeyLength; length += 1)
      assert.equal(unwrapKey(wrapping, wrapped.subarray(0, length)), undefined);
    for (const other of flipped(hex(vector.wrapping)))
      assert.equal(unwrapKey(createSecretKey(other), wrapped), undefined, source);
  }
});

test("one file of the server decrypts", () => {
  const source = join(import.meta.dirname, "..");
  const decrypting = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .filter((path) => readFileSync(join(source, path), "utf8").includes("createDecipher"));
  assert.deepEqual(decrypting, [join("vault", "aes.ts")]);
});
