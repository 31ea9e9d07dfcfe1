import type { Endpoint, OpenEndpoint } from "../wire/endpoint.ts";
import { openApiDocument } from "./document.ts";

/** `/openapi.json`: the description of all operations, for tools of any origin. Made when it is first asked for. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): OpenEndpoint {
  let body: string | undefined;
  return {
    path: "/openapi.json",
    key: "none",
    family: "parameters",
    cors: true,
    async handle() {
      body ??= JSON.stringify(openApiDocument(endpoints));
      return { status: 200, body };
    },
  };
}
