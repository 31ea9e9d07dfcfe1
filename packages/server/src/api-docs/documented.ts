import type { Clock } from "../kernel/clock.ts";
import { openApiEndpoint } from "./openapi-endpoint.ts";
import type { ServedEndpoint } from "../wire/endpoint.ts";
import { docsEndpoints } from "./docs-endpoint.ts";
import type { DocsPlaces } from "./html.ts";

/**
 * The endpoints, and those that describe them: /openapi.json for tools, /docs and /docs/errors for
 * readers.
 */
export function documented(
  endpoints: readonly ServedEndpoint[],
  clock: Clock,
  places: DocsPlaces,
): readonly ServedEndpoint[] {
  return [
    ...endpoints,
    openApiEndpoint(endpoints, clock),
    ...docsEndpoints(endpoints, clock, places),
  ];
}
