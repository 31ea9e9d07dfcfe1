import {
  type Body,
  isJsonObject,
  type Json,
  type JsonObject,
  type SeenAnswer,
} from "./seen-answer.ts";

export const aspects = [
  "outcome",
  "code",
  "http_status",
  "header",
  "body",
  "missing",
  "added",
  "type",
  "value",
  "format",
  "order",
  "length",
] as const;

/**
 * What differs. `outcome`: success and refusal, or what became of the payment. `code`: the code of
 * a refusal. `body`: the kind of body. `missing`: a member that only the upstream has. `added`: a
 * member that only Cofre has. `format`: generated values and times are compared by their form only.
 * `length`: the number of a list's members.
 */
export type Aspect = (typeof aspects)[number];

export interface Difference {
  readonly aspect: Aspect;
  /** `payment.refunds[].status`, the name of a header, or empty for the whole answer. */
  readonly path: string;
  readonly upstream: string;
  readonly cofre: string;
  /** Whether other values are another kind of difference. */
  readonly isByValue: boolean;
}

/** Differences of one pair of answers that are reported; an answer may have any number of members. */
const mostDifferences = 200;
const deepest = 32;

/** Headers of the connection, of a server's infrastructure, or of Cofre's own additions. */
const ignoredHeaders =
  /^(?:accept-ranges|age|alt-svc|cache-control|cf-.*|connection|content-encoding|content-length|content-security-policy.*|date|etag|expect-ct|expires|idempotent-replayed|keep-alive|last-modified|link|nel|permissions-policy|pragma|proxy-connection|referrer-policy|report-to|server|server-timing|set-cookie|strict-transport-security|traceparent|trailer|transfer-encoding|upgrade|vary|via|x-amz.*|x-cache.*|x-cofre-.*|x-content-type-options|x-download-options|x-envoy-.*|x-frame-options|x-permitted-cross-domain-policies|x-powered-by|x-ratelimit-.*|x-request-id|x-runtime|x-xss-protection)$/;

/** How a member's value is compared; the first row that fits counts. */
const memberRows: readonly (readonly [path: RegExp, how: "format" | "digits"])[] = [
  [/(?:^|\.)(?:hash|pin|token|mandate_id|ebanx_session_id|accessToken|paymentId)$/, "format"],
  [/_date$|_at$|(?:^|\.)date$/, "format"],
  [/(?:^|\.)(?:authcode|refunds\[\]\.id|refund\.id|redirect_url)$/, "digits"],
];

/** Members with few values, on which clients branch: each pair of values is a kind of its own. */
const words =
  /(?:^|\.)(?:status|status_code|code|operation|payment_type_code|country|currency_ext|acquirer|description|transaction_type|recommendation|resource|pre_approved|capture_available|success)$/;

/** All differences of two answers to the same request. `texts` replaces identifiers of Cofre. */
export function differencesOf(
  upstream: SeenAnswer,
  cofre: SeenAnswer,
  texts: (text: string) => string = (text) => text,
): readonly Difference[] {
  const found = new Differences(texts);
  if (upstream.status !== cofre.status)
    found.add("http_status", "", String(upstream.status), String(cofre.status), true);
  found.headers(upstream.headers, cofre.headers);
  found.bodies(upstream.body, cofre.body);
  return found.list;
}

class Differences {
  readonly list: Difference[] = [];
  readonly #texts: (text: string) => string;

  constructor(texts: (text: string) => string) {
    this.#texts = texts;
  }

  add(aspect: Aspect, path: string, upstream: string, cofre: string, isByValue = false): void {
    if (this.list.length < mostDifferences)
      this.list.push({ aspect, path, upstream, cofre, isByValue });
  }

  headers(upstream: ReadonlyMap<string, string>, cofre: ReadonlyMap<string, string>): void {
    for (const name of new Set([...upstream.keys(), ...cofre.keys()])) {
      if (ignoredHeaders.test(name)) continue;
      const [theirs, ours] = [upstream.get(name), cofre.get(name)];
      if (theirs === undefined) this.add("header", name, "none", "present");
      else if (ours === undefined) this.add("header", name, "present", "none");
      else if (name === "content-type" && mediaOf(theirs) !== mediaOf(ours))
        this.add("header", name, mediaOf(theirs), mediaOf(ours), true);
    }
  }

