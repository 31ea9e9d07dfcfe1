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
 * form_repaired: a form whose JSON was cut by a raw `&` was read to the end of the text instead.
 * The original very probably refuses such a form, so the caller refuses it for accounts with the
 * setting strictForms.
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

  /** Every sensitive value of the request, including those that are not in the tree. */
  get lifted(): readonly Lifted[] {
    return this.#lifting.all;
  }

  /**
   * Overwrites the sensitive values. The bytes they were read from have been overwritten already.
   */
  wipe(): void {
    this.#lifting.wipe();
  }
}

const noBody = Buffer.alloc(0);
const noWarnings: readonly DecoderWarning[] = [];
const repairedForm: readonly DecoderWarning[] = ["form_repaired"];

/**
 * Decoding is synchronous, so one buffer serves all queries; it is overwritten after each. Node
 * limits the head of a request to 16 KiB.
 */
const queryScratch = Buffer.alloc(16 * 1024);

/**
 * Decodes all encodings of interface 1.1. `target` is the request target (path and query). The
 * function takes ownership of `body`: it decodes it in place and overwrites it with zeros before it
 * returns or throws. Throws a WireError that quotes nothing of the request.
 *
 * `charset` applies to text that is not UTF-8. No other header is used: the first bytes of a body
 * decide whether it is JSON, a form or a multipart form. Any other body is refused. Later layers
 * win over earlier ones (query, form, JSON), except that a guarded name (known-names.ts) with two
 * values is refused.
 *
 * node:http passes the query as a string, and its own read buffer held the body: neither can be
 * wiped.
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
 * Text in an encoding other than UTF-8 (a UTF-16 byte order mark, or zeros between the letters),
 * XML, or JSON text that is not an object. Read as a form it would have no fields, and a capture
 * without an amount captures everything.
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
