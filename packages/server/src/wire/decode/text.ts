import { requestError } from "./request-errors.ts";

/** Charset of a request's text beyond ASCII. `other`: a charset that this server does not read. */
export type Charset = "utf-8" | "windows-1252" | "iso-8859-15" | "other";

/**
 * Browsers read ISO-8859-1 as windows-1252 (WHATWG Encoding): the two differ in 32 characters that
 * do not occur in text.
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
/** ASCII is a subset of UTF-8. */
const utf8: ReadonlySet<string> = new Set([
  "utf-8",
  "utf8",
  "unicode-1-1-utf-8",
  "us-ascii",
  "ascii",
]);

const charsetParameter = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]*))/i;

/** The charset that a Content-Type declares; UTF-8 if it declares none. */
export function charsetOf(contentType: string): Charset {
  const found = charsetParameter.exec(contentType);
  const name = (found?.[1] ?? found?.[2] ?? "").trim().toLowerCase();
  return name === "" || utf8.has(name) ? "utf-8" : (singleByte.get(name) ?? "other");
}

/**
 * The text of `bytes[start..end)`. Valid UTF-8 is read as UTF-8, whatever the charset: clients
 * declare a charset that they do not use, and the two bytes of a UTF-8 letter do not occur in a
 * name in the other charsets. Throws a WireError if the text fits neither: a lost letter would be
 * stored as U+FFFD.
 */
export function readText(bytes: Buffer, start: number, end: number, charset: Charset): string {
  const text = bytes.toString("utf8", start, end);
  if (!text.includes("\ufffd")) return text;
  const part = bytes.subarray(start, end);
  // The client itself sent U+FFFD.
  if (Buffer.from(text).equals(part)) return text;
  if (charset === "utf-8" || charset === "other") throw requestError("unreadable_text");
  return new TextDecoder(charset).decode(part);
}
