import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import {
  cleanEnvironment,
  Command,
  SharedCleanup,
  temporaryFolder,
} from "../../server/test/command.ts";
import { blocksUnder } from "../../server/test/clients/pages.ts";

/*
 * Tools for HTTP interfaces, as docs/recipes.md prints their commands. They are installed from the
 * registries, outside the repository, so that `npm ci` stays small.
 */

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

function has(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

const shared = new SharedCleanup();
let root = "";

before(() => {
  root = temporaryFolder(shared);
});
after(() => shared.endAll());

/** The search path with these folders first, then that of the Node which runs this test. */
function pathWith(...folders: readonly string[]): Readonly<Record<string, string>> {
  const others = [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""];
  return { PATH: [...folders, ...others].join(delimiter) };
}

/** Runs a command to its end. */
async function ran(
  context: TestContext,
  command: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  folder = repository,
): Promise<Command> {
  const running = new Command(context, command, environment, folder);
  await running.code();
  return running;
}

function assertPassed({ child, stdout, stderr }: Command): void {
  assert.equal(child.exitCode, 0, stdout + stderr);
}

async function installFromNpm(
  context: TestContext,
  ...packages: readonly string[]
): Promise<string> {
  const folder = join(root, packages[0]?.replaceAll(/\W/g, "-") ?? "");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  assertPassed(await ran(context, [npm, "install", ...flags, ...packages], pathWith(), folder));
  return folder;
}

describe("the recipes", { concurrency: 2 }, () => {
  test("Bruno: each request of the collection succeeds", { timeout: 240_000 }, async (context) => {
    const folder = await installFromNpm(context, "@usebruno/cli@4.1.0");
    const path = pathWith(join(folder, "node_modules", ".bin"));
    const [printed = "", ...more] = blocksUnder("docs/recipes.md", "## Bruno");
    assert.deepEqual(more, []);

    const passed = await ran(context, ["sh", "-ec", printed], path);
    assertPassed(passed);
    const requests = globSync("examples/bruno/*/*.bru", { cwd: repository }).filter(
      (file) => !/folder\.bru$|environments/.test(file),
    );
    assert.ok(requests.length > 30);
    assert.match(
      passed.stdout,
      new RegExp(`Requests +│ +${requests.length} \\(${requests.length} Passed\\)`),
    );

    // Control: an error, which has the HTTP status 200, is a failure.
    const wrong = printed.replace("--env cofre-run", "$& --env-var integration_key=test_ik_wrong");
    const failed = await ran(context, ["sh", "-ec", wrong], path);
    assert.equal(failed.child.exitCode, 1, failed.stdout + failed.stderr);
  });

  test(
    "Schemathesis finds no difference between the server and its description",
    {
      skip: has("python3", "-c", "import ensurepip")
        ? false
        : "there is no Python that makes environments",
      timeout: 240_000,
    },
    async (context) => {
      const venv = join(root, "venv");
      const packages = fileURLToPath(new URL("support/python-packages.txt", import.meta.url));
      assertPassed(await ran(context, ["python3", "-m", "venv", venv], pathWith()));
      const pip = join(venv, "bin", "pip");
      const flags = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
      assertPassed(await ran(context, [pip, "install", ...flags, "-r", packages], pathWith()));
      const path = {
        ...pathWith(join(venv, "bin")),
        HYPOTHESIS_STORAGE_DIRECTORY: join(root, "hypothesis"),
      };
      const [printed = "", ...more] = blocksUnder("docs/recipes.md", "## Schemathesis");
      assert.deepEqual(more, []);

      const passed = await ran(context, ["sh", "-ec", printed], path);
      assertPassed(passed);
      assert.match(passed.stdout, /(\d+) generated, \1 passed/);

      // Control: an answer without a member that the description demands is found.
      const planted = join(root, "planted.json");
      const plant = `fetch(process.env.COFRE_URL + "/openapi.json").then(async (answer) => {
        const api = await answer.json();
        const { anyOf: [{ $ref }] } = api.paths["/ws/exchange"].get.responses["200"].content["application/json"].schema;
        api.components.schemas[$ref.split("/").at(-1)].required.push("planted");
        require("node:fs").writeFileSync(${JSON.stringify(planted)}, JSON.stringify(api));
      })`;
      const wrong = printed
        .replace("&&\n", '&&\n node -e "$PLANT" &&\n')
        .replace(
          '"$COFRE_URL/openapi.json" --max-time 40',
          `${planted} --url "$COFRE_URL" --include-path /ws/exchange --phases fuzzing`,
        );
      const failed = await ran(context, ["sh", "-ec", wrong], { ...path, PLANT: plant });
      assert.equal(failed.child.exitCode, 1, failed.stdout + failed.stderr);
      assert.match(
        failed.stdout,
        /Response violates schema[^]*is not valid under any of the schemas/,
      );
    },
  );
});
