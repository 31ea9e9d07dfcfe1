import { liftedNames } from "./tree.ts";

/**
 * Names whose repetition is refused: those that identify a merchant, a payment, a card or an
 * amount, and the nodes that contain them. Two readers of one request (a proxy, a fraud filter,
 * this server) must never see two different payments in it.
 */
const guarded = [
  "integration_key",
  "public_integration_key",
  "publicIntegrationKey",
  "operation",
  "mode",
  "hash",
  "merchant_payment_code",
  "token",
  "create_token",
  "auto_capture",
  "amount",
  "amount_total",
  "amount_itens",
  "amount_shipping",
  "currency_code",
  "country",
  "instalments",
  "payment_type_code",
  "refund_id",
  "merchant_refund_code",
  "merchant_capture_code",
  "card_name",
  "card_due_date",
  "network_token_expire_date",
  "threeds_eci",
  "payment",
  "creditcard",
  "card",
  "number",
  "request_body",
  ...liftedNames,
] as const;

/** Other common names. Names in this table cost no new string. */
const common = [
  "address",
  "bank_code",
  "billing",
  "birth_date",
  "bypass_boleto_screen",
  "capture_available",
  "city",
  "code",
  "cof_info",
  "cof_type",
  "currency",
  "customer_ip",
  "description",
  "device_id",
  "document",
  "document_type",
  "due_date",
  "email",
  "initiator",
  "items",
  "manual_review",
  "metadata",
  "metadata_1",
  "mandate_id",
  "name",
  "note",
  "notification_url",
  "order_number",
  "person_type",
  "phone_number",
  "profile_id",
  "quantity",
  "redirect_url",
  "responsible",
  "risk",
  "sequence_type",
  "sku",
  "soft_descriptor",
  "split",
  "state",
  "street_complement",
  "street_number",
  "sub_account",
  "tags",
  "taxes",
  "threeds_trxid",
  "threeds_version",
  "type",
  "unit_price",
  "user_value_1",
  "user_value_2",
  "user_value_3",
  "user_value_4",
  "user_value_5",
  "zipcode",
] as const;

const texts: readonly string[] = [...guarded, ...common];
const lifted: ReadonlySet<string> = new Set(liftedNames);
const indexByText: ReadonlyMap<string, number> = new Map(texts.map((text, index) => [text, index]));

const slotCount = 1024;
const slots = new Int16Array(slotCount).fill(-1);
const nameBytes = texts.map((text) => Buffer.from(text, "latin1"));

/**
 * The length and four bytes distinguish most names. The table is fixed and uses open addressing: no
 * input can lengthen a chain.
 */
function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] ?? 0;
  const last = bytes[end - 1] ?? 0;
  const middle = bytes[start + (length >> 1)] ?? 0;
  const quarter = bytes[start + (length >> 2)] ?? 0;
  return (length * 7 + first * 3 + last * 31 + middle * 131 + quarter * 521) & (slotCount - 1);
}

for (const [index, bytes] of nameBytes.entries()) {
  let slot = slotOf(bytes, 0, bytes.length);
  while (slots[slot] !== -1) slot = (slot + 1) & (slotCount - 1);
  slots[slot] = index;
}

/** The index of the name whose bytes are `bytes[start..end)`, or -1. */
export function knownName(bytes: Uint8Array, start: number, end: number): number {
  for (let slot = slotOf(bytes, start, end); ; slot = (slot + 1) & (slotCount - 1)) {
    const index = slots[slot] ?? -1;
    if (index < 0) return -1;
    if (sameBytes(nameBytes[index], bytes, start, end)) return index;
  }
}

function sameBytes(
  name: Uint8Array | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (name === undefined || name.length !== end - start) return false;
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== bytes[start + at]) return false;
  }
  return true;
}

export function knownNameOfText(text: string): number {
  return indexByText.get(text) ?? -1;
}

export function textOfKnownName(index: number): string {
  return texts[index] ?? "";
}

/** Guarded names come first in the table. */
export function isGuarded(index: number): boolean {
  return index >= 0 && index < guarded.length;
}

export function isLifted(index: number): boolean {
  return liftedFlags[index] === 1;
}

const cardName = knownNameOfText("card");
const numberName = knownNameOfText("number");

/**
 * `number` in a node `card`, as the calls of 3-D Secure name the card number (interface 2.7). Under
 * other nodes the name has other meanings.
 */
export function isNumberOfCard(index: number, node: number): boolean {
  return index === numberName && node === cardName;
}

const liftedFlags = Uint8Array.from(texts, (text) => (lifted.has(text) ? 1 : 0));

/** The text of a form or of JSON inside JSON: parsed separately, never kept as a value. */
export const requestBodyName = knownNameOfText("request_body");

/**
 * Cryptograms are base64: form decoding turned their `+` into blanks, and their dashes are not
 * separators.
 */
export const isCryptogram = (index: number): boolean => cryptogramFlags[index] === 1;
const cryptogramFlags = Uint8Array.from(texts, (text) =>
  lifted.has(text) && text.endsWith("_cryptogram") ? 1 : 0,
);
