import type { FormReader } from "./form-reader.ts";
import { requestError } from "./request-errors.ts";

/**
 * multipart/form-data (RFC 7578), for people who try the interface with `curl -F`: one of the recorded requests is of this kind.
 * The boundary is read from the body's first line, so that, as everywhere here, no header decides what a body is.
 */

const lineEnd = "\r\n";
/** RFC 2046: at most 70 characters, and the two dashes before them. */
const longestDelimiter = 72;
const longestHeader = 1024;
const namePattern = /;[ \t]*name="([^"\r\n]*)"/i;
const filePattern = /;[ \t]*filename\*?=/i;

/** true: the text begins like a multipart body, and not like a form whose first name begins with dashes. */
export function isMultipart(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== 0x2d || bytes[start + 1] !== 0x2d) return false;
  const eol = bytes.indexOf(lineEnd, start, "latin1");
  return eol > start + 2 && eol < end && eol - start <= longestDelimiter && !bytes.subarray(start, eol).includes(0x3d);
}

export function readMultipart(bytes: Buffer, start: number, end: number, form: FormReader): void {
  const firstLineEnd = bytes.indexOf(lineEnd, start, "latin1");
  const delimiter = Buffer.from(lineEnd + bytes.toString("latin1", start, firstLineEnd), "latin1");
  let at = firstLineEnd + 2;
  for (;;) {
    const headerEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
    const next = bytes.indexOf(delimiter, headerEnd);
    if (headerEnd < 0 || headerEnd - at > longestHeader || next < headerEnd + 4 || next + delimiter.length > end)
      throw requestError("unsupported_body");
    readPart(bytes, at, headerEnd, next, form);
    at = next + delimiter.length;
    if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) return;
    if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) throw requestError("unsupported_body");
    at += 2;
  }
}

function readPart(bytes: Buffer, at: number, headerEnd: number, end: number, form: FormReader): void {
  const header = bytes.toString("latin1", at, headerEnd);
  const name = namePattern.exec(header);
  // A file is nothing that the interface knows.
  if (name?.[1] === undefined || filePattern.test(header)) return;
  const nameStart = at + name.index + name[0].length - 1 - name[1].length;
  form.addPlain(nameStart, nameStart + name[1].length, headerEnd + 4, end);
}
