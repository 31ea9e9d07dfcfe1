import { assert } from "../../kernel/assert.ts";
import {
  ageAt,
  formatCalendarDate,
  parseDayMonthYear,
  type CalendarDate,
} from "../../kernel/calendar.ts";
import { scaleOf } from "../../kernel/currency.ts";
import type { Instant } from "../../kernel/instant.ts";
import { compareMoney, formatMoney, type Money, roundAmount } from "../../kernel/money.ts";
import { withoutSeparators } from "../../kernel/separators.ts";
import type { Account } from "../../merchant/account.ts";
import type { CardSource, DirectInput, DirectOrder } from "../../operations/direct-input.ts";
import {
  acceptsState,
  acceptsZipcode,
  countryCodes,
  countryOf,
  requiresField,
  type Country,
  type CountryField,
} from "../../payment/countries.ts";
import { documentFor, type DocumentResult } from "../../payment/documents.ts";
import { offeredInstalments, refuseInstalments } from "../../payment/instalments.ts";
import type { Customer, PaymentOrder, Pricing } from "../../payment/payment.ts";
import { maximumAmount, priceOrder } from "../../payment/pricing.ts";
import { brandOf } from "../../vault/bin.ts";
import { containsPan } from "../../vault/contains-pan.ts";
import { Pan } from "../../vault/pan.ts";
import { addUpTo, amountIn } from "./amounts.ts";
import {
  cardOf,
  cardRules,
  readCardToCharge,
  wipeCard,
  type CardContext,
  type CardReading,
} from "./card-node.ts";
import {
  controlOrHalfPair,
  cut,
  echo,
  isDrawn,
  maskCardNumbers,
  maskedText,
} from "../decode/card-like.ts";
import { refuseChosenToken } from "./chosen-token.ts";
import {
  isStoredCredential,
  readStoredCredential,
  readThreeDSecure,
  refuseCryptogram,
} from "./credential-nodes.ts";
import { cardNodeOf, fieldOf, flagOf, hasWrongShape, lengthOf, nodeOf } from "./fields.ts";
import { paymentTypeOf, type PaymentTypeKind, unknownType } from "./payment-types.ts";
import { repeatedField } from "../decode/request-errors.ts";
import { type Broken, inOrder, keepRules, rangeOf, type TooLong, tooLong } from "./rules.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";

/** Facts outside the body, from the request's headers and the account's profile. */
export interface DirectOptions {
  /**
   * Processed within the country, not cross-border: profile B, or the header
   * `x-ebanx-api-processing-type: local`.
   */
  readonly local: boolean;
}

export const directLongest = {
  code: { X: 40, B: 128 },
  orderNumber: 40,
  userValue: 20,
  name: 100,
  email: 100,
  zipcode: 20,
  address: 100,
  streetNumber: 30,
  streetComplement: 100,
  city: 80,
  state: 80,
  holderName: 50,
  responsible: 100,
  note: 200,
  softDescriptor: 64,
  notificationUrl: 2_000,
  deviceId: 200,
  chargeToken: 200,
} as const;

const userValueNames = [
  "user_value_1",
  "user_value_2",
  "user_value_3",
  "user_value_4",
  "user_value_5",
] as const;
const youngestCustomer = 16;

/**
 * The request as sent, each value parsed as far as possible. The rules report what is wrong with
 * it, in their order.
 */
interface DirectReading extends CardContext {
  readonly params: TreeObject;
  readonly account: Account;
  readonly local: boolean;
  readonly operation: string;
  readonly mode: string | undefined;
  readonly hasPayment: boolean;
  readonly payment: TreeObject;
  readonly code: string | undefined;
  readonly countryText: string | undefined;
  readonly country: Country | undefined;
  readonly currency: string | undefined;
  readonly amountText: string | undefined;
  readonly amount: Money | undefined;
  readonly pricing: Pricing | undefined;
  readonly instalmentsText: string | undefined;
  readonly instalments: number | undefined;
  readonly typeText: string | undefined;
  readonly type: PaymentTypeKind | undefined;
  readonly userValues: readonly (string | undefined)[];
  readonly birthDateText: string | undefined;
  readonly birthDate: CalendarDate | undefined;
  readonly documentText: string | undefined;
  readonly document: DocumentResult | undefined;
  readonly phoneText: string | undefined;
  readonly phone: string | undefined;
  readonly personType: string;
  readonly responsible: TreeObject | undefined;
  readonly createToken: boolean;
  readonly newToken: string | undefined;
}

