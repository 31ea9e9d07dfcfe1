import { assert } from "../../kernel/assert.ts";

/**
 * Shamir's secret sharing over GF(256), byte by byte: the secret is the value of a random polynomial
 * at one x, each share its value at another. The field is the one of AES and of SLIP-39: modulus
 * x^8 + x^4 + x^3 + x + 1, generator x + 1.
 */
export interface Point {
  /** 0 to 255, different for each share. */
  readonly x: number;
  readonly y: Uint8Array;
}

const order = 255;
const { powers, logarithms } = fieldTables();

/** The polynomial's value at `x`. It has as many coefficients as there are points. */
export function interpolated(points: readonly Point[], x: number): Uint8Array {
  const known = points.find((point) => point.x === x);
  if (known !== undefined) return Uint8Array.from(known.y);
  const [first] = points;
  assert(first !== undefined, "a polynomial has at least one point");
  const value = new Uint8Array(first.y.length);
  for (const point of points) {
    // Lagrange's basis polynomial of this point at `x`, as a logarithm.
    let basis = 0;
    for (const other of points) {
      if (other === point) continue;
      basis += logarithmOf(other.x ^ x) - logarithmOf(other.x ^ point.x);
    }
    const factor = ((basis % order) + order) % order;
    for (const [at, byte] of point.y.entries()) {
      if (byte !== 0)
        value[at] = (value[at] ?? 0) ^ (powers[(logarithmOf(byte) + factor) % order] ?? 0);
    }
  }
  return value;
}

function logarithmOf(element: number): number {
  assert(element > 0 && element <= order, "shares have different numbers");
  return logarithms[element] ?? 0;
}

function fieldTables(): { readonly powers: Uint8Array; readonly logarithms: Uint8Array } {
  const [values, exponents] = [new Uint8Array(order), new Uint8Array(order + 1)];
  let element = 1;
  for (let exponent = 0; exponent < order; exponent += 1) {
    values[exponent] = element;
    exponents[element] = exponent;
    const doubled = element << 1;
    element ^= doubled > order ? doubled ^ 0x11b : doubled;
  }
  return { powers: values, logarithms: exponents };
}
