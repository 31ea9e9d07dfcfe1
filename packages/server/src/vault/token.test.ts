import assert from "node:assert/strict";
import { createHash, createHmac, createSecretKey, randomBytes } from "node:crypto";
import { test } from "node:test";
import { formatTimestamp } from "../kernel/calendar.ts";
import { instant } from "../kernel/instant.ts";
import { HmacSha256 } from "./hmac.ts";
import {
  isAcceptableToken,
  keyedDigest,
  newToken,
  tokenExpiresAt,
  unkeyedDigest,
  unkeyedLength,
} from "./token.ts";

const random = { bytes: (length: number): Uint8Array => randomBytes(length) };

test("a token is 64 random bytes in lower-case hex, acceptable as a token, and never repeats", () => {
  const tokens = new Set<string>();
  for (let count = 0; count < 10_000; count += 1) {
    const token = newToken(random);
    assert.match(token, /^[0-9a-f]{128}$/);
    tokens.add(token);
  }
  assert.equal(tokens.size, 10_000);
  assert.ok(isAcceptableToken(newToken(random)));
});

test("a token holds the bytes that the random port gave, in their order", () => {
  assert.equal(
    newToken({ bytes: (length) => Uint8Array.from({ length }, (_, index) => index) }).slice(0, 10),
    "0001020304",
  );
});

test("the digest that earlier versions kept of a token is its SHA-256 and distinguishes letter cases", () => {
  assert.equal(
    unkeyedDigest("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  assert.notEqual(unkeyedDigest("ABC"), unkeyedDigest("abc"));
});

test("the keyed digest of a token is HMAC-SHA-256 over the bytes of its SHA-256", () => {
  const bytes = Buffer.alloc(32, 7);
  const key = new HmacSha256(createSecretKey(bytes), unkeyedLength);
  const expected = createHmac("sha256", bytes)
    .update(createHash("sha256").update("abc").digest())
    .digest("hex");
  assert.equal(keyedDigest(key, unkeyedDigest("abc")), expected);
});

test("a merchant's own token has 32 to 128 printable characters without blanks", () => {
  for (const text of [
    "a".repeat(31),
    "a".repeat(129),
    "",
    `${"a".repeat(40)} `,
    `a b${"c".repeat(40)}`,
    `${"a".repeat(40)}\n`,
    "é".repeat(40),
  ]) {
    assert.equal(isAcceptableToken(text), false, JSON.stringify(text));
  }
  for (const text of ["a".repeat(32), "~!".repeat(64), "0".repeat(32)])
    assert.equal(isAcceptableToken(text), true, text);
});

/** Reliability 3.5: calendar months are added and clamped to the month's end, in UTC. */
const expiries: readonly (readonly [lastUsed: string, expires: string])[] = [
  ["2025-12-31T23:59:59Z", "2027-02-28 23:59:59"],
  ["2026-12-31T00:00:00Z", "2028-02-29 00:00:00"],
  ["2027-12-31T12:00:00Z", "2029-02-28 12:00:00"],
  ["2026-10-29T01:02:03Z", "2027-12-29 01:02:03"],
  ["2026-10-30T01:02:03Z", "2027-12-30 01:02:03"],
  ["2026-10-31T01:02:03Z", "2027-12-31 01:02:03"],
  ["2026-11-29T00:00:00Z", "2028-01-29 00:00:00"],
  ["2026-11-30T00:00:00Z", "2028-01-30 00:00:00"],
  ["2026-12-29T00:00:00Z", "2028-02-29 00:00:00"],
  ["2026-12-30T00:00:00Z", "2028-02-29 00:00:00"],
  ["2025-12-29T00:00:00Z", "2027-02-28 00:00:00"],
  ["2028-02-29T00:00:00Z", "2029-04-29 00:00:00"],
  ["2026-04-30T00:00:00Z", "2027-06-30 00:00:00"],
  ["2026-07-31T00:00:00Z", "2027-09-30 00:00:00"],
];

test("a token expires 14 calendar months after its last use, at the month's end if there is no such day", () => {
  for (const [lastUsed, expires] of expiries) {
    assert.equal(formatTimestamp(tokenExpiresAt(instant(Date.parse(lastUsed)))), expires, lastUsed);
  }
});
