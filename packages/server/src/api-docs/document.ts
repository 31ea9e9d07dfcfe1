import { type DocumentedError, documentedErrors } from "../wire/errors/error-reference.ts";
import type { ErrorCode } from "../wire/errors/refusal.ts";
import { exampleDueDate } from "../vault/card-due-date.ts";
import type { Instant } from "../kernel/instant.ts";
import type { ServedEndpoint } from "../wire/endpoint.ts";
import { type HealthProbe, healthProbes, healthSchema } from "../wire/endpoints/health.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";
import { errorSchema } from "../wire/answers/refusal-answer.ts";
import type { NamedSchema, Schema } from "../wire/schema.ts";
import { componentsOf, refTo } from "./components.ts";
import { curlOf } from "./curl.ts";
import type { EndpointDoc, Tag } from "../wire/endpoint-doc.ts";
import type { Field, FieldType } from "../wire/field.ts";
import type {
  Answer,
  OpenApi,
  OperationObject,
  Parameter,
  PathItem,
  RequestBody,
} from "./types.ts";

/** Codes that every operation may return: malformed requests, overload, and internal failures. */
export const commonCodes: readonly ErrorCode[] = [
  ...Object.values(requestErrors),
  "COFRE-21" as const,
].filter(
  // The codes for unknown paths belong to no operation.
  (code) => code !== requestErrors.not_found && code !== requestErrors.unknown_operation,
);

const common: ReadonlySet<string> = new Set(commonCodes);
const idempotencyCodes: readonly ErrorCode[] = ["COFRE-44", "COFRE-45", "COFRE-46"];
const errors: ReadonlyMap<string, DocumentedError> = new Map(
  documentedErrors.map((row) => [row.code, row]),
);

const tags: Readonly<Record<Tag | "Not implemented", string>> = {
  Cards: "Store or verify a card.",
  Payments: "Charge, capture, cancel and get payments.",
  Refunds: "Refund payments.",
  Utilities: "Exchange rates, lookups, notifications, account settings and health.",
  Browsers: "Called by web pages of other origins, with only the public key.",
  Sandbox:
    "Simulate events of issuers, acquirers and reviewers, inspect payments, and control worlds.",
  "Not implemented":
    "Operations of the interface that this version does not implement. They return an error.",
};

