import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TarEntry } from "./tar.ts";

/**
 * The root file system of the container image without Cofre: the pinned Node, the libraries of
 * Debian that it needs, from this machine, with their licences, and a user without rights.
 */

/** User and group of Cofre; without a name in other images, so that no host user has it. */
export const userId = 65_532;

const accounts = `root:x:0:0:root:/:/sbin/nologin\ncofre:x:${userId}:${userId}:cofre:/data:/sbin/nologin\n`;
const groups = `root:x:0:\ncofre:x:${userId}:\n`;

/** Licence texts that the copyright files of Debian's packages refer to. */
const commonLicenses = ["GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3"];

/** `node`: path of the executable, in a package that has its licence beside `bin`. */
export function rootEntries(node: string): readonly TarEntry[] {
  const libraries = librariesOf(node);
  const packages = [...new Set(libraries.map(packageOf))].toSorted();
  return [
    ...libraries.map((path) => file(path.slice(1), readFileSync(realpathSync(path)), 0o755)),
    ...packages.flatMap((name) => [
      file(`usr/share/doc/${name}/copyright`, readFileSync(`/usr/share/doc/${name}/copyright`)),
      // Where scanners look for the packages of an image without a package manager.
      file(`var/lib/dpkg/status.d/${name}`, output("dpkg-query", "--status", name)),
    ]),
    ...commonLicenses.map((name) =>
      file(`usr/share/common-licenses/${name}`, readFileSync(`/usr/share/common-licenses/${name}`)),
    ),
    file("usr/share/doc/node/LICENSE", readFileSync(join(node, "../../LICENSE"))),
    file("usr/local/bin/node", readFileSync(node), 0o755),
    file("etc/os-release", readFileSync("/etc/os-release")),
    file("etc/passwd", accounts),
    file("etc/group", groups),
    file("etc/nsswitch.conf", "hosts: files dns\n"),
    { path: "tmp", mode: 0o1777 },
    { path: "data", mode: 0o700, owner: userId },
  ];
}

/** Cofre itself: the files of the npm package without the declarations, and the command. */
export function programEntries(layout: string): readonly TarEntry[] {
  const files = readdirSync(layout, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => {
      const content = readFileSync(path);
      return path === join(layout, "bin/cofre.js")
        ? file(placeOf(layout, path), withNodeOfImage(content.toString("utf8")), 0o755)
        : file(placeOf(layout, path), content);
    });
  return [...files, { path: "usr/local/bin/cofre", mode: 0o777, link: "/opt/cofre/bin/cofre.js" }];
}

function placeOf(layout: string, path: string): string {
  return `opt/cofre${path.slice(layout.length)}`;
}

/** The image has no `env`. */
function withNodeOfImage(program: string): string {
  const start = "#!/usr/bin/env node\n";
  if (!program.startsWith(start)) throw new Error("the program begins with another line");
  return `#!/usr/local/bin/node\n${program.slice(start.length)}`;
}

function file(path: string, content: Uint8Array | string, mode = 0o644): TarEntry {
  return { path, mode, content: typeof content === "string" ? Buffer.from(content) : content };
}

/** The folders that the entries are in, before them, all in a fixed order. */
export function withFolders(entries: readonly TarEntry[]): readonly TarEntry[] {
  const known = new Set(entries.map(({ path }) => path));
  const folders = new Set(
    entries.flatMap(({ path }) => {
      const parts = path.split("/");
      return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
    }),
  );
  const missing = [...folders].filter((path) => !known.has(path));
  return [...entries, ...missing.map((path) => ({ path, mode: 0o755 }))].toSorted((one, other) =>
    one.path < other.path ? -1 : 1,
  );
}

/** Paths of the shared libraries and of the loader. */
function librariesOf(program: string): readonly string[] {
  const paths = output("ldd", program).matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm);
  return Array.from(paths, ([, path = ""]) => path).toSorted();
}

/** The Debian package of a library: it is listed with or without /usr before its path. */
function packageOf(path: string): string {
  for (const listed of [path, `/usr${path}`]) {
    try {
      const [name = ""] = output("dpkg-query", "--search", listed).split(":");
      return name;
    } catch {
      // Listed under the other path.
    }
  }
  throw new Error(`no package of this machine contains ${path}`);
}

function output(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    stdio: ["ignore", "pipe", "ignore"],
  });
}
