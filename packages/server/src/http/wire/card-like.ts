/**
 * People type card numbers into any field. What looks like one must not be kept or repeated in clear (docs/wire/parity.md, card numbers
 * in other fields): 13 to 19 digits, in one piece or grouped, that pass the Luhn check and begin as some scheme's cards do. What groups
 * them: blanks, dashes of all kinds, dots, commas, slashes, strokes, plus signs, and characters that nobody sees. No colons, which make
 * IPv6 addresses.
 */
const candidate = /\d(?:[\s.,/_|+\p{Pd}\p{Cf}]{0,3}\d){12,}/gu;
/** Any text that could hold a candidate has thirteen digits; most texts end here. */
const manyDigits = /\d(?:\D*\d){12}/;

const shortest = 13;
const longest = 19;
const shownFirst = 6;
const shownLast = 4;

export function holdsCardNumber(text: string): boolean {
  return maskCardNumbers(text) !== text;
}

/** `text` with an `x` for each middle digit of whatever looks like a card number; first six and last four stay, separators too. */
export function maskCardNumbers(text: string): string {
  return manyDigits.test(text) ? text.replace(candidate, maskRun) : text;
}

function maskRun(run: string): string {
  const spans = cardSpans(run);
  if (spans.length === 0) return run;
  let index = -1;
  return run.replace(/\d/g, (digit) => {
    index += 1;
    return spans.some(({ start, end }) => index >= start + shownFirst && index < end - shownLast) ? "x" : digit;
  });
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Card numbers in a run of digit groups. One begins and ends where a group does, so that a number of another kind is not taken for
 * a card because some part of it happens to pass; in a group longer than any card number it may begin and end anywhere.
 */
function cardSpans(run: string): readonly Span[] {
  const digits = run.replace(/\D/g, "");
  const bounds = new Set<number>([0]);
  let at = 0;
  for (const group of run.split(/\D+/)) {
    if (group.length > longest) for (let inside = 1; inside < group.length; inside += 1) bounds.add(at + inside);
    at += group.length;
    bounds.add(at);
  }
  const spans: Span[] = [];
  for (const start of bounds) {
    for (let end = Math.min(digits.length, start + longest); end >= start + shortest; end -= 1) {
      if (!bounds.has(end) || !isCardNumber(digits.slice(start, end))) continue;
      spans.push({ start, end });
      break;
    }
  }
  return spans;
}

/** Any length of section 2.6 for its first digits, and those of other schemes, which are none of ours but somebody's card all the same. */
function isCardNumber(digits: string): boolean {
  return hasSchemeShape(digits) && passesLuhn(digits);
}

function hasSchemeShape(digits: string): boolean {
  switch (digits.length) {
    case 13:
      return digits.startsWith("4");
    case 14:
      return /^3[0689]/.test(digits);
    case 15:
      return /^3[47]/.test(digits);
    case 16:
      return /^(?:2[2-8]|3[58]|[456])/.test(digits);
    default:
      return /^(?:38|[456])/.test(digits);
  }
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = digits.length - 1, doubled = false; index >= 0; index -= 1, doubled = !doubled) {
    const value = (digits.charCodeAt(index) - 0x30) * (doubled ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

const longestEcho = 40;

/** A value of the request as it may stand in an error message: short, one line, without anything that looks like a card number. */
export function echo(text: string): string {
  return maskCardNumbers(oneLine(text)).slice(0, longestEcho).toWellFormed();
}

/** A control character, or one half of a pair of surrogates without the other. */
export const controlOrHalfPair = /[\p{Cc}\p{Cs}]/u;

/** Controls become blanks, and lone surrogates, which no store keeps as they are, become U+FFFD. */
export function oneLine(text: string): string {
  return controlOrHalfPair.test(text) ? text.replace(/\p{Cc}/gu, " ").toWellFormed() : text;
}