/**
 * Interface 7.3: operation and mode, then ascending numbers; the first broken rule is reported.
 * Duplicates and tokens are checked later.
 */
export const directRules = inOrder<DirectReading>([
  { code: 1, broken: ({ operation, mode }) => refuseOperation(operation, mode) },
  { code: 2, broken: ({ hasPayment }) => !hasPayment },
  { code: 3, broken: ({ currency }) => currency === undefined },
  {
    code: 4,
    broken: ({ currency, country }) =>
      currency !== undefined &&
      !isActiveCurrency(currency, country) && { currency: echo(currency) },
  },
  {
    code: 5,
    broken: ({ amountText, amount }) =>
      amountText === undefined
        ? { problem: "required" }
        : amount === undefined && { problem: "invalid" },
  },
  {
    code: 6,
    broken: ({ pricing, country }) =>
      pricing !== undefined && country !== undefined && pricing.gross.minor < country.minimumAmount,
  },
  { code: 7, broken: refuseHighAmount },
  { code: 8, broken: refuseSum },
  // A name with a control character is not the same everywhere it is written, and one in which
  // U+FFFD replaced unreadable text could be the name of more than one payment.
  {
    code: 9,
    broken: ({ code, account, card }) =>
      code === undefined
        ? { problem: "required" }
        : (controlOrHalfPair.test(code) ||
            code.includes("\ufffd") ||
            holdsOwnNumber(code, account, card)) && { problem: "invalid" },
  },
  {
    code: 10,
    broken: ({ code, account }) => tooLongFor(code, directLongest.code[account.settings.profile]),
  },
  {
    code: 11,
    broken: ({ payment }) =>
      tooLongFor(fieldOf(payment, "order_number"), directLongest.orderNumber),
  },
  { code: 12, broken: ({ userValues }) => refuseUserValues(userValues) },
  { code: 13, broken: ({ payment }) => fieldOf(payment, "name") === undefined },
  { code: 14, broken: ({ payment }) => tooLongFor(fieldOf(payment, "name"), directLongest.name) },
  { code: 15, broken: ({ payment }) => fieldOf(payment, "email") === undefined },
  { code: 16, broken: ({ payment }) => tooLongFor(fieldOf(payment, "email"), directLongest.email) },
  { code: 17, broken: ({ payment }) => !isEmail(fieldOf(payment, "email") ?? "") },
  {
    code: 20,
    broken: ({ birthDateText, birthDate, payment }) =>
      hasWrongShape(payment, "birth_date") ||
      (birthDateText !== undefined && birthDate === undefined),
  },
  {
    code: 21,
    broken: ({ birthDate, now }) =>
      birthDate !== undefined &&
      ageAt(birthDate, now) < youngestCustomer && { age: youngestCustomer },
  },
  { code: 22, broken: (reading) => isMissing(reading, "document", reading.documentText) },
  {
    code: 23,
    broken: ({ document, payment }) => document === "invalid" || hasWrongShape(payment, "document"),
  },
  { code: 24, broken: refuseZipcode },
  { code: 25, broken: (reading) => refuseAddressField(reading, "address", "address") },
  { code: 26, broken: (reading) => refuseAddressField(reading, "streetNumber", "street_number") },
  { code: 27, broken: (reading) => refuseAddressField(reading, "city", "city") },
  { code: 28, broken: (reading) => refuseAddressField(reading, "state", "state") },
  {
    code: 29,
    broken: ({ payment, country }) =>
      country !== undefined &&
      !acceptsState(country, fieldOf(payment, "state") ?? "") &&
      fieldOf(payment, "state") !== undefined,
  },
  { code: 31, broken: ({ phoneText }) => phoneText === undefined },
  { code: 32, broken: ({ phone }) => phone === undefined },
  { code: 33, broken: ({ instalments }) => instalments === undefined },
  { code: 34, broken: refuseInstalmentPlan },
  { code: 35, broken: refuseUnknownType },
  { code: 36, broken: ({ type, country }) => isInactive(type, country) },
  {
    code: 38,
    broken: ({ type, typeText }) => type?.kind === "hosted" && { type: echo(typeText ?? "") },
  },
  { code: 41, broken: ({ personType }) => personType !== "personal" && personType !== "business" },
  {
    code: 42,
    broken: ({ personType, responsible }) => personType === "business" && responsible === undefined,
  },
  { code: 43, broken: refuseResponsible },
  cardRules.nodeRequired,
  cardRules.numberRequired,
  cardRules.nameRequired,
  cardRules.nameTooLong,
  cardRules.cvvRequired,
  cardRules.cvvInvalid,
  cardRules.dueDateRequired,
  cardRules.dueDateFormat,
  cardRules.dueMonth,
  cardRules.dueYear,
  { code: 61, broken: ({ createToken, card }) => createToken && card?.kind === "network_token" },
  { code: 62, broken: ({ createToken, account }) => createToken && !account.settings.createToken },
  { code: 66, broken: refuseTokenLength },
  cardRules.duePast,
  cardRules.numberInvalid,
  {
    code: 76,
    broken: ({ countryText }) => countryText === undefined && { field: "payment.country" },
  },
  { code: 77, broken: ({ country }) => country === undefined && { field: "payment.country" } },
  cardRules.nameIsNumber,
  {
    code: 100,
    broken: ({ type, instalments }) =>
      type?.kind === "card" && type.paymentType === "debit" && (instalments ?? 1) > 1,
  },
  cardRules.networkTokenDate,
]);

