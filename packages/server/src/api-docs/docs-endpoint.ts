import type { Clock } from "../kernel/clock.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint, ServedEndpoint } from "../wire/endpoint.ts";
import type { DocsPlaces } from "./html.ts";
import type { OpenApi } from "./types.ts";

/**
 * `/docs`: the description of /openapi.json for readers, and `/docs/errors`: every error code. Both
 * are made on the first request, and may use their own style and script only.
 */
export function docsEndpoints(
  endpoints: readonly ServedEndpoint[],
  clock: Clock,
  places: DocsPlaces,
): readonly OpenEndpoint[] {
  const api = async (): Promise<OpenApi> => {
    const { openApiDocument } = await import("./document.ts");
    return openApiDocument(endpoints, clock.now());
  };
  return [
    pageAt("/docs", async () => (await import("./page.ts")).docsPage(await api(), places)),
    pageAt("/docs/errors", async () =>
      (await import("./errors-page.ts")).errorsPage(await api(), places),
    ),
  ];
}

function pageAt(path: string, make: () => Promise<string>): OpenEndpoint {
  let answer: WireResponse | undefined;
  return {
    path,
    doc: "page",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: false,
    async handle() {
      answer ??= {
        status: 200,
        type: "text/html; charset=utf-8",
        body: await make(),
        headers: [["Content-Security-Policy", (await import("./html.ts")).docsPolicy]],
      };
      return answer;
    },
  };
}
