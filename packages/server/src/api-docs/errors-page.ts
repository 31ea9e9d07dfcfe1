import { type DocumentedError, documentedErrors } from "../wire/errors/error-reference.ts";
import { code, docsHtml, type DocsPlaces, escaped, prose } from "./html.ts";
import type { OpenApi, OperationObject } from "./types.ts";

interface Sender {
  readonly path: string;
  readonly id: string;
}

/** Every code that is sent: its cause, an example of the answer, and what to do. */
export function errorsPage(api: OpenApi, places: DocsPlaces): string {
  const sent = documentedErrors.filter(({ tested }) => tested !== "never sent");
  const groups = Map.groupBy(sent, ({ code: name }) => seriesOf(name));
  const senders = sendersOf(api);
  const common = new Set(api["x-errors"].map(({ code: name }) => name));
  return docsHtml(
    {
      title: `${api.info.title}: errors`,
      heading: "Errors",
      summary:
        "Every error code with its cause, an example and the remedy. A declined card is not an error: it is a payment with the status CA.",
      searchLabel: "Search codes, messages and remedies",
      nav: `<nav aria-label="Series of codes"><div><b>Series</b><ul>${[...groups.keys()].map((series) => `<li><a href="#${series}">${series}</a></li>`).join("")}</ul></div></nav>`,
      main: Array.from(
        groups,
        ([series, errors]) =>
          `<h2 id="${series}">${series}</h2>\n${errors.map((error) => errorHtml(error, senders.get(error.code) ?? [], common.has(error.code))).join("\n")}`,
      ).join("\n"),
    },
    places,
  );
}

/** The part of a code before its number. */
function seriesOf(name: string): string {
  return name.slice(0, name.lastIndexOf("-"));
}

function sendersOf(api: OpenApi): ReadonlyMap<string, readonly Sender[]> {
  const senders = new Map<string, Sender[]>();
  for (const [path, { get, post }] of Object.entries(api.paths)) {
    const operation: OperationObject | undefined = post ?? get;
    for (const { code: name } of operation?.["x-errors"] ?? []) {
      const known = senders.get(name) ?? [];
      known.push({ path, id: operation?.operationId ?? "" });
      senders.set(name, known);
    }
  }
  return senders;
}

function errorHtml(error: DocumentedError, senders: readonly Sender[], isCommon: boolean): string {
  const { code: name, message, example, httpStatuses, condition, remedy = "" } = error;
  const answer = { status: "ERROR", status_code: name, status_message: example };
  const links = senders.map(({ path, id }) => `<a href="/docs#${id}">${code(path)}</a>`);
  const places = isCommon ? ["every operation", ...links] : links;
  return `<section id="${name}">
<h3>${name}</h3>
<p>${escaped(message)}</p>
<h4>Cause</h4>
<p>${prose(sentence(condition))}</p>
<h4>Remedy</h4>
<p>${prose(remedy)}</p>
<h4>Example</h4>
<pre>HTTP ${httpStatuses.join(" or ")}
${escaped(JSON.stringify(answer, undefined, 2))}</pre>
${places.length === 0 ? "" : `<p class="soft">Sent by ${places.join(", ")}</p>`}
</section>`;
}

/**
 * A condition of the error table as a sentence. One that begins with a path says where it applies.
 */
function sentence(condition: string): string {
  if (condition.startsWith("/")) return `A request to ${condition}.`;
  const isWord = /^[a-z]+(?!:)\b/.test(condition);
  return `${isWord ? condition.charAt(0).toUpperCase() + condition.slice(1) : condition}.`;
}
