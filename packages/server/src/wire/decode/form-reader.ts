import { holdsAmount, unreadAmountField } from "./amount-text.ts";
import { hexValues, readJsonBody } from "./json-reader.ts";
import {
  isCryptogram,
  isGuarded,
  isLifted,
  isNumberOfCard,
  knownName,
  knownNameOfText,
  requestBodyName,
  textOfKnownName,
} from "./known-names.ts";
import type { LiftedValues } from "./lifting.ts";
import { requestLimits } from "./limits.ts";
import { repeatedField, requestError, requestErrors } from "./request-errors.ts";
import { isTreeObject } from "./tree.ts";
import { type Charset, readText } from "./text.ts";
import type { Tree } from "./tree.ts";
import { emptyObject, type GrowingObject } from "./tree-object.ts";
import { WireError } from "./wire-error.ts";

const ampersand = 0x26;
const percent = 0x25;
const plus = 0x2b;
const blank = 0x20;
const equals = 0x3d;
const closeBracket = 0x5d;
const replacement = "\ufffd";

/**
 * Reads name and value pairs (a query, a form, a multipart form) into one layer of the request.
 * Percent-decoding happens in place: the text only gets shorter, so no second buffer ever holds the
 * digits.
 */
export class FormReader {
  readonly fields: GrowingObject = emptyObject();
  /** The decoded content of `request_body`. */
  json: GrowingObject | undefined;
  /**
   * true: a raw `&` cut `request_body`, which was therefore read to the end of the text (interface
   * 1.2, step 3).
   */
  repaired = false;
  hasRequestBody = false;
  /** At least one name with a value, possibly empty, was found. */
  hasPairs = false;
  readonly #bytes: Buffer;
  readonly #lifting: LiftedValues;
  #charset: Charset;
  readonly #seen = new Set<string>();
  #members: number;
  #at = 0;

  constructor(bytes: Buffer, members: number, lifting: LiftedValues, charset: Charset) {
    this.#bytes = bytes;
    this.#members = members;
    this.#lifting = lifting;
    this.#charset = charset;
  }

  get membersLeft(): number {
    return this.#members;
  }

  /** Reads application/x-www-form-urlencoded leniently: an invalid escape stays unchanged. */
  readUrlEncoded(start: number, end: number): void {
    this.#at = start;
    while (this.#at < end) {
      const nameStart = this.#at;
      const nameEnd = this.#decode(end, equals, ampersand);
      let valueStart = this.#at;
      let valueEnd = valueStart;
      let isPair = false;
      if (this.#at < end && this.#bytes[this.#at] === equals) {
        isPair = true;
        valueStart = this.#at += 1;
        valueEnd = this.#decode(end, ampersand, ampersand);
      }
      // `#at` is at the `&`, or at the end.
      this.#at += 1;
      if (nameEnd === nameStart) continue;
      this.hasPairs ||= isPair;
      if (this.#isRequestBody(nameStart, nameEnd)) {
        this.#readRequestBody(valueStart, valueEnd, end);
        if (this.repaired) return;
      } else {
        this.#place(nameStart, nameEnd, valueStart, valueEnd, isPair);
      }
    }
  }

