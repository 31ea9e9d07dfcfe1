import { countryCodes, countryOf, type CountryField } from "../payment/countries.ts";
import { moneyOutcomes } from "../payment/money-outcome.ts";
import { paymentStates } from "../payment/payment-machine.ts";
import { declineReasons, storedCredentialReasons } from "../payment/payment.ts";
import { longestFaultCode } from "../http/admin/faults-endpoint.ts";
import { deliveryStates } from "../notification/events.ts";
import { mostCardsLookedAt } from "../operations/list-cards.ts";
import { mostPeriods, periodNames } from "../http/admin/figures-endpoint.ts";
import { mostNewest } from "../http/admin/newest-notifications.ts";
import { actionNames, longestDescription } from "../http/admin/payment-endpoint.ts";
import { longestSearch, mostPayments } from "../http/admin/payments-endpoint.ts";
import { faults, messages } from "../http/admin/simulator-endpoint.ts";
import { worldActions } from "../http/admin/worlds-endpoint.ts";
import { faultKindNames } from "../http/faults/fault-kinds.ts";
import { brands } from "../vault/brand.ts";
import { credentialLongest, initiators, uses } from "../wire/requests/credential-nodes.ts";
import { directLongest } from "../wire/requests/direct-request.ts";
import { unnamedCodes } from "../wire/requests/payment-request.ts";
import { refundLongest } from "../wire/requests/refund-request.ts";
import type { RuleCode } from "../wire/requests/rules.ts";
import { longestTokenHolderName } from "../wire/requests/token-request.ts";
import { longestVerifyHolderName } from "../wire/requests/verify-request.ts";
import type { Field } from "./field.ts";

/**
 * The request fields of each operation. Limits are the validators' own numbers; the country table
 * has the countries that require a field.
 */
const rule = <Code extends RuleCode>(code: Code): `BP-DR-${Code}` => `BP-DR-${code}`;

const secretKey: Field = {
  name: "integration_key",
  type: "text",
  required: { code: "BP-SA-1" },
  note: "The account's secret key.",
  source: "1.6",
};

/** For operations that browsers call: they accept either key. */
const eitherKey: readonly Field[] = [
  { ...secretKey, required: { code: "BP-SA-1", or: ["public_integration_key"] } },
  {
    name: "public_integration_key",
    type: "text",
    note: "The account's public key: all that a page in a browser may know.",
    source: "1.6",
  },
];

function selectorFor(operation: keyof typeof unnamedCodes): readonly Field[] {
  return [
    {
      name: "hash",
      type: "text",
      required: { code: unnamedCodes[operation], or: ["merchant_payment_code"] },
      note: "The payment, as answers name it. Counts before merchant_payment_code.",
      source: "5",
    },
    {
      name: "merchant_payment_code",
      type: "text",
      note: "The payment, as you named it.",
      source: "5",
    },
  ];
}

function cardFields(prefix: { readonly longestName: number }): readonly Field[] {
  const withNumber = "there is neither a token nor a network token";
  return [
    {
      name: "card_number",
      type: "digits",
      required: { code: rule(49), when: withNumber },
      shortest: { characters: 14, code: rule(75) },
      longest: { characters: 19, code: rule(75) },
      note: "With its check digit; blanks and dashes are dropped.",
      source: "3.3",
    },
    {
      name: "card_name",
      type: "text",
      required: { code: rule(51), when: withNumber },
      longest: { characters: prefix.longestName, code: rule(52) },
      note: "The holder's name, as on the card.",
      source: "3.3",
    },
    {
      name: "card_due_date",
      type: "text",
      required: { code: rule(56), when: withNumber },
      note: "mm/yyyy; good until its month is over.",
      source: "3.3",
    },
    {
      name: "card_cvv",
      type: "digits",
      required: {
        code: rule(54),
        when: `${withNumber}, nor stored credentials, and the account wants it`,
      },
      shortest: { characters: 3, code: rule(55) },
      longest: { characters: 4, code: rule(55) },
      note: "The security code. Never stored.",
      source: "3.3",
    },
  ];
}

