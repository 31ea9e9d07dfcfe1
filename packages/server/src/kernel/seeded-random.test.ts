import assert from "node:assert/strict";
import { test } from "node:test";
import { hexOf } from "./ids.ts";
import { SeededRandom } from "./seeded-random.ts";

test("a seed gives the stream that is documented, on every machine", () => {
  // Made with OpenSSL's command line: printf 'cofre seeded random 1\0a' | openssl dgst -sha256,
  // then enc -aes-256-ctr of zeros.
  assert.equal(
    hexOf(new SeededRandom("a").bytes(32)),
    "c144b392bc3efec7193ddec19d09c66a0f3a0a2d4891877a578c65d0602f7670",
  );
});

test("the stream does not depend on how it is cut", () => {
  const whole = hexOf(new SeededRandom("cut").bytes(5_000));
  const random = new SeededRandom("cut");
  let pieces = "";
  for (let size = 0; pieces.length < whole.length; size += 7)
    pieces += hexOf(random.bytes(Math.min(size, 5_000 - pieces.length / 2)));
  assert.equal(pieces, whole);
});

test("other seeds give other streams", () => {
  const seeds = ["", "0", "1", "01", "a", "A", "a\0"];
  assert.equal(
    new Set(seeds.map((seed) => hexOf(new SeededRandom(seed).bytes(16)))).size,
    seeds.length,
  );
});

test("what was handed out belongs to the caller", () => {
  const random = new SeededRandom("owned");
  const first = random.bytes(16);
  const copy = hexOf(first);
  random.bytes(4_096);
  assert.equal(hexOf(first), copy);
  first.fill(0);
  assert.equal(hexOf(new SeededRandom("owned").bytes(16)), copy);
});

test("another generator continues where the first one stopped", () => {
  for (const drawn of [0, 1, 16, 1_023, 1_024, 1_025, 5_000]) {
    const first = new SeededRandom("on");
    first.bytes(drawn);
    assert.equal(first.position, drawn);
    const second = new SeededRandom("on", first.position);
    assert.equal(hexOf(second.bytes(2_000)), hexOf(first.bytes(2_000)));
    assert.equal(second.position, first.position);
  }
});