/** The OpenAPI description of these endpoints, and of the health probes. */
export function openApiDocument(endpoints: readonly ServedEndpoint[], now: Instant): OpenApi {
  return {
    openapi: "3.1.0",
    info: {
      title: "Cofre",
      version: "0.1.0",
      summary: "A card vault and card payment service that you run yourself.",
      description: introduction,
    },
    servers: [{ url: "/", description: "The server of this document." }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    "x-errors": errorsOf(commonCodes),
    paths: {
      ...Object.fromEntries(endpoints.flatMap((endpoint) => pathItem(endpoint, now))),
      ...Object.fromEntries(
        healthProbes.map((probe) => [probe.path, { get: probeOperation(probe) }]),
      ),
    },
    components: {
      schemas: componentsOf([
        errorSchema,
        ...endpoints.flatMap(({ doc }) => (typeof doc === "string" ? [] : schemasOf(doc))),
        healthSchema,
      ]),
      requestBodies: { Encodings: encodings },
      securitySchemes: {
        secret: keyScheme(
          "integration_key",
          "The account's secret key. Never use it in a browser.",
        ),
        public: keyScheme(
          "public_integration_key",
          "The account's public key. It can only store cards and set their security codes.",
        ),
        page: keyScheme(
          "publicIntegrationKey",
          "The public key, as the fingerprint operations name it.",
        ),
      },
    },
  };
}

const introduction = `\
Every operation answers with JSON. An error also has HTTP status 200: check \`status\`, which is \`SUCCESS\` or \`ERROR\`, then \`status_code\`.

A request can be JSON, a form with the JSON in the field \`request_body\`, plain form fields, or a query string. The Content-Type is ignored. \
Query, form and JSON can be combined: the later one takes precedence, but fields that identify an account, a payment, a card or an amount must not have two values. \
\`null\`, \`""\` and a missing field are equivalent. Numbers, strings and booleans are interchangeable. Unknown fields are ignored.

Amounts are decimal strings or numbers. More than two decimals are rounded half up. Times are in UTC.`;

const encodings: RequestBody = {
  description:
    "The encodings that every operation accepts. The fields are in each operation's own body.",
  required: false,
  content: {
    "application/json": { schema: { type: "object", description: "The fields." } },
    "text/plain": {
      schema: {
        type: "string",
        contentMediaType: "application/json",
        description: "The same JSON, as browsers send it without a preflight request.",
      },
    },
    "application/x-www-form-urlencoded": {
      schema: {
        type: "object",
        description:
          "The JSON in one field, or the fields with brackets for nested ones (payment[name]).",
        properties: { request_body: { type: "string", contentMediaType: "application/json" } },
      },
    },
    "multipart/form-data": { schema: { type: "object", description: "Like the form." } },
  },
};

function keyScheme(
  name: string,
  description: string,
): OpenApi["components"]["securitySchemes"][string] {
  return {
    type: "apiKey",
    in: "query",
    name,
    description: `${description} Send it in the query, the form or the JSON.`,
  };
}

/** The endpoint's entry in `paths`, if it has one. */
function pathItem(
  endpoint: ServedEndpoint,
  now: Instant,
): readonly (readonly [path: string, item: PathItem])[] {
  const { doc: declared, path, family } = endpoint;
  if (declared === "page" || declared === "console") return [];
  if (declared === "not implemented") {
    const post = notHere(endpoint);
    return [[path, { get: byGet(post), post }]];
  }
  const doc = { ...declared, example: exampleAt(now, declared) };
  const post = operationOf(endpoint, doc);
  if (family === "json") return [[path, { post }]];
  const { requestBody: _, ...rest } = post;
  const parameters = [...doc.fields.flatMap(parameterOf), ...(post.parameters ?? [])];
  return [[path, { get: byGet({ ...rest, parameters }), post }]];
}

/** The operation with its fields in the address, which can be too long. */
function byGet(operation: OperationObject): OperationObject {
  return {
    ...operation,
    operationId: `${operation.operationId}ByGet`,
    responses: {
      ...operation.responses,
      "431": {
        description:
          "The address and the headers together are too large (COFRE-137). Send the fields in the body of a POST.",
        content: content(refTo(errorSchema)),
      },
    },
  };
}

const notHereCodes: readonly ErrorCode[] = ["COFRE-9", "COFRE-23"];

function notHere({ path }: ServedEndpoint): OperationObject {
  return {
    operationId: path.replaceAll(/[^a-z]+(.)/gi, (_, letter: string) => letter.toUpperCase()),
    tags: ["Not implemented"],
    summary: "Not implemented",
    description: "Every request returns an error.",
    security: [],
    responses: {
      "200": {
        description: "An error.",
        content: content({
          allOf: [
            refTo(errorSchema),
            { properties: { status_code: { enum: [...notHereCodes, ...commonCodes] } } },
          ],
        }),
      },
    },
    "x-errors": [],
    "x-codeSamples": [],
  };
}

function operationOf(endpoint: ServedEndpoint, doc: EndpointDoc): OperationObject {
  const headers = headersOf(doc);
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    description: doc.description,
    security: securityOf(endpoint, doc),
    ...(headers.length === 0 ? {} : { parameters: headers }),
    requestBody: {
      description: "In this encoding or in one of components.requestBodies.Encodings.",
      required: endpoint.family === "json",
      content: {
        "application/json": { schema: schemaOfFields(doc.fields), example: exampleOf(doc) },
      },
    },
    responses: answersOf(endpoint, doc),
    "x-errors": errorsOf(codesOf(endpoint, doc)),
    "x-codeSamples": [{ lang: "Shell", label: "curl", source: curlOf(endpoint, doc) }],
  };
}

function errorsOf(codes: readonly string[]): OperationObject["x-errors"] {
  return codes.flatMap((code) => {
    const error = errors.get(code);
    return error === undefined
      ? []
      : [{ code, message: error.message, condition: error.condition }];
  });
}

