import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptsBrotli } from "./response-writer.ts";

for (const [header, expected] of [
  [undefined, false],
  ["", false],
  ["gzip, deflate", false],
  ["*", false],
  ["gzip, deflate, br, zstd", true],
  ["BR", true],
  ["br;q=0.001", true],
  ["gzip;q=1, br ; q=0.5", true],
  ["br;q=0", false],
  ["br; q=0.000", false],
  ["brotli", false],
  ["x-br, gzip", false],
] as const)
  test(`an Accept-Encoding of ${JSON.stringify(header)} ${expected ? "takes" : "does not take"} brotli`, () => {
    assert.equal(acceptsBrotli(header), expected);
  });
