import { sha256Hex } from "../kernel/digest.ts";
import { search } from "./search.ts";
import { style } from "./style.ts";

/** A page of the documentation. `nav` and `main` are HTML. */
export interface DocsPage {
  readonly title: string;
  readonly heading: string;
  /** Plain text below the heading. */
  readonly summary: string;
  readonly nav: string;
  readonly main: string;
  /** What the search field filters, as the name of the field. */
  readonly searchLabel: string;
}

/** Pages that the server has besides these. */
export interface DocsPlaces {
  /** Cards with a known outcome; none in production. */
  readonly testCards: readonly TestCard[];
  readonly hasConsole: boolean;
}

/** A published test number and what it does in the sandbox. */
export interface TestCard {
  readonly number: string;
  readonly brand: string;
  readonly outcome: string;
}

/** The complete page. Without scripts it is complete too; the search field appears with them. */
export function docsHtml(
  { title, heading, summary, nav, main, searchLabel }: DocsPage,
  { testCards, hasConsole }: DocsPlaces,
): string {
  const places = [
    '<a href="/docs">Operations</a>',
    '<a href="/docs/errors">Errors</a>',
    ...(testCards.length > 0 ? ['<a href="/docs#test-cards">Test cards</a>'] : []),
    ...(hasConsole ? ['<a href="/">Console</a>'] : []),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<div class="page">
<header>
<h1>${escaped(heading)}</h1>
<p class="soft">${escaped(summary)}</p>
<p class="places">${places.join(" ")}</p>
<form role="search" hidden><label for="search">${escaped(searchLabel)}</label><input id="search" type="search" autocomplete="off" spellcheck="false"><output for="search"></output></form>
</header>
${nav}
<main>
${main}
</main>
</div>
<script>${search}</script>
</body>
</html>
`;
}

/** The policy of these pages: their own style and script, and nothing else. */
export const docsPolicy = [
  "default-src 'none'",
  `style-src '${digestOf(style)}'`,
  `script-src '${digestOf(search)}'`,
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function digestOf(text: string): string {
  return `sha256-${Buffer.from(sha256Hex(text), "hex").toString("base64")}`;
}

/** Codes do not break at their dashes. */
export function coded(text: string): string {
  return escaped(text).replaceAll(
    /\b(?:BP|DA|COFRE)(?:-[A-Z]+)*-\d+/g,
    '<span class="code">$&</span>',
  );
}

export function table(heads: readonly string[], rows: readonly string[]): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`;
}

export function row(kind: string, cells: readonly string[]): string {
  return `<tr${kind === "" ? "" : ` class="${kind}"`}>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
}

export const code = (text: string): string => `<code>${escaped(text)}</code>`;

/** Text of the documentation: backticks enclose code. */
export function prose(text: string): string {
  return coded(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
