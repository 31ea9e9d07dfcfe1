/**
 * Characters that separate the digits of a number or surround it: typed ones, and those that
 * clipboards, word processors and mobile keyboards add. Numbers, telephone numbers, documents and
 * zip codes are parsed without them, and searches for numbers in requests and files ignore them.
 */

/** Kinds of separators, as bits: each parser selects the kinds that it accepts. */
export const separatorKinds = { blank: 1, invisible: 2, dash: 4, point: 8, mark: 16 } as const;

/**
 * Blanks and invisible characters: never part of a value, so they are removed from both ends of it.
 */
export const blankKinds = separatorKinds.blank | separatorKinds.invisible;
/** Separators in documents and zip codes, whose values may also have letters. */
export const groupKinds = blankKinds | separatorKinds.dash | separatorKinds.point;
export const allKinds = groupKinds | separatorKinds.mark;

type Kind = (typeof separatorKinds)[keyof typeof separatorKinds];

const { blank, invisible, dash, point, mark } = separatorKinds;

/** Code points from `first` to `last`, in ascending order. */
const ranges: readonly (readonly [first: number, last: number, kind: Kind])[] = [
  // Tab and line breaks.
  [0x09, 0x0d, blank],
  [0x20, 0x20, blank],
  // " # ' ( ) * +
  [0x22, 0x23, mark],
  [0x27, 0x2b, mark],
  [0x2c, 0x2c, point],
  [0x2d, 0x2d, dash],
  // . / :
  [0x2e, 0x2f, point],
  [0x3a, 0x3a, point],
  // ; _ | ~
  [0x3b, 0x3b, mark],
  [0x5f, 0x5f, mark],
  [0x7c, 0x7c, mark],
  [0x7e, 0x7e, mark],
  [0x85, 0x85, blank],
  [0xa0, 0xa0, blank],
  // Soft hyphen.
  [0xad, 0xad, invisible],
  // Middle dot.
  [0xb7, 0xb7, point],
  [0x58a, 0x58a, dash],
  // Arabic letter mark.
  [0x61c, 0x61c, invisible],
  [0x1680, 0x1680, blank],
  [0x180e, 0x180e, invisible],
  [0x2000, 0x200a, blank],
  // Zero-width characters and direction marks.
  [0x200b, 0x200f, invisible],
  // Hyphen, no-break hyphen, figure dash, en dash, em dash, bar.
  [0x2010, 0x2015, dash],
  // Quotation marks of word processors.
  [0x2018, 0x201f, mark],
  // Bullets and dots.
  [0x2022, 0x2027, point],
  [0x2028, 0x2029, blank],
  // Direction embeddings and overrides.
  [0x202a, 0x202e, invisible],
  [0x202f, 0x202f, blank],
  [0x2032, 0x2033, mark],
  // Hyphen bullet and fraction slash.
  [0x2043, 0x2044, point],
  [0x205f, 0x205f, blank],
  // Word joiner, invisible operators, isolates.
  [0x2060, 0x206f, invisible],
  // The keycap around an emoji digit.
  [0x20e3, 0x20e3, mark],
  [0x2212, 0x2212, dash],
  // Mathematical slash, asterisk, circle and bullet; dot operator.
  [0x2215, 0x2219, point],
  [0x22c5, 0x22c5, point],
  [0x2500, 0x2502, mark],
  [0x2e3a, 0x2e3b, dash],
  [0x3000, 0x3000, blank],
  [0x30fb, 0x30fb, point],
  // Variation selectors.
  [0xfe00, 0xfe0f, mark],
  [0xfe58, 0xfe58, dash],
  [0xfe63, 0xfe63, dash],
  [0xfeff, 0xfeff, invisible],
  // Full-width forms of ( ) * + , - . / : ; _ | ~ and the middle dot.
  [0xff08, 0xff0b, mark],
  [0xff0c, 0xff0c, point],
  [0xff0d, 0xff0d, dash],
  [0xff0e, 0xff0f, point],
  [0xff1a, 0xff1a, point],
  [0xff1b, 0xff1b, mark],
  [0xff3f, 0xff3f, mark],
  [0xff5c, 0xff5c, mark],
  [0xff5e, 0xff5e, mark],
  [0xff65, 0xff65, point],
];

/** The kinds of all characters with one UTF-16 code unit; no separator has two. */
const kinds = new Uint8Array(0x1_0000);
for (const [first, last, kind] of ranges) kinds.fill(kind, first, last + 1);

/** The kind of a code point; 0 if it is not a separator. */
export function separatorKind(codePoint: number): Kind | 0 {
  return (kinds[codePoint] ?? 0) as Kind | 0;
}

/** Removes blanks and invisible characters from both ends. */
export function trimmed(text: string): string {
  const isOuter = (at: number): boolean => (separatorKind(text.charCodeAt(at)) & blankKinds) !== 0;
  let start = 0;
  let end = text.length;
  while (start < end && isOuter(start)) start += 1;
  while (end > start && isOuter(end - 1)) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/** Removes all separators of the given kinds. */
export function withoutSeparators(text: string, accepted: number = allKinds): string {
  let kept = "";
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if ((separatorKind(text.charCodeAt(at)) & accepted) === 0) continue;
    kept += text.slice(from, at);
    from = at + 1;
  }
  return from === 0 ? text : kept + text.slice(from);
}

/**
 * The code point of the separator that begins at a byte of UTF-8; -1 if there is none. It has
 * `utf8Length` bytes.
 */
export function separatorAt(bytes: Uint8Array, at: number, end: number = bytes.length): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return kinds[first] === 0 || at >= end ? -1 : first;
  const length = first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xef || at + length > end) return -1;
  let codePoint = first & (length === 3 ? 0x0f : 0x1f);
  for (let index = 1; index < length; index += 1) {
    const next = bytes[at + index] ?? 0;
    if (next >> 6 !== 0b10) return -1;
    codePoint = (codePoint << 6) | (next & 0x3f);
  }
  return kinds[codePoint] === 0 || utf8Length(codePoint) !== length ? -1 : codePoint;
}

/** Length of a separator in UTF-8, in bytes. */
export function utf8Length(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : 3;
}
