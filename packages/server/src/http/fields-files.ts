import { createHash } from "node:crypto";
import type { WireResponse } from "../wire/answers/answer.ts";
import { reportsPath } from "./fields-reports.ts";
import { linkedScript } from "./linked-script.ts";
import { javascript, readOnce, stylesheet, textOfFile } from "./page-files.ts";
import { withoutComments } from "./page-script.ts";

/** The files of packages/fields: those of the card fields and of the hosted page. */

/** A file with the digest of its content, by which browsers check it. */
export interface PageFile {
  readonly path: string;
  readonly type: string;
  /** One sentence for the inventory of scripts (PCI DSS 6.4.3). */
  readonly purpose: string;
  readonly read: () => Promise<{ readonly body: string; readonly integrity: string }>;
}

const languages = ["en", "es", "pt-BR"] as const;
/** A language of the pages for customers. */
export type PageLanguage = (typeof languages)[number];

/** The named language; otherwise Portuguese in Brazil, and Spanish in other countries. */
export function languageOf(asked: string | undefined, country: string): PageLanguage {
  const named = languages.find((each) => each.toLowerCase() === asked?.toLowerCase());
  if (named !== undefined) return named;
  if (country === "") return "en";
  return country === "br" ? "pt-BR" : "es";
}

/** A script with all that it imports, and with the texts of one language only. */
export function fieldsScript(name: string, language: PageLanguage, purpose: string): PageFile {
  const suffix = language.toLowerCase();
  const read = (module: string): Promise<string> =>
    scriptOfFields(module.replace(/messages\.js$/, `messages-${suffix}.js`));
  return {
    path: `/fields/${name}-${suffix}.js`,
    type: javascript,
    purpose: `${purpose} In ${language}.`,
    read: withIntegrity(() => linkedScript(`./${name}.js`, read).then(withoutIndentation)),
  };
}

export function fieldsStyle(name: string, purpose: string): PageFile {
  return {
    path: `/fields/${name}`,
    type: stylesheet,
    purpose,
    read: withIntegrity(async () =>
      withoutIndentation(await textOfFields(name)).replaceAll(/ (?=\{)|(?<=[:,]) /g, ""),
    ),
  };
}

export const loader: PageFile = {
  path: "/cofre.js",
  type: javascript,
  purpose: "Puts the frame into the page of the shop. It gets no card data.",
  read: withIntegrity(async () => withoutIndentation(await scriptOfFields("cofre.js"))),
};

/** A file of packages/fields. */
export function textOfFields(name: string): Promise<string> {
  return textOfFile(new URL(name, new URL("../../../fields/src/", import.meta.url)));
}

async function scriptOfFields(name: string): Promise<string> {
  return withoutComments(await textOfFields(name));
}

/** No text of these files goes over the end of a line, and lines have no comments any more. */
export function withoutIndentation(text: string): string {
  return text.replaceAll(/\n\s+/g, "\n").replaceAll(/(?<=[,;{([])\n/g, "");
}

function withIntegrity(read: () => Promise<string>): PageFile["read"] {
  return readOnce(async () => {
    const body = await read();
    return {
      body,
      integrity: `sha384-${createHash("sha384").update(body).digest("base64")}`,
    };
  });
}

/**
 * Headers of a page for customers: besides `directives`, only this server's own scripts and styles;
 * text never becomes a script or HTML.
 */
export function pageHeaders(directives: readonly string[]): NonNullable<WireResponse["headers"]> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...directives,
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `report-uri ${reportsPath}`,
  ];
  return [
    ["Content-Security-Policy", policy.join("; ")],
    ["Referrer-Policy", "no-referrer"],
    ["Cache-Control", "no-store"],
    ["X-Content-Type-Options", "nosniff"],
  ];
}