  /**
   * Adds one field whose name and value need no decoding, as in multipart/form-data. `charset` is
   * that of the field; without it the charset of the form applies.
   */
  addPlain(
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
    charset?: Charset,
  ): void {
    this.hasPairs = true;
    const ofForm = this.#charset;
    this.#charset = charset ?? ofForm;
    if (this.#isRequestBody(nameStart, nameEnd))
      this.#readRequestBody(valueStart, valueEnd, valueEnd);
    else this.#place(nameStart, nameEnd, valueStart, valueEnd);
    this.#charset = ofForm;
  }

  /**
   * Decodes from `#at` up to one of two bytes, moves `#at` there, and returns the end of the
   * decoded text.
   */
  #decode(end: number, stop: number, otherStop: number): number {
    const bytes = this.#bytes;
    let at = this.#at;
    // No byte moves before the first escape; clients that do not encode have few escapes.
    for (; at < end; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === stop || byte === otherStop || byte === plus || byte === percent) break;
    }
    let to = at;
    for (; at < end; at += 1) {
      let byte = bytes[at] ?? 0;
      if (byte === stop || byte === otherStop) break;
      if (byte === plus) byte = blank;
      else if (byte === percent && at + 2 < end) {
        const high = hexValues[bytes[at + 1] ?? 0] ?? -1;
        const low = hexValues[bytes[at + 2] ?? 0] ?? -1;
        if (high >= 0 && low >= 0) {
          byte = high * 16 + low;
          at += 2;
        }
      }
      bytes[to] = byte;
      to += 1;
    }
    this.#at = at;
    return to;
  }

  #isRequestBody(start: number, end: number): boolean {
    return knownName(this.#bytes, start, end) === requestBodyName;
  }

  #readRequestBody(start: number, end: number, formEnd: number): void {
    if (this.hasRequestBody) throw repeatedField(textOfKnownName(requestBodyName));
    this.hasRequestBody = true;
    this.#countMember();
    try {
      this.#readJson(start, end);
    } catch (error) {
      const isCut =
        this.#at < formEnd &&
        error instanceof WireError &&
        error.statusCode === requestErrors.malformed_json;
      if (!isCut) throw error;
      // Decoding is byte by byte, so the decoded part stays; only the `&` between has to be
      // restored.
      this.#bytes[end] = ampersand;
      this.repaired = true;
      this.#readJson(start, this.#decodeRest(end + 1, formEnd));
    }
  }

  /** Decodes the rest of the text, separators included, and moves it to `to`. Returns its end. */
  #decodeRest(to: number, formEnd: number): number {
    const from = this.#at;
    const end = this.#decode(formEnd, -1, -1);
    this.#bytes.copyWithin(to, from, end);
    return to + (end - from);
  }

  #readJson(start: number, end: number): void {
    const json = readJsonBody(this.#bytes, start, end, this.#members, this.#lifting, this.#charset);
    if (json === undefined) return;
    this.json = json.tree;
    this.#members = json.membersLeft;
  }

  #countMember(): void {
    if (this.#members === 0) throw requestError("too_many_fields");
    this.#members -= 1;
  }

  #place(
    nameStart: number,
    nameEnd: number,
    valueStart: number,
    valueEnd: number,
    isPair = true,
  ): void {
    this.#countMember();
    // In the request of a client that does not encode, a raw `&` in a value leaves a part of the
    // value as a name. That is not an error (clients.md, detail 2).
    if (nameEnd - nameStart > requestLimits.nameBytes) return;
    const known = knownName(this.#bytes, nameStart, nameEnd);
    const name = known >= 0 ? textOfKnownName(known) : this.#text(nameStart, nameEnd);
    if (!isPair && holdsAmount(name)) this.#set([unreadAmountField], "");
    const path = known >= 0 || this.#bytes[nameEnd - 1] !== closeBracket ? [name] : pathOf(name);
    if (path.length >= requestLimits.depth) throw requestError("too_deep");
    const last = path.at(-1) ?? name;
    const named = last === "" ? path.findLast((key) => key !== "") : last;
    const leaf = knownNameOfText(named ?? "");
    if (isGuarded(leaf)) {
      if (this.#seen.has(name)) throw repeatedField(textOfKnownName(leaf));
      this.#seen.add(name);
    }
    // In a list of bodies, none of them is the request.
    if (isRequestBodyName(path[0] ?? "") && /^\d*$/.test(path[1] ?? ""))
      throw requestError("unsupported_body");
    const liftedAt = path.findIndex((key, index) => {
      const known = knownNameOfText(key);
      return isLifted(known) || isNumberOfCard(known, knownNameOfText(path[index - 1] ?? ""));
    });
    if (liftedAt < 0) {
      if (isRequestBodyName(last))
        this.#set(path, this.#innerJson(valueStart, valueEnd, path.length));
      else this.#set(path, valueStart === valueEnd ? undefined : this.#text(valueStart, valueEnd));
      return;
    }
    const isPlain = liftedAt === path.length - 1;
    if (valueStart < valueEnd) {
      const value = isPlain
        ? this.#lifting.lift(this.#bytes, valueStart, valueEnd, isCryptogram(leaf))
        : this.#lifting.malformed();
      this.#bytes.fill(0, valueStart, valueEnd);
      this.#set(path.slice(0, liftedAt + 1), value);
    }
  }

  #text(start: number, end: number): string {
    const text = readText(this.#bytes, start, end, this.#charset);
    return text.includes("\0") ? text.replaceAll("\0", replacement) : text;
  }

  /** Reads JSON in a field named `request_body` inside another field. */
  #innerJson(start: number, end: number, depth: number): GrowingObject | undefined {
    const json = readJsonBody(
      this.#bytes,
      start,
      end,
      this.#members,
      this.#lifting,
      this.#charset,
      depth + 1,
    );
    this.#members = json?.membersLeft ?? this.#members;
    return json?.tree;
  }

  /** Sets the value at a path; undefined removes the value of an earlier field. */
  #set(path: readonly string[], value: Tree | undefined): void {
    let holder: Holder = this.fields;
    for (let index = 0; index < path.length - 1; index += 1) {
      const next = holderAt(holder, path[index] ?? "", path[index + 1] === "");
      if (next === undefined) return;
      holder = next;
    }
    const key = path.at(-1) ?? "";
    const slot = slotOf(holder, key);
    if (slot === undefined) return;
    if (Array.isArray(holder)) {
      if (value !== undefined) holder.push(value);
      return;
    }
    const existing = holder[slot];
    if (isHolder(existing) && isGuarded(knownNameOfText(key))) throw repeatedField(key);
    if (value !== undefined) holder[slot] = value;
    else if (existing !== undefined) Reflect.deleteProperty(holder, slot);
  }
}

