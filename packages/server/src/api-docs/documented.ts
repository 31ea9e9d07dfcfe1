import type { Clock } from "../kernel/clock.ts";
import { openApiEndpoint } from "./openapi-endpoint.ts";
import type { ServedEndpoint } from "../wire/endpoint.ts";
import { docsEndpoint } from "./docs-endpoint.ts";

/** The endpoints, and two more that describe them: /openapi.json for tools, /docs for readers. */
export function documented(
  endpoints: readonly ServedEndpoint[],
  clock: Clock,
): readonly ServedEndpoint[] {
  return [...endpoints, openApiEndpoint(endpoints, clock), docsEndpoint(endpoints, clock)];
}
