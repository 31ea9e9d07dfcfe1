import type { TokenDigest } from "../kernel/ids.ts";
import { type Instant, laterBy } from "../kernel/instant.ts";
import type { Money } from "../kernel/money.ts";
import type { PaymentPage } from "../payment/payment.ts";
import type {
  DeclineReason,
  PaymentAuthentication,
  PaymentOrder,
  StoredCredential,
  ThreeDSecure,
} from "../payment/payment.ts";
import type { Brand } from "../vault/brand.ts";
import type { Searched } from "./payment-list.ts";

/**
 * An order as stored in the database: values without names, in a fixed order, because names would
 * be more than half of what is written for a payment. The code has its own column. New members are
 * added at the end, where older rows have nothing.
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
  /** Empty, like the mask, until a card is submitted on the page. */
  brand: Brand | "",
  maskedPan: string,
  /** base64url: a third shorter than hex. */
  tokenDigest: PackedText,
  name: string,
  email: string,
  document: PackedText,
  birthDate: PackedText,
  phone: PackedText,
  zipcode: PackedText,
  address: PackedText,
  streetNumber: PackedText,
  streetComplement: PackedText,
  city: PackedText,
  state: PackedText,
  ip: PackedText,
  responsible: PackedText,
  orderNumber: PackedText,
  softDescriptor: PackedText,
  note: PackedText,
  notificationUrl: PackedText,
  deviceId: PackedText,
  userValues: readonly (string | null)[] | 0,
  storedCredential: PackedStoredCredential | 0,
  threeDSecure: PackedThreeDSecure | 0,
  /** Missing on payments of earlier versions. */
  connector?: PackedText,
  /** Missing or 0 where there is no tax, and on payments of earlier versions. */
  taxRate?: PackedText,
  /** Missing without a page. */
  page?: PackedPage,
];

/** 0 represents an omitted value: one character instead of the four of `null`. */
type PackedText = string | 0;

const flag = { autoCapture: 1, manualReview: 2, debit: 4, business: 8, issuerLiable: 16 } as const;

type PackedStoredCredential = readonly [
  use: StoredCredential["use"],
  initiator: StoredCredential["initiator"],
  reason: StoredCredential["reason"],
  mandateId: PackedText,
];
/**
 * Members are listed explicitly, so that anything else in the object, such as the cryptogram, is
 * not stored.
 */
type PackedThreeDSecure = readonly [
  eci: string,
  version: PackedText,
  transactionId: PackedText,
  xid: PackedText,
];

type PackedPage = readonly [
  lapsesAt: Instant,
  paymentTypes: string,
  leastInstalments: number,
  mostInstalments: number,
  redirectUrl: PackedText,
  tries: number,
  declined: DeclineReason | 0,
  /** The authentication, if one is under way, and the masks of refused cards. */
  ...rest: (PackedAuthentication | string)[],
];
type PackedAuthentication = readonly [
  id: string,
  startedAt: Instant,
  checks: number,
  /** Both relative to `startedAt`. */
  recheckAtMs: number,
  endsAtMs: number,
  sealedCard: string,
];

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
    card?.brand ?? "",
    card?.maskedPan ?? "",
    card?.tokenDigest === undefined
      ? 0
      : Buffer.from(card.tokenDigest, "hex").toString("base64url"),
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
  const { connector, page } = order;
  if (page !== undefined)
    return JSON.stringify([...packed, connector ?? 0, pricing.taxRate ?? 0, packPage(page)]);
  if (pricing.taxRate !== undefined)
    return JSON.stringify([...packed, connector ?? 0, pricing.taxRate]);
  return JSON.stringify(connector === undefined ? packed : [...packed, connector]);
}

/** Places in a packed order. */
export const orderIndex = {
  amount: 0,
  currency: 1,
  rate: 2,
  gross: 3,
  tax: 4,
  total: 5,
  localCurrency: 6,
  instalments: 7,
  flags: 8,
  country: 9,
  brand: 10,
  maskedPan: 11,
  tokenDigest: 12,
  name: 13,
  email: 14,
  document: 15,
  birthDate: 16,
  phone: 17,
  zipcode: 18,
  address: 19,
  streetNumber: 20,
  streetComplement: 21,
  city: 22,
  state: 23,
  ip: 24,
  responsible: 25,
  orderNumber: 26,
  softDescriptor: 27,
  note: 28,
  notificationUrl: 29,
  deviceId: 30,
  userValues: 31,
  storedCredential: 32,
  threeDSecure: 33,
  connector: 34,
  taxRate: 35,
  page: 36,
} as const;

