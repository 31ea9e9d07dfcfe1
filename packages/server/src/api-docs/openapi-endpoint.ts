import type { Clock } from "../kernel/clock.ts";
import type { OpenEndpoint, ServedEndpoint } from "../wire/endpoint.ts";

/**
 * `/openapi.json`: the description of all operations, for tools of any origin. The code that makes
 * it is loaded on the first request: most processes never receive one, and start without it.
 */
export function openApiEndpoint(endpoints: readonly ServedEndpoint[], clock: Clock): OpenEndpoint {
  let body: string | undefined;
  return {
    path: "/openapi.json",
    doc: "page",
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
