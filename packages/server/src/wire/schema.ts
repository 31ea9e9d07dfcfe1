/**
 * The parts of JSON Schema that are used. `x-required` describes the effect of a missing field,
 * `x-too-long` that of a longer value. `Named`: what may be in the place of a nested schema.
 */
export interface Schema<Named = never> {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema<Named> | Named>>;
  readonly required?: readonly string[];
  readonly items?: Schema<Named> | Named;
  readonly enum?: readonly (string | boolean | null)[];
  readonly const?: string | boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly additionalProperties?: boolean;
  readonly maxItems?: number;
  readonly allOf?: readonly (Schema<Named> | Named)[];
  readonly anyOf?: readonly (Schema<Named> | Named)[];
  readonly contentMediaType?: string;
  readonly "x-required"?: string;
  readonly "x-too-long"?: string;
  readonly "x-source"?: string;
}

/** A schema that /openapi.json has once, under its name. Other schemas refer to it. */
export class NamedSchema {
  readonly name: string;
  readonly schema: Schema<NamedSchema>;

  constructor(name: string, schema: Schema<NamedSchema>) {
    this.name = name;
    this.schema = schema;
  }
}

/** The schema of a value in an answer. */
export type ValueSchema = Schema<NamedSchema> | NamedSchema;

/** An object without other members. Members in `optional` may be missing. */
function object(
  members: Readonly<Record<string, ValueSchema>>,
  optional: Readonly<Record<string, ValueSchema>> = {},
): Schema<NamedSchema> {
  return {
    type: "object",
    required: Object.keys(members),
    properties: { ...members, ...optional },
    additionalProperties: false,
  };
}

/**
 * Schemas of the values in answers. A test compares real answers with the schemas of their
 * endpoints: an unknown or missing member fails it.
 */
export const json = {
  object,
  list: (items: ValueSchema): Schema<NamedSchema> => ({ type: "array", items }),
  oneOf: (values: readonly string[]): Schema => ({ enum: values }),
  exactly: (value: string | boolean): Schema => ({ const: value }),
  anyObject: { type: "object" },
  text: { type: "string" },
  textOrNull: { type: ["string", "null"] },
  digits: { type: "string", pattern: String.raw`^\d+$` },
  integer: { type: "integer" },
  number: { type: "number" },
  flag: { type: "boolean" },
  amount: { type: "string", pattern: String.raw`^\d+(\.\d+)?$`, description: "Decimal text." },
  time: { type: ["string", "null"], description: "YYYY-MM-DD hh:mm:ss in UTC." },
  instant: { type: "string", description: "UTC, such as 2026-01-31T12:00:00.000Z." },
  success: { const: "SUCCESS" },
} as const;

/** The answer of operations that return no data. */
export const doneSchema = new NamedSchema("Done", object({ status: json.success }));