const networkTokenFields: readonly Field[] = [
  {
    name: "network_token_pan",
    type: "digits",
    note: "A network token's number, in place of card_number.",
    source: "3.3",
  },
  {
    name: "network_token_expire_date",
    type: "text",
    required: { code: rule(136), when: "there is a network_token_pan" },
    note: "mm/yyyy.",
    source: "3.3",
  },
  {
    name: "network_token_cryptogram",
    type: "text",
    note: "Base64 or base64url, at most 64 characters, or COFRE-27.",
    source: "3.3",
  },
];

const chargeToken: Field = {
  name: "token",
  type: "text",
  note: "A stored card, in place of number, name and date. A card_cvv may stand beside it.",
  source: "3.3",
};

const storedCredential: Field = {
  name: "cof_info",
  type: "object",
  note: "Stored credentials: whether they are used for the first time, and who asks.",
  source: "3.6",
  fields: [
    {
      name: "cof_type",
      type: "text",
      values: uses,
      note: "COFRE-26 for another word.",
      source: "3.6",
    },
    {
      name: "initiator",
      type: "text",
      values: initiators,
      note: "The customer or the merchant. COFRE-26 for another word.",
      source: "3.6",
    },
    {
      name: "trans_type",
      type: "text",
      aliases: ["transType"],
      note: `${storedCredentialReasons.join(", ")}; another word is taken for the plain one.`,
      source: "3.6",
    },
    {
      name: "mandate_id",
      type: "text",
      longest: { characters: credentialLongest.mandate },
      note: "What the initial payment's answer had.",
      source: "3.6",
    },
  ],
};

const countryField = (source: string): Field => ({
  name: "country",
  type: "text",
  longest: { characters: 2, code: rule(77) },
  values: countryCodes,
  note: "In any letter case; the account's own when it is missing. BP-DR-77 when payments are not taken there.",
  source,
});

/** Countries in which a payment must have the field, whatever the account's profile is. */
function countriesThatAskFor(field: CountryField): readonly string[] {
  return countryCodes.filter((code) => countryOf(code)?.required.includes(field) === true);
}

const addressField = (
  name: string,
  field: Exclude<CountryField, "document" | "zipcode">,
  number: RuleCode,
  note: string,
): Field => ({
  name,
  type: "text",
  required: { code: rule(number), countries: countriesThatAskFor(field) },
  longest: { characters: directLongest[field], code: rule(number) },
  note,
  source: "3.2",
});

