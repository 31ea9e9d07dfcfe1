import { ownValue } from "../kernel/own.ts";
import type { Schema } from "../wire/schema.ts";
import type { OpenApi, OperationObject, PathItem } from "./types.ts";
import { helpAddressOf } from "../wire/errors/help-address.ts";
import {
  code,
  coded,
  docsHtml,
  type DocsPlaces,
  escaped,
  prose,
  row,
  table,
  type TestCard,
} from "./html.ts";

/** The operations as one page, made from the OpenAPI description only. */
export function docsPage(api: OpenApi, places: DocsPlaces): string {
  const operations = Object.entries(api.paths).flatMap(([path, item]) => shownOf(path, item));
  const groups = api.tags
    .map((tag) => ({
      ...tag,
      operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
    }))
    .filter((group) => group.operations.length > 0);
  const present = groups.filter((group) => group.operations.some(isPresent));
  const absent = groups.filter((group) => !present.includes(group));
  return docsHtml(
    {
      title: `${api.info.title}: operations`,
      heading: api.info.title,
      summary: api.info.summary,
      searchLabel: "Search operations, fields and codes",
      nav: `<nav aria-label="Operations">
${present.map(({ name, operations: members }) => `<div><b>${escaped(name)}</b>${list(members)}</div>`).join("\n")}
<div><b>More</b><ul>${absent.map(({ name }) => `<li><a href="#${idOf(name)}">${escaped(name)}</a></li>`).join("")}<li><a href="#answers">Answers</a></li><li><a href="#common">Errors of every operation</a></li>${places.testCards.length === 0 ? "" : '<li><a href="#test-cards">Test cards</a></li>'}<li><a href="/openapi.json">openapi.json</a></li></ul></div>
</nav>`,
      main: `${api.info.description
        .split("\n\n")
        .map((text) => `<p>${prose(text)}</p>`)
        .join("\n")}
<h4>Variables of the examples</h4>
<pre>${escaped(variables)}</pre>
${groups.map((group) => groupHtml(group)).join("\n")}
${testCardsHtml(places.testCards)}
<h2 id="common">Errors of every operation</h2>
<p class="soft">In addition to the operation's own errors. These messages never repeat request values.</p>
<section>
${errorTable(api["x-errors"])}
</section>
<h2 id="answers">Answers</h2>
<p class="soft">Members in their order. Members marked <i>optional</i> are present only when they apply.</p>
${Object.entries(api.components.schemas)
  .map(([name, schema]) => answerHtml(name, schema))
  .join("\n")}`,
    },
    places,
  );
}

function testCardsHtml(cards: readonly TestCard[]): string {
  if (cards.length === 0) return "";
  const rows = cards.map(({ number, brand, outcome }) =>
    row("", [code(number), escaped(brand), escaped(outcome)]),
  );
  return `<h2 id="test-cards">Test cards</h2>
<p class="soft">With any name, a future expiry date and a security code of three digits (amex: four). Other numbers are declined or refused.</p>
<section>
${table(["Number", "Brand", "Outcome"], rows)}
</section>`;
}

const variables = `COFRE=http://127.0.0.1:8787       # the server's address
KEY=test_ik_...                   # the integration key that the first start printed
PUBLIC_KEY=test_pk_...            # the public integration key
ORDER=order-$(date +%s)           # a payment code can be used once
TOKEN=a-token-of-my-own-for-$ORDER`;

interface Shown {
  readonly path: string;
  readonly methods: readonly string[];
  readonly operation: OperationObject;
}

function shownOf(path: string, { get, post }: PathItem): readonly Shown[] {
  const operation = post ?? get;
  const methods = [get === undefined ? [] : ["GET"], post === undefined ? [] : ["POST"]].flat();
  return operation === undefined ? [] : [{ path, methods, operation }];
}

/** An operation that this version does not have has no example. */
function isPresent({ operation }: Shown): boolean {
  return operation["x-codeSamples"].length > 0;
}

const idOf = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

interface Group {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Shown[];
}

function list(operations: readonly Shown[]): string {
  const items = operations.map(
    ({ path, operation }) =>
      `<li><a href="#${operation.operationId}">${escaped(shortOf(path))}</a></li>`,
  );
  return `<ul>${items.join("")}</ul>`;
}

/** Below /ws the last words of a path identify it. */
function shortOf(path: string): string {
  return path.startsWith("/ws/")
    ? path
        .slice("/ws/".length)
        .replace("merchantIntegrationProperties/", "properties/")
        .replace("properties/is", "is")
    : path;
}

function groupHtml({ name, description, operations }: Group): string {
  const parts = operations.map((shown) =>
    isPresent(shown) ? operationHtml(shown) : absentHtml(shown),
  );
  return `<h2 id="${idOf(name)}">${escaped(name)}</h2>\n<p class="soft">${prose(description)}</p>\n${parts.join("\n")}`;
}

function absentHtml({ path, operation }: Shown): string {
  return `<div class="path" id="${operation.operationId}"><code>${escaped(path)}</code></div>`;
}

