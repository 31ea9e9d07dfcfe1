import { KnownNumbers } from "../../../src/scan/known-numbers.ts";

/** Card data where none may be. */
export interface Finding {
  /** What was looked at, such as a file's name. */
  readonly place: string;
  /** Byte within the place. */
  readonly offset: number;
  /** In which form the card number stood there; `security code` for what looks like one. */
  readonly form: string;
  /** First six and last four digits. */
  readonly maskedPan: string;
}

/**
 * The product's own scanner of known numbers (`cofre scan --known`), over what the lane holds in
 * memory.
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
 * Security codes cannot be known by their value: `cvv` within forty bytes of three or four digits,
 * in 8 or 16 bits per character, and nothing but text between them. In the bytes of thousands of
 * sealed cards, digests and identifiers `cvv` comes by chance, beside digits of the same row:
 * `drawn` are such values as a whole, and letters within one of them name nothing.
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
    // What comes behind the x of a mask are the last four digits of a number.
    // A mask in groups begins and ends with digits that stand alone.
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
 * Stands behind a security code or the end of a track in a text (leak-load.ts): digits before it
 * are those.
 */
export const sensitiveMark = "ref leak";

const sensitive = new RegExp(`\\d{3,}[?F]? ${sensitiveMark}([a-j]+)`, "g");

/**
 * Security codes and data of a track in a text of people's, by what the load writes behind them.
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
 * A digest in base64url has 43 characters, and in thousands of them `cvv` comes by chance, beside
 * the last four digits of a mask.
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