function securityOf(endpoint: ServedEndpoint, doc: EndpointDoc): OperationObject["security"] {
  if (endpoint.key === "secret") return [{ secret: [] }];
  if (endpoint.key === "public") return [{ public: [] }, { secret: [] }];
  return doc.fields.some(
    ({ name, required }) => name === "publicIntegrationKey" && required !== undefined,
  )
    ? [{ page: [] }]
    : [];
}

/**
 * The codes that are specific to an operation, in the table's order: those of its key, of its
 * rules, and of the operations that it runs.
 */
export function codesOf(endpoint: ServedEndpoint, doc: EndpointDoc): readonly string[] {
  const keyCodes =
    endpoint.key === "none" ? [] : ["BP-SA-1", endpoint.family === "json" ? "DA-1" : "BP-SA-2"];
  const rules = (doc.rules ?? []).map(({ code }) => `BP-DR-${code}`);
  const ends = (doc.runs ?? []).flatMap(({ errors }) =>
    errors.map((name) => doc.errors?.[name]?.code),
  );
  const all = new Set([
    ...keyCodes,
    ...(endpoint.key === "public" ? (["COFRE-178"] as const) : []),
    ...rules,
    ...ends,
    ...(doc.codes ?? []),
    ...(doc.idempotent === true ? idempotencyCodes : []),
  ]);
  return documentedErrors
    .map(({ code }) => code)
    .filter((code) => all.has(code) && !common.has(code));
}

function answersOf(endpoint: ServedEndpoint, doc: EndpointDoc): Readonly<Record<string, Answer>> {
  const refusal: Schema = {
    allOf: [
      refTo(errorSchema),
      { properties: { status_code: { enum: [...codesOf(endpoint, doc), ...commonCodes] } } },
    ],
  };
  const headers = {
    ...(doc.idempotent === true
      ? {
          "Idempotent-Replayed": {
            description: "true: this is the first answer to this Idempotency-Key, replayed.",
            schema: { type: "string" },
          },
        }
      : {}),
    ...(doc.idempotent === true
      ? {
          "X-Cofre-Warning": {
            description: "A possible mistake in an accepted request, for example a rounded amount.",
            schema: { type: "string" },
          },
        }
      : {}),
  };
  return {
    "200": {
      description: "The result, or an error.",
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      content: content({ anyOf: [refTo(doc.answer), refusal] }),
    },
    ...Object.fromEntries(
      Object.entries(doc.otherAnswers ?? {}).map(([status, schema]) => [
        status,
        { description: "The key is invalid.", content: content(refTo(schema)) },
      ]),
    ),
    "429": {
      description:
        "Too many requests of the account, or of this network with a public key. Nothing was done. Retry after the time in Retry-After.",
      content: content(refTo(errorSchema)),
    },
    "503": {
      description:
        "The server is overloaded or stopping, or the store cannot write. Nothing was done. Retry later.",
      content: content(refTo(errorSchema)),
    },
  };
}

function content(schema: Schema): Answer["content"] {
  return { "application/json": { schema } };
}

function schemasOf({ answer, otherAnswers = {} }: EndpointDoc): readonly NamedSchema[] {
  return [answer, ...Object.values(otherAnswers)];
}

function probeOperation({ path, doc }: HealthProbe): OperationObject {
  const { id, summary, description, statuses } = doc;
  return {
    operationId: id,
    tags: ["Utilities"],
    summary,
    description,
    security: [],
    responses: Object.fromEntries(
      Object.entries(statuses).map(([status, meaning]) => [
        status,
        { description: meaning, content: content(refTo(healthSchema)) },
      ]),
    ),
    "x-errors": [],
    "x-codeSamples": [{ lang: "Shell", label: "curl", source: `curl -s "$COFRE${path}"` }],
  };
}

