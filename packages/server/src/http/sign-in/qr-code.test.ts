import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sha256Hex } from "../../kernel/digest.ts";
import { pathOf, qrCode, type Squares } from "./qr-code.ts";

const drawn = (squares: Squares | undefined): string =>
  (squares ?? []).map((row) => row.map((isDark) => (isDark ? "#" : ".")).join("")).join("\n");
const uri = (length: number): string => "otpauth://totp/Cofre:ana?secret=".padEnd(length, "ABCDEFGHIJKLMNOP234567&").slice(0, length);

describe("a QR code", () => {
  test("is the one that a decoder of another hand read (jsQR 1.4.0, once, versions 1 to 20)", () => {
    const digests = [17, 120, 160, 300, 800].map((length) => {
      const squares = qrCode(uri(length));
      return [squares?.length, sha256Hex(drawn(squares)).slice(0, 16)];
    });
    assert.deepEqual(digests, [
      [21, "7d4f00afe72a6d98"],
      [41, "13a5eb9a6fb713ec"],
      [49, "7a101897383c22d7"],
      [61, "a408fbd2accaed5f"],
      [97, "b0a1b11204e70146"],
    ]);
  });

  test("has its three finders, and a path with one square for each dark one", () => {
    const squares = qrCode(uri(120)) ?? [];
    const finder = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"];
    const rows = drawn(squares).split("\n");
    const corner = (x: number, y: number): string[] => rows.slice(y, y + 7).map((row) => row.slice(x, x + 7));
    for (const [x, y] of [[0, 0] as const, [squares.length - 7, 0] as const, [0, squares.length - 7] as const]) {
      assert.deepEqual(corner(x, y), finder);
    }
    assert.equal(pathOf(squares).split("M").length - 1, squares.flat().filter((isDark) => isDark).length);
    assert.match(pathOf(squares), /^M0 0h1v1h-1z/);
  });

  test("is none of a text that is too long for it", () => {
    assert.equal(qrCode("x".repeat(858))?.length, 97);
    assert.equal(qrCode("x".repeat(859)), undefined);
  });
});
