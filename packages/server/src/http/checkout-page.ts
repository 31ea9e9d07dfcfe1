import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";
import {
  fieldsScript,
  fieldsStyle,
  type PageLanguage,
  languageOf,
  pageHeaders,
} from "./fields-files.ts";
import { es } from "./checkout-texts-es.ts";
import { ptBr } from "./checkout-texts-pt-br.ts";
import { compressedLater, htmlPage, servedOnce } from "./page-files.ts";

/** The document of the hosted page, and its script and style. */

/**
 * What the customer sees. `waiting`: a card was submitted and its outcome is not known; nothing else
 * can be paid. `closed`: cancelled by the shop, or too late.
 */
export type PageState = "open" | "waiting" | "paid" | "declined" | "closed";

/** Fields that the page can ask for, in its order. */
export const pageFields = [
  "document",
  "phone_number",
  "zipcode",
  "address",
  "street_number",
  "city",
  "state",
  "responsible",
] as const;
export type PageField = (typeof pageFields)[number];

/** What the page needs to know about its payment. Nothing that a customer has typed. */
export interface ShownPage {
  readonly hash: string;
  readonly account: string;
  readonly shop: string;
  readonly country: string;
  /** Decimal texts and the currency's code. */
  readonly total: string;
  readonly tax: string;
  readonly currency: string;
  /** The amount in the currency of the shop, if that is another one. */
  readonly requested: string | undefined;
  /** Numbers of instalments that the customer can choose, with the amount of one. */
  readonly instalments: readonly (readonly [count: number, each: string])[];
  readonly credit: boolean;
  readonly debit: boolean;
  readonly fields: readonly PageField[];
  readonly state: PageState;
  readonly try: number;
  readonly declined: boolean;
  readonly url: string | undefined;
  readonly testCards: readonly { readonly number: string; readonly outcome: string }[];
}

const scripts = {
  en: fieldsScript("checkout", "en", "The hosted page: takes the card's data and pays with it."),
  es: fieldsScript("checkout", "es", "The hosted page: takes the card's data and pays with it."),
  "pt-BR": fieldsScript(
    "checkout",
    "pt-BR",
    "The hosted page: takes the card's data and pays with it.",
  ),
} as const satisfies Record<PageLanguage, unknown>;
const style = fieldsStyle("checkout.css", "The look of the hosted page.");

const ownFile = [
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["X-Content-Type-Options", "nosniff"],
] as const;

/** The files of the hosted page, for the inventory of scripts (PCI DSS 6.4.3). */
export const checkoutParts = [...Object.values(scripts), style];

export const checkoutFiles: readonly OpenEndpoint[] = checkoutParts.map(({ path, type, read }) =>
  servedOnce(path, async () =>
    compressedLater({ status: 200, type, body: (await read()).body, headers: ownFile }),
  ),
);

const headers = [
  ...pageHeaders(["connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'"]),
  ["Cross-Origin-Opener-Policy", "same-origin"],
] as const;

const withoutScript = {
  en: "This page needs JavaScript: a card number is never sent as a form.",
  es,
  "pt-BR": ptBr,
} as const satisfies Record<PageLanguage, string>;

/**
 * The page of a payment. Its values are in an attribute, from which the script makes texts: nothing
 * of them is parsed as HTML.
 */
export async function checkoutPage(
  shown: ShownPage,
  asked: string | undefined,
): Promise<WireResponse> {
  const lang = languageOf(asked, shown.country);
  const script = scripts[lang];
  const [{ integrity: ofScript }, { integrity: ofStyle }] = [
    await script.read(),
    await style.read(),
  ];
  return {
    status: 200,
    type: htmlPage,
    body: `<!doctype html>
<html lang="${lang}" data-page="${encodeURIComponent(JSON.stringify(shown))}">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width" />
<title>Cofre</title>
<link rel="stylesheet" href="${style.path}" integrity="${ofStyle}" />
<script type="module" src="${script.path}" integrity="${ofScript}"></script>
</head>
<body><noscript>${withoutScript[lang]}</noscript></body>
</html>
`,
    headers,
  };
}

/** Unknown, cancelled and lapsed pages look the same. */
export const refusedCheckout: WireResponse = {
  status: 404,
  type: htmlPage,
  body: '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width" /><title>Cofre</title><main><h1>This payment page is not available</h1><p lang="es">Esta página de pago no está disponible.</p><p lang="pt-BR">Esta página de pagamento não está disponível.</p></main></html>\n',
  headers,
};
