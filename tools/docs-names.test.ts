import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { readCommandLine } from "../packages/server/src/cli/command-line.ts";
import { commandRows } from "../packages/server/src/cli/commands.ts";
import { settingRows } from "../packages/server/src/config/settings.ts";
import { documentedEndpoints, keyedEndpoints } from "../packages/server/test/keyed-endpoints.ts";
import { errorTable } from "../packages/server/src/wire/errors/error-table.ts";
import { accountSettings } from "../packages/server/src/merchant/settings.ts";
import { logEvents } from "../packages/server/src/logging/log-event.ts";
import { pathOf } from "./generated-docs.ts";
import { lanes } from "./lanes.ts";

/*
 * Everything that the pages name exists: settings, codes, addresses, commands, scripts, files,
 * events. Conversely, everything that a user can set or call is on some page.
 * generated-docs.test.ts checks the generated tables; this test checks the sentences around them.
 */

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "packages/server/README.md",
  "examples/README.md",
]
  .concat(
    globSync(["docs/**/*.md", "packages/proof/**/*.md"], {
      cwd: pathOf(""),
      exclude: ["**/node_modules/**"],
    }),
  )
  .map((file) => ({ file, text: readFileSync(pathOf(file), "utf8") }));
const all = pages.map(({ text }) => text).join("\n");

/** Names of this form in the pages that are not in `known`, as `FILE: NAME`. */
function unknown(form: RegExp, known: (name: string) => boolean): string[] {
  return pages.flatMap(({ file, text }) => {
    const names = new Set(Array.from(text.matchAll(form), ([whole, name = whole]) => name));
    return [...names].filter((name) => !known(name)).map((name) => `${file}: ${name}`);
  });
}

/** The program, its tests and its tools, as one text. */
const sources = globSync("{packages,tools,examples}/**/*.ts", {
  cwd: pathOf(""),
  exclude: (name) => name.includes("node_modules"),
})
  .filter((file) => !file.startsWith("tools/docs-names"))
  .map((file) => readFileSync(pathOf(file), "utf8"))
  .join("\n");
const repository = globSync(["*.*", ".ci/*", "{docs,examples,tools,packages}/**/*.*"], {
  cwd: pathOf(""),
  exclude: (name) => name.includes("node_modules"),
});
const folders = new Set(
  repository.flatMap((file) =>
    file.split("/").map((_, index, parts) => parts.slice(0, index).join("/")),
  ),
);

