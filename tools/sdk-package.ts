import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { pack, readManifest, writeJson } from "./package.ts";

/**
 * Builds the npm package from packages/sdk: JavaScript for every runtime since Node 20, and
 * declarations. `npm run package` writes its tarball to .cache.
 */
const repository = fileURLToPath(new URL("..", import.meta.url));
const sdk = join(repository, "packages/sdk");
const entries = ["index", "browser", "own-fields", "testing"] as const;
/** Entries that share code. A browser loads its one file and nothing else. */
const groups: readonly (readonly (typeof entries)[number][])[] = [
  ["index", "testing"],
  ["browser"],
  ["own-fields"],
];

/**
 * Lays out the package in an empty folder and packs it into `destination`. Resolves with the
 * tarball's path.
 */
export async function makeSdkTarball(layout: string, destination: string): Promise<string> {
  const dist = join(layout, "dist");
  for (const group of groups) await bundleSdk(dist, group);
  makeDeclarations(join(dist, "types"));
  cpSync(join(repository, "LICENSE"), join(layout, "LICENSE"));
  cpSync(join(sdk, "README.md"), join(layout, "README.md"));
  const { private: _private, ...manifest } = readManifest(join(sdk, "package.json"));
  writeJson(join(layout, "package.json"), {
    ...manifest,
    exports: {
      ...Object.fromEntries(
        entries.map((entry) => [
          entry === "index" ? "." : `./${entry}`,
          { types: `./dist/types/${entry}.d.ts`, default: `./dist/${entry}.js` },
        ]),
      ),
      "./package.json": "./package.json",
    },
    sideEffects: false,
    files: ["dist"],
    engines: { node: ">=20" },
  });
  return pack(layout, destination);
}

/** Writes the JavaScript of the entries, and of what they share, into `folder`. */
export async function bundleSdk(folder: string, group: (typeof groups)[number]): Promise<void> {
  const bundled = await rolldown({
    cwd: sdk,
    platform: "neutral",
    input: Object.fromEntries(group.map((entry) => [entry, `src/${entry}.ts`])),
    external: ["@cofre/server"],
    transform: { target: "es2022" },
    onwarn: (warning) => {
      throw new Error(warning.message);
    },
  });
  await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    comments: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  });
  await bundled.close();
}

function makeDeclarations(folder: string): void {
  const typescript = join(repository, "node_modules/typescript/bin/tsc");
  const project = join(repository, "tsconfig.sdk.json");
  execFileSync(process.execPath, [typescript, "-p", project, "--outDir", folder], {
    stdio: "inherit",
  });
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(/(["'])(\.{1,2}\/[^"']+)\.ts\1/g, "$1$2.js$1"));
  }
}

if (import.meta.main) {
  const layout = mkdtempSync(join(tmpdir(), "cofre-sdk-"));
  try {
    const tarball = await makeSdkTarball(layout, join(repository, ".cache"));
    process.stdout.write(`${relative(process.cwd(), tarball)}\n`);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}