  bodies(upstream: Body, cofre: Body): void {
    if (upstream.kind !== cofre.kind) {
      this.add("body", "", upstream.kind, cofre.kind, true);
      return;
    }
    if ("value" in upstream && "value" in cofre) this.values("", upstream.value, cofre.value, 0);
    else if ("text" in upstream && "text" in cofre && upstream.text !== cofre.text)
      this.add("value", "", upstream.text, cofre.text);
  }

  values(path: string, upstream: Json, cofre: Json, depth: number): void {
    if (depth > deepest) return;
    const [theirs, ours] = [typeOf(upstream), typeOf(cofre)];
    if (theirs !== ours) {
      this.add("type", path, theirs, ours, true);
    } else if (isJsonObject(upstream) && isJsonObject(cofre)) {
      this.#objects(path, upstream, cofre, depth);
    } else if (Array.isArray(upstream) && Array.isArray(cofre)) {
      this.#lists(path, upstream as readonly Json[], cofre as readonly Json[], depth);
    } else if (upstream !== cofre) this.#scalars(path, upstream, cofre);
  }

  #objects(path: string, upstream: JsonObject, cofre: JsonObject, depth: number): void {
    const inside = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const theirs = new Map(Object.entries(upstream));
    const ours = new Map(Object.entries(cofre));
    for (const [name, value] of theirs)
      if (!ours.has(name)) this.add("missing", inside(name), typeOf(value), "none");
    for (const [name, value] of ours)
      if (!theirs.has(name)) this.add("added", inside(name), "none", typeOf(value));
    const common = [...theirs.keys()].filter((name) => ours.has(name));
    const ownOrder = [...ours.keys()].filter((name) => theirs.has(name));
    if (common.some((name, index) => name !== ownOrder[index]))
      this.add("order", path, common.join(", "), ownOrder.join(", "));
    for (const name of common)
      this.values(inside(name), theirs.get(name) ?? null, ours.get(name) ?? null, depth + 1);
  }

  #lists(path: string, upstream: readonly Json[], cofre: readonly Json[], depth: number): void {
    if (upstream.length !== cofre.length)
      this.add("length", path, String(upstream.length), String(cofre.length));
    for (const [index, member] of upstream.entries()) {
      const own = cofre[index];
      if (own === undefined) break;
      this.values(`${path}[]`, member, own, depth + 1);
    }
  }

  #scalars(path: string, upstream: Json, cofre: Json): void {
    const theirs = textOf(upstream);
    const ours = this.#texts(textOf(cofre));
    const how = memberRows.find(([pattern]) => pattern.test(path))?.[1];
    if (how === "format" || how === "digits") {
      const [form, ownForm] = [theirs, ours].map((text) => formOf(text, how === "format"));
      if (form !== ownForm) this.add("format", path, form ?? "", ownForm ?? "", true);
      return;
    }
    if (theirs === ours || withoutTimes(theirs) === withoutTimes(ours)) return;
    this.add("value", path, theirs, ours, words.test(path));
  }
}

function textOf(scalar: Json): string {
  return typeof scalar === "string" ? scalar : JSON.stringify(scalar);
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}

/** The form of a generated value: `48 hex`, `9999-99-99 99:99:99`. */
function formOf(text: string, hasLength: boolean): string {
  if (/^\d+$/.test(text)) return hasLength ? `${text.length} digits` : "digits";
  if (/^[\da-f]+$/.test(text)) return `${text.length} hex`;
  if (/^\d{4}-\d\d-\d\d/.test(text)) return text.replaceAll(/\d/g, "9");
  return hasLength ? `text of ${text.length}` : "text";
}

/** A message may say when something was made. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "9999-99-99 99:99:99");
}

/** `application/json; charset=utf-8`, without differences that no client sees. */
function mediaOf(contentType: string): string {
  return contentType.toLowerCase().replaceAll(/[\s"]/g, "").replace(";", "; ");
}
