import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Builds the npm package `cofre` from packages/server: `npm run package` writes its tarball to
 * .cache. Node strips no types below node_modules, so the package contains JavaScript; installing
 * it runs no script.
 */
const repository = fileURLToPath(new URL("..", import.meta.url));
const server = join(repository, "packages/server");

interface Manifest {
  readonly [name: string]: unknown;
  readonly name: string;
  readonly version: string;
}

/**
 * Lays out the package in an empty folder and packs it into `destination`. Returns the tarball's
 * path.
 */
export function makeTarball(layout: string, destination: string): string {
  const typescript = join(repository, "node_modules/typescript/bin/tsc");
  execFileSync(
    process.execPath,
    [typescript, "-p", join(repository, "tsconfig.package.json"), "--outDir", layout],
    { stdio: "inherit" },
  );
  // `dist` has the depth of `src`, so relative paths to files outside stay valid.
  renameSync(join(layout, "src"), join(layout, "dist"));
  finishDeclarations(join(layout, "dist"));
  cpSync(join(repository, "packages/console/src"), join(layout, "dist/console"), {
    recursive: true,
    filter: (path) => !path.endsWith("tsconfig.json"),
  });
  const consoleEndpoint = join(layout, "dist/http/console-endpoint.js");
  writeFileSync(
    consoleEndpoint,
    replacedOnce(readFileSync(consoleEndpoint, "utf8"), "../../../console/src/", "../console/"),
  );
  mkdirSync(join(layout, "bin"));
  const program = readFileSync(join(server, "bin/cofre.js"), "utf8");
  writeFileSync(
    join(layout, "bin/cofre.js"),
    replacedOnce(program, "../src/main.ts", "../dist/main.js"),
    { mode: 0o755 },
  );
  const entry = readFileSync(join(server, "bin/library.cjs"), "utf8");
  writeFileSync(
    join(layout, "bin/library.cjs"),
    replacedOnce(entry, "../src/library.ts", "../dist/library.js"),
  );
  for (const name of ["LICENSE", "CHANGELOG.md"])
    cpSync(join(repository, name), join(layout, name));
  cpSync(join(server, "README.md"), join(layout, "README.md"));
  writeFileSync(
    join(layout, "package.json"),
    `${JSON.stringify(manifestOf(readManifest(join(server, "package.json"))), undefined, 2)}\n`,
  );
  return pack(layout, destination);
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

/** The fields of package.json that an installation needs. */
function manifestOf({
  private: _private,
  devDependencies: _devDependencies,
  exports: _exports,
  ...manifest
}: Manifest): Manifest {
  const [types, entry] = ["./dist/library.d.ts", "./bin/library.cjs"];
  return {
    ...manifest,
    exports: { ".": { types, default: entry }, "./package.json": "./package.json" },
    // For tools that do not read `exports`, such as TypeScript 5 with only `module: commonjs`.
    main: entry,
    types,
    files: ["bin", "dist", "CHANGELOG.md"],
    engines: { node: ">=24.16" },
  };
}

/**
 * Keeps only the declarations that the library's own declarations import, and adjusts the file
 * endings in them.
 */
function finishDeclarations(folder: string): void {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    const file = join(folder, path);
    const text = readFileSync(file, "utf8").replaceAll(
      /(["'])(\.{1,2}\/[^"']+)\.ts\1/g,
      "$1$2.js$1",
    );
    writeFileSync(file, text);
    for (const [, , name = ""] of text.matchAll(/(["'])(\.{1,2}\/[^"']+)\.js\1/g))
      visit(`${posix.join(posix.dirname(path), name)}.d.ts`);
  };
  visit("library.d.ts");
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.name.endsWith(".d.ts") && !reached.has(relative(folder, path).split(sep).join("/")))
      rmSync(path);
  }
}

function replacedOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`${from} stands there once`);
  return text.replace(from, to);
}

/** npm prints the name of the tarball as its last line. */
function pack(layout: string, destination: string): string {
  mkdirSync(destination, { recursive: true });
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const said = execFileSync(npm, ["pack", "--silent", "--pack-destination", destination], {
    cwd: layout,
    encoding: "utf8",
  });
  return join(destination, said.trim().split("\n").at(-1) ?? "");
}

if (import.meta.main) {
  const layout = mkdtempSync(join(tmpdir(), "cofre-package-"));
  try {
    const tarball = makeTarball(layout, join(repository, ".cache"));
    process.stdout.write(`${relative(process.cwd(), tarball)}\n`);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}
