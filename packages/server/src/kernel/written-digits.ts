/** Digits in text: of any script, and escaped as `%34`, `&#52;` or `\u0034`. */

/** A character and its position in the text. */
export interface Piece {
  readonly character: string;
  readonly start: number;
  readonly end: number;
}

export function* literalPieces(text: string): Generator<Piece> {
  let start = 0;
  for (const character of text) {
    yield { character, start, end: start + character.length };
    start += character.length;
  }
}

/**
 * `%34`, also escaped repeatedly; `\u0034`; `&#52;`, `&#x34;`; and named entities, which can only
 * be blanks and dashes.
 */
export const escape = /(?:%(?:25){0,3}[\da-f]{2})+|\\u[\da-f]{4}|&#x?[\da-f]{1,6};|&[a-z]{2,8};/i;
const escapes = new RegExp(escape.source, "gi");
const octet = /%(?:25)*([\da-f]{2})/gi;

export function* decodedPieces(text: string): Generator<Piece> {
  let at = 0;
  for (const { 0: written, index } of text.matchAll(escapes)) {
    for (const piece of literalPieces(text.slice(at, index)))
      yield { ...piece, start: at + piece.start, end: at + piece.end };
    at = index + written.length;
    if (written.startsWith("%")) yield* octets(written, index);
    else yield { character: unescaped(written), start: index, end: at };
  }
  for (const piece of literalPieces(text.slice(at)))
    yield { ...piece, start: at + piece.start, end: at + piece.end };
}

function unescaped(written: string): string {
  if (written.startsWith("\\")) return String.fromCharCode(Number.parseInt(written.slice(2), 16));
  if (!written.startsWith("&#")) return " ";
  const isHexadecimal = /^&#x/i.test(written);
  const code = Number.parseInt(written.slice(isHexadecimal ? 3 : 2), isHexadecimal ? 16 : 10);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : " ";
}

/** Decodes percent-encoded UTF-8: each character with the position of its escapes. */
function* octets(written: string, offset: number): Generator<Piece> {
  const units = Array.from(written.matchAll(octet), ({ 0: unit, 1: hex = "", index }) => ({
    byte: Number.parseInt(hex, 16),
    start: offset + index,
    end: offset + index + unit.length,
  }));
  for (let index = 0; index < units.length;) {
    const first = units[index]?.byte ?? 0;
    const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const taken = units.slice(index, index + length);
    const character = Buffer.from(taken.map(({ byte }) => byte)).toString("utf8");
    yield { character, start: taken[0]?.start ?? offset, end: taken.at(-1)?.end ?? offset };
    index += taken.length;
  }
}

/** The ASCII digits of a character; undefined if it has none. */
export function digitsOf(character: string): string | undefined {
  const unit = character.charCodeAt(0);
  if (unit <= 0x7f) return unit >= 0x30 && unit <= 0x39 ? character : undefined;
  if (!/\p{N}/u.test(character)) return undefined;
  let folded = "";
  for (const part of character.normalize("NFKC")) {
    if (/\d/.test(part)) folded += part;
    else if (/\p{Nd}/u.test(part)) folded += String(digitValue(part.codePointAt(0) ?? 0));
  }
  return folded === "" ? undefined : folded;
}

/**
 * The ten digits of a script are consecutive in Unicode, from zero; adjacent sets (the mathematical
 * ones) follow in tens.
 */
function digitValue(codePoint: number): number {
  let zero = codePoint;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (codePoint - zero) % 10;
}

/**
 * All digits of a text without the characters between them; if it has escapes, also with the
 * escapes decoded. Empty if there are fewer than `minDigits`.
 */
export function allDigits(text: string, minDigits: number): readonly string[] {
  if (!mayHaveDigits(text, minDigits)) return [];
  const texts = [foldedDigits(literalPieces(text))];
  if (escape.test(text)) texts.push(foldedDigits(decodedPieces(text)));
  return texts.filter((digits) => digits.length >= minDigits);
}

function foldedDigits(pieces: Iterable<Piece>): string {
  let digits = "";
  for (const { character } of pieces) digits += digitsOf(character) ?? "";
  return digits;
}

/**
 * Whether a text can have at least `minDigits` digits. Escaped digits are written with digits; a
 * character of another script can mean two.
 */
export function mayHaveDigits(text: string, minDigits: number): boolean {
  let digits = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x30 && unit <= 0x39) digits += 1;
    else if (unit > 0x7f) digits += 2;
    if (digits >= minDigits) return true;
  }
  return false;
}