function headersOf(doc: EndpointDoc): readonly Parameter[] {
  const named: readonly Parameter[] = (doc.headers ?? []).map(({ name, note }) => ({
    name,
    in: "header",
    required: false,
    description: note,
    schema: { type: "string" },
  }));
  if (doc.idempotent !== true) return named;
  return [
    {
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description:
        "The same key with the same request returns the first answer; nothing is done twice. The key and its answer are kept for 30 days, or COFRE_KEEP_KEYS_DAYS; then the key can be used for another request.",
      schema: { type: "string", minLength: 1, maxLength: 255, "x-too-long": "COFRE-46" },
    },
    ...named,
  ];
}

function parameterOf(field: Field): readonly Parameter[] {
  const isRequired =
    field.required !== undefined &&
    field.required.or === undefined &&
    field.required.when === undefined;
  const schema = schemaOf(field);
  const { description = "" } = schema;
  return [field.name, ...(field.aliases ?? [])].map((name) => ({
    name,
    in: "query",
    required: isRequired,
    description,
    schema,
  }));
}

/** The JSON types in which a value may be written: the wire's scalars are interchangeable. */
const written = {
  text: ["string", "number"],
  digits: ["string", "integer"],
  decimal: ["string", "number"],
  whole: ["integer", "string"],
  flag: ["boolean", "string", "integer"],
  object: "object",
} as const satisfies Record<FieldType, Schema["type"]>;

/** The example with a card that is valid at this time. */
export function exampleAt(
  now: Instant,
  { example }: Pick<EndpointDoc, "example">,
): EndpointDoc["example"] {
  return JSON.parse(
    JSON.stringify(example).replaceAll("$DUE", exampleDueDate(now)),
  ) as EndpointDoc["example"];
}

/** The example with values in place of the shell variables. */
function exampleOf({ example }: EndpointDoc): unknown {
  const text = JSON.stringify(example)
    .replaceAll("$PUBLIC_KEY", "test_pk_yours")
    .replaceAll("$KEY", "test_ik_yours")
    .replaceAll("$ORDER", "order-417")
    .replaceAll("$TOKEN", "card-of-customer-417-in-this-shop");
  return JSON.parse(text);
}

export function schemaOfFields(fields: readonly Field[]): Schema {
  const always = fields.filter(
    ({ required }) =>
      required !== undefined &&
      [required.or, required.when, required.countries].every((each) => each === undefined),
  );
  const choices = fields.flatMap(({ name, required }) =>
    required?.or === undefined || required.when !== undefined
      ? []
      : [{ anyOf: [name, ...required.or].map((each) => ({ required: [each] })) }],
  );
  const properties = fields.flatMap((field) =>
    [field.name, ...(field.aliases ?? [])].map((name) => [name, schemaOf(field)] as const),
  );
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(always.length === 0 ? {} : { required: always.map(({ name }) => name) }),
    ...(choices.length === 0 ? {} : { allOf: choices }),
  };
}

function schemaOf(field: Field): Schema {
  const { type, note, values, longest, shortest, required, source, fields } = field;
  return {
    ...(fields === undefined ? { type: written[type] } : schemaOfFields(fields)),
    description:
      values === undefined
        ? note
        : `${note} ${values.length === 1 ? "Only" : "One of"} ${values.join(", ")}.`,
    ...(shortest === undefined ? {} : { minLength: shortest.characters }),
    ...(longest === undefined
      ? {}
      : { maxLength: longest.characters, "x-too-long": longest.code ?? "truncated" }),
    ...(required === undefined ? {} : { "x-required": requirementOf(required) }),
    ...(source === undefined ? {} : { "x-source": `interface ${source}` }),
  };
}

/**
 * `always, otherwise BP-DR-9`; `in br, ar, otherwise BP-DR-22`; `unless card or token is present,
 * otherwise BP-DR-48`.
 */
function requirementOf({
  code,
  status,
  or,
  when,
  countries,
}: NonNullable<Field["required"]>): string {
  const parts = [
    when === undefined ? "" : `when ${when}`,
    countries === undefined ? "" : `in ${countries.join(", ")}`,
    or === undefined ? "" : `unless ${or.join(" or ")} is present`,
  ];
  const condition = parts.filter((part) => part !== "").join(", ");
  return `${condition === "" ? "always" : condition}, otherwise ${code ?? `status ${status ?? 200}`}`;
}
