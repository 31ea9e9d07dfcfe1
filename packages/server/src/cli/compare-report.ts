import type {
  ComparisonResult,
  DifferenceKind,
  ReasonNotCompared,
  Totals,
} from "../compare/collector.ts";
import type { Aspect } from "../compare/differences.ts";
import { parityRules } from "../compare/parity-rules.ts";
import { isJsonObject, type Json } from "../compare/seen-answer.ts";
import type { ShownAnswer } from "../compare/shown.ts";
import { ownValue } from "../kernel/own.ts";
import { escaped, htmlPage } from "./html-page.ts";

export interface CompareReport {
  /** Origin, without a path. */
  readonly upstream: string;
  /** UTC, for people. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly result: ComparisonResult;
}

/** The report as one JSON object. */
export function compareReportAsJson({
  upstream,
  startedAt,
  endedAt,
  result,
}: CompareReport): string {
  const { totals, endpoints, notCompared, kinds, dropped } = result;
  return JSON.stringify({
    upstream,
    started_at: startedAt,
    ended_at: endedAt,
    totals,
    endpoints,
    not_compared: notCompared,
    differences: kinds.map(
      ({ endpoint, aspect, path, upstream: theirs, cofre, rule, isConsequence, count, first }) => ({
        endpoint,
        aspect,
        path,
        upstream: theirs,
        cofre,
        rule,
        consequence: isConsequence,
        count,
        first,
      }),
    ),
    differences_not_kept: dropped,
  });
}

const totalColumns = [
  ["requests", "requests"],
  ["equal", "equal"],
  ["known", "known"],
  ["unknown", "unknown"],
  ["not_compared", "not compared"],
] as const satisfies readonly (readonly [keyof Totals, string])[];

const notComparedTexts: Readonly<Record<ReasonNotCompared, string>> = {
  upstream_failed: "the upstream gave no usable answer",
  answer_cut: "the upstream cut its answer short",
  answer_too_long: "the answer was too long",
  key_not_replaced: "the key could not be replaced in the request's encoding",
  made_before: "the payment was made before the comparison began",
  twin_failed: "Cofre gave no answer",
};

/** The summary for a terminal. */
export function compareReportAsText({ result }: CompareReport): readonly string[] {
  const { totals, endpoints, kinds, dropped } = result;
  const rows = [
    ["endpoint", ...totalColumns.map(([, title]) => title)],
    ...[...Object.entries(endpoints), ["all", totals] as const].map(([name, each]) => [
      name,
      ...totalColumns.map(([column]) => String(each[column])),
    ]),
  ];
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const table = rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths?.[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  "),
  );
  return [
    ...table,
    ...groupsOf(kinds).flatMap(({ title, members }) =>
      members.length === 0 ? [] : ["", `${title}:`, ...members.map((kind) => `  ${lineOf(kind)}`)],
    ),
    ...reasonLines(result),
    ...(dropped === 0 ? [] : ["", `${dropped} differences of further kinds were not kept.`]),
  ];
}

function reasonLines({ notCompared }: ComparisonResult): readonly string[] {
  const reasons = Object.entries(notCompared);
  return reasons.length === 0
    ? []
    : [
        "",
        "Not compared:",
        ...reasons.map(
          ([reason, count]) => `  ${count}: ${ownValue(notComparedTexts, reason) ?? reason}`,
        ),
      ];
}

interface Group {
  readonly title: string;
  readonly members: readonly DifferenceKind[];
}

function groupsOf(kinds: readonly DifferenceKind[]): readonly Group[] {
  return [
    {
      title: "Unknown differences",
      members: kinds.filter(({ rule, isConsequence }) => rule === null && !isConsequence),
    },
    {
      title: "Known differences (docs/wire/parity.md)",
      members: kinds.filter(({ rule, isConsequence }) => rule !== null && !isConsequence),
    },
    {
      title: "Consequences of earlier differences",
      members: kinds.filter(({ isConsequence }) => isConsequence),
    },
  ];
}

function lineOf(kind: DifferenceKind): string {
  const times = kind.count === 1 ? "once" : `${kind.count} times`;
  const rule = kind.rule === null ? "" : ` [${kind.rule}]`;
  return `${kind.endpoint}  ${sentenceOf(kind)}, ${times}${rule}`;
}

/** The difference in words. */
function sentenceOf(kind: DifferenceKind): string {
  return sentences[kind.aspect](kind);
}

const sides = ({ upstream, cofre }: DifferenceKind): string =>
  `${upstream} upstream, ${cofre} in Cofre`;

const sentences: Readonly<Record<Aspect, (kind: DifferenceKind) => string>> = {
  outcome: (kind) => `outcome differs: ${sides(kind)}`,
  code: (kind) => `another code: ${sides(kind)}`,
  http_status: (kind) => `another HTTP status: ${sides(kind)}`,
  header: (kind) => `header ${kind.path}: ${sides(kind)}`,
  body: (kind) => `another kind of body: ${sides(kind)}`,
  missing: ({ path, upstream }) => `${path}: only the upstream has it (${upstream})`,
  added: ({ path, cofre }) => `${path}: only Cofre has it (${cofre})`,
  type: (kind) => `${kind.path}: ${sides(kind)}`,
  value: ({ path, upstream, cofre }) =>
    `${path === "" ? "body" : path}: ${quoted(upstream)} upstream, ${quoted(cofre)} in Cofre`,
  format: (kind) => `${kind.path}: the form is ${sides(kind)}`,
  order: ({ path }) => `${path === "" ? "the answer" : path}: its members have another order`,
  length: ({ path, upstream, cofre }) => `${path}: ${upstream} members upstream, ${cofre} in Cofre`,
};

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** One page with everything. */
export function compareReportAsHtml(report: CompareReport): string {
  const { upstream, startedAt, endedAt, result } = report;
  const { totals, kinds, endpoints } = result;
  const used = new Set(kinds.map(({ rule }) => rule));
  const rules = parityRules.filter(({ id }) => used.has(id));
  return htmlPage(`Cofre and ${upstream}`, style, [
    `<h1>Cofre and ${escaped(upstream)}</h1>`,
    `<p class="quiet">${escaped(startedAt)} to ${escaped(endedAt)} UTC. ${totals.requests} requests, ${totals.unknown} with unknown differences.</p>`,
    totalsTable(endpoints, totals),
    ...reasonLines(result)
      .filter((line) => line !== "")
      .map((line) => `<p class="quiet">${escaped(line)}</p>`),
    ...groupsOf(kinds).flatMap(({ title, members }) => [
      `<h2>${escaped(title)}</h2>`,
      ...(members.length === 0 ? [`<p class="quiet">None.</p>`] : members.map(kindAsHtml)),
    ]),
    ...(rules.length === 0
      ? []
      : [
          "<h2>Parity rows</h2>",
          "<dl>",
          ...rules.map(
            ({ id, section, summary }) =>
              `<dt id="${escaped(id)}"><code>${escaped(id)}</code></dt><dd>${escaped(summary)} <span class="quiet">docs/wire/parity.md, ${escaped(section)}</span></dd>`,
          ),
          "</dl>",
        ]),
  ]);
}

function totalsTable(endpoints: ComparisonResult["endpoints"], totals: Readonly<Totals>): string {
  const rows = [...Object.entries(endpoints), ["all", totals] as const].map(
    ([name, each]) =>
      `<tr><th scope="row">${escaped(name)}</th>${totalColumns.map(([column]) => `<td>${each[column]}</td>`).join("")}</tr>`,
  );
  const head = totalColumns.map(([, title]) => `<th scope="col">${title}</th>`).join("");
  return `<table><thead><tr><th scope="col">endpoint</th>${head}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function kindAsHtml(kind: DifferenceKind): string {
  const { endpoint, rule, count, first } = kind;
  const { request, upstream, cofre, at } = first;
  const ruleLink =
    rule === null
      ? ""
      : ` <a href="#${escaped(rule)}"><code>${escaped(rule)}</code></a> explains it.`;
  const sent = `${request.method} ${request.path}\n${JSON.stringify(request.parameters, undefined, 2)}`;
  const omitted =
    request.parameters_omitted === 0
      ? ""
      : ` (without ${request.parameters_omitted} that are not shown)`;
  return [
    `<details class="kind"><summary><b>${escaped(endpoint)}</b> <span>${escaped(sentenceOf(kind))}</span> <span class="count">${count}</span></summary><div>`,
    `<p class="quiet">First at ${escaped(at)}.${ruleLink}</p>`,
    `<div class="sides"><section><h3>Upstream</h3><pre>${sideAsHtml(upstream, kind, kind.upstream)}</pre></section>`,
    `<section><h3>Cofre</h3><pre>${sideAsHtml(cofre, kind, kind.cofre)}</pre></section></div>`,
    `<details><summary>Parameters of the request${omitted}</summary><pre>${escaped(sent)}</pre></details>`,
    "</div></details>",
  ].join("\n");
}

const outcomePaths: ReadonlySet<string> = new Set([
  "status",
  "status_code",
  "payment.status",
  "payment.transaction_status.code",
  "payment.transaction_status.description",
  "card_verification.transaction_status.code",
]);

function sideAsHtml(
  { http_status: status, content_type: type, body }: ShownAnswer,
  { aspect, path }: DifferenceKind,
  header: string,
): string {
  const isMarked = (at: string): boolean =>
    aspect === "outcome" ? outcomePaths.has(at) : aspect !== "header" && at === path;
  const mark = (text: string, marked: boolean): string =>
    marked ? `<mark>${escaped(text)}</mark>` : escaped(text);
  return [
    mark(`HTTP ${status}`, aspect === "http_status"),
    mark(type ?? "no content type", aspect === "header" && path === "content-type"),
    ...(aspect === "header" && path !== "content-type" ? [mark(`${path}: ${header}`, true)] : []),
    ...linesOf("", "", body, "").map(({ text, at }) => mark(text, at !== "" && isMarked(at))),
  ].join("\n");
}

interface Line {
  readonly text: string;
  /** The path of the member in the line. */
  readonly at: string;
}

/** JSON with one line per member. */
function linesOf(indent: string, name: string, value: Json, at: string): readonly Line[] {
  const start = `${indent}${name === "" ? "" : `${JSON.stringify(name)}: `}`;
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return [
      { text: `${start}[`, at },
      ...(value as readonly Json[]).flatMap((member) => linesOf(inner, "", member, `${at}[]`)),
      { text: `${indent}]`, at: "" },
    ];
  if (isJsonObject(value))
    return [
      { text: `${start}{`, at },
      ...Object.entries(value).flatMap(([key, member]) =>
        linesOf(inner, key, member, at === "" ? key : `${at}.${key}`),
      ),
      { text: `${indent}}`, at: "" },
    ];
  return [{ text: `${start}${JSON.stringify(value)}`, at }];
}

const style = `
.quiet { color: color-mix(in srgb, CanvasText 65%, Canvas); }
main { max-width: 90rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { overflow-wrap: normal; padding: .25rem .75rem; text-align: right; border-bottom: 1px solid color-mix(in srgb, CanvasText 14%, Canvas); }
th:first-child { text-align: left; padding-left: 0; font-weight: normal; }
thead th { font-weight: 600; }
.kind { border: 1px solid color-mix(in srgb, CanvasText 18%, Canvas); border-radius: 8px; margin: .5rem 0; }
.kind > summary { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .5rem .75rem; cursor: pointer; }
.kind > div { padding: 0 .75rem .75rem; }
.count { margin-left: auto; font-variant-numeric: tabular-nums; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.sides section { min-width: 0; }
.sides pre { white-space: pre-wrap; }
mark { background: color-mix(in srgb, orange 40%, Canvas); color: CanvasText; }
dt { margin-top: .75rem; }
dd { margin: 0; }
@media (max-width: 50rem) { .sides { grid-template-columns: 1fr; } table { display: block; overflow-x: auto; } }
`;
