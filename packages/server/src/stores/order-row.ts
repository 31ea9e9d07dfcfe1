import type { TokenDigest } from "../kernel/ids.ts";
import type { Money } from "../kernel/money.ts";
import type { PaymentOrder, StoredCredential, ThreeDSecure } from "../payment/payment.ts";
import type { Brand } from "../vault/brand.ts";
import type { Searched } from "./payment-list.ts";

/**
 * An order as the database keeps it: values without names, in a fixed order, for names would be
 * more than half of what is written of a payment. Its code is a column of its own. A new member is
 * added at the end, where rows of before have nothing.
 */
type PackedOrder = readonly [
  amount: string,
  currency: string,
  rate: string,
  gross: string,
  tax: string,
  total: string,
  localCurrency: string,
  instalments: number,
  /** Sum of the flags below that are true. */
  flags: number,
  country: string,
  brand: Brand,
  maskedPan: string,
  /** base64url: a third shorter than hex. */
  tokenDigest: Kept,
  name: string,
  email: string,
  document: Kept,
  birthDate: Kept,
  phone: Kept,
  zipcode: Kept,
  address: Kept,
  streetNumber: Kept,
  streetComplement: Kept,
  city: Kept,
  state: Kept,
  ip: Kept,
  responsible: Kept,
  orderNumber: Kept,
  softDescriptor: Kept,
  note: Kept,
  notificationUrl: Kept,
  deviceId: Kept,
  userValues: readonly (string | null)[] | 0,
  storedCredential: PackedStoredCredential | 0,
  threeDSecure: PackedThreeDSecure | 0,
  /** Missing on payments of earlier versions. */
  connector?: Kept,
  /** Missing where there is no tax, and on payments of earlier versions. */
  taxRate?: string,
];

/** 0 stands for what was not given: a digit where `null` takes four. */
type Kept = string | 0;

const flag = { autoCapture: 1, manualReview: 2, debit: 4, business: 8 } as const;

type PackedStoredCredential = readonly [
  use: StoredCredential["use"],
  initiator: StoredCredential["initiator"],
  reason: StoredCredential["reason"],
  mandateId: Kept,
];
/**
 * Named one by one: whatever else an object may carry, such as the cryptogram that was with it, is
 * not written.
 */
type PackedThreeDSecure = readonly [eci: string, version: Kept, transactionId: Kept, xid: Kept];

export function orderToJson(order: PaymentOrder): string {
  const { amount, pricing, card, customer, userValues, storedCredential, threeDSecure } = order;
  const packed: PackedOrder = [
    String(amount.minor),
    amount.currency,
    pricing.rate,
    String(pricing.gross.minor),
    String(pricing.tax.minor),
    String(pricing.total.minor),
    pricing.gross.currency,
    order.instalments,
    flagsOf(order),
    order.country,
    card.brand,
    card.maskedPan,
    card.tokenDigest === undefined ? 0 : Buffer.from(card.tokenDigest, "hex").toString("base64url"),
    customer.name,
    customer.email,
    customer.document ?? 0,
    customer.birthDate ?? 0,
    customer.phone ?? 0,
    customer.zipcode ?? 0,
    customer.address ?? 0,
    customer.streetNumber ?? 0,
    customer.streetComplement ?? 0,
    customer.city ?? 0,
    customer.state ?? 0,
    customer.ip ?? 0,
    customer.responsible ?? 0,
    order.orderNumber ?? 0,
    order.softDescriptor ?? 0,
    order.note ?? 0,
    order.notificationUrl ?? 0,
    order.deviceId ?? 0,
    userValues.length === 0 ? 0 : userValues.map((value) => value ?? null),
    storedCredential === undefined ? 0 : packStoredCredential(storedCredential),
    threeDSecure === undefined ? 0 : packThreeDSecure(threeDSecure),
  ];
  const { connector } = order;
  if (pricing.taxRate !== undefined)
    return JSON.stringify([...packed, connector ?? 0, pricing.taxRate]);
  return JSON.stringify(connector === undefined ? packed : [...packed, connector]);
}

/** Where currency and brand stand, for databases that read them alone. */
export const placeInOrder = { currency: 1, brand: 10 } as const;

/**
 * Digests have 43 characters in base64url, and nothing before them in an order is a text with a
 * quote in it.
 */