/**
 * Validates a request to /ws/direct (interface 3) and refuses it with the WireError of the first
 * broken rule. The caller owns the card data of the result and wipes it (`wipeSource`); after a
 * refusal none is left.
 */
export function readDirect(
  params: TreeObject,
  account: Account,
  now: Instant,
  options: DirectOptions = { local: account.settings.profile === "B" },
): DirectInput {
  const payment = nodeOf(params, "payment");
  const card = cardIn(payment ?? noFields);
  try {
    const reading = readingOf(params, payment, card, account, now, options);
    keepRules(directRules, reading);
    return inputOf(reading);
  } catch (error) {
    if (card !== undefined) wipeCard(card);
    throw error;
  }
}

/** Overwrites the card data of an input. Called when its operation has settled. */
export function wipeSource(source: CardSource): void {
  source.cvv?.wipe();
  source.cryptogram?.wipe();
  if (source.kind !== "token") source.card.pan.wipe();
}

const noFields: TreeObject = Object.freeze(Object.create(null) as TreeObject);

function cardIn(payment: TreeObject): CardReading | undefined {
  const node = cardNodeOf(payment);
  const beside = flagOf(payment, "create_token") === true ? undefined : fieldOf(payment, "token");
  return node === undefined && beside === undefined
    ? undefined
    : readCardToCharge(node ?? noFields, beside);
}

function readingOf(
  params: TreeObject,
  node: TreeObject | undefined,
  card: CardReading | undefined,
  account: Account,
  now: Instant,
  { local }: DirectOptions,
): DirectReading {
  const payment = node ?? noFields;
  const countryText = fieldOf(payment, "country");
  const country = countryText === undefined ? undefined : countryOf(countryText.toLowerCase());
  const currency = fieldOf(payment, "currency_code")?.toUpperCase();
  const amountText = fieldOf(payment, "amount_total");
  const amount = amountIn(amountText, currency, account);
  const typeText = fieldOf(payment, "payment_type_code");
  const birthDateText = fieldOf(payment, "birth_date");
  const documentText = fieldOf(payment, "document");
  const phoneText = fieldOf(payment, "phone_number");
  const instalmentsText = fieldOf(payment, "instalments");
  const createToken = flagOf(payment, "create_token") === true && card?.kind !== "token";
  return {
    params,
    account,
    now,
    local,
    operation: plainTextIn(params, "operation") ?? "request",
    mode: plainTextIn(params, "mode"),
    hasPayment: node !== undefined,
    payment,
    code: codeIn(payment),
    countryText,
    country,
    currency,
    amountText,
    amount,
    pricing: pricingIn(amount, country, now, account, local),
    instalmentsText,
    instalments: instalmentsOf(instalmentsText, payment),
    typeText,
    type: typeIn(typeText, card),
    userValues: userValuesIn(payment),
    birthDateText,
    birthDate: birthDateText === undefined ? undefined : parseDayMonthYear(birthDateText),
    documentText,
    document:
      documentText === undefined || country === undefined
        ? undefined
        : documentOf(country, documentText, local, payment),
    phoneText,
    phone: phoneOf(phoneText),
    personType: plainTextIn(payment, "person_type")?.toLowerCase() ?? "personal",
    responsible: nodeOf(payment, "responsible"),
    card,
    // A charge of stored credentials has no security code to send (interface 3.6).
    cvvRequired: account.settings.requireCvv && !isStoredCredential(payment),
    longestHolderName: directLongest.holderName,
    createToken,
    newToken: createToken ? fieldOf(payment, "token") : undefined,
  };
}

