import type { Field } from "../field.ts";
import type { RuleCode } from "../requests/rules.ts";
import type { UnnamedCode } from "../requests/payment-request.ts";
import { credentialLongest, initiators, uses } from "../requests/credential-nodes.ts";
import { countryCodes } from "../../payment/countries.ts";
import { storedCredentialReasons } from "../../payment/payment.ts";

/** Parts of the documentation that several endpoints share. Limits are the validators' constants. */

export const rule = <Code extends RuleCode>(code: Code): `BP-DR-${Code}` => `BP-DR-${code}`;

export const secretKey: Field = {
  name: "integration_key",
  type: "text",
  required: { code: "BP-SA-1" },
  note: "The account's secret key.",
  source: "1.6",
};

/** For operations that browsers call: they accept either key. */
export const eitherKey: readonly Field[] = [
  { ...secretKey, required: { code: "BP-SA-1", or: ["public_integration_key"] } },
  {
    name: "public_integration_key",
    type: "text",
    note: "The account's public key, the only key for browsers.",
    source: "1.6",
  },
];

export function selectorFor(unnamed: UnnamedCode): readonly Field[] {
  return [
    {
      name: "hash",
      type: "text",
      required: { code: unnamed, or: ["merchant_payment_code"] },
      note: "The payment's id from answers. Takes precedence over merchant_payment_code.",
      source: "5",
    },
    {
      name: "merchant_payment_code",
      type: "text",
      note: "Your name for the payment.",
      source: "5",
    },
  ];
}

/** A payment, and the key of its account. */
export const paymentFields: readonly Field[] = [secretKey, ...selectorFor("BP-QRY-1")];

export function cardFields(prefix: { readonly longestName: number }): readonly Field[] {
  const withNumber = "the request has neither a token nor a network token";
  return [
    {
      name: "card_number",
      type: "digits",
      required: { code: rule(49), when: withNumber },
      shortest: { characters: 14, code: rule(75) },
      longest: { characters: 19, code: rule(75) },
      note: "With its check digit. Spaces and dashes are removed.",
      source: "3.3",
    },
    {
      name: "card_name",
      type: "text",
      required: { code: rule(51), when: withNumber },
      longest: { characters: prefix.longestName, code: rule(52) },
      note: "The cardholder's name, as printed on the card.",
      source: "3.3",
    },
    {
      name: "card_due_date",
      type: "text",
      required: { code: rule(56), when: withNumber },
      note: "mm/yyyy. The card is valid until the end of that month.",
      source: "3.3",
    },
    {
      name: "card_cvv",
      type: "digits",
      required: {
        code: rule(54),
        when: `${withNumber}, nor stored credentials, and the account requires it`,
      },
      shortest: { characters: 3, code: rule(55) },
      longest: { characters: 4, code: rule(55) },
      note: "The security code. Never stored.",
      source: "3.3",
    },
  ];
}

export const networkTokenFields: readonly Field[] = [
  {
    name: "network_token_pan",
    type: "digits",
    note: "A network token's number, instead of card_number.",
    source: "3.3",
  },
  {
    name: "network_token_expire_date",
    type: "text",
    required: { code: rule(136), when: "network_token_pan is present" },
    note: "mm/yyyy.",
    source: "3.3",
  },
  {
    name: "network_token_cryptogram",
    type: "text",
    note: "Base64 or base64url, at most 64 characters, otherwise COFRE-27.",
    source: "3.3",
  },
];

export const chargeToken: Field = {
  name: "token",
  type: "text",
  note: "A stored card, instead of number, name and expiry date. card_cvv may be sent with it.",
  source: "3.3",
};

export const storedCredential: Field = {
  name: "cof_info",
  type: "object",
  note: "Stored credentials: initial or subsequent use, and the initiator.",
  source: "3.6",
  fields: [
    {
      name: "cof_type",
      type: "text",
      values: uses,
      note: "Any other value: COFRE-26.",
      source: "3.6",
    },
    {
      name: "initiator",
      type: "text",
      values: initiators,
      note: "Initiated by the customer or by the merchant. Any other value: COFRE-26.",
      source: "3.6",
    },
    {
      name: "trans_type",
      type: "text",
      aliases: ["transType"],
      note: `${storedCredentialReasons.join(", ")}. Any other value: CUSTOMER_COF for CIT, MERCHANT_COF for MIT.`,
      source: "3.6",
    },
    {
      name: "mandate_id",
      type: "text",
      longest: { characters: credentialLongest.mandate },
      note: "The mandate_id from the initial payment's answer.",
      source: "3.6",
    },
  ],
};

export const countryField = (source: string): Field => ({
  name: "country",
  type: "text",
  longest: { characters: 2, code: rule(77) },
  values: countryCodes,
  note: "Not case-sensitive. Default: the account's country. BP-DR-77 when the account does not accept payments there.",
  source,
});

/** Parts of examples; see `example` of EndpointDoc for what the variables are. */
export const exampleKey = { integration_key: "$KEY" };
export const exampleOrder = { ...exampleKey, merchant_payment_code: "$ORDER" };
export const exampleCard = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "$DUE",
  card_cvv: "123",
};
