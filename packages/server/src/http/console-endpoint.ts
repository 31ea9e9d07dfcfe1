import { readFile } from "node:fs/promises";
import type { OpenEndpoint } from "../wire/endpoint.ts";

const scripts = [
  "main",
  "account",
  "actions",
  "api",
  "audit",
  "charts",
  "dom",
  "faults",
  "latency",
  "list",
  "live-list",
  "money",
  "newest",
  "notification-list",
  "notifications",
  "payment",
  "people",
  "poll",
  "receivers",
  "session",
  "settings",
  "sign-in",
  "test-cards",
  "tokens",
  "try",
  "typed",
  "words",
  "worlds",
] as const;

/**
 * The parts of the page: `/` and the files in page/ that are listed here. Other files of that
 * folder are not served.
 */
const parts = [
  { path: "/", file: "index.html", type: "text/html; charset=utf-8" },
  { path: "/console/icon.svg", file: "icon.svg", type: "image/svg+xml" },
  { path: "/console/style.css", file: "style.css", type: "text/css; charset=utf-8" },
  ...scripts.map((name) => ({
    path: `/console/${name}.js`,
    file: `${name}.js`,
    type: "text/javascript; charset=utf-8",
  })),
] as const;

/**
 * Only this server's own scripts, styles, icons and calls are allowed. Frames, forms to other
 * sites, and text that becomes a script or HTML are not: the page has no Trusted Types policy, so
 * the browser refuses every way to create one.
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

/** The files of packages/console. */
const folder = new URL("../../../console/src/", import.meta.url);

/** Says in the page's head how it is used. */
const modeMark = '<meta name="cofre-console" content="key" />';

/**
 * The console (docs/console.md): the page at `/` and its parts. The files are public, because they
 * contain no data. Users of the page enter the secret key (docs/decisions/0010-console.md), in the
 * sandbox only, or sign in (0013-people.md). Files are read on first request.
 */
export function consoleEndpoints(
  environment: string,
  mode: "key" | "login" | "off",
): readonly OpenEndpoint[] {
  if (mode === "off" || (mode === "key" && environment !== "sandbox")) return [];
  return parts.map(({ path, file, type }) => {
    let body: Promise<string> | undefined;
    return {
      path,
      doc: "page",
      key: "none",
      isPage: true,
      family: "parameters",
      cors: false,
      async handle() {
        body ??= readFile(new URL(file, folder), "utf8");
        const text = await body;
        return {
          status: 200,
          type,
          body: path === "/" ? text.replace(modeMark, modeMark.replace("key", mode)) : text,
          headers,
        };
      },
    };
  });
}
