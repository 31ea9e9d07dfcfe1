import type { DocumentedEndpoint } from "../packages/server/test/keyed-endpoints.ts";
import { documentedEndpoints } from "../packages/server/test/keyed-endpoints.ts";

/**
 * The requests of `/docs` as a collection for Bruno, made from the same table: `npm run docs`
 * writes `examples/bruno`, and a test compares.
 */
const preparing = "Prerequisites";

type Needs = Exclude<DocumentedEndpoint["needs"], undefined>;

/** What an example needs is made by another one, changed a little. */
const prerequisites: Readonly<
  Record<
    Needs,
    {
      readonly name: string;
      readonly from: string;
      readonly card?: Readonly<Record<string, boolean>>;
    }
  >
> = {
  stored: { name: "Stored card", from: "/ws/token" },
  held: { name: "Authorized payment", from: "/ws/direct", card: { auto_capture: false } },
  captured: { name: "Captured payment", from: "/ws/direct", card: { auto_capture: true } },
};

interface BrunoRequest {
  readonly folder: string;
  /** The file's name, without `.bru`. */
  readonly file: string;
  readonly name: string;
  readonly place: number;
  readonly path: string;
  readonly body: unknown;
  readonly before: readonly string[];
  readonly text: string;
}

/** The files of the collection by their path, relative to its folder. */
export function brunoCollection(): ReadonlyMap<string, string> {
  const endpoints = documentedEndpoints();
  const tags = [...new Set(endpoints.map(({ tag }) => tag))];
  const requests = [
    ...Object.values(prerequisites).map((each, index) => prerequisite(endpoints, each, index + 1)),
    ...tags.flatMap((tag) =>
      endpoints.filter((each) => each.tag === tag).map((each, index) => example(each, index + 1)),
    ),
  ];
  return new Map([
    [
      "bruno.json",
      `${JSON.stringify({ version: "1", name: "Cofre", type: "collection" }, undefined, 2)}\n`,
    ],
    // `cofre run` sets these variables for the command that it runs.
    [
      "environments/cofre-run.bru",
      block("vars", [
        "url: {{process.env.COFRE_URL}}",
        "integration_key: {{process.env.COFRE_INTEGRATION_KEY}}",
        "public_integration_key: {{process.env.COFRE_PUBLIC_INTEGRATION_KEY}}",
      ]),
    ],
    [
      "environments/local.bru",
      `${block("vars", ["url: http://127.0.0.1:8787"])}\nvars:secret [\n  integration_key,\n  public_integration_key\n]\n`,
    ],
    ...[preparing, ...tags].map(
      (folder, index) =>
        [`${folder}/folder.bru`, block("meta", [`name: ${folder}`, `seq: ${index + 1}`])] as const,
    ),
    ...requests.map(
      (request) => [`${request.folder}/${request.file}.bru`, written(request)] as const,
    ),
  ]);
}

function prerequisite(
  endpoints: readonly DocumentedEndpoint[],
  { name, from, card = {} }: (typeof prerequisites)[Needs],
  place: number,
): BrunoRequest {
  const endpoint = endpoints.find(({ path }) => path === from);
  if (endpoint === undefined) throw new Error(`no endpoint has the path ${from}`);
  const { payment, ...rest } = endpoint.example as {
    readonly payment?: { readonly creditcard?: object };
  };
  return {
    ...example(endpoint, place),
    folder: preparing,
    file: fileOf(name),
    name,
    body:
      payment === undefined
        ? rest
        : { ...rest, payment: { ...payment, creditcard: { ...payment.creditcard, ...card } } },
    text: "Other requests run this one first.",
  };
}

function example(endpoint: DocumentedEndpoint, place: number): BrunoRequest {
  const { id, tag, summary, description, path, needs, example: body } = endpoint;
  const text = JSON.stringify(body);
  const fresh = [
    ...(text.includes("$ORDER") ? [`bru.setVar("order", "order-" + unique);`] : []),
    ...(text.includes("$TOKEN")
      ? [`bru.setVar("token", ("token-" + unique).padEnd(40, "x"));`]
      : []),
  ];
  return {
    folder: tag,
    file: id,
    name: summary,
    place,
    path,
    body,
    before:
      needs === undefined
        ? fresh.length === 0
          ? []
          : ["const unique = Date.now() + Math.random().toString(36).slice(2);", ...fresh]
        : [`await bru.runRequest("${preparing}/${fileOf(prerequisites[needs].name)}");`],
    text: description,
  };
}

function fileOf(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}

function written({ name, place, path, body, before, text }: BrunoRequest): string {
  return [
    block("meta", [`name: ${name}`, "type: http", `seq: ${place}`]),
    block("post", [`url: {{url}}${path}`, "body: json", "auth: none"]),
    block("body:json", withVariables(JSON.stringify(body, undefined, 2)).split("\n")),
    // An error has the HTTP status 200 too.
    block("assert", ["res.status: eq 200", "res.body.status_code: isUndefined"]),
    ...(before.length === 0 ? [] : [block("script:pre-request", before)]),
    block("docs", text.split("\n")),
  ].join("\n");
}

function block(name: string, lines: readonly string[]): string {
  return `${name} {\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}\n}\n`;
}

function withVariables(text: string): string {
  return text
    .replaceAll("$PUBLIC_KEY", "{{public_integration_key}}")
    .replaceAll("$KEY", "{{integration_key}}")
    .replaceAll("$ORDER", "{{order}}")
    .replaceAll("$TOKEN", "{{token}}")
    .replaceAll("$DUE", "12/2060");
}
