import { cardAt, endOfDigits, isDigit } from "./digit-groups.ts";
import {
  base64At,
  chipFieldAt,
  escapedAt,
  hexAt,
  narrowed,
  scriptDigitsAt,
  scriptLeads,
  utf16At,
  type Projection,
} from "./projections.ts";
import { maskOfDigits } from "../vault/mask.ts";
import { context, type Hit, type Search } from "./search.ts";

/** The encodings that may begin at a byte; 0: none. */
const digits = 1;
const base64 = 2;
const escape = 3;
const chipField = 4;
const script = 5;

const encodingAt = new Uint8Array(256);
for (let byte = 0x30; byte <= 0x39; byte += 1) encodingAt[byte] = digits;
for (const byte of Buffer.from("ILMNO")) encodingAt[byte] = base64;
for (const byte of Buffer.from("%\\&")) encodingAt[byte] = escape;
for (const byte of scriptLeads) encodingAt[byte] = script;
encodingAt[0x5a] = chipField;
encodingAt[0x57] = chipField;

/** Bytes that are read again after a long encoded passage: a number can lie across the boundary. */
const rereadBytes = context / 2;

/**
 * Searches for anything that could be a card number: a scheme's first digits and length, a valid
 * check digit, and no adjacent characters that make it part of a longer value. Encodings in which
 * every eighth byte of noise would match (packed decimal without its field, binary numbers,
 * reversed digits) are searched for known numbers only.
 */
export class PlausibleNumbers implements Search {
  search(bytes: Uint8Array): readonly Hit[] {
    const found = new Map<string, Hit>();
    const keep = (offset: number, encoding: string, pan: Uint8Array): void => {
      found.set(`${offset} ${encoding}`, { offset, encoding, maskedPan: maskOfDigits(pan) });
    };
    // Where an encoding may be read next, per alignment of its units: bytes that are not text in
    // one alignment may be text in another.
    const [hex, wide, fours, escapes, fields, scripts] = [2, 2, 4, 1, 1, 1].map(
      (alignments) => new Uint32Array(alignments),
    );
    /** Searches the text decoded from an encoding at `at`, unless that was read already. */
    const tryEncoding = (
      read: (bytes: Uint8Array, at: number) => Projection | undefined,
      at: number,
      next = new Uint32Array(1),
    ): void => {
      const alignment = at % next.length;
      if (at < (next[alignment] ?? 0)) return;
      const projection = read(bytes, at);
      if (projection === undefined) return;
      searchText(projection, keep);
      const narrow = narrowed(projection);
      if (narrow !== undefined) searchText(narrow, keep);
      next[alignment] = Math.max(
        at + 1,
        projection.end - (projection.text.length > rereadBytes ? rereadBytes : 0),
      );
    };
    for (let at = 0; at < bytes.length; at += 1) {
      switch (encodingAt[bytes[at] ?? 0]) {
        case digits: {
          const end = endOfDigits(bytes, at);
          const card = cardAt(bytes, at, end);
          if (card !== undefined)
            keep(card.start, card.isGrouped ? "grouped" : "plain", card.digits);
          if (end - at === 1) tryEncoding(utf16At, at, wide);
          for (let from = at; from + 8 <= end; from += 1) tryEncoding(hexAt, from, hex);
          at = end - 1;
          break;
        }
        case base64:
          tryEncoding(base64At, at, fours);
          break;
        case escape:
          tryEncoding(escapedAt, at, escapes);
          break;
        case script:
          tryEncoding(scriptDigitsAt, at, scripts);
          break;
        case chipField:
          tryEncoding(chipFieldAt, at, fields);
          break;
        default:
      }
    }
    return [...found.values()];
  }
}

function searchText(
  { encoding, text, origins }: Projection,
  keep: (offset: number, encoding: string, pan: Uint8Array) => void,
): void {
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text[at])) continue;
    const end = endOfDigits(text, at);
    const card = cardAt(text, at, end);
    if (card !== undefined) keep(origins[card.start] ?? 0, encoding, card.digits);
    at = end - 1;
  }
}
