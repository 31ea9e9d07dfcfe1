/**
 * Arithmetic of GHASH (NIST SP 800-38D, 6.3) on 128-bit blocks as numbers, for crafting ciphertexts
 * that an attacker could craft.
 */

const reduction = 0xe1n << 120n;
const one = 1n << 127n;

export function multiply(left: bigint, right: bigint): bigint {
  let product = 0n;
  let shifted = right;
  for (let bit = 127n; bit >= 0n; bit -= 1n) {
    if (((left >> bit) & 1n) === 1n) product ^= shifted;
    shifted = (shifted & 1n) === 1n ? (shifted >> 1n) ^ reduction : shifted >> 1n;
  }
  return product;
}

export function power(base: bigint, exponent: bigint): bigint {
  let result = one;
  for (let square = base, left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

export function inverse(value: bigint): bigint {
  return power(value, (1n << 128n) - 2n);
}

/** The blocks of `bytes`, the last one filled up with zeros. */
export function blocksOf(bytes: Uint8Array): bigint[] {
  const blocks: bigint[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    blocks.push(
      BigInt(
        `0x${Buffer.from(bytes.subarray(at, at + 16))
          .toString("hex")
          .padEnd(32, "0")}`,
      ),
    );
  }
  return blocks;
}

export function bytesOf(block: bigint): Buffer {
  return Buffer.from(block.toString(16).padStart(32, "0"), "hex");
}
