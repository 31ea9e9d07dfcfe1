import { isFieldOrigin, isOwnMachine, readFieldOrigins } from "../merchant/field-origins.ts";
import type { AccountSettings } from "../merchant/account.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { textOf, type TreeObject } from "../wire/decode/tree.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import type { EndpointDeps } from "../wire/endpoints/deps.ts";
import { checkoutParts } from "./checkout-page.ts";
import {
  fieldsScript,
  fieldsStyle,
  type PageLanguage,
  languageOf,
  loader,
  type PageFile,
  pageHeaders,
} from "./fields-files.ts";
import { compressedLater, htmlPage, pageEndpoint, servedOnce } from "./page-files.ts";

interface FieldsParts extends Pick<EndpointDeps, "holderOf"> {
  readonly environment: "sandbox" | "production";
}

const purpose = "Takes the card's data in the frame and exchanges it for a token.";
const scripts: Readonly<Record<PageLanguage, PageFile>> = {
  en: fieldsScript("fields", "en", purpose),
  es: fieldsScript("fields", "es", purpose),
  "pt-BR": fieldsScript("fields", "pt-BR", purpose),
};
const style = fieldsStyle("fields.css", "The look of the frame.");
const files: readonly PageFile[] = [loader, ...Object.values(scripts), style];

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

/** The scripts and styles of the frame, the loader and the hosted page, with digests and purposes. */
async function inventory(): Promise<WireResponse> {
  const rows = await Promise.all(
    [...files, ...checkoutParts].map(async ({ path, purpose, read }) => ({
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
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width" />
<title>Cofre</title>
<link rel="stylesheet" href="${style.path}" integrity="${ofStyle}" />
<script type="module" src="${script.path}" integrity="${ofScript}"></script>
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

function frameHeaders(ancestors: string): NonNullable<WireResponse["headers"]> {
  return pageHeaders(["connect-src 'self'", "form-action 'none'", `frame-ancestors ${ancestors}`]);
}

const refusedFrame: WireResponse = {
  status: 403,
  type: htmlPage,
  body: '<!doctype html><html lang="en"><title>Cofre</title><p>The key is not a public key of this server, or its account does not allow the card fields in this page.</p></html>\n',
  headers: frameHeaders("'none'"),
};
