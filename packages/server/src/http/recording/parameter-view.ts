import { isPaymentId } from "../../kernel/ids.ts";
import { maskOfDigits } from "../../vault/mask.ts";
import { maskedText, oneLine } from "../wire/card-like.ts";
import { isTreeObject, Lifted, type Tree, type TreeObject } from "../wire/tree.ts";

/** What is shown of a value. What has no row is not shown, whatever it is called. */
type Showing = "text" | "token" | "hash" | "number" | "secret" | "node";

const rows: Readonly<Record<string, Showing>> = {
  ...shownAs(
    "text",
    ["operation", "mode", "country", "currency_code", "currency_base_code", "currency_base", "payment_type_code"],
    ["amount", "amount_total", "amount_itens", "amount_shipping", "instalments", "create_token", "auto_capture", "manual_review"],
    ["merchant_payment_code", "merchant_refund_code", "merchant_capture_code", "refund_id", "order_number", "description"],
    ["name", "email", "document", "document_type", "person_type", "birth_date", "phone_number", "customer_ip", "device_id"],
    ["zipcode", "address", "street_number", "street_complement", "city", "state"],
    ["note", "user_value_1", "user_value_2", "user_value_3", "user_value_4", "user_value_5", "notification_url", "soft_descriptor"],
    ["cof_type", "initiator", "trans_type", "transType", "mandate_id"],
    ["threeds_eci", "threeds_version", "threeds_trxid", "threeds_xid"],
    ["action", "next", "reason", "times", "of", "connector", "do"],
  ),
  ...shownAs("token", ["token"]),
  ...shownAs("hash", ["hash"]),
  ...shownAs("number", ["card_number", "network_token_pan"]),
  // Sealed with the card: only that they were there. Of security codes and cryptograms not even that is kept.
  ...shownAs("secret", ["card_name", "card_due_date", "network_token_expire_date"]),
  ...shownAs("node", ["payment", "creditcard", "card", "responsible", "cof_info"]),
};

function shownAs(how: Showing, ...names: readonly (readonly string[])[]): Record<string, Showing> {
  return Object.fromEntries(names.flat().map((name) => [name, how]));
}

/** Told by the key's kind alone. */
const keys: ReadonlySet<string> = new Set(["integration_key", "public_integration_key", "publicIntegrationKey"]);

const longestValue = 200;
/** What stands around a value: quotes, colon, comma. */
const around = 6;

export interface ParameterView {
  /** JSON text, no longer than it may be. */
  readonly json: string;
  readonly leftOut: number;
}

/**
 * What may be shown and kept of a request's parameters: those of the table above, card numbers as their masks, whatever looks like one
 * masked, tokens shortened. Text of its own: nothing of what it was made from is held by it.
 */
export function viewOf(params: TreeObject, characters: number): ParameterView {
  const view = new View(characters);
  const shown = view.node(params);
  return { json: JSON.stringify(shown), leftOut: view.leftOut };
}

interface ShownNode {
  [name: string]: string | ShownNode;
}

class View {
  leftOut = 0;
  #left: number;

  constructor(characters: number) {
    this.#left = characters - 2;
  }

  node(params: TreeObject): ShownNode {
    const shown: ShownNode = {};
    for (const name in params) {
      if (keys.has(name)) continue;
      const how = Object.hasOwn(rows, name) ? rows[name] : undefined;
      const value = params[name];
      if (value === undefined) continue;
      const member = how === undefined ? undefined : this.#member(name, value, how);
      if (member === undefined) this.leftOut += 1;
      else shown[name] = member;
    }
    return shown;
  }

  #member(name: string, value: Tree, how: Showing): string | ShownNode | undefined {
    if (how === "node") return isTreeObject(value) && this.#takes(name.length + around) ? this.node(value) : undefined;
    const text = textOf(value, how);
    // A quote or a backslash takes two.
    return text !== undefined && this.#takes(name.length + 2 * text.length + around) ? text : undefined;
  }

  #takes(characters: number): boolean {
    if (characters > this.#left) return false;
    this.#left -= characters;
    return true;
  }
}

function textOf(value: Tree, how: Exclude<Showing, "node">): string | undefined {
  if (value instanceof Lifted) return how === "number" ? maskOfLifted(value) : secret;
  if (how === "secret") return secret;
  if (typeof value !== "string") return undefined;
  switch (how) {
    case "token":
      return shortened(value);
    case "hash":
      // Digits follow each other by chance in it.
      return isPaymentId(value) ? value : maskedText(oneLine(value), longestValue);
    default:
      return maskedText(oneLine(value), longestValue);
  }
}

const secret = "[not kept]";
const shownOfToken = 8;

/** The first eight characters of a token; of one that is too short to be one, nothing. */
export function shortened(token: string): string {
  return token.length < 2 * shownOfToken ? secret : `${maskedText(oneLine(token.slice(0, shownOfToken)), shownOfToken)}…`;
}

/** Digits that no mask fits are no card number, but may have been meant for one. */
function maskOfLifted({ bytes }: Lifted): string {
  const isNumber = bytes.length >= 14 && bytes.length <= 19 && bytes.every((byte) => byte >= 0x30 && byte <= 0x39);
  return isNumber ? maskOfDigits(bytes) : secret;
}
