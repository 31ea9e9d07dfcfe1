import type { WireResponse } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { textOf } from "../decode/tree.ts";
import type { EndpointDeps } from "./deps.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";

const operation =
  '"resource":"merchantIntegrationProperties","operation":"isValidPublicIntegrationKey"';
const valid: WireResponse = {
  status: 200,
  body: `{"status":"SUCCESS","success":true,${operation},"body":[]}`,
};
/**
 * `body` has to be an object: without it the browser's page never gets a result (clients.md,
 * lib-js).
 */
const invalid: WireResponse = {
  status: 409,
  body: `{"status":"CONFLICT","success":false,${operation},"body":{"error":"Invalid public_integration_key"}}`,
};

const keyCheck = {
  success: json.flag,
  resource: json.exactly("merchantIntegrationProperties"),
  operation: json.exactly("isValidPublicIntegrationKey"),
};

const validAnswer = new NamedSchema(
  "KeyIsValid",
  json.object({ status: json.success, ...keyCheck, body: { ...json.list({}), maxItems: 0 } }),
);

const invalidAnswer = new NamedSchema(
  "KeyIsInvalid",
  json.object({
    status: json.exactly("CONFLICT"),
    ...keyCheck,
    body: json.object({ error: json.text }),
  }),
);

const doc: EndpointDoc = {
  id: "isValidPublicIntegrationKey",
  tag: "Browsers",
  summary: "Check a public key",
  description: "Browser clients call it first.",
  fields: [
    {
      name: "public_integration_key",
      type: "text",
      required: { status: 409 },
      note: "The key to check.",
      source: "2.7",
    },
  ],
  answer: validAnswer,
  otherAnswers: { "409": invalidAnswer },
  example: { public_integration_key: "$PUBLIC_KEY" },
};

/**
 * Every browser client calls this before it creates a token (interface 2.7). A secret key is not
 * accepted as a public one: it has no place in a browser.
 */
export function publicKeyCheckEndpoint({ holderOf }: Pick<EndpointDeps, "holderOf">): Endpoint {
  return {
    path: "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey",
    doc,
    key: "none",
    family: "parameters",
    cors: true,
    async handle({ params }) {
      const key = textOf(params, "public_integration_key");
      return key !== undefined && (await holderOf(key))?.grants === "public" ? valid : invalid;
    },
  };
}