const payment: Field = {
  name: "payment",
  type: "object",
  required: { code: rule(2) },
  note: "What is charged.",
  source: "3.2",
  fields: [
    {
      name: "merchant_payment_code",
      type: "text",
      required: { code: rule(9) },
      longest: { characters: directLongest.code.X, code: rule(10) },
      note: `Your name for the payment, once and for ever: BP-DR-0 when it was used. ${directLongest.code.B} characters on profile B.`,
      source: "3.2",
    },
    {
      name: "amount_total",
      type: "decimal",
      required: { code: rule(5) },
      note: "In currency_code: 100, 100.5 or 100.50. More than two decimals are rounded half up, or BP-DR-5 with strictAmounts.",
      source: "3.2",
    },
    {
      name: "currency_code",
      type: "text",
      required: { code: rule(3) },
      longest: { characters: 3, code: rule(4) },
      note: "ISO 4217: the country's own currency, USD or EUR.",
      source: "3.2",
    },
    {
      ...countryField("3.2"),
      required: { code: rule(76) },
      note: "In any letter case. BP-DR-77 when payments are not taken there.",
    },
    {
      name: "payment_type_code",
      type: "text",
      required: { code: rule(35), when: "there is no card" },
      note: "creditcard, debitcard or a brand. A wrong brand is not held against the card.",
      source: "3.2",
    },
    {
      name: "creditcard",
      type: "object",
      aliases: ["card"],
      required: { code: rule(48), or: ["card", "token"] },
      note: "The card, or the token that stands for it.",
      source: "3.3",
      fields: [
        ...cardFields({ longestName: directLongest.holderName }),
        { ...chargeToken, longest: { characters: directLongest.chargeToken, code: rule(66) } },
        {
          name: "auto_capture",
          type: "flag",
          note: "false: authorized only, to be captured later. true when it is missing.",
          source: "3.3",
        },
        {
          name: "soft_descriptor",
          type: "text",
          longest: { characters: directLongest.softDescriptor },
          note: "What the card's statement shows.",
          source: "3.3",
        },
        ...networkTokenFields,
        {
          name: "threeds_eci",
          type: "text",
          note: "Of your own 3-D Secure server: 00 01 02 05 06 07, or COFRE-27. 01, 02, 05 and 06 come with a cryptogram.",
          source: "3.3",
        },
        {
          name: "threeds_cryptogram",
          type: "text",
          note: "Of your own 3-D Secure server: base64 or base64url, at most 64 characters, or COFRE-27.",
          source: "3.3",
        },
        {
          name: "threeds_xid",
          type: "text",
          longest: { characters: credentialLongest.xid },
          note: "Of your own 3-D Secure server.",
          source: "3.3",
        },
        {
          name: "threeds_version",
          type: "text",
          longest: { characters: credentialLongest.version },
          note: "Of your own 3-D Secure server.",
          source: "3.3",
        },
        {
          name: "threeds_trxid",
          type: "text",
          longest: { characters: credentialLongest.transactionId },
          note: "Of your own 3-D Secure server.",
          source: "3.3",
        },
      ],
    },
    {
      name: "instalments",
      type: "whole",
      note: "1 when it is missing. BP-DR-34 when the country or the brand has no such plan.",
      source: "3.5",
    },
    {
      name: "name",
      type: "text",
      required: { code: rule(13) },
      longest: { characters: directLongest.name, code: rule(14) },
      note: "The customer's.",
      source: "3.2",
    },
    {
      name: "email",
      type: "text",
      required: { code: rule(15) },
      shortest: { characters: 5, code: rule(17) },
      longest: { characters: directLongest.email, code: rule(16) },
      note: "The customer's. BP-DR-17 when it is none.",
      source: "3.2",
    },
    {
      name: "phone_number",
      type: "digits",
      required: { code: rule(31) },
      shortest: { characters: 8, code: rule(32) },
      longest: { characters: 15, code: rule(32) },
      note: "Punctuation is dropped.",
      source: "3.2",
    },
    {
      name: "document",
      type: "text",
      required: { code: rule(22), countries: countriesThatAskFor("document") },
      note: "With or without punctuation; check digits count (BP-DR-23). In Chile only when the payment is processed locally.",
      source: "3.2",
    },
    {
      name: "document_type",
      type: "text",
      note: "ARG_CUIT, ARG_CUIL, ARG_CDI, ARG_DNI, COL_CC, COL_CE, COL_NIT and the like.",
      source: "3.2",
    },
    {
      name: "zipcode",
      type: "text",
      required: { code: rule(24), countries: countriesThatAskFor("zipcode") },
      longest: { characters: directLongest.zipcode, code: rule(24) },
      note: "In Brazil 5 to 9 letters and digits.",
      source: "3.2",
    },
    addressField("address", "address", 25, "The street."),
    addressField("street_number", "streetNumber", 26, "S/N where there is none."),
    {
      name: "street_complement",
      type: "text",
      longest: { characters: directLongest.streetComplement },
      note: "Flat, floor.",
      source: "3.2",
    },
    addressField("city", "city", 27, "The city."),
    addressField("state", "state", 28, "In Brazil the two letters of a state (BP-DR-29)."),
    {
      name: "birth_date",
      type: "text",
      note: "dd/mm/yyyy (BP-DR-20), of somebody of 16 or more (BP-DR-21).",
      source: "3.2",
    },
    {
      name: "person_type",
      type: "text",
      values: ["personal", "business"],
      note: "personal when it is missing (BP-DR-41).",
      source: "3.2",
    },
    {
      name: "responsible",
      type: "object",
      required: { code: rule(42), when: "person_type is business" },
      note: "Who answers for the company.",
      source: "3.2",
      fields: [
        {
          name: "name",
          type: "text",
          required: { code: rule(43), when: "person_type is business" },
          longest: { characters: directLongest.responsible, code: rule(43) },
          note: "Looked at for companies only.",
          source: "3.2",
        },
      ],
    },
    { name: "customer_ip", type: "text", note: "IPv4 or IPv6.", source: "3.2" },
    {
      name: "order_number",
      type: "text",
      longest: { characters: directLongest.orderNumber, code: rule(11) },
      note: "Comes back in answers.",
      source: "3.2",
    },
    ...[1, 2, 3, 4, 5].map((number): Field => ({
      name: `user_value_${number}`,
      type: "text",
      longest: { characters: directLongest.userValue, code: rule(12) },
      note: "Comes back in answers.",
      source: "3.2",
    })),
    {
      name: "note",
      type: "text",
      longest: { characters: directLongest.note },
      note: "Comes back in answers.",
      source: "3.2",
    },
    {
      name: "notification_url",
      type: "text",
      longest: { characters: directLongest.notificationUrl },
      note: "Where this payment's changes are announced, in place of the account's address. One that cannot be used is left out.",
      source: "3.2",
    },
    {
      name: "device_id",
      type: "text",
      longest: { characters: directLongest.deviceId },
      note: "What /fingerprint/ gave the page.",
      source: "3.2",
    },
    {
      name: "amount_itens",
      type: "decimal",
      note: "With amount_shipping as much as amount_total, or BP-DR-8.",
      source: "3.2",
    },
    {
      name: "amount_shipping",
      type: "decimal",
      note: "With amount_itens as much as amount_total, or BP-DR-8.",
      source: "3.2",
    },
    {
      name: "create_token",
      type: "flag",
      note: "true: the card is stored as well, and the answer holds its token.",
      source: "2.3",
    },
    {
      name: "token",
      type: "text",
      note: "With create_token: the new token's name, of your choice, 32 to 128 characters (BP-DR-66). Otherwise: the stored card to charge.",
      source: "2.3",
    },
    {
      name: "manual_review",
      type: "flag",
      note: "true: the payment waits for a reviewer.",
      source: "3.2",
    },
    storedCredential,
  ],
};

