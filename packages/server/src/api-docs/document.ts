import { type DocumentedError, documentedErrors } from "../wire/errors/error-reference.ts";
import { rowsOf } from "../wire/answers/errors.ts";
import type { ErrorCode } from "../wire/errors/refusal.ts";
import { exampleDueDate } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Endpoint } from "../wire/endpoint.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";
import { answerSchemas, ref } from "./answer-schemas.ts";
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
  Schema,
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

const tags: Readonly<Record<Tag | "Not here", string>> = {
  Cards: "Store a card, or ask whether it is good.",
  Payments: "Charge, capture, give up, look.",
  Afterwards: "Give money back.",
  "Around a payment": "What shops ask beside.",
  Browsers: "Called by pages of other origins, with the public key alone.",
  Sandbox: "Make things happen that an issuer, an acquirer or a reviewer causes otherwise.",
  "Not here": "Operations of the interface that this version does not have. They answer so.",
};

/**
 * The OpenAPI description of these endpoints. An endpoint without documentation is an operation
 * that this version lacks.
 */
export function openApiDocument(endpoints: readonly Endpoint[], now: Instant): OpenApi {
  return {
    openapi: "3.1.0",
    info: {
      title: "Cofre",
      version: "0.1.0",
      summary: "A card vault and card payment service that you run yourself.",
      description: introduction,
    },
    servers: [{ url: "/", description: "Where this document was read." }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    "x-errors": errorsOf(commonCodes),
    paths: {
      ...Object.fromEntries(endpoints.map((endpoint) => [endpoint.path, pathItem(endpoint, now)])),
      "/healthz": {
        get: healthOperation("healthz", "Ask whether the process answers", "200 whenever it does."),
      },
      "/readyz": {
        get: healthOperation(
          "readyz",
          "Ask whether requests may be sent",
          "503 while it starts or stops.",
        ),
      },
    },
    components: {
      schemas: answerSchemas,
      requestBodies: { Encodings: encodings },
      securitySchemes: {
        secret: keyScheme("integration_key", "The account's secret key. Never in a browser."),
        public: keyScheme(
          "public_integration_key",
          "The account's public key: stores cards, and does nothing else.",
        ),
        page: keyScheme(
          "publicIntegrationKey",
          "The public key, as the fingerprint calls spell it.",
        ),
      },
    },
  };
}

const introduction = `\
Every operation answers with JSON. A refusal has HTTP status 200 as well: look at \`status\`, which is \`SUCCESS\` or \`ERROR\`, then at \`status_code\`.

A request may be written as JSON, as a form with one field \`request_body\` that holds the JSON, as plain form fields or as a query, whatever \
its Content-Type says; query, form and JSON may be mixed, and the later of them wins, but for what names an account, a payment, a card or an amount: that may not have two \
values. \`null\`, \`""\` and a missing field mean the same. Numbers, \
texts and booleans stand for one another. Unknown fields are not looked at.

Amounts are decimal text or numbers. More than two decimals are rounded half up. Times are in UTC.`;

const encodings: RequestBody = {
  description:
    "The encodings that every operation understands. Each operation's own body shows the fields.",
  required: false,
  content: {
    "application/json": { schema: { type: "object", description: "The fields themselves." } },
    "text/plain": {
      schema: {
        type: "string",
        contentMediaType: "application/json",
        description: "The same JSON; what browsers send without a preflight.",
      },
    },
    "application/x-www-form-urlencoded": {
      schema: {
        type: "object",
        description:
          "The JSON in one field, or the fields themselves; brackets nest (payment[name]).",
        properties: { request_body: { type: "string", contentMediaType: "application/json" } },
      },
    },
    "multipart/form-data": { schema: { type: "object", description: "As the form." } },
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
    description: `${description} In the query, the form or the JSON.`,
  };
}

function pathItem(endpoint: Endpoint, now: Instant): PathItem {
  if (endpoint.doc === undefined) return { post: notHere(endpoint) };
  const doc = { ...endpoint.doc, example: exampleAt(now, endpoint.doc) };
  const post = operationOf(endpoint, doc);
  if (endpoint.family === "json") return { post };
  const { requestBody: _, ...rest } = post;
  const parameters = [...doc.fields.flatMap(parameterOf), ...(post.parameters ?? [])];
  return { get: { ...rest, operationId: `${post.operationId}ByGet`, parameters }, post };
}

const notHereCodes: readonly ErrorCode[] = ["COFRE-9", "COFRE-23"];

function notHere({ path }: Endpoint): OperationObject {
  return {
    operationId: path.replaceAll(/[^a-z]+(.)/gi, (_, letter: string) => letter.toUpperCase()),
    tags: ["Not here"],
    summary: "Not here",
    description: "Answers that this version does not have it, whatever the request is.",
    security: [],
    responses: {
      "200": {
        description: "A refusal.",
        content: json({
          allOf: [
            ref("Error"),
            { properties: { status_code: { enum: [...notHereCodes, ...commonCodes] } } },
          ],
        }),
      },
    },
    "x-errors": [],
    "x-codeSamples": [],
  };
}

function operationOf(endpoint: Endpoint, doc: EndpointDoc): OperationObject {
  const headers = headersOf(doc);
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    description: doc.description,
    security: securityOf(endpoint, doc),
    ...(headers.length === 0 ? {} : { parameters: headers }),
    requestBody: {
      description: "In this encoding or one of components.requestBodies.Encodings.",
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

function securityOf(endpoint: Endpoint, doc: EndpointDoc): OperationObject["security"] {
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
export function codesOf(endpoint: Endpoint, doc: EndpointDoc): readonly string[] {
  const keyCodes =
    endpoint.key === "none" ? [] : ["BP-SA-1", endpoint.family === "json" ? "DA-1" : "BP-SA-2"];
  const rules = (doc.rules ?? []).map(({ code }) => `BP-DR-${code}`);
  const rows = doc.family === undefined ? {} : rowsOf(doc.family);
  const ends = (doc.runs ?? []).flatMap(({ errors }) => errors.map((name) => rows[name]?.code));
  const all = new Set([
    ...keyCodes,
    ...rules,
    ...ends,
    ...(doc.codes ?? []),
    ...(doc.idempotent === true ? idempotencyCodes : []),
  ]);
  return documentedErrors
    .map(({ code }) => code)
    .filter((code) => all.has(code) && !common.has(code));
}

function answersOf(endpoint: Endpoint, doc: EndpointDoc): Readonly<Record<string, Answer>> {
  const refusal: Schema = {
    allOf: [
      ref("Error"),
      { properties: { status_code: { enum: [...codesOf(endpoint, doc), ...commonCodes] } } },
    ],
  };
  const headers = {
    ...(doc.idempotent === true
      ? {
          "Idempotent-Replayed": {
            description: "true: the first answer to this Idempotency-Key again.",
            schema: { type: "string" },
          },
        }
      : {}),
    ...(doc.idempotent === true
      ? {
          "X-Cofre-Warning": {
            description:
              "What may be a mistake in a request that was accepted, for example a rounded amount.",
            schema: { type: "string" },
          },
        }
      : {}),
  };
  return {
    "200": {
      description: "What was asked for, or a refusal.",
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      content: json({ anyOf: [ref(doc.answer), refusal] }),
    },
    ...Object.fromEntries(
      Object.entries(doc.otherAnswers ?? {}).map(([status, schema]) => [
        status,
        { description: "The key is not good.", content: json(ref(schema)) },
      ]),
    ),
    "503": {
      description:
        "Overloaded, stopping, or nothing could be recorded: nothing was done. Send it again later.",
      content: json(ref("Error")),
    },
  };
}

function json(schema: Schema): Answer["content"] {
  return { "application/json": { schema } };
}

function healthOperation(id: string, summary: string, description: string): OperationObject {
  return {
    operationId: id,
    tags: ["Around a payment"],
    summary,
    description,
    security: [],
    responses: {
      "200": { description: "Yes.", content: json(ref("Health")) },
      ...(id === "readyz" ? { "503": { description: "No.", content: json(ref("Health")) } } : {}),
    },
    "x-errors": [],
    "x-codeSamples": [{ lang: "Shell", label: "curl", source: `curl -s "$COFRE/${id}"` }],
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
        "The same key and the same request get the first answer again; nothing is done twice. A key with its answer is kept for 30 days, unless COFRE_KEEP_KEYS_DAYS says otherwise; then another request may come under it.",
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
      : { maxLength: longest.characters, "x-too-long": longest.code ?? "cut off" }),
    ...(required === undefined ? {} : { "x-required": requirementOf(required) }),
    ...(source === undefined ? {} : { "x-source": `interface ${source}` }),
  };
}

/** `always, or BP-DR-9`; `in br, ar, or BP-DR-22`; `unless there is card or token, or BP-DR-48`. */
function requirementOf({
  code,
  status,
  or,
  when,
  countries,
}: NonNullable<Field["required"]>): string {
  const parts = [
    or === undefined ? "" : `unless there is ${or.join(" or ")}`,
    when === undefined ? "" : `when ${when}`,
    countries === undefined ? "" : `in ${countries.join(", ")}`,
  ];
  const condition = parts.filter((part) => part !== "").join(" ");
  return `${condition === "" ? "always" : condition}, or ${code ?? `status ${status ?? 200}`}`;
}
