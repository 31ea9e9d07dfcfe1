import type { WireAnswer } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { textOf } from "../decode/tree.ts";
import type { EndpointDeps } from "./deps.ts";

const operation =
  '"resource":"merchantIntegrationProperties","operation":"isValidPublicIntegrationKey"';
const valid: WireAnswer = {
  status: 200,
  body: `{"status":"SUCCESS","success":true,${operation},"body":[]}`,
};
/**
 * `body` has to be an object: without it the browser's page never gets a result (clients.md,
 * lib-js).
 */
const invalid: WireAnswer = {
  status: 409,
  body: `{"status":"CONFLICT","success":false,${operation},"body":{"error":"Invalid public_integration_key"}}`,
};

/**
 * Every browser client calls this before it creates a token (interface 2.7). A secret key is not
 * accepted as a public one: it has no place in a browser.
 */
export function publicKeyCheckEndpoint({ holderOf }: Pick<EndpointDeps, "holderOf">): Endpoint {
  return {
    path: "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey",
    key: "none",
    family: "parameters",
    cors: true,
    async handle({ params }) {
      const key = textOf(params, "public_integration_key");
      return key !== undefined && (await holderOf(key))?.grants === "public" ? valid : invalid;
    },
  };
}
