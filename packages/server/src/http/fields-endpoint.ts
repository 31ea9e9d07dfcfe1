import { createHash } from "node:crypto";
import { isFieldOrigin, isOwnMachine, readFieldOrigins } from "../merchant/field-origins.ts";
import type { AccountSettings } from "../merchant/account.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { textOf, type TreeObject } from "../wire/decode/tree.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import type { EndpointDeps } from "../wire/endpoints/deps.ts";
import { reportsPath } from "./fields-reports.ts";
import { linkedScript } from "./linked-script.ts";
import {
  compressedLater,
  htmlPage,
  javascript,
  pageEndpoint,
  readOnce,
  servedOnce,
  stylesheet,
  textOfFile,
} from "./page-files.ts";
import { withoutComments } from "./page-script.ts";

interface FieldsParts extends Pick<EndpointDeps, "holderOf"> {
  readonly environment: "sandbox" | "production";
}

/** A file with the digest of its content, by which browsers check it. */
interface PageFile {
  readonly path: string;
  readonly type: string;
  /** One sentence for the inventory of scripts (PCI DSS 6.4.3). */
  readonly purpose: string;
  readonly read: () => Promise<{ readonly body: string; readonly integrity: string }>;
}

/** Languages of the fields, and the modules of their texts. */
const languages = { en: "messages-en", es: "messages-es", "pt-BR": "messages-pt-br" } as const;
/** A language of the pages for customers. */
export type PageLanguage = keyof typeof languages;
const languageNames = Object.keys(languages) as PageLanguage[];

/** The script of the frame with the texts of one language. */
function scriptOf(language: PageLanguage): PageFile {
  const read = (name: string): Promise<string> =>
    scriptOfFields(name === "./messages.js" ? `./${languages[language]}.js` : name);
  return {
    path: `/fields/fields-${language.toLowerCase()}.js`,
    type: javascript,
    purpose: `Takes the card's data in the frame and exchanges it for a token (${language}).`,
    read: withIntegrity(() => linkedScript("./fields.js", read).then(withoutIndentation)),
  };
}

const scripts: Readonly<Record<PageLanguage, PageFile>> = {
  en: scriptOf("en"),
  es: scriptOf("es"),
  "pt-BR": scriptOf("pt-BR"),
};

const style: PageFile = {
  path: "/fields/fields.css",
  type: stylesheet,
  purpose: "The look of the frame.",
  read: withIntegrity(async () => withoutIndentation(await textOfFields("fields.css"))),
};

const loader: PageFile = {
  path: "/cofre.js",
  type: javascript,
  purpose: "Puts the frame into the page of the shop. It gets no card data.",
  read: withIntegrity(async () => withoutIndentation(await scriptOfFields("cofre.js"))),
};

const files: readonly PageFile[] = [loader, ...Object.values(scripts), style];

/** A file of packages/fields. */
export function textOfFields(name: string): Promise<string> {
  return textOfFile(new URL(name, new URL("../../../fields/src/", import.meta.url)));
}

async function scriptOfFields(name: string): Promise<string> {
  return withoutComments(await textOfFields(name));
}

/** No text of these files goes over the end of a line. */
export function withoutIndentation(text: string): string {
  return text.replaceAll(/\n\s+/g, "\n");
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

/** Pages of other origins load the loader, and check it. */
export const publicFile = [
  ["Access-Control-Allow-Origin", "*"],
  ["Cross-Origin-Resource-Policy", "cross-origin"],
  ["X-Content-Type-Options", "nosniff"],
] as const;
export const ownFile = [
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["X-Content-Type-Options", "nosniff"],
] as const;

/**
 * The card fields (docs/checkout.md): a frame of this server's origin in the page of a shop, its
 * files, and `/cofre.js`, which puts it there. Only pages of the account's `fieldOrigins` can
 * contain it.
 */
export function fieldsEndpoints(parts: FieldsParts): readonly OpenEndpoint[] {
  return [
    ...files.map(({ path, type, read }) =>
      servedOnce(path, async () =>
        compressedLater({
          status: 200,
          type,
          body: (await read()).body,
          headers: path === loader.path ? publicFile : ownFile,
        }),
      ),
    ),
    servedOnce("/cofre.js.integrity", inventory),
    pageEndpoint("/fields", async ({ params }) => framePage(params, parts)),
  ];
}

/** The scripts and styles of the frame and the loader, with digests and purposes. */
async function inventory(): Promise<WireResponse> {
  const rows = await Promise.all(
    files.map(async ({ path, purpose, read }) => ({
      path,
      integrity: (await read()).integrity,
      purpose,
    })),
  );
  return { status: 200, body: JSON.stringify({ files: rows }), headers: publicFile };
}

async function framePage(
  params: TreeObject,
  { holderOf, environment }: FieldsParts,
): Promise<WireResponse> {
  const key = textOf(params, "key") ?? "";
  const origin = textOf(params, "origin") ?? "";
  const country = textOf(params, "country")?.toLowerCase() ?? "";
  const holder = key === "" || key.length > 100 ? undefined : await holderOf(key);
  // The same page for an unknown key, a secret key and a foreign origin.
  if (holder?.grants !== "public") return refusedFrame;
  const ancestors = ancestorsOf(holder.account.settings, environment, origin);
  if (ancestors === undefined) return refusedFrame;
  const lang = languageOf(textOf(params, "lang"), country);
  const script = scripts[lang];
  const [{ integrity: ofScript }, { integrity: ofStyle }] = [
    await script.read(),
    await style.read(),
  ];
  const data = {
    key,
    origin,
    country: /^[a-z]{2}$/.test(country) ? country : "",
    only: textOf(params, "only") === "code" ? "code" : "",
  };
  const attributes = Object.entries(data).map(
    ([name, value]) => `data-${name}="${encodeURIComponent(value)}"`,
  );
  return {
    status: 200,
    type: htmlPage,
    body: `<!doctype html>
<html lang="${lang}" ${attributes.join(" ")}>
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width" />
<title>Cofre</title>
<link rel="stylesheet" href="${style.path}" integrity="${ofStyle}" />
<script type="module" src="${script.path}" integrity="${ofScript}"></script>
</head>
<body></body>
</html>
`,
    headers: frameHeaders(ancestors.join(" ")),
  };
}

/**
 * The origins that may contain the frame; undefined if `origin` is not one of them. Without any, a
 * sandbox allows pages of this machine.
 */
export function ancestorsOf(
  { fieldOrigins }: AccountSettings,
  environment: FieldsParts["environment"],
  origin: string,
): readonly string[] | undefined {
  const allowed = readFieldOrigins(fieldOrigins) ?? [];
  if (allowed.includes(origin)) return allowed;
  return allowed.length === 0 &&
    environment === "sandbox" &&
    isFieldOrigin(origin) &&
    isOwnMachine(origin)
    ? [origin]
    : undefined;
}

export function languageOf(asked: string | undefined, country: string): PageLanguage {
  const named = languageNames.find((each) => each.toLowerCase() === asked?.toLowerCase());
  if (named !== undefined) return named;
  if (country === "") return "en";
  return country === "br" ? "pt-BR" : "es";
}

function frameHeaders(ancestors: string): NonNullable<WireResponse["headers"]> {
  return pageHeaders(["connect-src 'self'", "form-action 'none'", `frame-ancestors ${ancestors}`]);
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

const refusedFrame: WireResponse = {
  status: 403,
  type: htmlPage,
  body: '<!doctype html><html lang="en"><title>Cofre</title><p>The key is not a public key of this server, or its account does not allow the card fields in this page.</p></html>\n',
  headers: frameHeaders("'none'"),
};
