import type { OpenApi, OperationObject } from "../../src/api-docs/types.ts";
import type { Schema } from "../../src/wire/schema.ts";

/**
 * Two checkers for an OpenAPI description, for the parts of it that are used here: whether it
 * follows OpenAPI's rules, and whether a value matches a schema.
 */
const prefix = "#/components/schemas/";

/** Violations of OpenAPI 3.1 and JSON Schema, one sentence each. */
export function problemsOf(api: OpenApi): readonly string[] {
  const problems: string[] = [];
  if (!/^3\.1\.\d+$/.test(api.openapi)) problems.push("the version is none of 3.1");
  if (api.info.title === "" || api.info.version === "")
    problems.push("info has no title or no version");
  const ids = new Set<string>();
  const tags = new Set(api.tags.map(({ name }) => name));
  for (const [path, item] of Object.entries(api.paths)) {
    if (!path.startsWith("/")) problems.push(`${path} does not begin with a slash`);
    for (const [method, operation] of Object.entries(item) as [string, OperationObject][]) {
      const at = `${method} ${path}`;
      if (!["get", "post"].includes(method)) problems.push(`${at}: no such method`);
      if (ids.has(operation.operationId))
        problems.push(`operationId ${operation.operationId} is given twice`);
      ids.add(operation.operationId);
      if (!/^[A-Za-z]\w*$/.test(operation.operationId))
        problems.push(`${at}: the operationId is no identifier`);
      problems.push(
        ...operation.tags
          .filter((tag) => !tags.has(tag))
          .map((tag) => `${at}: the tag ${tag} is nowhere`),
      );
      problems.push(...problemsOfOperation(api, operation).map((problem) => `${at}: ${problem}`));
    }
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    if (!/^[\w.-]+$/.test(name)) problems.push(`${name} is no name of a component`);
    problems.push(...problemsOfSchema(api, schema).map((problem) => `${name}: ${problem}`));
  }
  return problems;
}

function problemsOfOperation(api: OpenApi, operation: OperationObject): readonly string[] {
  const problems: string[] = [];
  const { parameters = [], requestBody, responses, security } = operation;
  const places = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
  if (new Set(places).size !== places.length) problems.push("a parameter is given twice");
  for (const requirement of security) {
    for (const name of Object.keys(requirement)) {
      if (!Object.hasOwn(api.components.securitySchemes, name))
        problems.push(`the security scheme ${name} is nowhere`);
    }
  }
  if (Object.keys(responses).length === 0) problems.push("no answer is described");
  for (const [status, { description, content }] of Object.entries(responses)) {
    if (!/^[1-5]\d\d$/.test(status) || description === "")
      problems.push(`${status} is no status, or says nothing`);
    for (const { schema } of Object.values(content))
      problems.push(...problemsOfSchema(api, schema));
  }
  for (const { schema } of parameters) problems.push(...problemsOfSchema(api, schema));
  for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
    problems.push(...problemsOfSchema(api, schema));
    if (example !== undefined)
      problems.push(
        ...mismatches(schema, example, api).map((problem) => `the example: ${problem}`),
      );
  }
  return problems;
}

const types = ["string", "number", "integer", "boolean", "object", "array", "null"];

function problemsOfSchema(api: OpenApi, schema: Schema): readonly string[] {
  const problems: string[] = [];
  const {
    $ref,
    type,
    properties = {},
    required = [],
    minLength = 0,
    maxLength = Number.POSITIVE_INFINITY,
    pattern,
  } = schema;
  if ($ref !== undefined && !isKnown(api, $ref)) problems.push(`${$ref} is nowhere`);
  const named = typeof type === "string" ? [type] : (type ?? []);
  problems.push(
    ...named.filter((name) => !types.includes(name)).map((name) => `there is no type ${name}`),
  );
  if (minLength > maxLength) problems.push("the shortest is longer than the longest");
  if (pattern !== undefined) RegExp(pattern, "u");
  // A bare list of names is a choice between them, beside the properties.
  if (type !== undefined)
    problems.push(
      ...required
        .filter((name) => !Object.hasOwn(properties, name))
        .map((name) => `${name} is required, but not described`),
    );
  const inner = [
    ...Object.values(properties),
    ...(schema.anyOf ?? []),
    ...(schema.allOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return [...problems, ...inner.flatMap((each) => problemsOfSchema(api, each))];
}

function isKnown(api: OpenApi, ref: string): boolean {
  return ref.startsWith(prefix) && Object.hasOwn(api.components.schemas, ref.slice(prefix.length));
}

/** The places where a value does not match the schema. */
export function mismatches(
  schema: Schema,
  value: unknown,
  api: OpenApi,
  at = "",
): readonly string[] {
  const problems: string[] = [];
  const {
    $ref,
    type,
    properties,
    required = [],
    additionalProperties,
    items,
    maxItems,
    enum: values,
    pattern,
    minLength,
    maxLength,
  } = schema;
  if ($ref !== undefined)
    problems.push(
      ...mismatches(
        api.components.schemas[$ref.slice(prefix.length)] ?? { const: $ref },
        value,
        api,
        at,
      ),
    );
  const named = typeof type === "string" ? [type] : type;
  if (named !== undefined && !named.some((name) => isOf(name, value)))
    problems.push(`${at}: is no ${named.join(" or ")}`);
  if (values !== undefined && !values.some((each) => each === value))
    problems.push(`${at}: ${String(value)} is none of the values`);
  if (schema.const !== undefined && schema.const !== value)
    problems.push(`${at}: ${String(value)} is not ${String(schema.const)}`);
  if (typeof value === "string") {
    if (pattern !== undefined && !RegExp(pattern, "u").test(value))
      problems.push(`${at}: does not look like ${pattern}`);
    if (minLength !== undefined && value.length < minLength) problems.push(`${at}: is too short`);
    if (maxLength !== undefined && value.length > maxLength) problems.push(`${at}: is too long`);
  }
  if (Array.isArray(value)) {
    if (maxItems !== undefined && value.length > maxItems)
      problems.push(`${at}: has too many items`);
    if (items !== undefined)
      for (const [index, item] of value.entries())
        problems.push(...mismatches(items, item, api, `${at}[${index}]`));
  } else if (typeof value === "object" && value !== null) {
    problems.push(
      ...required
        .filter((name) => !Object.hasOwn(value, name))
        .map((name) => `${at}.${name}: is missing`),
    );
    for (const [name, member] of Object.entries(value)) {
      const described = properties?.[name];
      if (described !== undefined)
        problems.push(...mismatches(described, member, api, `${at}.${name}`));
      else if (additionalProperties === false) problems.push(`${at}.${name}: is not described`);
    }
  }
  for (const each of schema.allOf ?? []) problems.push(...mismatches(each, value, api, at));
  if (schema.anyOf !== undefined) {
    const tried = schema.anyOf.map((each) => mismatches(each, value, api, at));
    if (tried.every(({ length }) => length > 0))
      problems.push(`${at}: is none of ${tried.map((each) => each.join("; ")).join(" | ")}`);
  }
  return problems;
}

function isOf(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object")
    return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
