import assert from "node:assert/strict";
import { test } from "node:test";
import { hexOf } from "./ids.ts";
import { SystemRandom } from "./system-random.ts";

test("bytes of every asked length come, from nothing to more than the pool", () => {
  const random = new SystemRandom();
  for (const length of [0, 1, 12, 64, 8_191, 8_192, 8_193, 100_000])
    assert.equal(random.bytes(length).length, length);
});

test("no bytes are handed out twice, across many refills of the pool", () => {
  const random = new SystemRandom();
  const seen = new Set<string>();
  for (let count = 0; count < 5_000; count += 1) seen.add(hexOf(random.bytes(16)));
  assert.equal(seen.size, 5_000);
});

test("what was handed out belongs to the caller: later draws and refills leave it alone", () => {
  const random = new SystemRandom();
  const first = random.bytes(32);
  const copy = hexOf(first);
  assert.equal(first.buffer.byteLength, 32);
  for (let count = 0; count < 1_000; count += 1) random.bytes(32);
  assert.equal(hexOf(first), copy);
});

test("every bit is drawn: over a thousand draws each is set about as often as not", () => {
  const random = new SystemRandom();
  const set = Array.from({ length: 128 }, () => 0);
  for (let count = 0; count < 1_000; count += 1) {
    random.bytes(16).forEach((byte, at) => {
      for (let bit = 0; bit < 8; bit += 1)
        set[at * 8 + bit] = (set[at * 8 + bit] ?? 0) + ((byte >> bit) & 1);
    });
  }
  // Nine standard deviations of a fair coin: fails by chance less than once in 10^16 runs, always
  // for a stuck or zeroed bit.
  for (const count of set) assert.ok(Math.abs(count - 500) < 143);
});