/** Empty, which no rule allows, if the value is not a text. */
function plainTextIn(node: TreeObject, name: string): string | undefined {
  return hasWrongShape(node, name) ? "" : fieldOf(node, name);
}

/** A card node is enough to determine the payment type (interface 3.2). */
function typeIn(text: string | undefined, card: CardReading | undefined): DirectReading["type"] {
  if (text !== undefined) return paymentTypeOf(text);
  return card === undefined ? undefined : paymentTypeOf("creditcard");
}

function pricingIn(
  amount: DirectReading["amount"],
  country: DirectReading["country"],
  now: Instant,
  account: Account,
  local: boolean,
): DirectReading["pricing"] {
  return amount !== undefined && country !== undefined && country.currencies.has(amount.currency)
    ? priceOrder(amount, country.code, now, pricingOf(account, local))
    : undefined;
}

/** Local processing does not cross a border and bears no tax for it (interface 8). */
export function pricingOf({ settings }: Account, local: boolean): Account["settings"] {
  return local ? { ...settings, taxPolicy: "none" } : settings;
}

/** Not trimmed: it is the payment's name, and a later request must find it by the same text. */
function codeIn(payment: TreeObject): string | undefined {
  const text = textOf(payment, "merchant_payment_code");
  return text === undefined || text.trim() === "" ? undefined : text;
}

/**
 * The payment code of a request that may be refused for another reason; undefined if no payment can
 * have this code.
 */
export function paymentCodeIn(params: TreeObject): string | undefined {
  const code = codeIn(nodeOf(params, "payment") ?? noFields);
  return exceeds(code, directLongest.code.B) ? undefined : code;
}

/**
 * Whether this request, which is refused now, may have made this payment: it has the same amount
 * and the same customer. Any other field may be the reason of the refusal.
 */
export function mayHaveMade(
  params: TreeObject,
  { amount, country, customer }: PaymentOrder,
): boolean {
  const payment = nodeOf(params, "payment") ?? noFields;
  return (
    // Rounded, whether or not the account still allows it.
    roundAmount(fieldOf(payment, "amount_total") ?? "", scaleOf(amount.currency)) ===
      amount.minor &&
    fieldOf(payment, "currency_code")?.toUpperCase() === amount.currency &&
    fieldOf(payment, "country")?.toLowerCase() === country &&
    freeText(payment, "name", directLongest.name) === customer.name &&
    freeText(payment, "email", directLongest.email) === customer.email
  );
}

/**
 * docs/decisions/0007: whether a code contains the number of the card and the account has not
 * allowed that. For a token the operation makes this check.
 */
function holdsOwnNumber(
  code: string,
  { settings }: Account,
  card: CardReading | undefined,
): boolean {
  return settings.refuseCardLikeCodes && card?.pan !== undefined && containsPan(code, card.pan);
}

/**
 * For digits that arrived as text: the copy from which the brand is read is wiped, the text cannot
 * be.
 */
export function isOfKnownBrand(digits: string): boolean {
  // Most telephone numbers and documents are shorter than any card number.
  if (!Pan.hasLength(digits.length)) return false;
  const bytes = new Uint8Array(new ArrayBuffer(digits.length));
  for (let at = 0; at < digits.length; at += 1) bytes[at] = digits.charCodeAt(at);
  const pan = Pan.from(bytes);
  const isKnown = pan !== undefined && brandOf(pan) !== undefined;
  pan?.wipe();
  return isKnown;
}