export const directFields: readonly Field[] = [
  secretKey,
  {
    name: "operation",
    type: "text",
    values: ["request"],
    note: "May be missing. BP-DR-1 for another word.",
    source: "3.1",
  },
  {
    name: "mode",
    type: "text",
    values: ["full", "iframe"],
    note: "May be missing and makes no difference. BP-DR-1 for another word.",
    source: "3.1",
  },
  payment,
];

export const tokenFields: readonly Field[] = [
  ...eitherKey,
  {
    name: "payment_type_code",
    type: "text",
    note: "creditcard, debitcard, a brand, or empty. BP-DR-35 for another word.",
    source: "2.1",
  },
  countryField("2.1"),
  {
    name: "creditcard",
    type: "object",
    aliases: ["card"],
    required: { code: rule(48), or: ["card"] },
    note: "The card to store.",
    source: "2.1",
    fields: cardFields({ longestName: longestTokenHolderName }),
  },
  {
    name: "token",
    type: "text",
    shortest: { characters: 32, code: rule(66) },
    longest: { characters: 128, code: rule(66) },
    note: "The token's name, of your choice, without blanks; with the secret key only. BP-DR-65 when it is taken.",
    source: "2.1",
  },
];

export const setCvvFields: readonly Field[] = [
  ...eitherKey,
  {
    name: "token",
    type: "text",
    required: { code: rule(64) },
    note: "The stored card.",
    source: "2.4",
  },
  {
    name: "card_cvv",
    type: "digits",
    required: { code: rule(54) },
    shortest: { characters: 3, code: rule(55) },
    longest: { characters: 4, code: rule(55) },
    note: "Kept in memory for 15 minutes, for the next payment with this token.",
    source: "2.4",
  },
];

