import assert from "node:assert/strict";
import { test } from "node:test";
import { instant } from "../kernel/instant.ts";
import { base32Of, codeOf, stepAt, stepOfCode, totpUri } from "./totp.ts";

/** RFC 6238, appendix B: the secret of SHA-1, eight digits. */
const secret = Buffer.from("12345678901234567890");
const vectors = [
  [59, "94287082"],
  [1_111_111_109, "07081804"],
  [1_111_111_111, "14050471"],
  [1_234_567_890, "89005924"],
  [2_000_000_000, "69279037"],
  [20_000_000_000, "65353130"],
] as const;

test("the codes of RFC 6238", () => {
  for (const [seconds, code] of vectors) {
    const step = stepAt(instant(seconds * 1_000));
    assert.equal(codeOf(secret, step, 8), code);
    assert.equal(codeOf(secret, step), code.slice(2), "six digits are the last six");
    assert.equal(stepOfCode(secret, code.slice(2), instant(seconds * 1_000), 0), step);
  }
});

test("the codes of RFC 4226, whose counter is the step", () => {
  const codes = [
    "755224",
    "287082",
    "359152",
    "969429",
    "338314",
    "254676",
    "287922",
    "162583",
    "399871",
    "520489",
  ];
  for (const [step, code] of codes.entries()) assert.equal(codeOf(secret, step), code);
});

test("a code counts one step before its time and one behind, and only above the last that was used", () => {
  const now = instant(1_111_111_111_000);
  const step = stepAt(now);
  const found = (of: number, lastUsed = 0) => stepOfCode(secret, codeOf(secret, of), now, lastUsed);
  assert.deepEqual(
    [-2, -1, 0, 1, 2].map((aside) => found(step + aside)),
    [undefined, step - 1, step, step + 1, undefined],
  );
  assert.equal(found(step, step), undefined);
  assert.equal(found(step, step - 1), step);
  assert.equal(found(step - 1, step), undefined);
  // The last second of a step and the first of the next.
  assert.equal(stepAt(instant(29_999)), 0);
  assert.equal(stepAt(instant(30_000)), 1);
});

test("anything but six ASCII digits is not a code", () => {
  const now = instant(59_000);
  for (const odd of [
    "",
    "28708",
    "2870820",
    "287082 ",
    "٢٨٧٠٨٢",
    "2870８2",
    "0x1234",
    "x".repeat(100_000),
  ]) {
    assert.equal(stepOfCode(secret, odd, now, 0), undefined, odd.slice(0, 10));
  }
  assert.equal(stepOfCode(secret, "287082", now, 0), 1, "control");
});

test("base32 as RFC 4648 has it, without padding", () => {
  const pairs = [
    ["", ""],
    ["f", "MY"],
    ["fo", "MZXQ"],
    ["foo", "MZXW6"],
    ["foob", "MZXW6YQ"],
    ["fooba", "MZXW6YTB"],
    ["foobar", "MZXW6YTBOI"],
  ];
  for (const [text = "", encoded] of pairs) assert.equal(base32Of(Buffer.from(text)), encoded);
});

test("what an app reads names issuer, name and secret", () => {
  const uri = new URL(totpUri(secret, "Cofre sandbox", "bob+1@example.com"));
  assert.equal(uri.protocol, "otpauth:");
  assert.equal(decodeURIComponent(uri.pathname), "/Cofre sandbox:bob+1@example.com");
  assert.deepEqual(Object.fromEntries(uri.searchParams), {
    secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    issuer: "Cofre sandbox",
    algorithm: "SHA1",
    digits: "6",
    period: "30",
  });
});
