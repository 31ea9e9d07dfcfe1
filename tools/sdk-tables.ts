import { codesOf, commonCodes } from "../packages/server/src/api-docs/document.ts";
import { componentsOf } from "../packages/server/src/api-docs/components.ts";
import { declineReasons } from "../packages/server/src/payment/payment.ts";
import { exampleCustomers } from "../packages/server/src/sandbox/example-customers.ts";
import { ordinary } from "../packages/server/src/connectors/simulator/magic-cards.ts";
import { testCards } from "../packages/server/src/sandbox/test-cards.ts";
import { countryOf } from "../packages/server/src/payment/countries.ts";
import { verdictDescription } from "../packages/server/src/wire/answers/payment-answer.ts";
import type { EndpointDoc } from "../packages/server/src/wire/endpoint-doc.ts";
import type { ServedEndpoint } from "../packages/server/src/wire/endpoint.ts";
import { type ErrorRow, errorTable } from "../packages/server/src/wire/errors/error-table.ts";
import type { Field, FieldType } from "../packages/server/src/wire/field.ts";
import type { Schema } from "../packages/server/src/wire/schema.ts";
import { sandboxEndpoints } from "../packages/server/test/keyed-endpoints.ts";

/**
 * Makes the generated modules of packages/sdk from the tables of the server: `npm run docs` writes
 * them, and a test compares. The SDK has no other copy of a field, a path, or an error code's field.
 */

/** The operations of the SDK, by the id that /openapi.json has for each. */
const operations = [
  "token",
  "setCvv",
  "direct",
  "verifyCard",
  "capture",
  "cancel",
  "refund",
  "refundOrCancel",
  "query",
  "exchange",
  "resendNotification",
  "getProperties",
] as const;

/** Fields of `payment` about the customer: a group of their own in the SDK. */
const customerFields: ReadonlySet<string> = new Set([
  "name",
  "email",
  "phone_number",
  "document",
  "document_type",
  "zipcode",
  "address",
  "street_number",
  "street_complement",
  "city",
  "state",
  "birth_date",
  "person_type",
  "responsible",
]);

/** Fields of `payment` that the SDK fills in from its own names. */
const ownPaymentFields: ReadonlySet<string> = new Set([
  "merchant_payment_code",
  "amount_total",
  "currency_code",
  "country",
  "payment_type_code",
  "creditcard",
  "instalments",
  "token",
]);

/** Fields of a card node that the SDK fills in from a Card. */
const ownCardFields: ReadonlySet<string> = new Set([
  "card_number",
  "card_name",
  "card_due_date",
  "card_cvv",
  "token",
  "auto_capture",
  "network_token_pan",
  "network_token_expire_date",
  "network_token_cryptogram",
]);

const types: Readonly<Record<FieldType, string>> = {
  text: "string",
  digits: "string",
  // Amounts are text: a JavaScript number cannot hold every amount exactly.
  decimal: "string",
  whole: "number",
  flag: "boolean",
  object: "object",
};

interface Documented {
  readonly endpoint: ServedEndpoint;
  readonly doc: EndpointDoc;
}

function documented(id: string): Documented {
  for (const endpoint of sandboxEndpoints()) {
    const { doc } = endpoint;
    if (typeof doc !== "string" && doc.id === id) return { endpoint, doc };
  }
  throw new Error(`no endpoint has the id ${id}`);
}

/** `street_number` to `streetNumber`. */
export function camelName(wireName: string): string {
  const name = wireName.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());
  if (wireNameOf(name) !== wireName)
    throw new Error(`the SDK cannot turn ${name} back into ${wireName}`);
  return name;
}

