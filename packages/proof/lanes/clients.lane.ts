import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { makeImage } from "../../../tools/image.ts";
import { makeTarball } from "../../../tools/package.ts";
import {
  type CleanupContext,
  cleanEnvironment,
  Command,
  SharedCleanup,
  temporaryFolder,
} from "../../server/test/command.ts";
import { blocksUnder, repository } from "../../server/test/clients/pages.ts";
import { layOutShop, pipelines } from "./support/pipelines.ts";
import { noContainers, startPodman } from "./support/podman.ts";

/*
 * The recipes in docs/recipes.md: tools for HTTP interfaces, CI, and Testcontainers. What they need
 * is installed from the registries, outside the repository, so that `npm ci` stays small.
 */

const examples = join(repository, "examples");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

function missing(name: string, command: string, ...args: readonly string[]): string | false {
  const isThere = spawnSync(command, args, { stdio: "ignore" }).status === 0;
  return isThere ? false : `there is no ${name} on this machine`;
}

const noPython = missing("Python with venv", "python3", "-c", "import ensurepip");

/** The search path with these folders first, then that of the Node which runs this test. */
function pathWith(...folders: readonly string[]): Readonly<Record<string, string>> {
  const others = [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""];
  return { PATH: [...folders, ...others].join(delimiter) };
}

/** Runs a command to its end. */
async function ran(
  context: CleanupContext,
  command: readonly [string, ...string[]],
  environment = pathWith(),
  folder = repository,
): Promise<Command> {
  const running = new Command(context, command, environment, folder);
  await running.code();
  return running;
}

function assertPassed({ child, stdout, stderr }: Command): void {
  assert.equal(child.exitCode, 0, stdout + stderr);
}

const shared = new SharedCleanup();
let root = "";
// All are begun at once: most of the lane's time would be spent on downloads.
/** The folder of the programs that pip installed. */
let python: Promise<string>;
/** The folders of packages from npm. */
let bruno: Promise<string>;
let testcontainers: Promise<string>;
let tarball: Promise<string>;
/** The variables of the clients of a container engine that has the image. */
let engine: Promise<Readonly<Record<string, string>>>;

before(() => {
  root = temporaryFolder(shared);
  python = noPython === false ? installFromPip() : Promise.resolve("");
  bruno = installFromNpm("@usebruno/cli@4.1.0");
  testcontainers = installFromNpm("testcontainers@12.2.0");
  tarball = makeTarball(newFolder("package"), root);
  engine = noContainers === false ? engineWithImage() : Promise.resolve({});
});
after(() => shared.endAll());

