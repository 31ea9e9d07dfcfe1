/** A value to be replaced where one of these names has it. */
export interface Replacement {
  readonly names: readonly string[];
  /** As bytes: digits of a card number, which may be grouped by blanks and dashes. */
  readonly from: string | Uint8Array;
  /** Letters, digits, `-` and `_`: the same in every encoding. */
  readonly to: string;
}

export interface Replaced {
  readonly bytes: Buffer;
  /** The replacements that were made at least once. */
  readonly made: ReadonlySet<Replacement>;
}

/** What may be between a name and its value: in JSON, forms, parts and their percent-encodings. */
const between = [
  "%0D",
  "%0A",
  "%22",
  "%20",
  "%3A",
  "%3D",
  "%5D",
  "%5C",
  "%0d",
  "%0a",
  "%3a",
  "%3d",
  "%5d",
  "%5c",
  ...Array.from(" \t\r\n\"':=]\\+"),
].map((text) => Buffer.from(text));
const longestBetween = 64;

/** Between the digits of a grouped number. */
const groupings = ["%20", " ", "-", "+"].map((text) => Buffer.from(text));

/**
 * Replaces values in a request and leaves all other bytes unchanged, so that the encoding of the
 * client is compared too. Works on bytes: a request may hold card data, which the caller wipes.
 */
export function withReplaced(source: Buffer, replacements: readonly Replacement[]): Replaced {
  const made = new Set<Replacement>();
  const edits: { readonly start: number; readonly end: number; readonly to: string }[] = [];
  for (const replacement of replacements) {
    for (const name of replacement.names) {
      for (let at = source.indexOf(name); at >= 0; at = source.indexOf(name, at + 1)) {
        const start = afterAny(source, at + name.length, between, longestBetween);
        if (start === at + name.length) continue;
        const end = endOfValue(source, start, replacement);
        if (end === undefined) continue;
        made.add(replacement);
        edits.push({ start, end, to: replacement.to });
      }
    }
  }
  if (edits.length === 0) return { bytes: Buffer.from(source), made };
  edits.sort((one, other) => one.start - other.start);
  const length = edits.reduce(
    (sum, { start, end, to }) => sum + to.length - (end - start),
    source.length,
  );
  const bytes = Buffer.alloc(Math.max(length, 0));
  let from = 0;
  let written = 0;
  for (const { start, end, to } of edits) {
    if (start < from) continue;
    written += source.copy(bytes, written, from, start);
    written += bytes.write(to, written, "latin1");
    from = end;
  }
  written += source.copy(bytes, written, from);
  return { bytes: written === bytes.length ? bytes : bytes.subarray(0, written), made };
}

/** The position behind all of `pieces` from `at` on. */
function afterAny(source: Buffer, at: number, pieces: readonly Buffer[], most: number): number {
  let position = at;
  while (position - at < most) {
    const piece = pieces.find((each) => isAt(source, position, each));
    if (piece === undefined) return position;
    position += piece.length;
  }
  return position;
}

function isAt(source: Buffer, at: number, piece: Uint8Array): boolean {
  return piece.every((byte, index) => source[at + index] === byte);
}

function endOfValue(source: Buffer, start: number, { from }: Replacement): number | undefined {
  if (typeof from !== "string") return endOfGrouped(source, start, from);
  for (const spelled of spellingsOf(from)) {
    const end = start + spelled.length;
    if (isAt(source, start, spelled) && !isWordByte(source[end])) return end;
  }
  return undefined;
}

function endOfGrouped(source: Buffer, start: number, digits: Uint8Array): number | undefined {
  let at = start;
  for (let index = 0; index < digits.length; index += 1) {
    if (index > 0) at = afterAny(source, at, groupings, 1);
    if (source[at] !== digits[index]) return undefined;
    at += 1;
  }
  return isWordByte(source[at]) ? undefined : at;
}

/** How clients write a text: plainly, in JSON with or without escapes, and percent-encoded. */
function spellingsOf(text: string): readonly Buffer[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replaceAll(
    /[^\0-\u007f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const plain = [text, json, ascii, ascii.replaceAll("/", "\\/")];
  const encoded = plain.map((each) => encodeURIComponent(each.toWellFormed()));
  const all = new Set([
    ...plain,
    ...encoded,
    ...encoded.map((each) => each.replaceAll("%20", "+")),
  ]);
  return Array.from(all, (each) => Buffer.from(each));
}

/** Whether a value continues with this byte. */
function isWordByte(byte: number | undefined): boolean {
  return (
    byte !== undefined &&
    ((byte >= 0x30 && byte <= 0x39) ||
      (byte >= 0x41 && byte <= 0x5a) ||
      (byte >= 0x61 && byte <= 0x7a) ||
      byte >= 0x80)
  );
}
