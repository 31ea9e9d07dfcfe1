import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sha256Hex } from "../../kernel/digest.ts";
import { qrCode } from "./qr-code.ts";

const uri = (length: number): string =>
  "otpauth://totp/Cofre:ana?secret=".padEnd(length, "ABCDEFGHIJKLMNOP234567&").slice(0, length);

/** The rows of a QR code, read from its path. */
async function drawn(text: string): Promise<readonly string[]> {
  const { path, size } = await qrCode(text);
  assert.match(path, /^(?:M\d+ \d+h1v1h-1z)+$/);
  const dark = new Set(Array.from(path.matchAll(/M(\d+) (\d+)h/g), ([, x, y]) => `${x} ${y}`));
  return Array.from({ length: size }, (_row, y) =>
    Array.from({ length: size }, (_, x) => (dark.has(`${x} ${y}`) ? "#" : ".")).join(""),
  );
}

describe("a QR code", () => {
  test("is the one that another decoder has read (jsQR 1.4.0)", async () => {
    const digests = [];
    for (const length of [17, 120, 160, 300]) {
      const rows = await drawn(uri(length));
      digests.push([rows.length, sha256Hex(rows.join("\n")).slice(0, 16)]);
    }
    assert.deepEqual(digests, [
      [21, "7d4f00afe72a6d98"],
      [41, "13a5eb9a6fb713ec"],
      [49, "7a101897383c22d7"],
      [61, "a408fbd2accaed5f"],
    ]);
  });

  test("has its three finders, and no border", async () => {
    const rows = await drawn(uri(120));
    const finder = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"];
    const corner = (x: number, y: number): string[] =>
      rows.slice(y, y + 7).map((row) => row.slice(x, x + 7));
    for (const [x, y] of [
      [0, 0] as const,
      [rows.length - 7, 0] as const,
      [0, rows.length - 7] as const,
    ]) {
      assert.deepEqual(corner(x, y), finder);
    }
  });
});