const upToTokenDigest = /^(\[(?:"[^"]*",){7}\d+,\d+,(?:"[^"]*",){3})"[\w-]{43}"/;

/** An order as it is kept, without its card's token digest. */
export function withoutTokenDigest(json: string): string {
  return json.replace(upToTokenDigest, "$10");
}

/** What a search looks into, without the rest of the order. */
export function searchedInOrder(json: string): Searched {
  const [
    amount,
    currency,
    ,
    ,
    ,
    total,
    localCurrency,
    ,
    ,
    country,
    brand,
    maskedPan,
    ,
    name,
    email,
  ] = JSON.parse(json) as PackedOrder;
  const amounts = [
    { minor: BigInt(amount), currency },
    { minor: BigInt(total), currency: localCurrency },
  ];
  return { brand, maskedPan, name, email, country, amounts };
}

export function orderFromJson(code: string, json: string): PaymentOrder {
  const packed = JSON.parse(json) as PackedOrder;
  // By index: destructuring walks an iterator over all that is passed over.
  const localCurrency = packed[6];
  const flags = packed[8];
  const tokenDigest = packed[12];
  const userValues = packed[31];
  const storedCredential = packed[32];
  const threeDSecure = packed[33];
  const connector = packed[34] ?? 0;
  const taxRate = packed[35];
  const local = (minor: string): Money => ({ minor: BigInt(minor), currency: localCurrency });
  return {
    code,
    orderNumber: given(packed[26]),
    amount: { minor: BigInt(packed[0]), currency: packed[1] },
    pricing: {
      rate: packed[2],
      gross: local(packed[3]),
      tax: local(packed[4]),
      total: local(packed[5]),
      ...(taxRate === undefined ? {} : { taxRate }),
    },
    instalments: packed[7],
    autoCapture: (flags & flag.autoCapture) !== 0,
    manualReview: (flags & flag.manualReview) !== 0,
    country: packed[9],
    paymentType: (flags & flag.debit) === 0 ? "credit" : "debit",
    card: {
      brand: packed[10],
      maskedPan: packed[11],
      tokenDigest: tokenDigest === 0 ? undefined : digestOf(tokenDigest),
    },
    customer: {
      name: packed[13],
      email: packed[14],
      document: given(packed[15]),
      birthDate: given(packed[16]),
      personType: (flags & flag.business) === 0 ? "personal" : "business",
      phone: given(packed[17]),
      zipcode: given(packed[18]),
      address: given(packed[19]),
      streetNumber: given(packed[20]),
      streetComplement: given(packed[21]),
      city: given(packed[22]),
      state: given(packed[23]),
      ip: given(packed[24]),
      responsible: given(packed[25]),
    },
    softDescriptor: given(packed[27]),
    note: given(packed[28]),
    userValues: userValues === 0 ? [] : userValues.map((value) => value ?? undefined),
    notificationUrl: given(packed[29]),
    deviceId: given(packed[30]),
    storedCredential: storedCredential === 0 ? undefined : unpackStoredCredential(storedCredential),
    threeDSecure: threeDSecure === 0 ? undefined : unpackThreeDSecure(threeDSecure),
    ...(connector === 0 ? {} : { connector }),
  };
}

function flagsOf({ autoCapture, manualReview, paymentType, customer }: PaymentOrder): number {
  return (
    (autoCapture ? flag.autoCapture : 0) |
    (manualReview ? flag.manualReview : 0) |
    (paymentType === "debit" ? flag.debit : 0) |
    (customer.personType === "business" ? flag.business : 0)
  );
}

function given(kept: Kept): string | undefined {
  return kept === 0 ? undefined : kept;
}

function digestOf(base64: string): TokenDigest {
  return Buffer.from(base64, "base64url").toString("hex") as TokenDigest;
}

function packStoredCredential({
  use,
  initiator,
  reason,
  mandateId,
}: StoredCredential): PackedStoredCredential {
  return [use, initiator, reason, mandateId ?? 0];
}

function unpackStoredCredential([
  use,
  initiator,
  reason,
  mandateId,
]: PackedStoredCredential): StoredCredential {
  return { use, initiator, reason, mandateId: given(mandateId) };
}

function packThreeDSecure({ eci, version, transactionId, xid }: ThreeDSecure): PackedThreeDSecure {
  return [eci, version ?? 0, transactionId ?? 0, xid ?? 0];
}

function unpackThreeDSecure([eci, version, transactionId, xid]: PackedThreeDSecure): ThreeDSecure {
  return { eci, version: given(version), transactionId: given(transactionId), xid: given(xid) };
}
