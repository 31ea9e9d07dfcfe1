import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import { linkedScript } from "./linked-script.ts";
import {
  compressedLater,
  htmlPage,
  javascript,
  servedOnce,
  stylesheet,
  textOfFile,
} from "./page-files.ts";
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
    type: stylesheet,
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
  if (library !== undefined) return textOfFile(new URL(library.file()));
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
  return textOfFile(new URL(name, new URL("../../../console/src/", import.meta.url)));
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
      type: htmlPage,
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
