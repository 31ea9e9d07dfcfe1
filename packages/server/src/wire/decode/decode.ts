import { FormReader } from "./form-reader.ts";
import { isBlank, readJsonBody, textStart, unwrapped } from "./json-reader.ts";
import { LiftedValues } from "./lifting.ts";
import { requestLimits } from "./limits.ts";
import { multipartStart, readMultipart } from "./multipart-reader.ts";
import { repeatedField, requestError } from "./request-errors.ts";
import type { Charset } from "./text.ts";
import type { Lifted, TreeObject } from "./tree.ts";
import { emptyObject, mergeLayers } from "./tree-object.ts";
import type { GrowingObject } from "./tree-object.ts";

/**
 * form_repaired: a form whose JSON was cut by a raw `&` was read to its end instead. The original
 * very probably refuses it, so the caller refuses it for accounts that ask for strictness.
 */
export type DecoderWarning = "form_repaired";

/** A request as one canonical tree (see tree.ts), whatever its encoding was. */
export class DecodedRequest {
  readonly params: TreeObject;
  readonly warnings: readonly DecoderWarning[];
  readonly #lifting: LiftedValues;

  constructor(params: TreeObject, warnings: readonly DecoderWarning[], lifting: LiftedValues) {
    this.params = params;
    this.warnings = warnings;
    this.#lifting = lifting;
  }

  /** Every sensitive value of the request, also those that are nowhere in the tree. */
  get lifted(): readonly Lifted[] {
    return this.#lifting.all;
  }

  /** Overwrites the sensitive values. What they were read from has been overwritten already. */
  wipe(): void {
    this.#lifting.wipe();
  }
}

const noBody = Buffer.alloc(0);
const noWarnings: readonly DecoderWarning[] = [];
const repairedForm: readonly DecoderWarning[] = ["form_repaired"];

/**
 * Decoding is synchronous, so one buffer serves all queries; it is overwritten after each. Node
 * limits a request's head to 16 KiB.
 */
const queryScratch = Buffer.alloc(16 * 1024);

/**
 * Decodes all encodings of interface 1.1. `target` is the request's target (path and query), `body`
 * its body, of which this function becomes the owner: it is decoded in place and overwritten with
 * zeros before this function returns or throws. Throws a WireError that quotes nothing of the
 * request.
 *
 * `charset`: of text that is not UTF-8. No header else has a say: a body is JSON, a form or a
 * multipart form by its first bytes. A body that is none of these is refused. Later layers win over
 * earlier ones (query, form, JSON), except that a guarded name (known-names.ts) with two values is
 * refused.
 *
 * The query reaches us as a string made by node:http, and node:http's own read buffer held the
 * body: both are beyond wiping.
 */
export function decodeRequest(
  target: string,
  body: Buffer = noBody,
  charset: Charset = "utf-8",
): DecodedRequest {
  const lifting = new LiftedValues();
  try {
    return decode(target, body, lifting, charset);
  } catch (error) {
    lifting.wipe();
    throw error;
  } finally {
    body.fill(0);
  }
}

function decode(
  target: string,
  body: Buffer,
  lifting: LiftedValues,
  charset: Charset,
): DecodedRequest {
  let members: number = requestLimits.members;
  const mark = target.indexOf("?");
  const query =
    mark >= 0 && mark + 1 < target.length
      ? readQuery(target.slice(mark + 1), members, lifting, charset)
      : undefined;
  if (query !== undefined) members = query.membersLeft;

  const start = textStart(body, 0, body.length);
  let end = body.length;
  while (end > start && isBlank(body[end - 1] ?? 0)) end -= 1;
  if (start === end) return result(query, undefined, undefined, lifting);
  const first = body[start];
  if (isUnreadable(body, start)) throw requestError("unsupported_body");
  if (first === 0x7b || first === 0x5b) {
    return result(
      query,
      undefined,
      readJsonBody(body, start, end, members, lifting, charset)?.tree,
      lifting,
    );
  }
  const form = new FormReader(body, members, lifting, charset);
  const parts = multipartStart(body, start, end);
  if (parts === undefined) form.readUrlEncoded(start, end);
  else readMultipart(body, parts, end, form);
  if (!form.hasPairs) throw requestError("unsupported_body");
  return result(query, form, form.json, lifting);
}

/**
 * Text of another encoding than UTF-8 (a mark of UTF-16, or zeros between the letters), XML, or a
 * JSON text that is no object. A form would be read out of it that says nothing, and a capture that
 * says nothing takes everything.
 */
function isUnreadable(body: Buffer, start: number): boolean {
  const first = body[start];
  return first === 0xff || first === 0xfe || first === 0x22 || first === 0x3c || body.includes(0);
}

function readQuery(
  text: string,
  members: number,
  lifting: LiftedValues,
  charset: Charset,
): FormReader {
  const bytes = text.length <= queryScratch.length ? queryScratch : Buffer.alloc(text.length);
  const length = bytes.write(text, "latin1");
  try {
    const query = new FormReader(bytes, members, lifting, charset);
    query.readUrlEncoded(0, length);
    return query;
  } finally {
    bytes.fill(0, 0, length);
  }
}

function result(
  query: FormReader | undefined,
  form: FormReader | undefined,
  json: TreeObject | undefined,
  lifting: LiftedValues,
): DecodedRequest {
  if (query?.hasRequestBody === true && form?.hasRequestBody === true)
    throw repeatedField("request_body");
  let params: GrowingObject = json ?? emptyObject();
  if (query?.json !== undefined) params = mergeLayers(query.json, params);
  if (form !== undefined) params = mergeLayers(unwrapped(form.fields), params);
  if (query !== undefined) params = mergeLayers(unwrapped(query.fields), params);
  const isRepaired = query?.repaired === true || form?.repaired === true;
  return new DecodedRequest(params, isRepaired ? repairedForm : noWarnings, lifting);
}