export const verifyFields: readonly Field[] = [
  secretKey,
  {
    name: "payment_type_code",
    type: "text",
    note: "creditcard when it is missing. BP-DR-35 for what is no card.",
    source: "3.7",
  },
  countryField("3.7"),
  {
    name: "card",
    type: "object",
    aliases: ["creditcard"],
    required: { code: rule(48), or: ["creditcard", "token"] },
    note: "The card, or the token that stands for it.",
    source: "3.7",
    fields: [
      ...cardFields({ longestName: longestVerifyHolderName }),
      chargeToken,
      ...networkTokenFields,
    ],
  },
  {
    name: "token",
    type: "text",
    note: "A stored card, when there is no card node.",
    source: "3.7",
  },
  storedCredential,
];

export const captureFields: readonly Field[] = [
  secretKey,
  ...selectorFor("capture"),
  {
    name: "amount",
    type: "decimal",
    note: "Less than everything, where the account may. Missing or 0: everything.",
    source: "5.1",
  },
  { name: "merchant_capture_code", type: "text", note: "Not looked at.", source: "5.1" },
];

export const cancelFields: readonly Field[] = [secretKey, ...selectorFor("cancel")];
export const queryFields: readonly Field[] = [secretKey, ...selectorFor("query")];
export const keyOnlyFields: readonly Field[] = [secretKey];

const refundTexts: readonly Field[] = [
  {
    name: "description",
    type: "text",
    longest: { characters: refundLongest.description, code: "BP-REF-6" },
    note: "Why. May be empty.",
    source: "5.3",
  },
  {
    name: "merchant_refund_code",
    type: "text",
    longest: { characters: refundLongest.code, code: "BP-REF-6" },
    note: "Your name for the refund. BP-REF-11 when it was used.",
    source: "5.3",
  },
];

export const refundFields: readonly Field[] = [
  secretKey,
  {
    name: "operation",
    type: "text",
    values: ["request", "cancel"],
    note: "request when it is missing. BP-REF-2 for another word.",
    source: "5.3",
  },
  ...selectorFor("refund"),
  {
    name: "amount",
    type: "decimal",
    required: { code: "BP-REF-3", when: "operation is request" },
    note: "In the payment's currency.",
    source: "5.3",
  },
  ...refundTexts,
  {
    name: "refund_id",
    type: "whole",
    required: { code: "BP-REF-8", or: ["merchant_refund_code"], when: "operation is cancel" },
    note: "The refund to take back.",
    source: "5.3",
  },
];

export const refundOrCancelFields: readonly Field[] = [
  secretKey,
  ...selectorFor("refund"),
  ...refundTexts,
];

export const exchangeFields: readonly Field[] = [
  secretKey,
  {
    name: "currency_code",
    type: "text",
    required: { code: "COFRE-40" },
    note: "ISO 4217.",
    source: "5.7",
  },
  {
    name: "currency_base_code",
    type: "text",
    aliases: ["currency_base"],
    note: "The currency of the account's country when it is missing.",
    source: "5.7",
  },
];

export const currencyRatesFields: readonly Field[] = [
  secretKey,
  {
    name: "currency_codes",
    type: "text",
    aliases: ["currency_code"],
    required: { code: "COFRE-40" },
    note: "ISO 4217: a list, or text with commas.",
    source: "5.7",
  },
  {
    name: "currency_base_codes",
    type: "text",
    aliases: ["currency_base_code"],
    note: "A list, or text with commas. The currency of the account's country when it is missing.",
  },
];

