import { reading } from "../permission.ts";
import { documentFor } from "../../payment/documents.ts";
import { isOfKnownBrand } from "../requests/direct-request.ts";
import type { Endpoint } from "../endpoint.ts";
import { fieldOf } from "../requests/fields.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";
import { exampleKey, secretKey } from "./shared-docs.ts";

/**
 * The zip codes in the examples of public clients: this server has no directory of addresses, and
 * reports that for all others.
 */
const zipcodes: ReadonlyMap<
  string,
  { readonly state: string; readonly city: string; readonly name: string }
> = new Map([
  ["61919230", { state: "CE", city: "Maracana\u00fa", name: "Rua E" }],
  ["80230010", { state: "PR", city: "Curitiba", name: "Rua Marechal Deodoro" }],
]);

const zipcodeAnswer = new NamedSchema(
  "ZipcodeAnswer",
  json.object({
    zipcode: json.object({ state: json.text, city: json.text, name: json.text }),
    status: json.success,
  }),
);

const zipcodeDoc: EndpointDoc = {
  id: "zipcode",
  tag: "Utilities",
  summary: "Look up an address",
  description: "Knows only the zip codes of public examples.",
  fields: [
    secretKey,
    {
      name: "zipcode",
      type: "text",
      required: { code: "BP-ZIP-1" },
      note: "Eight digits.",
      source: "5.7",
    },
  ],
  answer: zipcodeAnswer,
  codes: ["BP-ZIP-1", "BP-ZIP-2", "BP-ZIP-3"],
  example: { ...exampleKey, zipcode: "80230010" },
};

/** /ws/zipcode (interface 5.7), for a few codes only. */
export const zipcodeEndpoint: Endpoint = {
  path: "/ws/zipcode",
  doc: zipcodeDoc,
  permission: reading,
  recorded: true,
  key: "secret",
  family: "parameters",
  cors: false,
  async handle({ params }) {
    const text = fieldOf(params, "zipcode");
    if (text === undefined) return refusalAnswer("BP-ZIP-1");
    const digits = text.replaceAll(/[-. ]/g, "");
    if (!/^\d{8}$/.test(digits)) return refusalAnswer("BP-ZIP-2");
    const zipcode = zipcodes.get(digits);
    if (zipcode === undefined) return refusalAnswer("BP-ZIP-3");
    return { status: 200, body: JSON.stringify({ zipcode, status: "SUCCESS" }) };
  },
};

/** The fourteen digits of a company's document can look like a card number. */
function isCard(document: string): boolean {
  return isOfKnownBrand(document) && documentFor("br", document, true) === "invalid";
}

const documentBalanceAnswer = new NamedSchema(
  "DocumentBalanceAnswer",
  json.object({
    document_balance: json.object({
      document: json.text,
      balance: json.amount,
      available: json.amount,
      currency_code: json.text,
    }),
    status: json.success,
  }),
);

const documentBalanceDoc: EndpointDoc = {
  id: "documentBalance",
  tag: "Utilities",
  summary: "Get the rest of a person's limit for purchases abroad",
  description: "Payments are not summed up: the answer is always the full limit.",
  fields: [
    secretKey,
    {
      name: "document",
      type: "text",
      required: { code: "COFRE-42" },
      longest: { characters: 32, code: "COFRE-42" },
      note: "Punctuation is removed.",
      source: "5.7",
    },
  ],
  answer: documentBalanceAnswer,
  codes: ["COFRE-42"],
  example: { ...exampleKey, document: "853.513.468-93" },
};

/**
 * /ws/documentbalance (interface 5.7): what a person may still spend abroad this month. Payments
 * are not summed up by document, so the balance is always the whole of the documented 3000 USD.
 */
export const documentBalanceEndpoint: Endpoint = {
  path: "/ws/documentbalance",
  doc: documentBalanceDoc,
  permission: reading,
  recorded: true,
  key: "secret",
  family: "parameters",
  cors: false,
  async handle({ params }) {
    const document = fieldOf(params, "document")?.replaceAll(/[^a-z0-9]/gi, "");
    if (document === undefined || document === "" || document.length > 32 || isCard(document)) {
      return refusalAnswer("COFRE-42");
    }
    const balance = { document, balance: "3000.00", available: "3000.00", currency_code: "USD" };
    return { status: 200, body: JSON.stringify({ document_balance: balance, status: "SUCCESS" }) };
  },
};