/** One if nothing is given. Some clients print whole numbers as floats. */
function instalmentsOf(text: string | undefined, payment: TreeObject): number | undefined {
  if (text === undefined)
    return payment["instalments"] === undefined || textOf(payment, "instalments") !== undefined
      ? 1
      : undefined;
  const count = /^0*(\d{1,3})(?:\.0+)?$/.exec(text)?.[1];
  return count === undefined || Number(count) === 0 ? undefined : Number(count);
}

/**
 * Only Brazil's documents have check digits strong enough to distinguish the fourteen digits of a
 * company from a card number. Elsewhere no document has the digits of a known brand's card, and a
 * text that has them is stored as a mask.
 */
export function documentOf(
  country: Country,
  text: string,
  local: boolean,
  payment: TreeObject,
): DocumentResult {
  const result = documentFor(country.code, text, local, fieldOf(payment, "document_type"));
  if (country.code === "br" || result === "invalid" || !isOfKnownBrand(result.normalized))
    return result;
  return { normalized: maskCardNumbers(result.normalized) };
}

/**
 * Digits only, 8 to 15 of them (interface 3.2). Digits that pass for a card number are not accepted
 * as a telephone number.
 */
export function phoneOf(text: string | undefined): string | undefined {
  const digits = withoutSeparators(text ?? "");
  if (!/^\d{8,15}$/.test(digits)) return undefined;
  return isOfKnownBrand(digits) ? undefined : digits;
}

/** The quoted message still allows `iframe`; it makes no difference. */
function refuseOperation(operation: string, mode: string | undefined): Broken<1> {
  if (operation.toLowerCase() !== "request")
    return { text: "Operation must be request", field: "operation" };
  return (
    mode !== undefined &&
    !/^(?:full|iframe)$/i.test(mode) && {
      text: "Mode must be either full or iframe",
      field: "mode",
    }
  );
}

const activeCurrencies: ReadonlySet<string> = new Set(
  countryCodes.flatMap((code) => [...(countryOf(code)?.currencies ?? [])]),
);

/**
 * For an unknown country the currency of any country is accepted: the country has an error code of
 * its own.
 */
export function isActiveCurrency(currency: string, country: Country | undefined): boolean {
  return (country?.currencies ?? activeCurrencies).has(currency);
}

function refuseHighAmount({ pricing, country, now, account }: DirectReading): Broken<7> {
  if (pricing === undefined || country === undefined) return false;
  const most = maximumAmount(country.code, now, account.settings);
  return (
    compareMoney(pricing.gross, most) > 0 && { currency: most.currency, amount: formatMoney(most) }
  );
}

function refuseSum({ payment, amount, account }: DirectReading): Broken<8> {
  const names = ["amount_itens", "amount_shipping"];
  const parts = names.map((name) => fieldOf(payment, name)).filter((text) => text !== undefined);
  const isUnreadable = names.some((name) => hasWrongShape(payment, name));
  if ((parts.length === 0 && !isUnreadable) || amount === undefined) return false;
  return isUnreadable || !addUpTo(amount, parts, account);
}

function tooLongFor<Characters extends number>(
  text: string | undefined,
  longest: Characters,
): false | { readonly longest: Characters } {
  return exceeds(text, longest) && { longest };
}

export function exceeds(text: string | undefined, characters: number): boolean {
  return text !== undefined && lengthOf(text) > characters;
}

function refuseUserValues(values: readonly (string | undefined)[]): Broken<12> {
  const name = userValueNames[values.findIndex((value) => exceeds(value, directLongest.userValue))];
  return name !== undefined && { user_value_n: name, longest: directLongest.userValue };
}

/** Interface 3.2: at least five characters; the other checks hold for every mail system. */
export function isEmail(text: string): boolean {
  return text.length >= 5 && /^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(text);
}

function isMissing(
  { country, local }: DirectReading,
  field: CountryField,
  text: string | undefined,
): boolean {
  return text === undefined && country !== undefined && requiresField(country, field, local);
}

function refuseZipcode(reading: DirectReading): Broken<24> {
  const text = fieldOf(reading.payment, "zipcode");
  if (text === undefined) return isMissing(reading, "zipcode", text) && { problem: "is required" };
  if (exceeds(text, directLongest.zipcode)) return { problem: tooLong(directLongest.zipcode) };
  return (
    reading.country !== undefined &&
    !acceptsZipcode(reading.country, text) && { problem: "is invalid" }
  );
}

