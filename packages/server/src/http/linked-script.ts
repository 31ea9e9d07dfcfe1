/**
 * The modules of a page as one script: a browser loads it with one request, where modules that
 * import each other need one after the other. The modules must be formatted, or compressed like a
 * library: their imports and exports have the forms below.
 */

/** A module by the name with which others import it. Rejects if there is none. */
export type ReadModule = (name: string) => Promise<string>;

/** `import { a, b as c } from "x"`, `import a from "x"` and `import "x"`. */
const importForm = /(?<=^|;)import\s*(?:(?:\{([^{}]*)\}|([\w$]+))\s*from\s*)?"([^"]+)";?/gm;
/** `export function`, `export async function`, `export class` and `export const` with a name. */
const declarationForm = /^export ((?:async function|function|class|const) ([\w$]+))/gm;
/** `export { a, b as c }`, also from another module. */
const listForm = /(?<=^|;|\})export\s*\{([^{}]*)\}(?:\s*from\s*"([^"]+)")?;?/gm;
const defaultForm = /(?<=^|;)export default /gm;
/** Not inside a function: those of formatted code are indented. */
const topLevelAwait = /^(?:\S.*)?\bawait\b/m;
const unknownForm = /(?:^|;)(?:import|export)\b(?!\()/m;

interface Module {
  /** What follows is inside a function that returns the exports. */
  readonly body: string;
  readonly exports: readonly string[];
  readonly isAsync: boolean;
}

/**
 * Links the module `entry` with all that it imports. A module is run once, after those that it
 * imports. Throws if modules import each other in a circle, or have another form of import or export.
 */
export async function linkedScript(entry: string, read: ReadModule): Promise<string> {
  const texts = await textsFrom(entry, read);
  const names = new Map([...texts.keys()].map((name, index) => [name, `module${index}`]));
  const linked: string[] = [];
  const seen = new Set<string>();
  const link = (name: string, importing: readonly string[]): void => {
    if (importing.includes(name))
      throw new Error(`modules import each other: ${[...importing, name].join(", ")}`);
    if (seen.has(name)) return;
    const text = texts.get(name) ?? "";
    for (const imported of importedBy(text)) link(imported, [...importing, name]);
    seen.add(name);
    const { body, exports, isAsync } = moduleOf(name, text, (other) => names.get(other) ?? other);
    const [before, start] = isAsync ? ["await ", "async "] : ["", ""];
    linked.push(
      `const ${names.get(name)} = ${before}(${start}() => {${body}\nreturn { ${exports.join(", ")} };\n})();`,
    );
  };
  link(entry, []);
  return linked.join("\n");
}

async function textsFrom(entry: string, read: ReadModule): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  let left: readonly string[] = [entry];
  while (left.length > 0) {
    const found = await Promise.all(left.map(async (name) => [name, await read(name)] as const));
    for (const [name, text] of found) texts.set(name, text);
    left = [...new Set(found.flatMap(([, text]) => importedBy(text)))].filter(
      (name) => !texts.has(name),
    );
  }
  return texts;
}

function importedBy(text: string): readonly string[] {
  return [
    ...Array.from(text.matchAll(importForm), ([, , , from = ""]) => from),
    ...Array.from(text.matchAll(listForm), ([, , from = ""]) => from),
  ].filter((from) => from !== "");
}

function moduleOf(name: string, text: string, variableOf: (name: string) => string): Module {
  const exports: string[] = [];
  const body = text
    .replaceAll(
      importForm,
      (form, named: string | undefined, whole: string | undefined, from: string) => {
        const taken = named ?? (whole === undefined ? undefined : `default as ${whole}`);
        if (taken === undefined) return "";
        const members = membersOf(taken).map(([member, as]) => `${member}: ${as}`);
        // The lines after it keep their distance from the first.
        const lines = form.replaceAll(/[^\n]+/g, "");
        return `const { ${members.join(", ")} } = ${variableOf(from)};${lines}`;
      },
    )
    .replaceAll(listForm, (_, listed: string, from?: string) => {
      const of = from === undefined ? "" : `${variableOf(from)}.`;
      exports.push(...membersOf(listed).map(([member, as]) => `${as}: ${of}${member}`));
      return "";
    })
    .replaceAll(declarationForm, (_, declaration: string, declared: string) => {
      exports.push(declared);
      return declaration;
    })
    .replaceAll(defaultForm, () => {
      exports.push("default: whole");
      return "const whole = ";
    });
  if (unknownForm.test(body)) throw new Error(`a form of import or export is not known: ${name}`);
  return { body, exports, isAsync: topLevelAwait.test(text) };
}

/** `a, b as c`: each with its name here, which is the same unless there is another. */
function membersOf(list: string): readonly (readonly [member: string, as: string])[] {
  return list
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .map((each) => {
      const [member = "", as = member] = each.split(/\s+as\s+/);
      return [member, as] as const;
    });
}