describe("what the documentation names is there", () => {
  test("settings", () => {
    const files = new Set(
      settingRows.flatMap(([, { variable, secret }]) =>
        secret === true ? [`${variable}_FILE`] : [],
      ),
    );
    // Including the names in tests and examples.
    const names = new Set(sources.match(/COFRE_[A-Z_]*[A-Z]/g));
    assert.deepEqual(
      unknown(/\bCOFRE_[A-Z_]*[A-Z]/g, (name) => names.has(name) || files.has(name)),
      [],
    );
  });

  test("error codes", () => {
    const codes = new Set<string>(Object.keys(errorTable));
    assert.deepEqual(
      unknown(/\b(?:COFRE|DA|BP(?:-[A-Z]+)+)-\d+\b/g, (name) => codes.has(name)),
      [],
    );
  });

  test("addresses of the server", () => {
    assert.deepEqual(
      unknown(/(?<![\w.])(\/__cofre\/[\w.-]*\w)/g, (name) => sources.includes(`"${name}"`)),
      [],
    );
  });

  test("scripts of npm", () => {
    const { scripts } = JSON.parse(readFileSync(pathOf("package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    assert.deepEqual(
      unknown(/npm run (?:--silent )?([a-z:-]+[a-z])/g, (name) => name in scripts),
      [],
    );
  });

  test("files of the repository", () => {
    const there = (name: string): boolean =>
      repository.some(
        (file) =>
          file === name ||
          (name.includes("/") ? file.endsWith(`/${name}`) : basename(file) === name),
      );
    assert.deepEqual(unknown(/`((?:[\w-]+\/)*[\w.-]+\.(?:ts|js|sh|yaml))`/g, there), []);
  });

  test("folders of the repository", () => {
    const there = (name: string): boolean =>
      [...folders].some((folder) => folder === name || folder.endsWith(`/${name}`));
    assert.deepEqual(
      unknown(
        /`((?:packages|src|test|lanes|attacks|wire|e2e|fuzz|kernel|payment|decisions|vault|user|sign-in|sandbox|delivery|notification|stores|http|tools|examples|docs)\/[\w/-]+)`/g,
        (name) => {
          const isStem = repository.some(
            (file) => file.includes(`/${name}.`) || file.startsWith(`${name}.`),
          );
          return there(name) || isStem;
        },
      ),
      [],
    );
  });

  const byName =
    /\b(?:npx|npm (?:install|i|exec)|npm init) (?:-{1,2}[\w-]+ )*(?:--package |-p )?(cofre[\w.@-]*)(?=[\s`]|$)/gm;

  test("no package by a name that a stranger can register", () => {
    // docs/decisions/0019-package.md: only the scoped name, or the path of a tarball.
    assert.deepEqual(
      pages.flatMap(({ file, text }) =>
        [...text.matchAll(byName)].map(([line]) => `${file}: ${line}`),
      ),
      [],
    );
  });

  test("control: such a name is found", () => {
    const lines = ["npx cofre start", "npm install cofre", "npx --yes --package cofre@1 cofre"];
    for (const line of lines) assert.equal([...line.matchAll(byName)].length, 1, line);
    const safe = ["npx @cofre/server start", "npx --package ./cofre-server-1.tgz cofre"];
    for (const line of safe) assert.equal([...line.matchAll(byName)].length, 0, line);
  });

  test("command lines, each of which the command line takes", () => {
    const typed =
      /(?:^|[(|;&$] *)(?:npm run (?:--silent )?cofre --|(?:npx --package \S+ )?cofre|npx @cofre\/server) +([^\n|&)#`;]*)/gm;
    const lines = pages.flatMap(({ file, text }) =>
      [...shellOf(text).matchAll(typed), ...text.matchAll(/`cofre ([a-z][^`|A-Z]*)`/g)].map(
        ([, words = ""]) => ({
          file,
          words: words.replace(/ <.*/, "").trim(),
        }),
      ),
    );
    assert.ok(lines.length > 20, `control: ${lines.length} lines are found`);
    const wrong = lines.flatMap(({ file, words }) => {
      if (words === "") return [];
      const read = readCommandLine(words.replaceAll(/["']/g, "").split(/ +/));
      // A sentence may name a command without its arguments.
      return "problem" in read && !/ needs /.test(read.problem)
        ? [`${file}: cofre ${words}: ${read.problem}`]
        : [];
    });
    assert.deepEqual(wrong, []);
  });

  test("options in sentences", () => {
    const flags = new Set(commandRows.flatMap(([, { options }]) => Object.keys(options)));
    const ofTools = (name: string): boolean =>
      sources.includes(`"${name}"`) ||
      new RegExp(`\\W${name.slice(2)}"?: \\{ ?type:`).test(sources);
    assert.deepEqual(
      unknown(/`(--[a-z][a-z-]+)\b[^`]*`/g, (name) => flags.has(name) || ofTools(name)),
      [],
    );
  });

  test("pages, also where the program or its tests name them", () => {
    const named = new Set(sources.match(/\b(?:packages\/proof\/)?docs\/[\w/-]+\.md\b/g));
    assert.ok(named.size > 10);
    assert.deepEqual(
      [...named].filter((name) => !pages.some(({ file }) => file === name)),
      [],
    );
  });

  test("anchors of pages", () => {
    const anchors = new Map(pages.map(({ file, text }) => [file, anchorsOf(text)]));
    const broken = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)]
        .map(([link, target = "", anchor = ""]) => ({
          link,
          page: target === "" ? file : joined(file, target),
          anchor,
        }))
        .filter(({ page, anchor }) => anchors.has(page) && anchors.get(page)?.has(anchor) !== true)
        .map(({ link }) => `${file}: ${link}`),
    );
    assert.deepEqual(broken, []);
  });
});

describe("what there is to ask for is on some page", () => {
  const isNamed = (name: string): boolean => new RegExp(`(?<![\\w-])${name}(?![\\w/])`).test(all);

  test("every address of the sandbox, by its name or in a heading that lists several", () => {
    const paths = [
      ...documentedEndpoints().map(({ path }) => path),
      ...keyedEndpoints().map(({ path }) => path),
    ].filter((path) => path.startsWith("/__cofre/"));
    assert.ok(paths.length > 20);
    assert.deepEqual(
      paths.filter((path) => !isNamed(path)),
      [],
    );
  });

  test("every operation of the interface, by the end of its path at least", () => {
    const paths = documentedEndpoints().map(({ path }) => path);
    assert.deepEqual(
      paths.filter(
        (path) => !isNamed(path) && !new RegExp(`[\`/]${path.split("/").at(-1)}\``).test(all),
      ),
      [],
    );
  });

  test("every setting, switch and event has its row", () => {
    const rows = [
      ...settingRows.map(([, { variable }]) => variable),
      ...Object.keys(accountSettings),
      ...Object.keys(logEvents),
    ];
    assert.deepEqual(
      rows.filter((name) => !all.includes(`| \`${name}\``)),
      [],
    );
  });

  test("every lane that proves something, with its seconds", () => {
    const page = readFileSync(pathOf("packages/proof/docs/proof.md"), "utf8");
    const proving = lanes.filter(({ proves }) => proves);
    assert.deepEqual(
      proving.filter(({ name }) => !new RegExp(`^\\| \`${name}\` \\| [\\d,]+ \\|`, "m").test(page)),
      [],
    );
  });

  test("every file of packages/proof/attacks, in the table of attacks", () => {
    const page = readFileSync(pathOf("packages/proof/docs/attacks.md"), "utf8");
    const files = globSync("packages/proof/attacks/*.test.ts", { cwd: pathOf("") }).map((file) =>
      basename(file, ".test.ts"),
    );
    assert.ok(files.length > 10);
    assert.deepEqual(
      files.filter((name) => !page.includes(`\`attacks/${name}\``)),
      [],
    );
  });

  test("every member of the library", () => {
    const library = readFileSync(pathOf("packages/server/src/library.ts"), "utf8");
    const [, page = ""] = pages.flatMap(({ file, text }) =>
      file === "docs/library.md" ? ["", text] : [],
    );
    const members = ["CofreOptions", "Sandbox", "World", "Cofre"].flatMap((name) => {
      const [, body = ""] =
        new RegExp(`export interface ${name} [^{]*\\{([^]*?)\\n\\}`).exec(library) ?? [];
      return Array.from(
        body.matchAll(/^ +(?:readonly )?(\w+)\??[:(<]/gm),
        ([, member = ""]) => member,
      );
    });
    assert.ok(members.length > 30, `control: ${members.length} are found`);
    assert.deepEqual(
      [...new Set(members)].filter((member) => !new RegExp(`\\b${member}\\b`).test(page)),
      [],
    );
  });
});

test("control: what is not there is found", () => {
  assert.deepEqual(
    unknown(/npm run (bench)\b/g, () => false).map((line) => line.split(": ")[1]),
    Array.from(
      { length: pages.filter(({ text }) => /npm run bench\b/.test(text)).length },
      () => "bench",
    ),
  );
  assert.ok("problem" in readCommandLine(["world", "forget"]));
  assert.deepEqual(
    anchorsOf("# A `b/c`, d\n```sh\n# none\n```\n### [E](f) g"),
    new Set(["a-bc-d", "e-g"]),
  );
});

/** The content of shell blocks, one line per command. */
function shellOf(text: string): string {
  const blocks = Array.from(text.matchAll(/```sh\n([^]*?)```/g), ([, block = ""]) => block);
  return blocks.join("\n").replaceAll(/\\\n */g, "");
}

function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/```[^]*?```/g, "").matchAll(/^#+ (.*)$/gm);
  return new Set(
    Array.from(headings, ([, heading = ""]) =>
      heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** The page that a link of a page points to. */
function joined(file: string, target: string): string {
  const parts = file.split("/").slice(0, -1);
  for (const part of target.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
