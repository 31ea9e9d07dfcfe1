import type { Clock } from "../kernel/clock.ts";
import { sha256Hex } from "../kernel/digest.ts";
import type { Instant } from "../kernel/instant.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint, ServedEndpoint } from "../wire/endpoint.ts";

/**
 * `/docs`: the same description for readers. The page may use its own style and nothing else. Made
 * on the first request, like /openapi.json.
 */
export function docsEndpoint(endpoints: readonly ServedEndpoint[], clock: Clock): OpenEndpoint {
  let answer: WireResponse | undefined;
  return {
    path: "/docs",
    doc: "page",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: false,
    async handle() {
      answer ??= await made(endpoints, clock.now());
      return answer;
    },
  };
}

async function made(endpoints: readonly ServedEndpoint[], now: Instant): Promise<WireResponse> {
  const [{ openApiDocument }, { docsPage }, { style }] = await Promise.all([
    import("./document.ts"),
    import("./page.ts"),
    import("./style.ts"),
  ]);
  return {
    status: 200,
    type: "text/html; charset=utf-8",
    body: docsPage(openApiDocument(endpoints, now)),
    headers: [["Content-Security-Policy", policyFor(style)]],
  };
}

function policyFor(style: string): string {
  const digest = Buffer.from(sha256Hex(style), "hex").toString("base64");
  return `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
