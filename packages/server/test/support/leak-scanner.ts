import { KnownNumbers } from "../../src/scan/known-numbers.ts";

/** Card data where none may be. */
export interface Finding {
  /** What was scanned, such as a file's name. */
  readonly place: string;
  /** Byte offset in the place. */
  readonly offset: number;
  /** The form of the card number; `security code` for a text that looks like one. */
  readonly form: string;
  /** First six and last four digits. */
  readonly maskedPan: string;
}

/**
 * The product's own scanner for known numbers (`cofre scan --known`), applied to data in memory.
 */
export class LeakScanner {
  readonly #numbers: KnownNumbers;

  constructor(pans: readonly string[]) {
    this.#numbers = new KnownNumbers(pans);
  }

  /** Every form of every known number in `bytes`, each once. */
  scan(place: string, bytes: Uint8Array): Finding[] {
    return this.#numbers
      .search(bytes)
      .map(({ offset, encoding, maskedPan }) => ({ place, offset, form: encoding, maskedPan }));
  }
}

/**
 * Finds security codes, whose values are not known: `cvv` within forty bytes of three or four
 * digits, in 8 or 16 bits per character, with only text between them. In the bytes of thousands of
 * sealed cards, digests and identifiers `cvv` occurs by chance, beside digits of the same row:
 * `drawn` are such values as a whole, and letters within one of them do not count as a name.
 */
export function scanForSecurityCodes(
  place: string,
  bytes: Uint8Array,
  drawn: readonly Uint8Array[] = [],
): Finding[] {
  const findings: Finding[] = [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  for (const { index } of text.matchAll(/c\0?v\0?v/gi)) {
    if (isInDigest(text, index)) continue;
    const before = /[\0\t\n\r -~]*$/.exec(text.slice(Math.max(0, index - 40), index))?.[0] ?? "";
    const behind = /^[\0\t\n\r -~]*/.exec(text.slice(index, index + 46))?.[0] ?? "";
    // The digits after the x of a mask are the last four of a number. A grouped mask begins and
    // ends with digits on their own.
    const around = (before + behind)
      .replaceAll("\0", "")
      .replaceAll(/\d[\d .,/_-]*x[x .,/_-]*(?:\d[ .,/_-]?){4}/g, "");
    const hasCode = /(?<![\dA-Fa-fx])\d{3,4}(?![\dA-Fa-f])/.test(around);
    if (hasCode && !isInOneOf(drawn, bytes, index)) {
      findings.push({ place, offset: index, form: "security code", maskedPan: "" });
    }
  }
  return findings;
}

/**
 * Follows a security code or the end of track data in a text (leak-load.ts): the digits before it
 * are that data.
 */
export const sensitiveMark = "ref leak";

const sensitive = new RegExp(`\\d{3,}[?F]? ${sensitiveMark}([a-j]+)`, "g");

/**
 * Security codes and track data in free text, found by the mark that the load writes after them.
 */
export function scanForSensitiveText(place: string, bytes: Uint8Array): Finding[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  return [...text.matchAll(sensitive)].map(({ index }) => ({
    place,
    offset: index,
    form: "security code or track in a text",
    maskedPan: "",
  }));
}

/**
 * A digest in base64url has 43 characters; in thousands of them `cvv` occurs by chance, beside the
 * last four digits of a mask.
 */
const digestCharacters = 43;

function isInDigest(text: string, index: number): boolean {
  const around = text.slice(Math.max(0, index - digestCharacters), index + digestCharacters);
  const from = Math.min(index, digestCharacters);
  return [...around.matchAll(/[\w-]{43,}/g)].some(
    (run) => run.index <= from && from < run.index + run[0].length,
  );
}

function isInOneOf(values: readonly Uint8Array[], bytes: Uint8Array, index: number): boolean {
  const nameBytes = 3;
  return values.some(({ buffer, byteOffset, length }) => {
    const from = Math.max(0, index + nameBytes - length);
    const around = Buffer.from(
      bytes.buffer,
      bytes.byteOffset + from,
      Math.min(index + length, bytes.length) - from,
    );
    return around.includes(Buffer.from(buffer, byteOffset, length));
  });
}
