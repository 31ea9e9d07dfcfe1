import { Lifted, liftedNames } from "../../src/wire/decode/tree.ts";
import type { Tree } from "../../src/wire/decode/tree.ts";

/** A request as a client's program holds it, before it is encoded in one of many ways. */
export type Model =
  | string
  | number
  | boolean
  | null
  | readonly Model[]
  | { readonly [name: string]: Model };
export type ModelObject = { readonly [name: string]: Model };

export interface Rendering {
  readonly encoding: string;
  readonly target: string;
  readonly body: Buffer;
}

/**
 * The expected result of decoding a model, computed without the decoder: plain data, sensitive
 * values as `lifted:<text>`.
 */
export function expectedTree(model: Model, name = ""): unknown {
  if (model === null || model === "") return undefined;
  const isLifted = (liftedNames as readonly string[]).includes(name);
  if (isLifted && typeof model !== "object") {
    const text = String(model);
    // Not ASCII: the bytes differ with the encoding, and no check accepts any of them.
    const isAscii = (read: string): boolean => !/[^\0-\x7f]/.test(read);
    if (name.endsWith("_cryptogram"))
      return isAscii(text) ? `lifted:${text.replaceAll(" ", "+")}` : "lifted, wrong";
    const plain = text
      .replaceAll(/[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
      .replaceAll(/[\s\u0085]/g, " ")
      .replaceAll(/[\u058a\u2010-\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d]/g, "-")
      .replaceAll(/^ +| +$/g, "");
    return isAscii(plain) && /^(?:[^ -]+(?:[ -][^ -]+)*)?$/.test(plain)
      ? `lifted:${plain.replaceAll(/[ -]/g, "")}`
      : "lifted, wrong";
  }
  if (Array.isArray(model))
    return (model as readonly Model[])
      .map((element) => expectedTree(element))
      .filter((element) => element !== undefined);
  if (typeof model !== "object") return String(model);
  return Object.fromEntries(
    Object.entries(model as ModelObject)
      .map(([key, value]) => [key, expectedTree(value, key)] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** The decoder's tree in the same form. */
export function plainTree(tree: Tree): unknown {
  if (tree instanceof Lifted)
    return tree.wellFormed && tree.bytes.every((byte) => byte < 0x80)
      ? `lifted:${Buffer.from(tree.bytes).toString("latin1")}`
      : "lifted, wrong";
  if (typeof tree === "string") return tree;
  if (Array.isArray(tree)) return (tree as readonly Tree[]).map(plainTree);
  return Object.fromEntries(
    Object.entries(tree as Readonly<Record<string, Tree>>).map(([name, value]) => [
      name,
      plainTree(value),
    ]),
  );
}

/** The request in every encoding that can carry it (numbers as in interface 1.1). */
export function renderAll(path: string, model: ModelObject): Rendering[] {
  const json = JSON.stringify(model);
  const pairs = flatten(model);
  const strict = formOf(pairs, encodeURIComponent, encodeURIComponent);
  const spaced = formOf(
    pairs,
    (name) => name,
    (value) => encodeURIComponent(value).replaceAll("%20", "+"),
  );
  // As from clients without URL encoding: only characters with a special meaning are escaped.
  const lazy = formOf(
    pairs,
    (name) => name,
    (value) =>
      value.replaceAll(/[%+&=#]/g, encodeURIComponent).replaceAll(/^\s|\s$/g, encodeURIComponent),
  );
  const rawJson = json.replaceAll(/[%+]/g, encodeURIComponent);
  const [outer, inner] = splitFields(model);
  const inQuery = (query: string): string => `${path}?${Buffer.from(query).toString("latin1")}`;
  return [
    {
      encoding: "E1 request_body, percent-encoded",
      target: path,
      body: Buffer.from(`request_body=${encodeURIComponent(json)}`),
    },
    {
      encoding: "E1 request_body, blanks as plus, non-ASCII as escapes",
      target: path,
      body: Buffer.from(
        `request_body=${encodeURIComponent(asciiJson(json)).replaceAll("%20", "+")}`,
      ),
    },
    {
      encoding: "E1 request_body beside other form fields",
      target: path,
      body: Buffer.from(
        `${formOf(flatten(outer), encodeURIComponent, encodeURIComponent)}&request_body=${encodeURIComponent(JSON.stringify(inner))}`,
      ),
    },
    {
      encoding: "E1 request_body before other form fields",
      target: path,
      body: Buffer.from(
        `request_body=${encodeURIComponent(JSON.stringify(inner))}&${formOf(flatten(outer), encodeURIComponent, encodeURIComponent)}`,
      ),
    },
    {
      encoding: "E2 request_body, raw",
      target: path,
      body: Buffer.from(`request_body=${rawJson}`),
    },
    {
      encoding: "E2 request_body, raw, with a line end",
      target: path,
      body: Buffer.from(`request_body=${rawJson}\r\n`),
    },
    { encoding: "E3-E5 raw JSON", target: path, body: Buffer.from(json) },
    {
      encoding: "E3 raw JSON, indented, ASCII",
      target: path,
      body: Buffer.from(asciiJson(JSON.stringify(model, undefined, 2))),
    },
    {
      encoding: "E3 raw JSON, every character of every string escaped",
      target: path,
      body: Buffer.from(escapeAll(json)),
    },
    {
      encoding: "E3 raw JSON behind a byte order mark",
      target: path,
      body: Buffer.from(`\ufeff \r\n${json}\n`),
    },
    {
      encoding: "E3 raw JSON and some fields in the query",
      target: inQuery(formOf(flatten(outer), encodeURIComponent, encodeURIComponent)),
      body: Buffer.from(JSON.stringify(inner)),
    },
    {
      encoding: "E3 raw JSON and the same in the query",
      target: inQuery(strict),
      body: Buffer.from(json),
    },
    { encoding: "E6, E8 query", target: inQuery(strict), body: Buffer.alloc(0) },
    {
      encoding: "E6 request_body in the query",
      target: inQuery(`request_body=${encodeURIComponent(json)}`),
      body: Buffer.alloc(0),
    },
    { encoding: "E7 query and []", target: inQuery(spaced), body: Buffer.from("[]") },
    { encoding: "E8 query, not encoded", target: inQuery(lazy), body: Buffer.alloc(0) },
    { encoding: "E9 form fields", target: path, body: Buffer.from(strict) },
    { encoding: "E9 form fields, blanks as plus", target: path, body: Buffer.from(spaced) },
    { encoding: "E9 form fields, not encoded", target: path, body: Buffer.from(lazy) },
    {
      encoding: "E10-E12 trailing slash, letter case, nested names unescaped",
      target: inQuery(spaced).replace(path, `${path.toUpperCase()}/`),
      body: Buffer.from(" [ ] "),
    },
    {
      encoding: "multipart, request_body",
      target: path,
      body: multipart([["request_body", json]]),
    },
    { encoding: "multipart, fields", target: path, body: multipart(pairs) },
  ];
}

/**
 * Form fields of a model: `payment[creditcard][token]`, `tags[]`. null and "" are omitted, as PHP's
 * query builder does.
 */
export function flatten(model: Model, name = ""): (readonly [string, string])[] {
  if (model === null || model === "") return [];
  if (Array.isArray(model))
    return (model as readonly Model[]).flatMap((element) => flatten(element, `${name}[]`));
  if (typeof model === "object")
    return Object.entries(model).flatMap(([key, value]) =>
      flatten(value, name === "" ? key : `${name}[${key}]`),
    );
  return [[name, String(model)]];
}

function formOf(
  pairs: readonly (readonly [string, string])[],
  ofName: (text: string) => string,
  ofValue: (text: string) => string,
): string {
  return pairs.map(([name, value]) => `${ofName(name)}=${ofValue(value)}`).join("&");
}

/** Separates the scalars of the outermost object from the rest. */
function splitFields(model: ModelObject): readonly [ModelObject, ModelObject] {
  const entries = Object.entries(model);
  return [
    Object.fromEntries(entries.filter(([, value]) => typeof value !== "object")),
    Object.fromEntries(entries.filter(([, value]) => typeof value === "object")),
  ];
}

function asciiJson(json: string): string {
  return json.replaceAll(/[\u0080-\uffff]/g, escapeUnit).replaceAll("/", "\\/");
}

/** Writes each character of each string, names included, as \\uXXXX. */
function escapeAll(json: string): string {
  return json.replaceAll(
    /"(?:[^"\\]|\\.)*"/g,
    (literal) =>
      `"${Array.from({ length: (JSON.parse(literal) as string).length }, (_, index) => escapeUnit((JSON.parse(literal) as string).charAt(index))).join("")}"`,
  );
}

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function multipart(pairs: readonly (readonly [string, string])[]): Buffer {
  const boundary = "------------------------94a7d4fb35750979";
  const parts = pairs.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(`${parts.join("")}--${boundary}--\r\n`);
}
