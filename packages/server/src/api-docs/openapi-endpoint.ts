import type { Clock } from "../kernel/clock.ts";
import type { Endpoint, OpenEndpoint } from "../wire/endpoint.ts";

/**
 * `/openapi.json`: the description of all operations, for tools of any origin. The code that makes
 * it is loaded on the first request: most processes never receive one, and start without it.
 */
export function openApiEndpoint(endpoints: readonly Endpoint[], clock: Clock): OpenEndpoint {
  let body: string | undefined;
  return {
    path: "/openapi.json",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: true,
    async handle() {
      const { openApiDocument } = await import("./document.ts");
      body ??= JSON.stringify(openApiDocument(endpoints, clock.now()));
      return { status: 200, body };
    },
  };
}
