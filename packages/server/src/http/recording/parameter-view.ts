import { shownAddress } from "../../merchant/receiver-address.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import { maskOfDigits } from "../../vault/mask.ts";
import type { ParameterList } from "../../sandbox/recording/recorder.ts";
import {
  longestWithoutCode,
  maskedText,
  mayBeSensitive,
  oneLine,
} from "../../wire/decode/card-like.ts";
import { isTreeObject, Lifted, type Tree, type TreeObject } from "../../wire/decode/tree.ts";
import { detachedCopy } from "./detached-copy.ts";

/** How a value is shown. A parameter without a row is not shown, whatever its name. */
type Showing = "text" | "name" | "address" | "token" | "hash" | "number" | "secret" | "node";

const rows: ReadonlyMap<string, Showing> = new Map([
  ...shownAs(
    "text",
    [
      "operation",
      "mode",
      "country",
      "currency_code",
      "currency_base_code",
      "currency_base",
      "payment_type_code",
    ],
    [
      "amount",
      "amount_total",
      "amount_itens",
      "amount_shipping",
      "instalments",
      "create_token",
      "auto_capture",
      "manual_review",
    ],
    ["description"],
    [
      "name",
      "email",
      "document",
      "document_type",
      "person_type",
      "birth_date",
      "phone_number",
      "customer_ip",
      "device_id",
    ],
    ["zipcode", "address", "street_number", "street_complement", "city", "state"],
    [
      "note",
      "user_value_1",
      "user_value_2",
      "user_value_3",
      "user_value_4",
      "user_value_5",
      "soft_descriptor",
    ],
    ["cof_type", "initiator", "trans_type", "transType", "mandate_id"],
    ["threeds_eci", "threeds_version", "threeds_trxid", "threeds_xid"],
    ["action", "next", "reason", "times", "message", "connector"],
    ["set", "advance", "run", "kind", "path", "delay_ms", "clear"],
  ),
  // Stored unchanged elsewhere, and searched by the whole name.
  ...shownAs("name", [
    "merchant_payment_code",
    "merchant_refund_code",
    "merchant_capture_code",
    "refund_id",
    "order_number",
  ]),
  ...shownAs("address", ["notification_url", "url_status_change_notification"]),
  ...shownAs("token", ["token"]),
  ...shownAs("hash", ["hash"]),
  ...shownAs("number", ["card_number", "network_token_pan"]),
  // Encrypted with the card: only their presence is shown. For security codes and cryptograms not
  // even that is kept.
  ...shownAs("secret", ["card_name", "card_due_date", "network_token_expire_date"]),
  ...shownAs("node", ["payment", "creditcard", "card", "responsible", "cof_info", "add"]),
]);

function shownAs(
  how: Showing,
  ...names: readonly (readonly string[])[]
): readonly (readonly [string, Showing])[] {
  return names.flat().map((name) => [name, how]);
}

/** Not shown: the request log has only the kind of the key. */
const keys: ReadonlySet<string> = new Set([
  "integration_key",
  "public_integration_key",
  "publicIntegrationKey",
]);

const longestValue = 200;

export interface ParameterView {
  readonly parameters: ParameterList;
  /** Total length of names and values, within the limit. */
  readonly characters: number;
  readonly leftOut: number;
}

/**
 * The parameters of a request that may be shown and kept: those of the table above, card numbers as
 * masks, everything that looks like one masked, tokens shortened. Runs for every request, so a
 * value that needs no change is only copied.
 */
export function viewOf(params: TreeObject, characters: number): ParameterView {
  const view = new View(characters);
  const parameters = view.node(params);
  return { parameters, characters: view.characters, leftOut: view.leftOut };
}

class View {
  characters = 0;
  leftOut = 0;
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  node(params: TreeObject): ParameterList {
    const shown: (string | ParameterList)[] = [];
    for (const name in params) {
      if (keys.has(name)) continue;
      const how = rows.get(name);
      const value = params[name];
      if (value === undefined) continue;
      const member = how === undefined ? undefined : this.#member(name, value, how);
      if (member === undefined) this.leftOut += 1;
      else shown.push(name, member);
    }
    return shown;
  }

  #member(name: string, value: Tree, how: Showing): string | ParameterList | undefined {
    if (how === "node")
      return isTreeObject(value) && this.#takes(name.length) ? this.node(value) : undefined;
    const text = textOf(value, how);
    return text !== undefined && this.#takes(name.length + text.length) ? text : undefined;
  }

  #takes(characters: number): boolean {
    if (this.characters + characters > this.#max) return false;
    this.characters += characters;
    return true;
  }
}

function textOf(value: Tree, how: Exclude<Showing, "node">): string | undefined {
  if (value instanceof Lifted) return how === "number" ? maskOfLifted(value) : secret;
  if (how === "secret") return secret;
  if (typeof value !== "string") return undefined;
  switch (how) {
    case "address":
      return masked(shownAddress(value));
    case "token":
      return shortened(value);
    case "hash":
      // In a hash, card-like digits occur by chance.
      return isPaymentId(value) ? detachedCopy(value) : masked(value);
    case "name":
      return detachedCopy(maskedText(oneLine(value), longestValue));
    default:
      return masked(value);
  }
}

/** A text of at most 200 characters without card numbers, for display. */
export function masked(text: string): string {
  return detachedCopy(
    text.length <= longestValue && !mayBeSensitive(text)
      ? text
      : withoutDigits(maskedText(oneLine(text), longestValue)),
  );
}

/**
 * At least as many digits as a card number has, however far apart, without a letter between them.
 */
const manyDigits = /\p{Nd}(?:[^\p{L}\p{N}]*\p{Nd}){12,}/gu;

/**
 * Text that is kept only for display may lose more than a name that must stay unchanged: digits
 * that may be a garbled card number are replaced.
 */
function withoutDigits(text: string): string {
  return text.replaceAll(manyDigits, (digits) => digits.replaceAll(/\p{Nd}/gu, "x"));
}

const secret = "[not kept]";
const shownOfToken = 8;
const shownFirst = 6;

/** The first eight characters of a token; nothing of a text that is too short to be one. */
export function shortened(token: string): string {
  return token.length < 2 * shownOfToken ? secret : `${oneLine(token.slice(0, shownOfToken))}…`;
}

/** Digits to which no mask applies are not a card number, but may be a mistyped one. */
function maskOfLifted({ bytes }: Lifted): string {
  const isNumber =
    bytes.length >= 14 && bytes.length <= 19 && bytes.every((byte) => byte >= 0x30 && byte <= 0x39);
  if (!isNumber) return secret;
  const mask = maskOfDigits(bytes);
  return bytes.length > longestWithoutCode
    ? mask.slice(0, shownFirst).padEnd(bytes.length, "x")
    : mask;
}
