import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { libraries } from "../packages/server/src/http/console-endpoint.ts";

/**
 * The JavaScript of the npm package, with all dependencies inside: a few files instead of 650
 * modules in 30 packages, so that a start reads less and an installation trusts one package.
 */

const repository = fileURLToPath(new URL("..", import.meta.url));
const server = join(repository, "packages/server");

/** A package whose code is in the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly licenseText: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly author: string | { readonly name: string };
}

/**
 * Paths to files beside the code, which have other places in the package: there, all code is in one
 * folder, with the console's files in `console` and the card fields' in `fields`. Each text is in its module once.
 */
const moved: readonly (readonly [module: string, from: string, to: string])[] = [
  ["src/http/console-endpoint.ts", '"../../../console/src/"', '"./console/"'],
  ["src/http/fields-files.ts", '"../../../fields/src/"', '"./fields/"'],
  ["src/config/environment.ts", '"../../.cache/compiled/"', '"../.cache/compiled/"'],
  ...libraries.map(
    ({ name, path }) =>
      [
        "src/http/console-endpoint.ts",
        `import.meta.resolve("${name}")`,
        `new URL("./${fileOf(path)}", import.meta.url).href`,
      ] as const,
  ),
];

/** A library of the console: its file in the package, from its path on the server. */
function fileOf(path: string): string {
  return path.slice(1);
}

const movedPaths: Plugin = {
  name: "moved-paths",
  transform(code, id) {
    const module = id.replaceAll("\\", "/");
    const own = moved.filter(([path]) => module.endsWith(`packages/server/${path}`));
    return own.length === 0
      ? undefined
      : own.reduce((text, [, from, to]) => replacedOnce(text, from, to), code);
  },
};

/**
 * Writes the bundle and the console's libraries into `folder`. Returns the packages that they
 * contain, by name. Names, lines and indentation remain, so that stack traces and reviews can use
 * them; comments are removed.
 */
export async function bundle(folder: string): Promise<readonly BundledPackage[]> {
  const bundled = await rolldown({
    cwd: server,
    platform: "node",
    input: {
      main: "src/main.ts",
      library: "src/library.ts",
      "writer-worker": "src/stores/embedded/writer-worker.ts",
      "pkcs11-helper": "src/vault/providers/pkcs11-helper.ts",
    },
    // An optional part of `pg`, which is not installed.
    external: ["pg-native"],
    plugins: [movedPaths],
    onwarn: (warning) => {
      throw new Error(warning.message);
    },
  });
  const { output } = await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    comments: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
    codeSplitting: {
      groups: [
        // The writer's thread reads this file and not the rest of the server.
        { name: "writer", test: /embedded.batch-writer\.ts$/, priority: 2 },
        // The program that calls a PKCS#11 module reads its own file and this one.
        { name: "pkcs11-frames", test: /providers.pkcs11-frames\.ts$/, priority: 2 },
        // What every start needs is one file. Imports at run time (PostgreSQL, the pages of the
        // documentation, sign-in) are files of their own.
        {
          name: "server",
          tags: ["$initial"],
          test: /(?<!writer-worker\.ts|pkcs11-(?:helper|module|token)\.ts)$/,
          priority: 1,
        },
      ],
    },
  });
  await bundled.close();
  const modules = output.flatMap((chunk) =>
    chunk.type !== "chunk"
      ? []
      : Object.entries(chunk.modules).flatMap(([id, { renderedLength }]) =>
          renderedLength > 0 ? [id] : [],
        ),
  );
  return packagesOf([...modules, ...copyConsoleLibraries(folder)]);
}

/** Returns the files that were copied. */
function copyConsoleLibraries(folder: string): readonly string[] {
  const parent = pathToFileURL(join(server, "src/http/console-endpoint.ts"));
  return libraries.map(({ name, path }) => {
    const source = fileURLToPath(import.meta.resolve(name, parent));
    const copy = join(folder, fileOf(path));
    mkdirSync(dirname(copy), { recursive: true });
    // The maps of the libraries are not in the package.
    writeFileSync(
      copy,
      readFileSync(source, "utf8").replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n"),
    );
    return source;
  });
}

function packagesOf(modules: readonly string[]): readonly BundledPackage[] {
  const folders = new Set(
    modules.flatMap((id) => {
      const [, folder] = /^\0?(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)/.exec(id) ?? [];
      return folder === undefined ? [] : [folder];
    }),
  );
  return [...folders]
    .map((folder) => {
      const { name, version, license, author } = JSON.parse(
        readFileSync(join(folder, "package.json"), "utf8"),
      ) as Manifest;
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const licenseText =
        file === undefined
          ? termsOf(license, typeof author === "object" ? author.name : author)
          : readFileSync(join(folder, file), "utf8");
      return { name, version, license, licenseText };
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** `pg-types` and `pgpass` name their licence and author, and have no file with the text. */
function termsOf(license: string, author: string): string {
  if (license !== "MIT") throw new Error(`The text of ${license} by ${author} is missing`);
  const text = readFileSync(join(repository, "node_modules/preact/LICENSE"), "utf8");
  return `Copyright (c) ${author}\n\n${text.slice(text.indexOf("Permission is hereby granted"))}`;
}

export function replacedOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`${from} is expected once`);
  return text.replace(from, to);
}