/** Digests have 43 characters in base64url, and no earlier text in an order contains a quote. */
const upToTokenDigest = /^(\[(?:"[^"]*",){7}\d+,\d+,(?:"[^"]*",){3})"[\w-]{43}"/;

/** A stored order without its card's token digest. */
export function withoutTokenDigest(json: string): string {
  return json.replace(upToTokenDigest, "$10");
}

/** The texts of an order in which a search looks for its words. */
export type SearchTexts = Pick<Searched, "name" | "email" | "maskedPan" | "brand" | "country"> & {
  /** The requested and the local amount, in minor units. */
  readonly amounts: readonly [requested: string, local: string];
};

/** The order up to the e-mail address, if no text in it contains an escaped character. */
const upToEmail =
  /^\["(\d+)",(?:"[^"]*",){4}"(\d+)","[^"]*",\d+,\d+,"([^"\\]*)","([^"\\]*)","([^"\\]*)",(?:"[^"]*"|0),"([^"\\]*)","([^"\\]*)"/;

/** Reads the beginning of nearly all orders without parsing them. */
export function searchTextsInOrder(json: string): SearchTexts {
  const found = upToEmail.exec(json);
  if (found === null) {
    const { amounts, ...texts } = searchedInOrder(json);
    return { ...texts, amounts: [String(amounts[0].minor), String(amounts[1].minor)] };
  }
  const [, requested = "", local = "", country = "", brand = "", maskedPan = ""] = found;
  const [name = "", email = ""] = found.slice(6);
  return { name, email, maskedPan, brand, country, amounts: [requested, local] };
}

/** The searchable fields of an order, without converting the rest. */
export function searchedInOrder(json: string): Searched {
  const packed = JSON.parse(json) as PackedOrder;
  return {
    brand: packed[orderIndex.brand],
    maskedPan: packed[orderIndex.maskedPan],
    name: packed[orderIndex.name],
    email: packed[orderIndex.email],
    country: packed[orderIndex.country],
    amounts: [
      { minor: BigInt(packed[orderIndex.amount]), currency: packed[orderIndex.currency] },
      { minor: BigInt(packed[orderIndex.total]), currency: packed[orderIndex.localCurrency] },
    ],
  };
}

export function orderFromJson(code: string, json: string): PaymentOrder {
  const packed = JSON.parse(json) as PackedOrder;
  // By index: destructuring walks an iterator over all that is passed over.
  const localCurrency = packed[orderIndex.localCurrency];
  const flags = packed[orderIndex.flags];
  const tokenDigest = packed[orderIndex.tokenDigest];
  const userValues = packed[orderIndex.userValues];
  const storedCredential = packed[orderIndex.storedCredential];
  const threeDSecure = packed[orderIndex.threeDSecure];
  const connector = packed[orderIndex.connector] ?? 0;
  const taxRate = packed[orderIndex.taxRate] ?? 0;
  const page = packed[orderIndex.page];
  const brand = packed[orderIndex.brand];
  const local = (minor: string): Money => ({ minor: BigInt(minor), currency: localCurrency });
  return {
    code,
    orderNumber: unpacked(packed[orderIndex.orderNumber]),
    amount: { minor: BigInt(packed[orderIndex.amount]), currency: packed[orderIndex.currency] },
    pricing: {
      rate: packed[orderIndex.rate],
      gross: local(packed[orderIndex.gross]),
      tax: local(packed[orderIndex.tax]),
      total: local(packed[orderIndex.total]),
      ...(taxRate === 0 ? {} : { taxRate }),
    },
    instalments: packed[orderIndex.instalments],
    autoCapture: (flags & flag.autoCapture) !== 0,
    manualReview: (flags & flag.manualReview) !== 0,
    country: packed[orderIndex.country],
    paymentType: (flags & flag.debit) === 0 ? "credit" : "debit",
    card:
      brand === ""
        ? undefined
        : {
            brand,
            maskedPan: packed[orderIndex.maskedPan],
            tokenDigest: tokenDigest === 0 ? undefined : digestOf(tokenDigest),
          },
    customer: {
      name: packed[orderIndex.name],
      email: packed[orderIndex.email],
      document: unpacked(packed[orderIndex.document]),
      birthDate: unpacked(packed[orderIndex.birthDate]),
      personType: (flags & flag.business) === 0 ? "personal" : "business",
      phone: unpacked(packed[orderIndex.phone]),
      zipcode: unpacked(packed[orderIndex.zipcode]),
      address: unpacked(packed[orderIndex.address]),
      streetNumber: unpacked(packed[orderIndex.streetNumber]),
      streetComplement: unpacked(packed[orderIndex.streetComplement]),
      city: unpacked(packed[orderIndex.city]),
      state: unpacked(packed[orderIndex.state]),
      ip: unpacked(packed[orderIndex.ip]),
      responsible: unpacked(packed[orderIndex.responsible]),
    },
    softDescriptor: unpacked(packed[orderIndex.softDescriptor]),
    note: unpacked(packed[orderIndex.note]),
    userValues: userValues === 0 ? [] : userValues.map((value) => value ?? undefined),
    notificationUrl: unpacked(packed[orderIndex.notificationUrl]),
    deviceId: unpacked(packed[orderIndex.deviceId]),
    storedCredential: storedCredential === 0 ? undefined : unpackStoredCredential(storedCredential),
    threeDSecure: threeDSecure === 0 ? undefined : unpackThreeDSecure(threeDSecure),
    expectedLiability: (flags & flag.issuerLiable) === 0 ? "merchant" : "issuer",
    ...(connector === 0 ? {} : { connector }),
    ...(page === undefined ? {} : { page: unpackPage(page) }),
  };
}

function flagsOf({
  autoCapture,
  manualReview,
  paymentType,
  customer,
  expectedLiability,
}: PaymentOrder): number {
  return (
    (autoCapture ? flag.autoCapture : 0) |
    (manualReview ? flag.manualReview : 0) |
    (paymentType === "debit" ? flag.debit : 0) |
    (customer.personType === "business" ? flag.business : 0) |
    (expectedLiability === "issuer" ? flag.issuerLiable : 0)
  );
}

function unpacked(packed: PackedText): string | undefined {
  return packed === 0 ? undefined : packed;
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
  return { use, initiator, reason, mandateId: unpacked(mandateId) };
}

function packPage({
  lapsesAt,
  paymentTypes,
  instalments: [least, most],
  redirectUrl,
  tries,
  declined,
  refusedCards,
  authentication,
}: PaymentPage): PackedPage {
  return [
    lapsesAt,
    paymentTypes,
    least,
    most,
    redirectUrl ?? 0,
    tries,
    declined ?? 0,
    ...(authentication === undefined ? [] : [packAuthentication(authentication)]),
    ...refusedCards,
  ];
}

function unpackPage([
  lapsesAt,
  paymentTypes,
  least,
  most,
  redirectUrl,
  tries,
  declined,
  ...rest
]: PackedPage): PaymentPage {
  const authentication = rest.find((each) => typeof each !== "string");
  return {
    lapsesAt,
    paymentTypes,
    instalments: [least, most],
    redirectUrl: unpacked(redirectUrl),
    tries,
    declined: declined === 0 ? undefined : declined,
    refusedCards: rest.filter((each) => typeof each === "string"),
    ...(authentication === undefined
      ? {}
      : { authentication: unpackAuthentication(authentication) }),
  };
}

function packAuthentication({
  id,
  startedAt,
  checks,
  recheckAt,
  endsAt,
  sealedCard,
}: PaymentAuthentication): PackedAuthentication {
  return [id, startedAt, checks, recheckAt - startedAt, endsAt - startedAt, sealedCard];
}

function unpackAuthentication([
  id,
  startedAt,
  checks,
  recheckAtMs,
  endsAtMs,
  sealedCard,
]: PackedAuthentication): PaymentAuthentication {
  return {
    id,
    startedAt,
    checks,
    recheckAt: laterBy(startedAt, recheckAtMs),
    endsAt: laterBy(startedAt, endsAtMs),
    sealedCard,
  };
}

function packThreeDSecure({ eci, version, transactionId, xid }: ThreeDSecure): PackedThreeDSecure {
  return [eci, version ?? 0, transactionId ?? 0, xid ?? 0];
}

function unpackThreeDSecure([eci, version, transactionId, xid]: PackedThreeDSecure): ThreeDSecure {
  return {
    eci,
    version: unpacked(version),
    transactionId: unpacked(transactionId),
    xid: unpacked(xid),
  };
}
