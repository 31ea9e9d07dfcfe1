import type { Chance } from "../../server/test/support/chance.ts";

/**
 * The fields of a merchant's request, before they are encoded in one of the ways of public clients.
 */
export type Fields = { readonly [name: string]: Value };
type Value = string | boolean | undefined | Fields;

/** A request as the server's socket receives it: head and bytes. */
export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly target: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

type Encode = (
  path: string,
  fields: Fields,
  key: string,
) => Pick<WireRequest, "method" | "target"> & { readonly text?: string };

const json: Encode = (path, fields, key) => ({
  method: "POST",
  target: path,
  text: JSON.stringify({ integration_key: key, ...fields }),
});

const requestBody: Encode = (path, fields, key) => ({
  method: "POST",
  target: path,
  text: `request_body=${encodeURIComponent(JSON.stringify({ integration_key: key, ...fields }))}`,
});

const requestBodyBesideKey: Encode = (path, fields, key) => ({
  method: "POST",
  target: path,
  text: `integration_key=${key}&request_body=${encodeURIComponent(JSON.stringify(fields)).replaceAll("%20", "+")}`,
});

const form: Encode = (path, fields, key) => ({
  method: "POST",
  target: path,
  text: formOf({ integration_key: key, ...fields }),
});

const query: Encode = (path, fields, key) => ({
  method: "GET",
  target: `${path}?${formOf({ integration_key: key, ...fields })}`,
});

const keyInQuery: Encode = (path, fields, key) => ({
  method: "POST",
  target: `${path}?integration_key=${key}`,
  text: JSON.stringify(fields),
});

const multipart: Encode = (path, fields, key) => ({
  method: "POST",
  target: path,
  text: `${pairsOf({ integration_key: key, ...fields })
    .map(
      ([name, value]) =>
        `--cut\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    .join("")}--cut--\r\n`,
});

/** Card data never travels in a URL; other operations may use one. */
const withCards = [json, requestBody, requestBodyBesideKey, form, keyInQuery, multipart] as const;
const withoutCards = [...withCards, query, query, query] as const;

/** Paths are written in several ways too (interface E10, E11). */
const spellings: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => path,
  (path) => path,
  (path) => `${path}/`,
  (path) => path.replace("refundOrCancel", "refundorcancel"),
];

/** Encodes the request in a randomly chosen way. The meaning is the same in each. */
export function wireRequest(
  chance: Chance,
  path: string,
  fields: Fields,
  key: string,
  options: {
    readonly idempotencyKey?: string | undefined;
    readonly hasCard?: boolean;
    readonly local?: boolean;
  },
): WireRequest {
  const encode = options.hasCard === true ? chance.pick(withCards) : chance.pick(withoutCards);
  const { method, target, text } = encode(chance.pick(spellings)(path), fields, key);
  const body = text === undefined ? undefined : Buffer.from(text);
  const headers = ["Host", "cofre.example"];
  if (options.idempotencyKey !== undefined) headers.push("Idempotency-Key", options.idempotencyKey);
  if (options.local === true) headers.push("X-EBANX-API-Processing-Type", "local");
  if (body !== undefined) headers.push("Content-Length", String(body.length));
  return { method, target, headers, body };
}

function formOf(fields: Fields): string {
  return pairsOf(fields)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** `payment[card][card_number]`, as forms encode nested fields. */
function pairsOf(fields: Fields, prefix = ""): readonly (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const whole = prefix === "" ? name : `${prefix}[${name}]`;
    if (value === undefined) return [];
    return typeof value === "object" ? pairsOf(value, whole) : [[whole, String(value)] as const];
  });
}
