import { reading } from "../../wire/permission.ts";
import { assert } from "../../kernel/assert.ts";
import { ownValue } from "../../kernel/own.ts";
import { formatMoney } from "../../kernel/money.ts";
import type { AccountSettings } from "../../merchant/account.ts";
import {
  countryCodes,
  type CountryField,
  countryFields,
  countryOf,
  requiresField,
} from "../../payment/countries.ts";
import { offeredInstalments } from "../../payment/instalments.ts";
import { exampleCustomers } from "../../sandbox/example-customers.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";
import { json, NamedSchema } from "../../wire/schema.ts";

const wireNames = {
  document: "document",
  zipcode: "zipcode",
  address: "address",
  streetNumber: "street_number",
  city: "city",
  state: "state",
} as const satisfies Record<CountryField, string>;

const answerSchema = new NamedSchema(
  "CountriesAnswer",
  json.object({
    countries: json.list(
      json.object({
        country: { ...json.text, description: "ISO 3166-1 alpha-2, lower case." },
        currencies: { ...json.list(json.text), description: "The local currency first." },
        required: {
          ...json.list(json.oneOf(Object.values(wireNames))),
          description: "Fields of `payment` that this account's payments need here.",
        },
        states: {
          ...json.list(json.text),
          description: "The accepted values of `state`; empty: any text.",
        },
        minimum_amount: { ...json.amount, description: "In the local currency." },
        minimum_instalment: {
          ...json.amount,
          description: "The least amount of one of several instalments, in the local currency.",
        },
        brands: json.list(
          json.object({
            brand: json.text,
            instalments: { ...json.list(json.integer), description: "The accepted numbers." },
          }),
        ),
        customer: {
          ...json.object(
            { name: json.text, email: json.text, phone_number: json.text },
            Object.fromEntries(Object.values(wireNames).map((name) => [name, json.text])),
          ),
          description: "Fictitious fields of `payment` that the country accepts.",
        },
      }),
    ),
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "listCountries",
  tag: "Sandbox",
  summary: "List the countries and what their payments need",
  description:
    "Currencies, required fields, brands, instalments and minimum amounts of each country, with example data of a customer that it accepts.",
  fields: [secretKey],
  answer: answerSchema,
  example: exampleKey,
};

/** `/__cofre/countries`, in the sandbox only: the rules of each country, with example data. */
export function countriesEndpoint(): Endpoint {
  return {
    path: "/__cofre/countries",
    doc,
    permission: reading,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ account }) {
      const countries = countryCodes.map((code) => shown(code, account.settings));
      return { status: 200, body: JSON.stringify({ countries, status: "SUCCESS" }) };
    },
  };
}

function shown(code: string, { profile }: AccountSettings): object {
  const country = countryOf(code);
  assert(country !== undefined, "every listed country is in the table");
  const { currency, currencies, states = [], brands } = country;
  const isLocal = profile === "B";
  const needed = countryFields.filter((field) => requiresField(country, field, isLocal));
  return {
    country: code,
    currencies: [...currencies],
    required: needed.map((field) => wireNames[field]),
    states: [...states],
    minimum_amount: formatMoney({ minor: country.minimumAmount, currency }),
    minimum_instalment: formatMoney({ minor: country.minimumInstalment, currency }),
    brands: [...brands].map((brand) => ({
      brand,
      instalments: [...offeredInstalments(country, brand)],
    })),
    customer: ownValue(exampleCustomers, code),
  };
}