function operationHtml({ path, methods, operation }: Shown): string {
  const verbs = methods.map((method) => `<span class="verb">${method}</span>`).join("");
  const body = operation.requestBody?.content["application/json"]?.schema;
  const rows = body === undefined ? [] : fieldRows(body, 0);
  const headers = (operation.parameters ?? []).filter((parameter) => parameter.in === "header");
  return `<section id="${operation.operationId}">
<h3>${escaped(operation.summary)}</h3>
<div class="path">${verbs}<code>${escaped(path)}</code></div>
<p>${prose(operation.description)}</p>
<pre>${escaped(operation["x-codeSamples"].map(({ source }) => source).join("\n"))}</pre>
${rows.length === 0 ? "" : `<h4>Fields</h4>${table(["Field", "Required", "Length", ""], rows)}`}
${
  headers.length === 0
    ? ""
    : `<h4>Headers</h4>${table(
        ["Header", "Length", ""],
        headers.map(({ name, description, schema }) =>
          row("", [code(name), lengthOf(schema), prose(description)]),
        ),
      )}`
}
<h4>Answer</h4>
<p>${answerLine(operation)}</p>
${errorsHtml(operation)}
</section>`;
}

/** In the schema aliases are separate fields; here they follow the first spelling. */
function fieldRows({ properties = {} }: Schema, depth: number): readonly string[] {
  const seen = new Map<string, string[]>();
  for (const [name, schema] of Object.entries(properties)) {
    const text = JSON.stringify(schema);
    const names = seen.get(text);
    const isAlias = names !== undefined && schema.properties !== undefined;
    if (isAlias) names.push(name);
    else seen.set(schema.properties === undefined ? `${name} ${text}` : text, [name]);
  }
  return [...seen.values()].flatMap((names) => {
    const [name = ""] = names;
    const schema = ownValue(properties, name) ?? {};
    const needed = schema["x-required"];
    const must = needed === undefined ? "" : `<span class="must">${coded(needed)}</span>`;
    const shown = names.map(code).join(" or ");
    const own = row(depth === 0 ? "" : depth === 1 ? "in" : "in2", [
      shown,
      must,
      lengthOf(schema),
      prose(schema.description ?? ""),
    ]);
    return [own, ...fieldRows(schema, depth + 1)];
  });
}

function lengthOf({ minLength, maxLength, "x-too-long": tooLong }: Schema): string {
  if (maxLength === undefined) return "";
  const range = minLength === undefined ? `up to ${maxLength}` : `${minLength} to ${maxLength}`;
  if (tooLong === undefined) return range;
  return `${range}, ${tooLong === "truncated" ? "longer values are truncated" : `otherwise ${coded(tooLong)}`}`;
}

function answerLine({ responses }: OperationObject): string {
  return Object.entries(responses)
    .map(([status, { description, content }]) => {
      const names = namesIn(content["application/json"]?.schema ?? {});
      return `<code>${status}</code> ${escaped(description)} ${names.map((name) => `<a href="#answer-${name}">${name}</a>`).join(" or ")}`;
    })
    .join("<br>");
}

/** The components to which a schema refers, each once. */
function namesIn(schema: Schema): readonly string[] {
  const own =
    schema.$ref === undefined ? [] : [schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)];
  return [
    ...new Set([...own, ...[...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap(namesIn)]),
  ];
}

function errorsHtml({ "x-errors": errors }: OperationObject): string {
  if (errors.length === 0) return "";
  return `<details><summary>${errors.length} error codes</summary>${errorTable(errors)}</details>`;
}

function errorTable(errors: OperationObject["x-errors"]): string {
  const rows = errors.map(({ code: name, message, condition }) =>
    row("", [
      `<a href="${helpAddressOf(name)}">${code(name)}</a>`,
      escaped(message),
      `<span class="soft">${escaped(condition)}</span>`,
    ]),
  );
  return table(["Code", "Message", "When"], rows);
}

function answerHtml(name: string, schema: Schema): string {
  const { properties = {}, required = [] } = schema;
  const rows = Object.entries(properties).map(([member, value]) =>
    row("", [
      code(member),
      escaped(kindOf(value)),
      `${required.includes(member) ? "" : "<i>optional</i> "}${prose(value.description ?? "")}`,
    ]),
  );
  const about = schema.description === undefined ? "" : `<p>${prose(schema.description)}</p>`;
  return `<section id="answer-${name}"><h3>${name}</h3>${about}${rows.length === 0 ? "<p>No members.</p>" : table(["Member", "Kind", ""], rows)}</section>`;
}

function kindOf({ $ref, type, enum: values, const: only, items, properties }: Schema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf("/") + 1);
  if (values !== undefined) return values.join(", ");
  if (only !== undefined) return String(only);
  if (items !== undefined) return `list of ${kindOf(items)}`;
  if (properties !== undefined) return `object with ${Object.keys(properties).join(", ")}`;
  return typeof type === "string" ? type : (type ?? []).join(" or ");
}
