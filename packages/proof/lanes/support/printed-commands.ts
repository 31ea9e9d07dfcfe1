import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../../../server/test/clients/pages.ts";

/**
 * The commands that the pages for users print, and how each is executed. The docs lane executes
 * those with `run`, in order, in a clone of the repository. A test requires an entry for each block.
 */

/** All of them, page by page in the order of `ways`, then those of pages without an entry. */
export function printedBlocks(): readonly Pick<PrintedCommand, "page" | "text">[] {
  const pages = ["README.md", "packages/server/README.md"].concat(
    globSync("docs/**/*.md", { cwd: repository }).toSorted(),
  );
  const known = Object.keys(ways);
  const ordered = [...known, ...pages.filter((page) => !known.includes(page))];
  return ordered.flatMap((page) =>
    Array.from(
      readFileSync(join(repository, page), "utf8").matchAll(/^```sh\n([^]*?)^```/gm),
      ([, text = ""]) => ({ page, text: text.trim() }),
    ),
  );
}

/** One execution of a block, or of one of its lines, by a shell. */
export interface Run {
  /** Texts in the block and what replaces each. `{name}` is a value of the lane (`LaneValues`). */
  readonly replace?: Readonly<Record<string, string>>;
  /** Expected on standard output or standard error. */
  readonly shows?: RegExp;
  /** The command continues until it is stopped; it is stopped after this was in its output. */
  readonly until?: RegExp;
  /** Expected exit code, if not 0. */
  readonly code?: number;
}

/** Values of the lane that the replacements name. */
export interface LaneValues {
  /** An empty folder for the files of the commands. */
  readonly folder: string;
  /** Address of a Cofre that takes the place of another server. */
  readonly upstream: string;
  /** Path of the npm package's tarball. */
  readonly tarball: string;
}

export type Way =
  | { readonly run: Run }
  /** Another test or lane executes it; the file names the page or the program. */
  | { readonly by: string }
  /** Nothing executes it, because of this. */
  | { readonly not: string };

const run = (how: Run = {}): Way => ({ run: how });
const by = (file: string): Way => ({ by: file });
const not = (reason: string): Way => ({ not: reason });

const printedTest = by("packages/server/test/clients/printed-commands.test.ts");
const quickStartsTest = by("packages/server/test/clients/quick-starts.test.ts");
const dockerLane = by("packages/proof/lanes/docker.lane.ts");
const clientsLane = by("packages/proof/lanes/clients.lane.ts");
const served = /Cofre is listening at|"event":"listening"/;

/**
 * By page, an entry for each block in order. An array has an entry for each line of its block;
 * lines of a block with one entry are executed by one shell.
 */
