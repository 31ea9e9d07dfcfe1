import type { FormReader } from "./form-reader.ts";
import { requestError } from "./request-errors.ts";
import { charsetOf } from "./text.ts";

/**
 * multipart/form-data (RFC 7578), for integrators who try the interface with `curl -F`: one of the
 * recorded requests is of this kind. The boundary is read from the first delimiter of the body,
 * because no header decides what a body is. Legal variants are accepted: a preamble, names without
 * quotes, folded headers, bare line feeds. Anything else is refused, never skipped: a skipped field
 * might be the amount.
 */

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const tab = 0x09;
const dash = 0x2d;
const equals = 0x3d;
/** RFC 2046: at most 70 characters, after two dashes. */
const longestDelimiter = 72;
const longestHeader = 1024;

const disposition = /(?:^|\n)content-disposition[ \t]*:[ \t]*form-data[ \t]*(?=[;\r\n]|$)/i;
const partType = /(?:^|\n)content-type[ \t]*:([^\r\n]*)/i;
const parameter = /;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s;"]*))[ \t]*/dy;

/** Start of the first delimiter's line; undefined if the text is not a multipart body. */
export function multipartStart(bytes: Buffer, start: number, end: number): number | undefined {
  const isFirst = isDelimiter(bytes, start, end);
  // The first name of a form may begin with dashes. Then the line has an equals sign, and the next
  // line is not a header.
  if (
    isFirst &&
    (!bytes.subarray(start, lineEnd(bytes, start, end)).includes(equals) ||
      isHeader(bytes, start, end))
  )
    return start;
  for (let at = nextLine(bytes, start, end); at !== undefined; at = nextLine(bytes, at, end)) {
    if (!isDelimiter(bytes, at, end) || !isHeader(bytes, at, end)) continue;
    // The meaning of fields before the first delimiter is ambiguous.
    if (bytes.subarray(start, at).includes(equals)) throw requestError("unsupported_body");
    return at;
  }
  return undefined;
}

export function readMultipart(bytes: Buffer, start: number, end: number, form: FormReader): void {
  const firstLineEnd = lineEnd(bytes, start, end);
  const delimiter = Buffer.concat([
    Buffer.of(lineFeed),
    bytes.subarray(start, trimmedEnd(bytes, start, firstLineEnd)),
  ]);
  let at = firstLineEnd + 1;
  for (;;) {
    const headerEnd = endOfHeaders(bytes, at, end);
    const valueStart = headerEnd + (bytes[headerEnd + 1] === lineFeed ? 2 : 3);
    // Without a value, the line feed before a delimiter may be the one that ends the headers.
    const next = bytes.indexOf(delimiter, valueStart - 1);
    if (next < 0 || next + delimiter.length > end) throw requestError("unsupported_body");
    const valueEnd = next > valueStart && bytes[next - 1] === carriageReturn ? next - 1 : next;
    readPart(bytes, at, headerEnd, valueStart, Math.max(valueStart, valueEnd), form);
    at = next + delimiter.length;
    if (bytes[at] === dash && bytes[at + 1] === dash) return;
    while (bytes[at] === blank || bytes[at] === tab) at += 1;
    if (bytes[at] === carriageReturn) at += 1;
    if (bytes[at] !== lineFeed) throw requestError("unsupported_body");
    at += 1;
  }
}

function readPart(
  bytes: Buffer,
  at: number,
  headerEnd: number,
  valueStart: number,
  valueEnd: number,
  form: FormReader,
): void {
  // Unfolding keeps the length, so that offsets stay valid in the body.
  const header = bytes
    .toString("latin1", at, headerEnd)
    .replace(/\r?\n(?=[ \t])/g, (folded) => " ".repeat(folded.length));
  const found = disposition.exec(header);
  if (found === null) throw requestError("unsupported_body");
  let name: readonly [start: number, end: number] | undefined;
  parameter.lastIndex = found.index + found[0].length;
  let read = parameter.lastIndex;
  for (let match = parameter.exec(header); match !== null; match = parameter.exec(header)) {
    read = parameter.lastIndex;
    const key = match[1]?.toLowerCase();
    // No operation takes a file, and a field that is sent as one is not silently skipped.
    if (key === "filename" || key === "filename*" || (key === "name" && name !== undefined))
      throw requestError("unsupported_body");
    if (key === "name") name = match.indices?.[2] ?? match.indices?.[3];
  }
  const isWhole = /^;?[ \t]*\r?(?:\n|$)/.test(header.slice(read));
  if (!isWhole || name === undefined || name[0] === name[1]) throw requestError("unsupported_body");
  const type = partType.exec(header)?.[1];
  form.addPlain(
    at + name[0],
    at + name[1],
    valueStart,
    valueEnd,
    type?.includes("charset") === true ? charsetOf(type) : undefined,
  );
}

/** Index of the line feed before the empty line that ends the headers of a part. */
function endOfHeaders(bytes: Buffer, at: number, end: number): number {
  const last = Math.min(end, at + longestHeader);
  for (let index = at; index < last; index += 1) {
    if (bytes[index] !== lineFeed) continue;
    const isEmpty =
      bytes[index + 1] === lineFeed ||
      (bytes[index + 1] === carriageReturn && bytes[index + 2] === lineFeed);
    if (isEmpty) return index;
  }
  throw requestError("unsupported_body");
}

function lineEnd(bytes: Buffer, at: number, end: number): number {
  const index = bytes.indexOf(lineFeed, at);
  return index < 0 || index > end ? end : index;
}

function nextLine(bytes: Buffer, at: number, end: number): number | undefined {
  const index = lineEnd(bytes, at, end);
  return index < end ? index + 1 : undefined;
}

function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let to = end;
  while (
    to > start &&
    (bytes[to - 1] === carriageReturn || bytes[to - 1] === blank || bytes[to - 1] === tab)
  )
    to -= 1;
  return to;
}

/** Whether a line could be a delimiter and is not the last line of the text. */
function isDelimiter(bytes: Buffer, at: number, end: number): boolean {
  if (bytes[at] !== dash || bytes[at + 1] !== dash) return false;
  const eol = lineEnd(bytes, at, end);
  const length = trimmedEnd(bytes, at, eol) - at;
  return eol < end && length > 2 && length <= longestDelimiter;
}

/** Whether the line after the one at `at` is a header of a part. */
function isHeader(bytes: Buffer, at: number, end: number): boolean {
  const next = nextLine(bytes, at, end);
  return (
    next !== undefined &&
    bytes.toString("latin1", next, Math.min(end, next + 8)).toLowerCase() === "content-"
  );
}
