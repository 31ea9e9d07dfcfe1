import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanEnvironment, Command, temporaryFolder } from "../command.ts";
import { blocksUnder, repository } from "./pages.ts";

/* The programs and commands of docs/quick-starts.md, as they are printed. */

const page = "docs/quick-starts.md";
const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const path = {
  PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter),
  // As bin/cofre.js sets it.
  NODE_COMPILE_CACHE: join(here, "../../.cache/compiled/"),
};

function has(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

const php = has("php", "-r", 'exit(function_exists("curl_init") ? 0 : 1);');
const ruby = has("ruby", "-ropenssl", "-rnet/http", "-e", "");

interface QuickStart {
  readonly heading: string;
  readonly file: string;
  readonly language: string;
  readonly installed: boolean;
}

const executed: readonly QuickStart[] = [
  { heading: "## Node", file: "shop.cjs", language: "js", installed: true },
  {
    heading: "## Python",
    file: "shop.py",
    language: "python",
    installed: has("python3", "-c", "import requests"),
  },
  { heading: "## Java", file: "Shop.java", language: "java", installed: has("java", "-version") },
  { heading: "## Go", file: "shop.go", language: "go", installed: has("go", "version") },
];

/** Their clients cannot be installed where these tests run: a program sends the same in their place. */
const imitated: readonly (QuickStart & {
  readonly like: string;
  readonly syntax: readonly [string, string];
})[] = [
  ["## PHP: ebanx-php", "php", "like_ebanx.php", php, ["php", "-l"]] as const,
  ["## PHP: benjamin", "php", "like_benjamin.php", php, ["php", "-l"]] as const,
  ["## Ruby: gem `ebanx`", "ruby", "like_gem.rb", ruby, ["ruby", "-c"]] as const,
  ["## Ruby: ActiveMerchant", "ruby", "like_activemerchant.rb", ruby, ["ruby", "-c"]] as const,
].map(([heading, language, like, installed, syntax]) => ({
  heading,
  language,
  like,
  installed,
  syntax,
  file: `shop.${like.slice(like.indexOf(".") + 1)}`,
}));

/** Programs that no test runs. */
const notExecuted = ["## WooCommerce", "## C#"];

const noShell = process.platform === "win32" ? "there is no POSIX shell" : false;

function onlyBlock(heading: string, language: string): string {
  const [block = "", ...more] = blocksUnder(page, heading, language);
  assert.ok(block !== "" && more.length === 0, `${heading} has one block in ${language}`);
  return block;
}

function paymentFile(): string {
  const [, after = ""] = readFileSync(join(repository, page), "utf8").split("```json\n");
  const [payment = ""] = after.split("```");
  return payment;
}

/** Runs the command that is printed below the program. */
async function printedRun(
  context: TestContext,
  { heading, file, language }: QuickStart,
  text: string = onlyBlock(heading, language),
  payment = paymentFile(),
): Promise<Command> {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, "payment.json"), payment);
  writeFileSync(join(folder, file), text);
  const cofre = 'cofre() { "$NODE" "$PROGRAM" "$@"; }';
  const packages = createRequire(here)
    .resolve("ebanx")
    .replace(/(node_modules).*/, "$1");
  const running = new Command(
    context,
    ["sh", "-ec", `${cofre}\n${onlyBlock(heading, "sh")}`],
    { ...path, NODE: process.execPath, PROGRAM: program, NODE_PATH: packages },
    folder,
  );
  await running.code();
  return running;
}

describe("the quick starts print the status of a confirmed payment", { skip: noShell }, () => {
  for (const start of executed) {
    const skip = start.installed ? false : "the language or a package of it is not installed";
    test(start.heading.replace("## ", ""), { skip }, async (context) => {
      const { child, stdout, stderr } = await printedRun(context, start);
      assert.equal(child.exitCode, 0, stdout + stderr);
      assert.equal(stdout.trim(), "CO");
    });
  }

  test("control: another status when the acquirer declines", async (context) => {
    const [node] = executed;
    assert.ok(node !== undefined);
    const declined = paymentFile().replace("4111111111111111", "4716909774636285");
    const { stdout } = await printedRun(context, node, undefined, declined);
    assert.equal(stdout.trim(), "CA");
  });
});

describe("the quick starts of clients that are not installed here", { skip: noShell }, () => {
  for (const start of imitated) {
    const skip = start.installed ? false : "the language is not installed";

    test(
      `${start.heading.replace("## ", "")}: the program has no error of syntax`,
      { skip },
      (context) => {
        const file = join(temporaryFolder(context), start.file);
        writeFileSync(file, onlyBlock(start.heading, start.language));
        const [command, ...args] = [...start.syntax, file];
        const { status, stderr } = spawnSync(command ?? "", args, { encoding: "utf8" });
        assert.equal(status, 0, stderr);
      },
    );

    test(
      `${start.heading.replace("## ", "")}: what its client sends, with plain code`,
      { skip },
      async (context) => {
        const like = readFileSync(join(here, "suites", start.like), "utf8");
        const { child, stdout, stderr } = await printedRun(context, start, like);
        assert.equal(child.exitCode, 0, stdout + stderr);
        assert.equal(stdout.trim(), "CO");
      },
    );
  }

  test("control: each quick start of the page is in one of the lists", () => {
    const headings = readFileSync(join(repository, page), "utf8").match(/^## .*$/gm);
    const listed = [...executed, ...imitated].map(({ heading }) => heading);
    assert.deepEqual([...(headings ?? [])].toSorted(), [...listed, ...notExecuted].toSorted());
  });
});