type AddressField = "address" | "streetNumber" | "city" | "state";

function refuseAddressField<Field extends AddressField>(
  reading: DirectReading,
  field: Field,
  name: string,
): false | { readonly problem: "is required" | TooLong<(typeof directLongest)[Field]> } {
  const text = fieldOf(reading.payment, name);
  if (isMissing(reading, field, text)) return { problem: "is required" };
  return exceeds(text, directLongest[field]) && { problem: tooLong(directLongest[field]) };
}

function refuseInstalmentPlan({ country, card, instalments, pricing }: DirectReading): Broken<34> {
  if (country === undefined || instalments === undefined || pricing === undefined) return false;
  // The brand of a token is not known here: the operation checks it.
  const brand = card?.pan === undefined ? undefined : brandOf(card.pan);
  const { total } = pricing;
  if (refuseInstalments(country, brand, instalments, total) === undefined) return false;
  // The country's instalment counts into which this amount can be divided.
  const possible = [...offeredInstalments(country, brand)].filter(
    (count) => refuseInstalments(country, brand, count, total) === undefined,
  );
  return { count: instalments, range: rangeOf(new Set(possible)) };
}

function refuseUnknownType({ payment, typeText, type }: DirectReading): Broken<35> {
  if (hasWrongShape(payment, "payment_type_code")) return { text: "Invalid payment_type_code" };
  if (type !== undefined) return false;
  return typeText === undefined
    ? { text: "Field payment.payment_type_code is required" }
    : unknownType(typeText);
}

export function isInactive(
  type: PaymentTypeKind | undefined,
  country: Country | undefined,
): boolean {
  if (type === undefined || country === undefined || type.kind === "hosted") return false;
  if (type.kind === "inactive") return true;
  return type.brand !== undefined && !country.brands.has(type.brand);
}

function refuseResponsible({ personType, responsible }: DirectReading): Broken<43> {
  if (personType !== "business" || responsible === undefined) return false;
  const name = fieldOf(responsible, "name");
  if (name === undefined) return { problem: "is required" };
  return (
    exceeds(name, directLongest.responsible) && { problem: tooLong(directLongest.responsible) }
  );
}

function refuseTokenLength({ payment, newToken, card }: DirectReading): Broken<66> {
  if (hasWrongShape(payment, "token")) return { field: "payment.token", problem: "is invalid" };
  if (hasWrongShape(cardNodeOf(payment) ?? noFields, "token"))
    return { field: "payment.creditcard.token", problem: "is invalid" };
  const refused = newToken !== undefined && refuseChosenToken("payment.token", newToken, card?.pan);
  return refused !== false
    ? refused
    : exceeds(card?.token, directLongest.chargeToken) && {
        field: "payment.creditcard.token",
        problem: tooLong(directLongest.chargeToken),
      };
}

/** The validated request as the input of the operation. */
function inputOf(reading: DirectReading): DirectInput {
  return {
    order: orderOf(reading),
    source: sourceOf(kept(reading.card)),
    local: reading.local,
    createToken: reading.createToken ? { token: reading.newToken } : undefined,
  };
}

/** The card source of a reading without broken rules. The caller owns its card data. */
export function sourceOf(reading: CardReading): CardSource {
  const { kind, cvv, cryptogram } = reading;
  refuseCryptogram(reading);
  return kind === "token"
    ? { kind, token: kept(reading.token), cvv, cryptogram }
    : { kind, card: kept(cardOf(reading)), cvv, cryptogram };
}

