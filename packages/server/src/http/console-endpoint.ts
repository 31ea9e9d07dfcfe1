import { readFile } from "node:fs/promises";
import { brotliCompress, constants } from "node:zlib";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import { linkedScript } from "./linked-script.ts";
import { withoutComments } from "./page-script.ts";

/** The texts of each language are loaded by the script when the language is known. */
const languages = ["en", "es", "pt-br"] as const;

/**
 * The libraries of the page, as their packages contain them; none imports another one than these.
 * `path`: the place in the npm package, which has no others. A package is looked up on the first
 * request: test runners that load this library cannot do it.
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
  readonly type: string;
  readonly read: () => Promise<string>;
}

/** The parts of the page: `/` and the files that are listed here. No other file is served. */
const parts: readonly Part[] = [
  { path: "/console/icon.svg", type: "image/svg+xml", read: () => textOfPage("icon.svg") },
  {
    path: "/console/style.css",
    type: "text/css; charset=utf-8",
    read: () => textOfPage("style.css"),
  },
  { path: "/console/main.js", type: javascript, read: () => linkedScript("./main.js", moduleText) },
  ...languages.map((language) => ({
    path: `/console/messages-${language}.js`,
    type: javascript,
    read: () => moduleText(`./messages-${language}.js`),
  })),
];

/** A library, or a script of the page. */
async function moduleText(name: string): Promise<string> {
  const library = libraries.find((each) => each.name === name);
  if (library !== undefined) return readFile(new URL(library.file()), "utf8");
  return withoutComments(await textOfPage(name));
}

/**
 * Only this server's own scripts, styles, icons and calls are allowed. Scripts in the page, frames,
 * forms to other sites, and text that becomes a script or HTML are not: the page has no Trusted
 * Types policy, so the browser refuses every way to create one.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const headers = [
  ["Content-Security-Policy", policy],
  // Neither a window that opened the page nor a page of another origin can access it or its parts.
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
] as const;

/** A file of packages/console. */
function textOfPage(name: string): Promise<string> {
  return readFile(new URL(name, new URL("../../../console/src/", import.meta.url)), "utf8");
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
    const text = await textOfPage("index.html");
    return {
      status: 200,
      type: "text/html; charset=utf-8",
      body: text
        .replace(modeMark, modeMark.replace("key", mode))
        .replace(environmentMark, environmentMark.replace("sandbox", environment)),
      headers,
    };
  };
  const part = async ({ type, read }: Part): Promise<WireResponse> =>
    compressedLater({ status: 200, type, body: await read(), headers });
  return [servedOnce("/", page), ...parts.map((each) => servedOnce(each.path, () => part(each)))];
}

/**
 * The answer, which gets its brotli form when that is made. The best compression would take a core
 * for a second, in which the first reader's page is shown.
 */
function compressedLater(answer: WireResponse & { brotli?: Buffer | undefined }): WireResponse {
  // Without memory for it, the answer stays as it is.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6 };
  brotliCompress(answer.body, { params }, (error, bytes) => {
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