export const ways: Readonly<Record<string, readonly (Way | readonly Way[])[]>> = {
  "README.md": [
    // The lane begins with it, and with the charge.
    by("packages/proof/lanes/docs.lane.ts"),
    by("packages/proof/lanes/docs.lane.ts"),
    [dockerLane, run({ until: served })],
    not("is the steps `install` and `tests` of .ci/run"),
    printedTest,
    printedTest,
    printedTest,
    printedTest,
  ],
  "docs/clients.md": [printedTest, printedTest, printedTest, printedTest],
  "docs/compare.md": [
    run({
      replace: { "https://sandbox.example": "{upstream}", "--port 8788": "--port 0" },
      until: /^Comparing http/m,
    }),
  ],
  "docs/concepts/notifications.md": [
    run({ until: /http:\/\/127\.0\.0\.1:\d+/ }),
    run({ shows: /"secret":\s*"whsec_/ }),
    by("packages/server/test/delivery/example.test.ts"),
    run({ shows: /drop/ }),
  ],
  "docs/concepts/routing.md": [run({ shows: /"backup"/ }), run({ shows: /\S/ })],
  "docs/concepts/unknown-outcomes.md": [run({ shows: /\S/ })],
  "docs/concepts/upstream.md": [by("packages/proof/lanes/docs.lane.ts")],
  "docs/correctness.md": [
    [
      not("is the lanes themselves"),
      not("is the lanes themselves"),
      run({ shows: /1 passed, 0 failed/ }),
    ],
  ],
  "docs/fixtures.md": [
    [
      run({ until: served }),
      run({ replace: { "npm test": "true" } }),
      run({ shows: /COFRE_FIXTURES, --fixtures = cofre\.json/ }),
    ],
  ],
  "docs/mcp.md": [run({ until: served })],
  "docs/performance.md": [not("measures for minutes: CI runs it with --quick (.ci/run)")],
  "docs/quick-starts.md": [
    ...Array.from({ length: 6 }, () => quickStartsTest),
    not("needs WordPress with WooCommerce, which no registry of the tests has"),
    quickStartsTest,
    quickStartsTest,
    not("needs .NET, which no registry of the tests has"),
  ],
  "docs/recipes.md": [clientsLane, clientsLane],
  "docs/test-worlds.md": [
    printedTest,
    printedTest,
    printedTest,
    printedTest,
    run({ shows: /unknown|PE/ }),
  ],
  "docs/wire/sandbox.md": [
    run({ shows: /"integration_key"/ }),
    run({ shows: /drop_after_commit/ }),
    run({ shows: /"br"/ }),
    run({ shows: /partialCapture/ }),
  ],
  "docs/operate/audit.md": [
    // The server of the lane has no users.
    [run({ code: 1, shows: /No user has this name/ }), run(), run()],
    // A second machine has the heads.
    run({ replace: { "ssh witness cat cofre-heads": "cofre audit head" }, shows: /is intact/ }),
  ],
  "docs/operate/backup.md": [
    run({ replace: { "/mnt": "{folder}/mnt" } }),
    run({ replace: { "/mnt": "{folder}/mnt" }, shows: /cofre-2026-01-31/ }),
    by("packages/proof/lanes/docs.lane.ts"),
    [
      run({ replace: { "/mnt": "{folder}/mnt", rehearsal: "{folder}/rehearsal" } }),
      run({ replace: { "/mnt": "{folder}/mnt", rehearsal: "{folder}/rehearsal" } }),
      run({ replace: { rehearsal: "{folder}/rehearsal" } }),
      run({ replace: { rehearsal: "{folder}/rehearsal" }, until: served }),
    ],
  ],
  "docs/operate/key-services.md": [
    by("packages/proof/lanes/custody.lane.ts"),
    not("needs an account of AWS: the custody lane uses moto and local-kms"),
    by("packages/proof/lanes/custody.lane.ts"),
  ],
  "docs/operate/keys.md": [
    by("packages/server/test/e2e/key-acts.test.ts"),
    by("packages/server/test/e2e/key-rotation.test.ts"),
    by("packages/server/test/e2e/key-rotation.test.ts"),
    by("packages/server/test/e2e/key-rotation.test.ts"),
  ],
  "docs/operate/postgres.md": [
    by("packages/proof/lanes/docs.lane.ts"),
    by("packages/proof/lanes/docs.lane.ts"),
  ],
  "docs/operate/production.md": Array.from({ length: 7 }, () =>
    by("packages/proof/lanes/production.lane.ts"),
  ),
  "docs/operate/recovery.md": [
    not("is a ceremony at a terminal, which cli/recovery/recovery.test.ts plays"),
    run(),
    by("packages/proof/lanes/recovery.lane.ts"),
    not("is a ceremony at a terminal, which cli/recovery/recovery.test.ts plays"),
  ],
  "docs/operate/running.md": [dockerLane],
  "docs/operate/scan.md": [
    [
      run({ replace: { "PATH...": "package.json LICENSE" } }),
      run({ replace: { "numbers.txt": "{folder}/numbers.txt", "PATH...": "package.json" } }),
      run({ replace: { "pg_dump shop": "cat package.json" }, shows: /\{/ }),
    ],
  ],
  "packages/server/README.md": [
    [
      run({ replace: { "./cofre-server-VERSION.tgz": "{tarball}" }, until: served }),
      run({ replace: { "./cofre-server-VERSION.tgz": "{tarball}" }, shows: /Usage: cofre/ }),
    ],
  ],
};

/** A block of commands (```sh), or a line of one, and how it is executed. */
export interface PrintedCommand {
  readonly page: string;
  readonly text: string;
  /** undefined: there is no entry. */
  readonly way: Way | undefined;
}

/** The blocks, divided where an entry has a way for each line. */
export function printedCommands(): readonly PrintedCommand[] {
  const counts = new Map<string, number>();
  return printedBlocks().flatMap(({ page, text }) => {
    const index = counts.get(page) ?? 0;
    counts.set(page, index + 1);
    const way = ways[page]?.[index];
    if (way === undefined || !isList(way)) return [{ page, text, way }];
    const lines = text.split("\n");
    return lines.map((line, number) => ({ page, text: line, way: way[number] }));
  });
}

function isList(way: Way | readonly Way[]): way is readonly Way[] {
  return Array.isArray(way);
}
