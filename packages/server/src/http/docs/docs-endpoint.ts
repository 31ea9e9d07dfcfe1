import { sha256Hex } from "../../kernel/digest.ts";
import { openApiDocument } from "../openapi/document.ts";
import type { WireAnswer } from "../wire/answer.ts";
import type { Endpoint, OpenEndpoint } from "../wire/endpoint.ts";
import { docsPage } from "./page.ts";
import { style } from "./style.ts";

/** `/docs`: the same description for people. The page may use its own style and nothing else. Made when it is first asked for. */
export function docsEndpoint(endpoints: readonly Endpoint[]): OpenEndpoint {
  let answer: WireAnswer | undefined;
  return {
    path: "/docs",
    key: "none",
    family: "parameters",
    cors: false,
    async handle() {
      answer ??= {
        status: 200,
        type: "text/html; charset=utf-8",
        body: docsPage(openApiDocument(endpoints)),
        headers: [["Content-Security-Policy", policy()]],
      };
      return answer;
    },
  };
}

function policy(): string {
  const digest = Buffer.from(sha256Hex(style), "hex").toString("base64");
  return `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}
