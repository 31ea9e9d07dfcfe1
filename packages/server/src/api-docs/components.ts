import { assert } from "../kernel/assert.ts";
import { NamedSchema, type Schema } from "../wire/schema.ts";

export function refTo({ name }: NamedSchema): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** These schemas and those to which they refer, each once, with references between them. */
export function componentsOf(schemas: readonly NamedSchema[]): Readonly<Record<string, Schema>> {
  const added = new Map<string, NamedSchema>();
  const components = new Map<string, Schema>();
  const add = (named: NamedSchema): void => {
    const { name, schema } = named;
    const known = added.get(name);
    assert(known === undefined || known === named, "no two schemas have the same name");
    if (known !== undefined) return;
    added.set(name, named);
    const nested: NamedSchema[] = [];
    const text = JSON.stringify(schema, (_, value: unknown) => {
      if (!(value instanceof NamedSchema)) return value;
      nested.push(value);
      return refTo(value);
    });
    components.set(name, JSON.parse(text) as Schema);
    for (const each of nested) add(each);
  };
  for (const each of schemas) add(each);
  return Object.fromEntries(components);
}
