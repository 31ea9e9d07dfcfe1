import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { linkedScript } from "./linked-script.ts";

/** Links the modules, of which the last is the entry, and runs them. */
async function run(modules: Readonly<Record<string, string>>): Promise<unknown> {
  const globals = globalThis as unknown as Record<string, unknown>;
  await import(`data:text/javascript,${encodeURIComponent(await linked(modules))}`);
  const { result } = globals;
  delete globals["result"];
  return result;
}

function linked(modules: Readonly<Record<string, string>>): Promise<string> {
  const entry = Object.keys(modules).at(-1) ?? "";
  return linkedScript(entry, async (name) => {
    const text = modules[name];
    assert.ok(text !== undefined, `there is no ${name}`);
    return text;
  });
}

describe("modules that are linked to one script", () => {
  test("have each other's exports, under other names as well, and their own names", async () => {
    const result = await run({
      "./one.js": [
        "const hidden = 1;",
        "export const one = hidden;",
        "export function two() {",
        "  return three();",
        "}",
        "export async function three() {",
        "  return hidden + 2;",
        "}",
        "export class Four {}",
      ].join("\n"),
      whole: "const hidden=5;export default function(){return hidden}",
      library:
        'import{one as a}from"./one.js";import b from"whole";const hidden=a+b();export{hidden as six,a};export{two as second}from"./one.js";',
      "./main.js": [
        'import "library";',
        "import {",
        "  one,",
        "  two as other,",
        "  Four,",
        '} from "./one.js";',
        'import { six, a, second } from "library";',
        "const hidden = 7;",
        "globalThis.result = [one, await other(), new Four() instanceof Four, six, a, second === other, hidden];",
      ].join("\n"),
    });
    assert.deepEqual(result, [1, 3, true, 6, 1, true, 7]);
  });

  test("run once, in the order of their imports, also if one waits", async () => {
    const push = (name: string): string => `(globalThis.result ??= []).push("${name}");`;
    const result = await run({
      "./first.js": `await Promise.resolve();\n${push("first")}`,
      "./second.js": `import "./first.js";\n${push("second")}`,
      "./main.js": `import "./second.js";\nimport "./first.js";\n${push("main")}`,
    });
    assert.deepEqual(result, ["first", "second", "main"]);
  });

  test("keep the lines of their code, and calls of import()", async () => {
    const text = await linked({
      "./one.js": "export const one = 1;",
      "./main.js":
        'import {\n  one,\n} from "./one.js";\n\nconst load = () => import("./two.js");\nload(one);',
    });
    assert.match(
      text,
      /\{const \{ one: one \} = module\d;\n\n\n\nconst load = \(\) => import\("\.\/two\.js"\);\nload\(one\);/,
    );
  });

  test("are refused with a form that is not known, and in a circle", async () => {
    for (const text of [
      'import * as all from "./one.js";',
      'export * from "./one.js";',
      "export let changing = 1;",
      "export const { one } = all;",
    ])
      await assert.rejects(
        linked({ "./one.js": "", "./main.js": text }),
        /not known: \.\/main\.js/,
      );
    await assert.rejects(
      linked({ "./one.js": 'import "./main.js";', "./main.js": 'import "./one.js";' }),
      /import each other: \.\/main\.js, \.\/one\.js, \.\/main\.js/,
    );
  });
});