export const zipcodeFields: readonly Field[] = [
  secretKey,
  {
    name: "zipcode",
    type: "text",
    required: { code: "BP-ZIP-1" },
    note: "Eight digits.",
    source: "5.7",
  },
];

export const documentBalanceFields: readonly Field[] = [
  secretKey,
  {
    name: "document",
    type: "text",
    required: { code: "COFRE-42" },
    longest: { characters: 32, code: "COFRE-42" },
    note: "Punctuation is dropped.",
    source: "5.7",
  },
];

export const propertiesFields: readonly Field[] = [
  secretKey,
  { name: "image", type: "text", note: "The address of the shop's picture.", source: "5.7" },
  { name: "url_response", type: "text", note: "Where customers come back to.", source: "5.7" },
  { name: "receipt_email", type: "text", note: "Who gets receipts.", source: "5.7" },
  {
    name: "url_status_change_notification",
    type: "text",
    note: "Where changes of payments are announced.",
    source: "5.7",
  },
];

export const keyCheckFields: readonly Field[] = [
  {
    name: "public_integration_key",
    type: "text",
    required: { status: 409 },
    note: "The key that is asked about.",
    source: "2.7",
  },
];

const pageKey: Field = {
  name: "publicIntegrationKey",
  type: "text",
  required: { code: "BP-SA-2", status: 401 },
  note: "The account's public key.",
  source: "2.7",
};

export const fingerprintFields: readonly Field[] = [
  pageKey,
  { name: "country", type: "text", note: "Not looked at.", source: "2.7" },
  { name: "origin", type: "text", note: "Not looked at.", source: "2.7" },
];
export const fingerprintProviderFields: readonly Field[] = [
  pageKey,
  { name: "ebanx_session_id", type: "text", note: "Not looked at.", source: "2.7" },
];
export const fingerprintErrorFields: readonly Field[] = [
  { name: "publicIntegrationKey", type: "text", note: "Not looked at.", source: "2.7" },
  { name: "errorMessage", type: "text", note: "Not looked at.", source: "2.7" },
];

export const settingsFields: readonly Field[] = [
  secretKey,
  {
    name: "settings",
    type: "object",
    note: "What to change, by name; nothing is changed when it is missing. COFRE-31 names what is wrong.",
  },
  {
    name: "describe",
    type: "flag",
    note: "Without `settings`: says of each switch what it does, what it takes and what it is unless set.",
  },
];

export const simulatorFields: readonly Field[] = [
  secretKey,
  {
    name: "next",
    type: "text",
    required: { code: "COFRE-32" },
    values: [...faults, "decline"],
    note: "What happens to the next messages to the simulated acquirer.",
  },
  {
    name: "reason",
    type: "text",
    required: { code: "COFRE-32", when: "next is decline" },
    note: `Why the simulated issuer declines: ${declineReasons.join(", ")}.`,
  },
  {
    name: "of",
    type: "text",
    values: messages,
    note: "Only messages of this kind. COFRE-33 for another word.",
  },
  {
    name: "times",
    type: "whole",
    longest: { characters: 4, code: "COFRE-34" },
    note: "1 when it is missing.",
  },
  {
    name: "connector",
    type: "text",
    note: "Which simulator, where there are several; the first unless given. COFRE-50 for another name.",
  },
];

const longestWorldText = { characters: 100, code: "COFRE-73" } as const;

