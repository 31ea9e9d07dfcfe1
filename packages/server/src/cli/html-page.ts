/**
 * A report as one file without scripts and without anything from elsewhere. The title is text, the
 * lines of `body` are HTML.
 */
export function htmlPage(title: string, style: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${commonStyle}${style}</style>
</head>
<body>
<main>
${body.join("\n")}
</main>
</body>
</html>
`;
}

const commonStyle = `
body { margin: 0; font: 14px/1.5 system-ui, sans-serif; color: CanvasText; background: Canvas; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
pre { overflow-x: auto; padding: .75rem; border-radius: 6px; background: color-mix(in srgb, CanvasText 6%, Canvas); }
`;

const entities: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

/** Text inside an element or a quoted attribute. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities.get(character) ?? "");
}