function orderOf(reading: DirectReading): DirectOrder {
  const { payment, type } = reading;
  assert(type?.kind === "card", "the rules let only cards through");
  return {
    code: kept(reading.code),
    orderNumber: freeText(payment, "order_number", directLongest.orderNumber),
    amount: kept(reading.amount),
    instalments: kept(reading.instalments),
    autoCapture: autoCaptureIn(payment),
    // An unclear value selects the safer way: a review before money moves.
    manualReview: (flagOf(payment, "manual_review") ?? false) !== false,
    country: kept(reading.country).code,
    paymentType: type.paymentType,
    customer: customerOf(reading),
    softDescriptor: freeText(
      cardNodeOf(payment) ?? noFields,
      "soft_descriptor",
      directLongest.softDescriptor,
    ),
    note: freeText(payment, "note", directLongest.note),
    userValues: reading.userValues.map((value) =>
      value === undefined ? undefined : maskCardNumbers(value),
    ),
    notificationUrl: notificationUrlOf(payment),
    deviceId: deviceIdIn(payment) ?? deviceIdIn(reading.params),
    storedCredential: readStoredCredential(payment),
    threeDSecure: readThreeDSecure(
      cardNodeOf(payment) ?? noFields,
      reading.card,
      isStoredCredential(payment),
    ),
  };
}

/**
 * In the card node (interface 3.3) or beside it; contradicting values are refused. An unclear value
 * only holds the amount, which can be undone.
 */
function autoCaptureIn(payment: TreeObject): boolean {
  const inNode = flagOf(cardNodeOf(payment) ?? noFields, "auto_capture");
  const beside = flagOf(payment, "auto_capture");
  if (inNode !== undefined && beside !== undefined && inNode !== beside)
    throw repeatedField("auto_capture");
  return (inNode ?? beside ?? true) === true;
}

function customerOf({
  payment,
  document,
  birthDate,
  personType,
  phone,
  responsible,
}: DirectReading): Customer {
  return {
    name: kept(freeText(payment, "name", directLongest.name)),
    email: kept(freeText(payment, "email", directLongest.email)),
    document: document === undefined || document === "invalid" ? undefined : document.normalized,
    birthDate: birthDate === undefined ? undefined : formatCalendarDate(birthDate),
    personType: personType === "business" ? "business" : "personal",
    phone,
    zipcode: freeText(payment, "zipcode", directLongest.zipcode),
    address: freeText(payment, "address", directLongest.address),
    streetNumber: freeText(payment, "street_number", directLongest.streetNumber),
    streetComplement: freeText(payment, "street_complement", directLongest.streetComplement),
    city: freeText(payment, "city", directLongest.city),
    state: freeText(payment, "state", directLongest.state),
    ip: ipOf(payment),
    responsible:
      personType === "business" && responsible !== undefined
        ? freeText(responsible, "name", directLongest.responsible)
        : undefined,
  };
}

/**
 * A free text: stored without the middle of any card number, and cut at the length that the
 * interface allows.
 */
export function freeText(object: TreeObject, name: string, characters: number): string | undefined {
  const text = fieldOf(object, name);
  return text === undefined ? undefined : maskedText(text, characters);
}

/** In a generated id card-like digits occur by chance. */
function deviceIdIn(object: TreeObject): string | undefined {
  const text = fieldOf(object, "device_id");
  return text !== undefined && isDrawn(text)
    ? cut(text, directLongest.deviceId)
    : freeText(object, "device_id", directLongest.deviceId);
}

/** All values up to the last one that is given. */
export function userValuesIn(payment: TreeObject): readonly (string | undefined)[] {
  const values = userValueNames.map((name) => fieldOf(payment, name));
  return values.slice(0, values.findLastIndex((value) => value !== undefined) + 1);
}

/**
 * An unusable address is dropped: the account's own address is used instead. The operation does the
 * same with an address that contains the number of the card: a masked one would send the
 * notification elsewhere.
 */
export function notificationUrlOf(payment: TreeObject): string | undefined {
  const text = fieldOf(payment, "notification_url");
  if (text === undefined || text.length > directLongest.notificationUrl) return undefined;
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined;
}

/**
 * IPv4 or IPv6, checked by its alphabet only: it is stored for display, nothing connects to it.
 * Only a whole IPv6 address of an assigned kind is not searched for card numbers: its groups look
 * like theirs.
 */
function ipOf(payment: TreeObject): string | undefined {
  const text = fieldOf(payment, "customer_ip");
  if (text === undefined || !/^[\da-f:.]{3,45}$/i.test(text)) return undefined;
  return /^[23f][\da-f]{3}(?::[\da-f]{1,4}){7}$/i.test(text) ? text : maskCardNumbers(text);
}

function kept<Value>(value: Value | undefined): Value {
  assert(value !== undefined, "what the rules ask for is there when all are kept");
  return value;
}