export const worldsFields: readonly Field[] = [
  {
    name: "name",
    type: "text",
    longest: longestWorldText,
    note: "For people; its id unless given.",
  },
  {
    name: "seed",
    type: "text",
    longest: longestWorldText,
    note: "Where its chance comes from: worlds with one seed answer the same requests alike, byte for byte. Drawn unless given.",
  },
  {
    name: "clock",
    type: "text",
    note: "When it begins, such as 2026-01-31 12:00:00 in UTC. Now unless given; 2026-01-01 with a seed. COFRE-73 for what is no time.",
  },
  {
    name: "running",
    type: "flag",
    note: "Whether its time goes on by itself. False with a seed or a clock, else true. COFRE-73 for another word.",
  },
  {
    name: "new_integration_key",
    type: "text",
    note: "The world's secret key, up to 100 characters; drawn unless given.",
  },
  {
    name: "new_public_integration_key",
    type: "text",
    note: "The world's public key, as long; drawn unless given.",
  },
  {
    name: "settings",
    type: "object",
    note: "Switches that are not to have their defaults, as /__cofre/settings takes them.",
  },
];

export const worldFields: readonly Field[] = [
  secretKey,
  {
    name: "do",
    type: "text",
    values: worldActions,
    note: "Shows the world unless given, and null for an account that is none. COFRE-75 for another word.",
  },
  {
    name: "name",
    type: "text",
    note: "Of a snapshot: up to 50 letters, digits and . _ -. COFRE-73 for anything else.",
  },
];

export const clockFields: readonly Field[] = [
  secretKey,
  {
    name: "set",
    type: "text",
    note: "The time that it is to be, such as 2026-01-31 12:00:00 in UTC. COFRE-73 for what is no time.",
  },
  {
    name: "advance",
    type: "text",
    note: "How much later it is to be: 10s, 30min, 36h, 4d, 14months; or next, to when something falls due. COFRE-73 for what is no span.",
  },
  {
    name: "run",
    type: "flag",
    note: "Whether the time goes on by itself. COFRE-73 for another word.",
  },
];

export const faultsFields: readonly Field[] = [
  secretKey,
  {
    name: "add",
    type: "object",
    note: "A fault that waits for the account's next requests; they are listed when neither add nor clear is given, and COFRE-98 when both are. COFRE-99 for members that are not here, COFRE-96 when a hundred wait.",
    fields: [
      {
        name: "kind",
        type: "text",
        required: { code: "COFRE-90" },
        values: faultKindNames,
        note: "What goes wrong.",
      },
      {
        name: "times",
        type: "whole",
        note: "How many requests it meets, 1 to 1000; 1 unless given, 0 for all until it is cleared. COFRE-91.",
      },
      {
        name: "path",
        type: "text",
        note: "Only requests of this operation, such as /ws/direct. COFRE-92.",
      },
      {
        name: "merchant_payment_code",
        type: "text",
        longest: { characters: longestFaultCode, code: "COFRE-93" },
        note: "Only requests about this payment.",
      },
      {
        name: "delay_ms",
        type: "whole",
        note: "How long a fault that waits does so, 1 to 120000; 5000 unless given. COFRE-94.",
      },
      {
        name: "reason",
        type: "text",
        note: `Why a decline declines: ${declineReasons.join(", ")}. COFRE-95.`,
      },
    ],
  },
  { name: "clear", type: "text", note: "The id of a fault that waits, or all. COFRE-97." },
];

