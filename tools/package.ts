import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, type BundledPackage, replacedOnce } from "./bundle.ts";

/**
 * Builds the npm package from packages/server: `npm run package` writes its tarball to .cache. It
 * contains JavaScript with all dependencies inside (tools/bundle.ts); installing it runs no script
 * and fetches no other package. Equal sources give an equal tarball.
 */
const repository = fileURLToPath(new URL("..", import.meta.url));
const server = join(repository, "packages/server");

interface Manifest {
  readonly [name: string]: unknown;
  readonly name: string;
  readonly version: string;
}

/**
 * Lays out the package in an empty folder and packs it into `destination`. Resolves with the
 * tarball's path.
 */
export async function makeTarball(layout: string, destination: string): Promise<string> {
  await layOut(layout);
  return pack(layout, destination);
}

/** Writes the files of the package into an empty folder. */
export async function layOut(layout: string): Promise<void> {
  const dist = join(layout, "dist");
  makeDeclarations(dist);
  const packages = await bundle(dist);
  for (const page of ["console", "fields"])
    cpSync(join(repository, "packages", page, "src"), join(dist, page), {
      recursive: true,
      filter: (path) => !path.endsWith("tsconfig.json") && !path.endsWith(".d.ts"),
    });
  mkdirSync(join(layout, "bin"));
  for (const [name, from, to, mode] of [
    ["cofre.js", "../src/main.ts", "../dist/main.js", 0o755],
    ["library.cjs", "../src/library.ts", "../dist/library.js", 0o644],
  ] as const) {
    const program = readFileSync(join(server, "bin", name), "utf8");
    writeFileSync(join(layout, "bin", name), replacedOnce(program, from, to), { mode });
  }
  for (const name of ["LICENSE", "CHANGELOG.md"])
    cpSync(join(repository, name), join(layout, name));
  cpSync(join(server, "README.md"), join(layout, "README.md"));
  cpSync(join(repository, "docs/cofre.schema.json"), join(layout, "cofre.schema.json"));
  const manifest = manifestOf(readManifest(join(server, "package.json")));
  writeJson(join(layout, "package.json"), manifest);
  writeJson(join(layout, "sbom.cdx.json"), componentsOf(manifest, packages));
  writeFileSync(join(layout, "THIRD-PARTY-LICENSES.txt"), noticesOf(packages));
}

export function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

export function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

/** The fields of package.json that an installation needs. The dependencies are in the bundle. */
function manifestOf({
  private: _private,
  dependencies: _dependencies,
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
    files: [
      "bin",
      "dist",
      "CHANGELOG.md",
      "THIRD-PARTY-LICENSES.txt",
      "cofre.schema.json",
      "sbom.cdx.json",
    ],
    engines: { node: ">=24.16" },
  };
}

/** The bundled packages as CycloneDX, for vulnerability scanners, which find none in a bundle. */
function componentsOf({ name, version }: Manifest, packages: readonly BundledPackage[]): object {
  const component = (type: string, own: { readonly name: string; readonly version: string }) => ({
    type,
    name: own.name,
    version: own.version,
    purl: `pkg:npm/${own.name.replace("@", "%40")}@${own.version}`,
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: component("application", { name, version }) },
    components: packages.map((each) => ({
      ...component("library", each),
      licenses: [{ license: { id: each.license } }],
    })),
  };
}

function noticesOf(packages: readonly BundledPackage[]): string {
  const head = "Cofre contains these packages, under their own licences.\n";
  const rule = "-".repeat(80);
  return [
    head,
    ...packages.map(
      ({ name, version, license, licenseText }) =>
        `${rule}\n${name} ${version} (${license})\n\n${licenseText.trim()}\n`,
    ),
  ].join("\n");
}

/** Writes the declarations of the library. */
function makeDeclarations(folder: string): void {
  const typescript = join(repository, "node_modules/typescript/bin/tsc");
  execFileSync(
    process.execPath,
    [typescript, "-p", join(repository, "tsconfig.package.json"), "--outDir", folder],
    { stdio: "inherit" },
  );
  finishDeclarations(folder);
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

/** npm prints the name of the tarball as its last line. */
export function pack(layout: string, destination: string): string {
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
    const tarball = await makeTarball(layout, join(repository, ".cache"));
    process.stdout.write(`${relative(process.cwd(), tarball)}\n`);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}