function isRequestBodyName(name: string): boolean {
  return knownNameOfText(name) === requestBodyName;
}

type Holder = GrowingObject | Tree[];

function isHolder(tree: Tree | undefined): tree is Holder {
  return Array.isArray(tree) || isTreeObject(tree);
}

/** The node at a key, created if it is missing. */
function holderAt(holder: Holder, key: string, asList: boolean): Holder | undefined {
  const slot = slotOf(holder, key);
  if (slot === undefined) return undefined;
  const existing = Array.isArray(holder) ? undefined : holder[slot];
  if (isHolder(existing)) return existing;
  if (existing !== undefined && isGuarded(knownNameOfText(key))) throw repeatedField(key);
  const made: Holder = asList ? [] : emptyObject();
  if (Array.isArray(holder)) holder.push(made);
  else holder[slot] = made;
  return made;
}

/**
 * Splits `payment[creditcard][token]` into its three parts. A name with stray brackets is one part;
 * `[]` gives an empty part.
 */
function pathOf(name: string): readonly string[] {
  const open = name.indexOf("[");
  if (open <= 0 || !name.endsWith("]")) return [name];
  const keys = name.slice(open + 1, -1).split("][");
  return keys.some((key) => key.includes("[") || key.includes("]"))
    ? [name]
    : [name.slice(0, open), ...keys];
}

/**
 * The key to use in a holder: `[]` appends. A list has no named members, so a name other than its
 * next index is dropped.
 */
function slotOf(holder: GrowingObject | Tree[], key: string): string | undefined {
  if (Array.isArray(holder)) return key === "" || key === String(holder.length) ? key : undefined;
  if (key !== "") return key;
  let index = Object.keys(holder).length;
  while (holder[String(index)] !== undefined) index += 1;
  return String(index);
}
