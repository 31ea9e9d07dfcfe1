import { allDigits } from "../kernel/written-digits.ts";
import { passesLuhn, type Pan } from "./pan.ts";

/*
 * Whether a text has the number of one given card: contiguous, in groups, with digits or letters
 * between or around them, in any script or escaped. Unlike a search for anything that looks like a
 * card number, it has no chance matches.
 */

const shownFirst = 6;
const shownLast = 4;

export function containsPan(text: string, pan: Pan): boolean {
  return containsDigits(text, pan.reveal());
}

/** The same for ASCII digits that are not a `Pan` yet. */
export function containsDigits(text: string, digits: Uint8Array): boolean {
  return allDigits(text, digits.length).some((written) => {
    for (let start = 0; start + digits.length <= written.length; start += 1) {
      let same = 0;
      while (same < digits.length && written.charCodeAt(start + same) === digits[same]) same += 1;
      if (same === digits.length) return true;
    }
    return false;
  });
}

/**
 * The same for a card of which only the mask is known: the first six digits, last four, length and
 * check digit match.
 */
export function containsMaskedPan(text: string, maskedPan: string): boolean {
  const { length } = maskedPan;
  return allDigits(text, length).some((written) => {
    for (let start = 0; start + length <= written.length; start += 1) {
      const end = start + length;
      if (!written.startsWith(maskedPan.slice(0, shownFirst), start)) continue;
      if (!written.startsWith(maskedPan.slice(-shownLast), end - shownLast)) continue;
      if (passesLuhn(Buffer.from(written.slice(start, end), "latin1"))) return true;
    }
    return false;
  });
}
