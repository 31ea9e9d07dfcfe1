import { masked, shortened } from "../http/recording/parameter-view.ts";
import { isPaymentId } from "../payment/payment-id.ts";
import type { Lifted } from "../wire/decode/tree.ts";
import { isJsonObject, type Json, type SeenAnswer } from "./seen-answer.ts";

const notShown = "[not shown]";
const mostMembers = 100;
const deepest = 12;
const sensitiveName =
  /cvv|cvc|cryptogram|track|security|password|secret|^(?:card_number|card_name|card_due_date|network_token_.*)$/i;

/** Values of a request that no report shows, wherever an answer repeats them. */
export interface Hidden {
  /** Card numbers, security codes and cryptograms. */
  readonly lifted: readonly Lifted[];
  /** Keys and tokens. */
  readonly texts: readonly string[];
}

/** The part of an answer that a report shows. */
export interface ShownAnswer {
  readonly http_status: number;
  readonly content_type: string | null;
  readonly body: Json;
}

export function shownAnswer({ status, headers, body }: SeenAnswer, hidden: Hidden): ShownAnswer {
  const type = headers.get("content-type");
  return {
    http_status: status,
    content_type: type === undefined ? null : shownText(type, hidden),
    body:
      "value" in body
        ? shownJson(body.value, hidden)
        : "text" in body
          ? shownText(body.text, hidden)
          : `[${body.kind}]`,
  };
}

/** The same value with card data, keys and tokens masked, and cut to a bounded size. */
function shownJson(value: Json, hidden: Hidden, name = "", depth = 0): Json {
  if (typeof value === "string") return shownMember(name, value, hidden);
  if (typeof value === "number") {
    const text = String(value);
    const shown = shownMember(name, text, hidden);
    return shown === text ? value : shown;
  }
  if (Array.isArray(value) || isJsonObject(value)) {
    if (depth === deepest) return "[deeper]";
    if (Array.isArray(value))
      return (value as readonly Json[])
        .slice(0, mostMembers)
        .map((member) => shownJson(member, hidden, name, depth + 1));
    return Object.fromEntries(
      Object.entries(value)
        .slice(0, mostMembers)
        .map(([key, member]) => [
          shownText(key, hidden),
          shownJson(member, hidden, key, depth + 1),
        ]),
    );
  }
  return value;
}

function shownMember(name: string, text: string, hidden: Hidden): string {
  if (sensitiveName.test(name)) return notShown;
  if (name === "token" || /key$/i.test(name)) return shortened(text);
  return shownText(text, hidden);
}

const time = /^(?:19|20)\d\d-\d\d-\d\d(?: \d\d:\d\d:\d\d)?$/;

/** A text of an answer, or of a difference. */
export function shownText(text: string, { lifted, texts }: Hidden): string {
  if (isPaymentId(text) || time.test(text)) return text;
  if (lifted.some(({ bytes }) => isSame(bytes, text))) return notShown;
  const withoutKeys = texts.reduce((rest, secret) => rest.replaceAll(secret, shortened), text);
  return masked(withoutKeys.replaceAll(/[\da-f]{49,}/gi, shortened));
}

function isSame(bytes: Uint8Array, text: string): boolean {
  return (
    bytes.length > 0 &&
    bytes.length === text.length &&
    bytes.every((byte, index) => byte === text.charCodeAt(index))
  );
}