/** The rule of packages/sdk/src/names.ts. */
function wireNameOf(name: string): string {
  return name.replaceAll(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`);
}

const head = "// Made from the server's tables: npm run docs. Do not edit.\n";

/** packages/sdk/src/generated/types.ts */
export function sdkTypes(): string {
  const answers = operations.map((id) => [id, documented(id).doc.answer] as const);
  const components = componentsOf(answers.map(([, answer]) => answer));
  const payment = memberOf(documented("direct").doc.fields, "payment");
  const card = memberOf(payment, "creditcard");
  const country = payment.find(({ name }) => name === "country")?.values ?? [];
  return [
    head,
    `/** Countries of payments, ISO 3166-1 alpha-2 in lower case. */\nexport type Country = ${unionOf(country)};\n`,
    interfaceOf(
      "CustomerFields",
      "The customer of a payment. Countries require different fields.",
      payment.filter(({ name }) => customerFields.has(name)),
    ),
    interfaceOf(
      "OrderFields",
      "Further fields of a payment.",
      payment.filter(({ name }) => !customerFields.has(name) && !ownPaymentFields.has(name)),
    ),
    interfaceOf(
      "CardOptions",
      "Fields that belong to the card of one payment.",
      card.filter(({ name }) => !ownCardFields.has(name)),
    ),
    ...Object.entries(components).map(
      ([name, schema]) => `export interface ${name} ${typeOf(schema, "")}\n`,
    ),
    `/** The answer of each operation. */\nexport interface Answers {\n${answers
      .map(([id, { name }]) => `  readonly ${id}: ${name};`)
      .join("\n")}\n}\n`,
  ].join("\n");
}

function memberOf(fields: readonly Field[], name: string): readonly Field[] {
  const found = fields.find((field) => field.name === name)?.fields;
  if (found === undefined) throw new Error(`the object ${name} is missing`);
  return found;
}

function unionOf(values: readonly (string | boolean | null)[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

function interfaceOf(name: string, note: string, fields: readonly Field[]): string {
  return `/** ${note} */\nexport interface ${name} {\n${membersOf(fields, "  ")}\n}\n`;
}

function membersOf(fields: readonly Field[], indent: string): string {
  return fields.map((field) => memberText(field, indent)).join("\n");
}

function memberText(field: Field, indent: string): string {
  const { name, type, note, required, longest, values, fields } = field;
  const isAlways =
    required !== undefined &&
    [required.or, required.when, required.countries].every((each) => each === undefined);
  const limit = longest === undefined ? "" : ` At most ${longest.characters} characters.`;
  const where =
    required?.countries === undefined ? "" : ` Required in ${required.countries.join(", ")}.`;
  const shown =
    fields !== undefined
      ? `{\n${membersOf(fields, `${indent}  `)}\n${indent}}`
      : values === undefined
        ? types[type]
        : unionOf(values);
  return (
    `${indent}/** \`${name}\`. ${withCode(note)}${limit}${where} */\n` +
    `${indent}readonly ${camelName(name)}${isAlways ? "" : "?"}: ${shown}${isAlways ? "" : " | undefined"};`
  );
}

/** Values of fields, such as `CUSTOMER_COF`, are code and not words. */
function withCode(note: string): string {
  return note.replaceAll(/\b[A-Z][A-Z_]{5,}\b/g, "`$&`");
}

/** The type of a value in an answer. Names of members are turned into camelCase. */
function typeOf(schema: Schema, indent: string): string {
  const { $ref, enum: values, const: constant, properties, required = [], items, type } = schema;
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  if (values !== undefined) return unionOf(values);
  if (constant !== undefined) return JSON.stringify(constant);
  if (items !== undefined) return `readonly ${typeOf(items, indent)}[]`;
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, member]) => {
      const isOptional = !required.includes(name);
      const note =
        member.description === undefined ? "" : `${indent}  /** ${member.description} */\n`;
      return `${note}${indent}  readonly ${camelName(name)}${isOptional ? "?" : ""}: ${typeOf(member, `${indent}  `)};`;
    });
    return `{\n${members.join("\n")}\n${indent}}`;
  }
  const kinds = typeof type === "string" ? [type] : (type ?? []);
  return kinds.map((kind) => (kind === "integer" ? "number" : kind)).join(" | ");
}

/** packages/sdk/src/generated/tables.ts */
export function sdkTables(): string {
  const rows = operations.map((id) => {
    const { endpoint, doc } = documented(id);
    return `  ${id}: { path: ${JSON.stringify(endpoint.path)}, keyed: ${doc.idempotent === true} },`;
  });
  const codes = new Set<string>([
    ...commonCodes,
    ...operations.flatMap((id) => {
      const { endpoint, doc } = documented(id);
      return codesOf(endpoint, doc);
    }),
  ]);
  const errorFields = Object.entries<ErrorRow>(errorTable).flatMap(([code, row]) => {
    const field = codes.has(code) ? fieldOf(row) : undefined;
    return field === undefined ? [] : [[code, field] as const];
  });
  const byField = Map.groupBy(errorFields, ([, field]) => field);
  const card = memberOf(memberOf(documented("direct").doc.fields, "payment"), "creditcard");
  const cardOptions = card
    .filter(({ name }) => !ownCardFields.has(name))
    .map(({ name }) => camelName(name));
  return [
    head,
    "/** Paths of the operations. `keyed`: the operation accepts an Idempotency-Key. */",
    `export const operations = {\n${rows.join("\n")}\n} as const;\n`,
    "/** Codes of errors about one field, by that field. */",
    `export const errorFields: Readonly<Record<string, string>> = {\n${Array.from(byField, ([field, of]) => `  ${JSON.stringify(field)}: ${JSON.stringify(of.map(([code]) => code).join(" "))},`).join("\n")}\n};\n`,
    "/** Descriptions of `transaction_status` with the reason that each has. */",
    `export const declineReasons = {\n${declineReasons.map((reason) => `  ${JSON.stringify(verdictDescription(reason))}: ${JSON.stringify(reason)},`).join("\n")}\n} as const;\n`,
    "/** Members of a charge that the request has in its card node. */",
    `export const cardOptions: readonly string[] = ${JSON.stringify(cardOptions)};\n`,
  ].join("\n");
}

/** Undefined for a field that depends on the request. */
function fieldOf({ field, choices = {} }: ErrorRow): string | undefined {
  const [, placeholder] = /^\{(\w+)\}$/.exec(field ?? "") ?? [];
  if (placeholder === undefined) return field?.includes("{") === true ? undefined : field;
  // One member of the request at several places.
  const values = (choices[placeholder] ?? []).map(String);
  const members = new Set(values.map((value) => value.split(".").at(-1)));
  return members.size === 1 ? values[0] : undefined;
}

/** packages/sdk/src/generated/test-data.ts */
export function sdkTestData(): string {
  // Brands that every country accepts first.
  const accepted = ["mastercard", "visa"];
  const cards = testCards.toSorted(
    (one, other) => accepted.indexOf(other.brand) - accepted.indexOf(one.brand),
  );
  const byResult = Map.groupBy(
    cards.filter(({ threeDSecure, traits }) => threeDSecure === undefined && traits === ordinary),
    ({ result }) => result,
  );
  const rows = Array.from(
    byResult,
    ([result, [first]]) => `  ${result}: ${JSON.stringify(first?.digits)},`,
  );
  const customers = Object.entries(exampleCustomers).map(([country, customer]) => {
    const members = Object.entries(customer as unknown as Readonly<Record<string, string>>);
    return `  ${country}: ${JSON.stringify(Object.fromEntries(members.map(([name, value]) => [camelName(name), value])))},`;
  });
  const currencies = Object.keys(exampleCustomers).map(
    (country) => `  ${country}: ${JSON.stringify(countryOf(country)?.currency)},`,
  );
  return [
    head,
    'import type { Country, CustomerFields } from "./types.ts";\n',
    "/** A published test number for each decision of the simulated issuer. */",
    `export const cardNumbers = {\n${rows.join("\n")}\n} as const;\n`,
    "/** A fictitious customer that each country accepts. */",
    `export const customers: Readonly<Record<Country, CustomerFields>> = {\n${customers.join("\n")}\n};\n`,
    "/** The currency of each country, ISO 4217. */",
    `export const currencies: Readonly<Record<Country, string>> = {\n${currencies.join("\n")}\n};\n`,
  ].join("\n");
}
