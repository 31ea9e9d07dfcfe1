import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { brotliCompress } from "node:zlib";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import { withoutComments } from "./page-script.ts";

const scripts = [
  "main",
  "account",
  "actions",
  "aligned",
  "api",
  "audit",
  "cards",
  "compare",
  "csv",
  "curl",
  "dialog",
  "faults",
  "figures",
  "format",
  "html",
  "insights",
  "insights-charts",
  "keys",
  "latency",
  "language",
  "list",
  "live-data",
  "live-list",
  "live-table",
  "messages-en",
  "messages-es",
  "messages-pt-br",
  "money",
  "new-payment",
  "newest",
  "notifications",
  "payment",
  "payment-exchange",
  "payment-form",
  "people",
  "pieces",
  "poll",
  "receivers",
  "recorded-curl",
  "refusals",
  "request",
  "request-parts",
  "requests",
  "saved-views",
  "sentences",
  "session",
  "setting-words",
  "settings",
  "shown",
  "side-bar",
  "sign-in",
  "state",
  "story",
  "tokens",
  "typed",
  "webhook",
  "webhooks",
  "words",
  "worlds",
  "zone",
] as const;

/**
 * The libraries of the page, as their packages contain them; none imports another one than these.
 * The import map in index.html has their addresses. A package is looked up on the first request:
 * test runners that load this library cannot do it.
 */
export const libraries = [
  { name: "preact", file: () => import.meta.resolve("preact"), path: "/console/lib/preact.js" },
  {
    name: "preact/hooks",
    file: () => import.meta.resolve("preact/hooks"),
    path: "/console/lib/preact-hooks.js",
  },
  { name: "htm", file: () => import.meta.resolve("htm"), path: "/console/lib/htm.js" },
  {
    name: "@preact/signals",
    file: () => import.meta.resolve("@preact/signals"),
    path: "/console/lib/signals.js",
  },
  {
    name: "@preact/signals-core",
    file: () => import.meta.resolve("@preact/signals-core"),
    path: "/console/lib/signals-core.js",
  },
] as const;

const javascript = "text/javascript; charset=utf-8";

interface Part {
  readonly path: string;
  readonly file: () => URL;
  readonly type: string;
  /** What is served of the file's text; all of it unless given. */
  readonly served?: (text: string) => string;
}

/** The parts of the page: `/` and the files that are listed here. No other file is served. */
const parts: readonly Part[] = [
  { path: "/console/icon.svg", file: () => ofPage("icon.svg"), type: "image/svg+xml" },
  { path: "/console/style.css", file: () => ofPage("style.css"), type: "text/css; charset=utf-8" },
  ...scripts.map((name) => ({
    path: `/console/${name}.js`,
    file: () => ofPage(`${name}.js`),
    type: javascript,
    served: withoutComments,
  })),
  ...libraries.map(({ file, path }) => ({
    path,
    file: () => new URL(file()),
    type: javascript,
  })),
];

/**
 * Only this server's own scripts, styles, icons and calls are allowed, and the import map of the
 * page by its digest. Frames, forms to other sites, and text that becomes a script or HTML are not:
 * the page has no Trusted Types policy, so the browser refuses every way to create one.
 */
const policyOf = (scriptSources: string): string =>
  [
    "default-src 'none'",
    `script-src ${scriptSources}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

const headersWith = (scriptSources: string) =>
  [
    ["Content-Security-Policy", policyOf(scriptSources)],
    // Neither a window that opened the page nor a page of another origin can access it or its
    // parts.
    ["Cross-Origin-Opener-Policy", "same-origin"],
    ["Cross-Origin-Resource-Policy", "same-origin"],
  ] as const;

function asItIs(text: string): string {
  return text;
}

/** A file of packages/console. */
function ofPage(name: string): URL {
  return new URL(name, new URL("../../../console/src/", import.meta.url));
}

/** Says in the page's head how it is used. */
const modeMark = '<meta name="cofre-console" content="key" />';
/** Says what the server is: the page shows some views in a sandbox only. */
const environmentMark = '<meta name="cofre-environment" content="sandbox" />';

/**
 * The console (docs/console.md): the page at `/` and its parts. The files are public, because they
 * contain no data. Users of the page enter the secret key (docs/decisions/0010-console.md), in the
 * sandbox only, or sign in (0013-console-users.md). Files are read on first request.
 */
export function consoleEndpoints(
  environment: string,
  mode: "key" | "login" | "off",
): readonly OpenEndpoint[] {
  if (mode === "off" || (mode === "key" && environment !== "sandbox")) return [];
  const page = async (): Promise<WireResponse> => {
    const text = await readFile(ofPage("index.html"), "utf8");
    return {
      status: 200,
      type: "text/html; charset=utf-8",
      body: text
        .replace(modeMark, modeMark.replace("key", mode))
        .replace(environmentMark, environmentMark.replace("sandbox", environment)),
      headers: headersWith(`'self' '${digestOfImportMap(text)}'`),
    };
  };
  const part = async ({ file, type, served = asItIs }: Part): Promise<WireResponse> =>
    compressedLater({
      status: 200,
      type,
      body: served(await readFile(file(), "utf8")),
      headers: headersWith("'self'"),
    });
  return [servedOnce("/", page), ...parts.map((each) => servedOnce(each.path, () => part(each)))];
}

/**
 * The answer, which gets its brotli form when that is made: the best compression takes longer than
 * the first reader should wait.
 */
function compressedLater(answer: WireResponse & { brotli?: Buffer | undefined }): WireResponse {
  // Without memory for it, the answer stays as it is.
  brotliCompress(answer.body, (error, bytes) => {
    if (error === null) answer.brotli = bytes;
  });
  return answer;
}

/** Reads on the first call, and again after a failure. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return async () => {
    result ??= read();
    try {
      return await result;
    } catch (error) {
      result = undefined;
      throw error;
    }
  };
}

/** The endpoint of a file that is read on the first request. */
function servedOnce(path: string, read: () => Promise<WireResponse>): OpenEndpoint {
  return {
    path,
    doc: "page",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: false,
    handle: readOnce(read),
  };
}

/** As a Content-Security-Policy names an inline script. */
function digestOfImportMap(page: string): string {
  const [, map = ""] = /<script type="importmap">([^]*?)<\/script>/.exec(page) ?? [];
  return `sha256-${createHash("sha256").update(map).digest("base64")}`;
}
