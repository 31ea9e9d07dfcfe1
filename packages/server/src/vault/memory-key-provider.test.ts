import assert from "node:assert/strict";
import { createHmac, createSecretKey } from "node:crypto";
import { test } from "node:test";
import { SystemRandom } from "../kernel/system-random.ts";
import { decryptGcm } from "./aes.ts";
import { createMemoryKeyProvider } from "./memory-key-provider.ts";

const random = new SystemRandom();
const root = (): Uint8Array => new Uint8Array(32).fill(7);

test("the root key itself wraps nothing: one key has one use", async () => {
  const provider = createMemoryKeyProvider(random, root());
  const key = random.bytes(32);
  const wrapped = await provider.wrap(key, "sandbox/epoch/1");

  assert.equal(wrapped.length, 61);
  assert.deepEqual(await provider.unwrap(wrapped, "sandbox/epoch/1"), Buffer.from(key));
  await assert.rejects(provider.unwrap(wrapped, "sandbox/epoch/2"), { name: "KeyringError" });
  for (const from of [0, 1]) {
    const body = wrapped.subarray(from);
    const parts = { ciphertext: body.subarray(12, -16), tag: body.subarray(-16) };
    assert.equal(
      decryptGcm(
        createSecretKey(root()),
        body.subarray(0, 12),
        Buffer.from("sandbox/epoch/1"),
        parts,
      ),
      undefined,
    );
  }
});

test("what an earlier version wrapped under the root itself unwraps, and is still made while one is there", async () => {
  const earlier = createMemoryKeyProvider(random, root(), () => false);
  const now = createMemoryKeyProvider(random, root());
  const key = random.bytes(32);
  const wrapped = await earlier.wrap(key, "label");

  assert.equal(wrapped.length, 60);
  assert.deepEqual(await now.unwrap(wrapped, "label"), Buffer.from(key));
  assert.equal(
    now.keyId,
    createHmac("sha256", root()).update("cofre root key id").digest("hex").slice(0, 16),
    "the name stays",
  );
});
