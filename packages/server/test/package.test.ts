import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { delimiter, dirname, join, posix, relative, sep } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { makeTarball } from "../../../tools/package.ts";
import { cleanEnvironment, Command, SharedCleanup, temporaryFolder } from "./command.ts";
import { playFirstMinute, printedKey } from "./support/first-minute.ts";

/* The package as users get it: its tarball, installed by npm into an empty folder. */

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
/** Puts the Node that runs this test before any other on this machine. */
const path = { PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter) };

const shared = new SharedCleanup();
let folder = "";
let tarball = "";

before(async () => {
  const root = temporaryFolder(shared);
  folder = join(root, "project");
  const layout = join(root, "layout");
  mkdirSync(folder);
  mkdirSync(layout);
  tarball = await makeTarball(layout, root);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const flags = ["--offline", "--no-audit", "--no-fund", "--silent"];
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

/** Every Node on the PATH. */
function nodesOnPath(): readonly string[] {
  return (cleanEnvironment["PATH"] ?? "")
    .split(delimiter)
    .map((place) => join(place, "node"))
    .filter((file) => existsSync(file));
}

function versionOf(node: string): string {
  return execFileSync(node, ["--version"], { encoding: "utf8" });
}

describe("the package, installed into an empty folder", () => {
  const installed = (): string => join(folder, "node_modules/@cofre/server");
  const filesOf = (place: string): readonly string[] =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(place, join(entry.parentPath, entry.name)).split(sep).join("/"));

  test("contains programs, the console's files, declarations of the library and texts, and nothing else", () => {
    const files = filesOf(installed());
    const texts = ["CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt"];
    const kinds = {
      texts: [...texts, "cofre.schema.json", "package.json", "sbom.cdx.json"],
      programs: ["bin/cofre.js", "bin/library.cjs"],
    };
    const allowed = [
      /^dist\/[a-z0-9-]+\.js$/,
      /^dist\/(?:[a-z-]+\/)*[a-z-]+\.d\.ts$/,
      /^dist\/console\/[a-z-]+\.(?:css|html|js|svg)$/,
      /^dist\/fields\/[a-z-]+\.(?:css|js)$/,
      /^dist\/console\/lib\/[a-z-]+\.js$/,
    ];
    const named = [...kinds.texts, ...kinds.programs];
    assert.deepEqual(
      named.filter((name) => !files.includes(name)),
      [],
    );
    assert.deepEqual(
      files.filter((name) => !named.includes(name) && !allowed.some((form) => form.test(name))),
      [],
    );
    // The fixtures of `cofre start --fixtures`, unlike those of tests.
    const ofUsers = [
      "dist/fixture-file.js",
      "dist/load-fixtures.js",
      "dist/read-fixtures.js",
      "dist/cli/fixture/fixtures.d.ts",
    ];
    assert.deepEqual(
      files.filter((name) => /test|fixture|support/.test(name) && !ofUsers.includes(name)),
      [],
    );
    const declarations = files.filter((name) => name.endsWith(".d.ts"));
    const imported = new Set(
      declarations.flatMap((name) =>
        Array.from(
          readFileSync(join(installed(), name), "utf8").matchAll(/"(\.{1,2}\/[^"]+)\.js"/g),
          ([, path = ""]) => `${posix.join(posix.dirname(name), path)}.d.ts`,
        ),
      ),
    );
    // The library's own, and those that its declarations need.
    assert.deepEqual(declarations.toSorted(), ["dist/library.d.ts", ...imported].toSorted());
    assert.ok(files.length < 180, `${files.length} files`);
  });

  test("has types and an entry, no dependency and nothing that runs at install", () => {
    const manifest = JSON.parse(readFileSync(join(installed(), "package.json"), "utf8")) as Record<
      string,
      unknown
    >;
    const absent = ["scripts", "private"];
    absent.push(...["", "dev", "peer", "optional"].map((kind) => `${kind}dependencies`));
    for (const name of Object.keys(manifest))
      assert.ok(!absent.includes(name) && !absent.includes(name.toLowerCase()), name);
    const files = filesOf(installed());
    for (const name of ["main", "types"])
      assert.ok(files.includes(String(manifest[name]).replace("./", "")), name);
    assert.deepEqual(
      filesOf(join(folder, "node_modules")).filter(
        (name) => !/^(?:@cofre\/server|\.bin)\/|^\.package-lock\.json$/.test(name),
      ),
      [],
    );
  });

  test("imports only itself and modules of Node", () => {
    const specifiers = (name: string): readonly string[] =>
      [
        ...readFileSync(join(installed(), name), "utf8").matchAll(
          /(?:^(?:import|export) [^"'`;]*from |^import |\bimport\()"([^"\n]+)"/gm,
        ),
      ].map(([, specifier = ""]) => specifier);
    const programs = filesOf(installed()).filter((name) => /^dist\/[^/]+\.js$/.test(name));
    // Node 24 has no node:ffi: only the program that needs it may import it.
    const helper = "dist/pkcs11-helper.js";
    assert.ok(specifiers(helper).includes("node:ffi"), "control");
    const all = programs.filter((name) => name !== helper).flatMap(specifiers);
    assert.ok(all.includes("./server.js") && all.includes("node:sqlite"), "control");
    assert.deepEqual(
      all.filter(
        (specifier) =>
          specifier === "node:ffi" || (!specifier.startsWith("./") && !isBuiltin(specifier)),
      ),
      [],
    );
  });

  test("has all files that its files import", async (context) => {
    const names = filesOf(installed()).filter((name) => /^dist\/[^/]+\.js$/.test(name));
    // The writer's program is for a thread only, and the helper's needs Node 26.
    const urls = names
      .filter((name) => !["dist/writer-worker.js", "dist/pkcs11-helper.js"].includes(name))
      .map((name) => pathToFileURL(join(installed(), name)).href);
    assert.ok(urls.length > 15, "control");
    writeFileSync(
      join(folder, "import-all.mjs"),
      `for (const url of ${JSON.stringify(urls)}) await import(url);`,
    );
    const { child, stdout, stderr } = await run(context, process.execPath, "import-all.mjs");
    assert.deepEqual([stdout, stderr, child.exitCode], ["", "", 0]);
  });

  test("has the program that calls a PKCS#11 module", async (context) => {
    const pin = join(folder, "pin");
    writeFileSync(pin, "1234", { mode: 0o600 });
    const environment = {
      ...path,
      COFRE_PORT: "0",
      COFRE_DATA_DIR: join(folder, "token-data"),
      COFRE_ROOT_KEY: "pkcs11:serial=1;object=cofre;id=%01",
      COFRE_ROOT_KEY_SECRET_FILE: pin,
      COFRE_PKCS11_MODULE: "/nowhere/module.so",
    };
    const program = join(installed(), "bin/cofre.js");
    const started = new Command(context, [process.execPath, program, "start"], environment, folder);
    assert.notEqual(await started.code(), 0);
    assert.match(
      started.stderr,
      process.allowedNodeEnvironmentFlags.has("--allow-ffi")
        ? /the module of COFRE_PKCS11_MODULE cannot be loaded/
        : /PKCS#11 modules need Node 26\.1 or later/,
    );
  });

  test("names every package inside it with version and licence", () => {
    const { components } = JSON.parse(readFileSync(join(installed(), "sbom.cdx.json"), "utf8")) as {
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    const names = components.map(({ name }) => name);
    const { dependencies } = JSON.parse(
      readFileSync(join(repository, "packages/server/package.json"), "utf8"),
    ) as { readonly dependencies: Readonly<Record<string, string>> };
    assert.deepEqual(
      Object.keys(dependencies).filter((name) => !names.includes(name)),
      [],
    );
    const notices = readFileSync(join(installed(), "THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const { name, version } of components)
      assert.match(notices, new RegExp(`^${name.replaceAll(".", "\\.")} ${version} \\(`, "m"));
    assert.ok(notices.split("Permission").length > components.length / 2);
  });

  test("is the same for the same sources", async () => {
    const root = temporaryFolder(shared);
    const layout = join(root, "layout");
    mkdirSync(layout);
    const again = await makeTarball(layout, root);
    assert.deepEqual(readFileSync(again), readFileSync(tarball));
  });

  test("plays its first minute through npx from the tarball, in an empty folder and without a registry", async (context) => {
    const root = temporaryFolder({ after: (end) => context.after(end) });
    const serving = new Command(
      context,
      ["npx", "--yes", "--offline", "--package", tarball, "cofre", "start", "--port", "0"],
      { ...path, COFRE_LOG_FORMAT: "json", npm_config_cache: join(root, "npm-cache") },
      root,
    );
    const { port } = await serving.event("listening");
    const [, key = ""] = await serving.stderrMatch(printedKey);
    await playFirstMinute(`http://127.0.0.1:${String(port)}`, key);
    serving.child.kill("SIGTERM");
    await serving.exited;
    assert.match(serving.stdout, /"event":"stopped"/);
    assert.ok(readdirSync(join(root, "data")).length > 0);
  });

  test("prints its version and its help through npx", async (context) => {
    const help = await run(context, "npx", "--no-install", "@cofre/server", "--help");
    assert.equal(help.child.exitCode, 0, help.stderr);
    assert.match(help.stdout, /^Cofre \d+\.\d+\.\d+: .*\n\nUsage: cofre/);
    assert.match(
      (await run(context, "npx", "--no-install", "@cofre/server", "--version")).stdout,
      /^\d+\.\d+\.\d+\n$/,
    );
  });

  test("runs the program of its own README", async (context) => {
    const [, program = ""] =
      /```js\n([^]*?)```/.exec(
        readFileSync(join(folder, "node_modules/@cofre/server/README.md"), "utf8"),
      ) ?? [];
    writeFileSync(join(folder, "readme.js"), program);
    const { stdout, stderr, child } = await run(context, process.execPath, "readme.js");
    assert.deepEqual([stdout, stderr, child.exitCode], ["411111xxxxxx1111\n", "", 0]);
  });

  test("can be had by require as well, which is the same one", async (context) => {
    const program = `
const { startCofre } = require("@cofre/server");
import("@cofre/server").then(async (imported) => {
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

  const oldNode = nodesOnPath().find((node) => /^v(?:1[89]|2[0-3])\./.test(versionOf(node)));
  test(
    "names on an old Node the version that it needs",
    { skip: oldNode === undefined ? "this machine has no old Node" : false },
    async (context) => {
      const program = join(installed(), "bin/cofre.js");
      const { stderr, child } = await run(context, oldNode ?? "", program, "start");
      assert.equal(child.exitCode, 1);
      assert.match(stderr, /^Cofre needs Node 24\.16 or later; this is v\d+\.\d+\.\d+\.\nInstall /);
    },
  );

  test("reports to an old Node what it lacks, instead of naming a module of Node's that is not there", async (context) => {
    const program = `
Object.defineProperty(process, "versions", { value: { ...process.versions, node: process.argv[2] } });
await import("@cofre/server").then(({ startCofre }) => console.log(typeof startCofre), (error) => console.log(error.message));`;
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
      import { type Cofre, type Sandbox, startCofre } from "@cofre/server";

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
