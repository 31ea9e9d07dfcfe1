import type { Pan } from "./pan.ts";

const shownFirst = 6;
const shownLast = 4;

/**
 * First six digits, an `x` for each hidden one, last four: as long as the PAN (interface 2.2). The
 * only mask format.
 */
export function maskOf(pan: Pan): string {
  return maskOfDigits(pan.reveal());
}

/** The same for a card number found where none is allowed, as ASCII digits. */
export function maskOfDigits(digits: Uint8Array): string {
  const lastHidden = digits.length - shownLast;
  let mask = "";
  for (let index = 0; index < digits.length; index += 1) {
    mask +=
      index < shownFirst || index >= lastHidden ? String.fromCharCode(digits[index] ?? 0) : "x";
  }
  return mask;
}
