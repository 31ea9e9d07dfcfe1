import { requestError } from "./request-errors.ts";

/** How a request's text beyond ASCII is written. `other`: in a charset that is not read here. */
export type Charset = "utf-8" | "windows-1252" | "iso-8859-15" | "other";

/**
 * Browsers read ISO-8859-1 as windows-1252 (WHATWG Encoding): the two differ in 32 characters that
 * no text has.
 */
const singleByte: ReadonlyMap<string, Charset> = new Map([
  ...[
    "iso-8859-1",
    "iso8859-1",
    "iso_8859-1",
    "iso88591",
    "latin1",
    "latin-1",
    "l1",
    "cp819",
    "ibm819",
  ].map((name) => [name, "windows-1252"] as const),
  ...["windows-1252", "cp1252", "cp-1252", "x-cp1252", "win-1252", "ansi"].map(
    (name) => [name, "windows-1252"] as const,
  ),
  ...["iso-8859-15", "iso8859-15", "iso_8859-15", "latin9", "latin-9", "l9"].map(
    (name) => [name, "iso-8859-15"] as const,
  ),
]);
/** ASCII is UTF-8 too. */
const utf8: ReadonlySet<string> = new Set([
  "utf-8",
  "utf8",
  "unicode-1-1-utf-8",
  "us-ascii",
  "ascii",
]);

const charsetParameter = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]*))/i;

/** What a Content-Type says of the text; UTF-8 when it says nothing. */
export function charsetOf(contentType: string): Charset {
  const found = charsetParameter.exec(contentType);
  const name = (found?.[1] ?? found?.[2] ?? "").trim().toLowerCase();
  return name === "" || utf8.has(name) ? "utf-8" : (singleByte.get(name) ?? "other");
}

/**
 * The text of `bytes[start..end)`. Text that is UTF-8 is read as that, whatever the charset:
 * clients name one that they do not use, and two bytes that make a letter of UTF-8 make none of a
 * name in the others. Throws a WireError when the text is neither: a letter that is lost would be
 * kept as U+FFFD.
 */
export function readText(bytes: Buffer, start: number, end: number, charset: Charset): string {
  const text = bytes.toString("utf8", start, end);
  if (!text.includes("\ufffd")) return text;
  const part = bytes.subarray(start, end);
  // The client's own U+FFFD.
  if (Buffer.from(text).equals(part)) return text;
  if (charset === "utf-8" || charset === "other") throw requestError("unreadable_text");
  return new TextDecoder(charset).decode(part);
}
