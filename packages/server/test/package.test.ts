import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { makeTarball } from "../../../tools/package.ts";
import { libraries } from "../src/http/console-endpoint.ts";
import { cleanEnvironment, Command, SharedCleanup, temporaryFolder } from "./command.ts";

/*
 * The package as users get it: its tarball, installed by npm into an empty folder. Its dependencies
 * come from npm's cache, which `npm ci` has filled, or from the registry.
 */

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
/** Puts the Node that runs this test before any other on this machine. */
const path = { PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter) };

const shared = new SharedCleanup();
let folder = "";

before(() => {
  const root = temporaryFolder(shared);
  folder = join(root, "project");
  const layout = join(root, "layout");
  mkdirSync(folder);
  mkdirSync(layout);
  const tarball = makeTarball(layout, root);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--silent"];
  execFileSync(npm, ["install", ...flags, tarball], {
    cwd: folder,
    env: { ...cleanEnvironment, ...path },
    stdio: "inherit",
  });
});

after(() => shared.endAll());

async function run(
  context: TestContext,
  command: string,
  ...args: readonly string[]
): Promise<Command> {
  const running = new Command(context, [command, ...args], path, folder);
  await running.code();
  return running;
}

describe("the package, installed into an empty folder", () => {
  test("holds JavaScript and the declarations of the library, and nothing that runs at install", () => {
    const installed = join(folder, "node_modules/cofre");
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((name) => /(?<!\.d)\.ts$|\.test\.|tsconfig/.test(name)),
      [],
    );
    assert.ok(files.filter((name) => name.endsWith(".d.ts")).length < 20);
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<
      string,
      unknown
    >;
    for (const name of ["scripts", "devDependencies", "private"])
      assert.ok(!(name in manifest), name);
    for (const name of ["main", "types"])
      assert.ok(files.includes(join(String(manifest[name]))), name);
    for (const name of files.filter((each) => each.endsWith(".js"))) {
      assert.doesNotMatch(
        readFileSync(join(installed, name), "utf8"),
        /(?:from |import\(|import )"\.[^"]*\.ts"/,
        name,
      );
    }
  });

  test("prints its version and its help through npx", async (context) => {
    const help = await run(context, "npx", "--no-install", "cofre", "--help");
    assert.equal(help.child.exitCode, 0, help.stderr);
    assert.match(help.stdout, /^Cofre \d+\.\d+\.\d+: .*\n\nUsage: cofre/);
    assert.match(
      (await run(context, "npx", "--no-install", "cofre", "--version")).stdout,
      /^\d+\.\d+\.\d+\n$/,
    );
  });

  test("serves through npx, keeps what it is given, and ends with npx", async (context) => {
    const settings = {
      ...path,
      COFRE_LOG_FORMAT: "json",
      COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_key",
    };
    const serving = new Command(
      context,
      ["npx", "--no-install", "cofre", "start", "--port", "0"],
      settings,
      folder,
    );
    const { port } = await serving.event("listening");
    const card = {
      card_number: "4111111111111111",
      card_name: "Ana Lima",
      card_due_date: "12/2060",
      card_cvv: "123",
    };
    const body = JSON.stringify({
      integration_key: "test_ik_key",
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: card,
    });
    const answer = await (
      await fetch(`http://127.0.0.1:${String(port)}/ws/token`, { method: "POST", body })
    ).text();
    assert.match(answer, /"masked_card_number":"411111xxxxxx1111"/);
    const files = ["/", "/console/main.js", "/console/style.css"];
    for (const part of [...files, ...libraries.map(({ path }) => path)]) {
      assert.equal((await fetch(`http://127.0.0.1:${String(port)}${part}`)).status, 200, part);
    }
    serving.child.kill("SIGTERM");
    await serving.exited;
    assert.match(serving.stdout, /"event":"stopped"/);
  });

  test("runs the program of its own README", async (context) => {
    const [, program = ""] =
      /```js\n([^]*?)```/.exec(
        readFileSync(join(folder, "node_modules/cofre/README.md"), "utf8"),
      ) ?? [];
    writeFileSync(join(folder, "readme.js"), program);
    const { stdout, stderr, child } = await run(context, process.execPath, "readme.js");
    assert.deepEqual([stdout, stderr, child.exitCode], ["411111xxxxxx1111\n", "", 0]);
  });

  test("can be had by require as well, which is the same one", async (context) => {
    const program = `
const { startCofre } = require("cofre");
import("cofre").then(async (imported) => {
  await (await startCofre()).close();
  console.log(imported.startCofre === startCofre);
});`;
    writeFileSync(join(folder, "required.cjs"), program);
    const { stdout, stderr, child } = await run(context, process.execPath, "required.cjs");
    assert.deepEqual([stdout, stderr, child.exitCode], ["true\n", "", 0]);
  });

  test("runs the test that docs/library.md shows", async (context) => {
    const [, program = ""] =
      /```js\n([^]*?)```/.exec(readFileSync(join(repository, "docs/library.md"), "utf8")) ?? [];
    writeFileSync(join(folder, "shop.test.js"), program);
    const { stdout, child } = await run(context, process.execPath, "--test", "shop.test.js");
    assert.equal(child.exitCode, 0, stdout);
    assert.match(stdout, /pass [1-9]/);
  });

  test("reports to an old Node what it lacks, instead of naming a module of Node's that is not there", async (context) => {
    const program = `
Object.defineProperty(process, "versions", { value: { ...process.versions, node: process.argv[2] } });
await import("cofre").then(({ startCofre }) => console.log(typeof startCofre), (error) => console.log(error.message));`;
    writeFileSync(join(folder, "old.js"), program);
    for (const version of ["20.20.2", "24.15.9"])
      assert.match(
        (await run(context, process.execPath, "old.js", version)).stdout,
        /^cofre needs Node 24\.16 or later; this is v/,
        version,
      );
    for (const version of ["24.16.0", "26.1.0"])
      assert.equal(
        (await run(context, process.execPath, "old.js", version)).stdout,
        "function\n",
        version,
      );
  });

  test("is typed: a program in TypeScript is checked without any other types, and runs", async (context) => {
    const options = {
      strict: true,
      module: "nodenext",
      target: "es2022",
      types: [],
      noEmit: true,
      allowImportingTsExtensions: true,
    };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, files: ["program.ts"] }),
    );
    const program = (reason: string): string => `
      import { type Cofre, type Sandbox, startCofre } from "cofre";

      const cofre: Cofre = await startCofre({ log: ({ event }) => void event });
      const sandbox: Sandbox = cofre;
      await sandbox.simulator.next(${reason});
      const { partialCapture }: { readonly partialCapture: boolean } = await sandbox.settings.set({ partialCapture: true });
      const listed: readonly { readonly number: number }[] = await sandbox.notifications.list();
      if (!partialCapture || listed.length > 0 || cofre.address.port === 0) throw new Error("not as asked");
      await cofre.close();
    `;
    const check = () =>
      run(
        context,
        process.execPath,
        join(repository, "node_modules/typescript/bin/tsc"),
        "-p",
        "tsconfig.json",
      );

    writeFileSync(
      join(folder, "program.ts"),
      program('{ next: "lose_answer", message: "capture" }'),
    );
    const checked = await check();
    assert.equal(checked.child.exitCode, 0, checked.stdout);
    const { child, stderr } = await run(context, process.execPath, "program.ts");
    assert.deepEqual([child.exitCode, stderr], [0, ""]);

    writeFileSync(join(folder, "program.ts"), program('{ next: "lose_everything" }'));
    const control = await check();
    assert.ok(
      control.child.exitCode !== 0 && /program\.ts.*lose_everything/s.test(control.stdout),
      control.stdout,
    );
  });
});