export const notificationsFields: readonly Field[] = [
  secretKey,
  {
    name: "after",
    type: "whole",
    note: "Lists what has a higher number; 0 unless given. COFRE-85 for anything else.",
  },
  {
    name: "replay",
    type: "text",
    values: ["failed", "payment", "range"],
    note: "Has receivers hear again what could not be delivered, what tells of a payment, or a range of numbers.",
  },
  {
    name: "hash",
    type: "text",
    note: "The payment, for `payment`; without `replay`, lists what tells of this payment only. COFRE-85 for what is no hash.",
  },
  {
    name: "from",
    type: "whole",
    note: "The first number, for `failed` and `range`. COFRE-48 for anything else.",
  },
  { name: "to", type: "whole", note: "The last number, for `range`." },
  {
    name: "switch_on",
    type: "text",
    note: "The id of an endpoint that is to hear again, also one that has answered 410: what was kept for it is sent. COFRE-145.",
  },
  {
    name: "switch_off",
    type: "text",
    note: "The id of an endpoint that is to hear nothing for now; what is for it is kept. COFRE-145.",
  },
  {
    name: "order",
    type: "text",
    values: ["newest"],
    note: "Lists from the newest down, a page at a time. COFRE-60 for another word.",
  },
  {
    name: "state",
    type: "text",
    values: deliveryStates,
    note: "With `order`: only notifications of which a delivery is in this state; one call looks at 2,000 at most. COFRE-60 for another word.",
  },
  {
    name: "limit",
    type: "whole",
    note: `With \`order\`: how many at most, 1 to ${mostNewest}, 50 unless given. COFRE-61 for anything else.`,
  },
  { name: "before", type: "whole", note: "With `order`: the `next` of the page before." },
];

export const requestsFields: readonly Field[] = [
  secretKey,
  {
    name: "after",
    type: "whole",
    note: "Lists what has a higher number; 0 unless given. COFRE-85 for anything else.",
  },
  {
    name: "hash",
    type: "text",
    note: "Only requests about this payment. COFRE-85 for what is no hash.",
  },
  {
    name: "merchant_payment_code",
    type: "text",
    note: "Only requests about the payment of this code; not looked at beside a hash.",
  },
];

export const paymentsFields: readonly Field[] = [
  secretKey,
  {
    name: "search",
    type: "text",
    longest: { characters: longestSearch },
    note: "What a person knows of a payment: its code or hash, the customer's name or e-mail address, the masked number or its last four, the brand, an amount, a currency in capitals, a country, a state. Each word has to be found. A whole hash or code finds that payment alone.",
  },
  {
    name: "state",
    type: "text",
    note: `One or several with commas between them: ${[...paymentStates, ...moneyOutcomes].join(", ")}. COFRE-55 for another word.`,
  },
  {
    name: "brand",
    type: "text",
    values: brands,
    note: "Only cards of this brand. COFRE-56 for another word.",
  },
  {
    name: "limit",
    type: "whole",

    note: `How many at most: 1 to ${mostPayments}, 50 unless given. COFRE-57 for anything else.`,
  },
  { name: "before", type: "text", note: "The `next` of the page before: goes on from there." },
];

export const figuresFields: readonly Field[] = [
  secretKey,
  {
    name: "per",
    type: "text",
    values: periodNames,
    note: "What is counted together; `hour` unless given. COFRE-62 for another word.",
  },
  {
    name: "from",
    type: "text",
    note: "The time in UTC from which on payments are counted, from the beginning of its hour or day; 24 hours or 30 days in all unless given. COFRE-63 for no time.",
  },
  {
    name: "to",
    type: "text",
    note: `Up to this time, to the end of its hour or day; now unless given. ${mostPeriods} hours or days at most (COFRE-63).`,
  },
];

export const tokensFields: readonly Field[] = [
  secretKey,
  {
    name: "brand",
    type: "text",
    values: brands,
    note: "Only cards of this brand. COFRE-56 for another word.",
  },
  {
    name: "card",
    type: "text",
    note: "Only cards whose masked number begins or ends so. A whole number is masked first.",
  },
  {
    name: "limit",
    type: "whole",
    note: `How many at most: 1 to ${mostCardsLookedAt}, 100 unless given. COFRE-64 for anything else.`,
  },
  { name: "after", type: "text", note: "The `next` of the page before: goes on from there." },
];

export const paymentActionFields: readonly Field[] = [
  secretKey,
  ...selectorFor("query"),
  {
    name: "action",
    type: "text",
    required: { code: "COFRE-36" },
    values: actionNames,
    note: "What happens to the payment.",
  },
  {
    name: "description",
    type: "text",
    longest: { characters: longestDescription },
    note: "What a chargeback tells.",
  },
];