function newFolder(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

async function engineWithImage(): Promise<Readonly<Record<string, string>>> {
  // Not at the same time: both bundle the program.
  await tarball;
  const { file } = await makeImage(newFolder("image"), root, 0);
  return startPodman(shared, root, { file, name: `cofre:${version}` });
}

async function installFromPip(): Promise<string> {
  const venv = join(root, "venv");
  const programs = join(venv, "bin");
  const packages = fileURLToPath(new URL("support/python-packages.txt", import.meta.url));
  assertPassed(await ran(shared, ["python3", "-m", "venv", venv]));
  const flags = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
  assertPassed(await ran(shared, [join(programs, "pip"), "install", ...flags, "-r", packages]));
  return programs;
}

async function installFromNpm(name: string): Promise<string> {
  const folder = newFolder(name.replaceAll(/\W/g, "-"));
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  assertPassed(await ran(shared, [npm, "install", ...flags, name], pathWith(), folder));
  return folder;
}

function onlyBlock(heading: string, language = "sh"): string {
  const [block = "", ...more] = blocksUnder("docs/recipes.md", heading, language);
  assert.ok(block !== "" && more.length === 0, `one block in ${language} under ${heading}`);
  return block;
}

const limit = { timeout: 300_000 };

describe("the recipes for tools and CI", { concurrency: 2 }, () => {
  test("Bruno: each request of the collection succeeds", limit, async (context) => {
    const path = pathWith(join(await bruno, "node_modules", ".bin"));
    const printed = onlyBlock("## Bruno");
    const passed = await ran(context, ["sh", "-ec", printed], path);
    assertPassed(passed);
    const requests = globSync("bruno/*/*.bru", { cwd: examples }).filter(
      (file) => !/folder\.bru$|environments/.test(file),
    );
    assert.ok(requests.length > 30);
    const all = new RegExp(`Requests +│ +${requests.length} \\(${requests.length} Passed\\)`);
    assert.match(passed.stdout, all);

    // Control: an error, which has the HTTP status 200, is a failure.
    const wrong = printed.replace("--env cofre-run", "$& --env-var integration_key=test_ik_wrong");
    const failed = await ran(context, ["sh", "-ec", wrong], path);
    assert.equal(failed.child.exitCode, 1, failed.stdout + failed.stderr);
  });

  test(
    "Schemathesis finds no difference between the server and its description",
    { skip: noPython, ...limit },
    async (context) => {
      const path = {
        ...pathWith(await python),
        HYPOTHESIS_STORAGE_DIRECTORY: join(root, "hypothesis"),
      };
      const printed = onlyBlock("## Schemathesis");
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

  for (const { name, file, schema, scriptOf } of pipelines) {
    const recipe = readFileSync(join(examples, "ci", file), "utf8");

    test(`${name}: the job runs the tests of a shop`, limit, async (context) => {
      const script = scriptOf(parse(recipe)).join("\n");
      const shop = temporaryFolder(context);
      layOutShop(shop, await tarball);
      const prefix = temporaryFolder(context);
      const job = { ...pathWith(join(prefix, "bin")), npm_config_prefix: prefix };
      const run = (EXPECTED: string): Promise<Command> =>
        ran(context, ["bash", "-ec", script], { ...job, EXPECTED }, shop);
      assertPassed(await run("CO"));
      assert.ok(!existsSync(join(shop, "cofre-run")));

      // Control: a failing test ends the job, which then keeps this folder.
      const failed = await run("CA");
      assert.equal(failed.child.exitCode, 1, failed.stdout + failed.stderr);
      assert.ok(existsSync(join(shop, "cofre-run", "timelines.html")));
    });

    test(`${name}: the file has the service's format`, { skip: noPython }, async (context) => {
      const path = pathWith(await python);
      const check = (checked: string): Promise<Command> =>
        ran(context, ["check-jsonschema", "--builtin-schema", schema, checked], path);
      assertPassed(await check(join(examples, "ci", file)));
      const wrong = join(temporaryFolder(context), file);
      writeFileSync(wrong, recipe.replaceAll("npm ci", "{ planted: command }"));
      assert.equal((await check(wrong)).child.exitCode, 1);
    });
  }
});

const containers = { skip: noContainers, concurrency: 2 };

describe("the programs with Testcontainers charge a card", containers, () => {
  const programs = join(examples, "testcontainers");
  /** The output of a program that passes. */
  const outputOf = async (
    context: TestContext,
    command: readonly [string, ...string[]],
    folder: string,
    path = pathWith(),
  ): Promise<string> => {
    const running = await ran(context, command, { ...path, ...(await engine) }, folder);
    assertPassed(running);
    return running.stdout.trim();
  };

  test("Node", limit, async (context) => {
    const folder = await testcontainers;
    // In the page, because the rules for this repository's JavaScript do not know the library.
    writeFileSync(join(folder, "shop.mjs"), onlyBlock("## Testcontainers", "js"));
    assert.equal(await outputOf(context, [process.execPath, "shop.mjs"], folder), "CO");
  });

  test("Python", { skip: noPython, ...limit }, async (context) => {
    const path = pathWith(await python);
    assert.equal(await outputOf(context, ["python3", "shop.py"], programs, path), "CO");
  });

  test("Java", { skip: missing("Maven", "mvn", "--version"), ...limit }, async (context) => {
    const folder = temporaryFolder(context);
    writeFileSync(join(folder, "pom.xml"), pom);
    const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
    const resolved = ["mvn", "-q", "-B", goal, "-Dmdep.outputFile=classpath"] as const;
    assertPassed(await ran(context, resolved, pathWith(), folder));
    const classpath = readFileSync(join(folder, "classpath"), "utf8");
    const program = ["java", "-cp", classpath, "Shop.java"] as const;
    assert.equal(await outputOf(context, program, programs), "CO");
  });

  test("Go", { skip: missing("Go", "go", "version"), ...limit }, async (context) => {
    const folder = temporaryFolder(context);
    writeFileSync(join(folder, "go.mod"), "module shop\n");
    copyFileSync(join(programs, "shop_test.go"), join(folder, "shop_test.go"));
    const library = "github.com/testcontainers/testcontainers-go@v0.45.0";
    assertPassed(await ran(context, ["go", "get", "-t", library], pathWith(), folder));
    assert.match(await outputOf(context, ["go", "test"], folder), /^ok /m);
  });

  // Its library is in a registry that the tests cannot reach.
  const php = { skip: missing("PHP", "php", "--version") };
  test("PHP: the program has no error of syntax", php, async (context) => {
    await outputOf(context, ["php", "-l", "shop.php"], programs);
  });

  test("each uses the image of this version", () => {
    const texts = globSync("*.*", { cwd: programs }).map((file) =>
      readFileSync(join(programs, file), "utf8"),
    );
    assert.equal(texts.length, 4);
    for (const text of [...texts, onlyBlock("## Testcontainers", "js")])
      assert.deepEqual(text.match(/"cofre:[^"]*"/g), [`"cofre:${version}"`]);
  });
});

const { version } = JSON.parse(
  readFileSync(join(repository, "packages/server/package.json"), "utf8"),
) as { readonly version: string };

const pom = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.testcontainers</groupId>
      <artifactId>testcontainers</artifactId>
      <version>2.0.5</version>
    </dependency>
  </dependencies>
</project>
`;
