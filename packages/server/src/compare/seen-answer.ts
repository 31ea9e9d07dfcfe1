import { ownValue } from "../kernel/own.ts";
import { decompressed } from "./decoded-body.ts";

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export type Body =
  | { readonly kind: "json" | "form"; readonly value: Json }
  | { readonly kind: "xml" | "text"; readonly text: string }
  | { readonly kind: "empty" }
  | { readonly kind: "unreadable" };

/** An answer in the form in which two servers' answers can be compared. */
export interface SeenAnswer {
  readonly status: number;
  /** By name in lower case; the values of a repeated header are joined. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Body;
}

/** Longest body that is compared, decompressed, in bytes. */
export const longestComparedBody = 1_048_576;

export function seenAnswerOf({ status, headers: list, body }: RawAnswer): SeenAnswer {
  const headers = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    const name = (list[index] ?? "").toLowerCase();
    const earlier = headers.get(name);
    const value = list[index + 1] ?? "";
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  const plain = decompressed(body, headers.get("content-encoding") ?? "", longestComparedBody);
  return {
    status,
    headers,
    body:
      plain === undefined
        ? { kind: "unreadable" }
        : bodyOf(plain.toString("utf8").trim(), headers.get("content-type") ?? ""),
  };
}

/** Clients parse the body whatever its content type is, so the text decides first. */
function bodyOf(text: string, contentType: string): Body {
  if (text === "") return { kind: "empty" };
  try {
    return { kind: "json", value: JSON.parse(text) as Json };
  } catch {
    if (text.startsWith("<?xml") || /[/+]xml\b/.test(contentType)) return { kind: "xml", text };
    return contentType.includes("x-www-form-urlencoded")
      ? { kind: "form", value: Object.fromEntries(new URLSearchParams(text)) }
      : { kind: "text", text };
  }
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member at a path of names; undefined if there is none. */
export function memberAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const name of path) {
    if (!isJsonObject(found)) return undefined;
    found = ownValue(found, name);
  }
  return found;
}

export function jsonOf({ body }: SeenAnswer): Json | undefined {
  return body.kind === "json" ? body.value : undefined;
}

/** The result of a request, as far as clients branch on it. */
export type Outcome =
  | { readonly kind: "refused"; readonly code: string }
  | {
      readonly kind: "decided";
      /** `CO OK`: the payment's status and the code of the transaction. */
      readonly verdict: string;
      readonly description: string;
      readonly isDeclined: boolean;
    }
  /** A success without a payment or verification, or no envelope of the interface. */
  | { readonly kind: "other"; readonly isSuccess: boolean };

export function outcomeOf(answer: SeenAnswer): Outcome {
  const json = jsonOf(answer);
  const status = memberAt(json, "status");
  if (status === "ERROR") return { kind: "refused", code: textOf(memberAt(json, "status_code")) };
  const payment = memberAt(json, "payment");
  const holder = payment ?? memberAt(json, "card_verification");
  const transaction = memberAt(holder, "transaction_status");
  if (transaction === undefined || status !== "SUCCESS")
    return { kind: "other", isSuccess: answer.status < 400 && status === "SUCCESS" };
  const code = textOf(memberAt(transaction, "code"));
  const state = textOf(memberAt(payment, "status"));
  return {
    kind: "decided",
    verdict: `${state} ${code}`.trim(),
    description: textOf(memberAt(transaction, "description")),
    isDeclined: code !== "OK" && (payment === undefined || state === "CA"),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
