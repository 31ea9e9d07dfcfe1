import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { completionScript } from "../../src/cli/completion.ts";
import { commandRows, type CompletedShell, completedShells } from "../../src/cli/commands.ts";
import { cleanEnvironment, Command, SharedCleanup, temporaryFolder } from "../command.ts";
import { startTestServer, type TestServer } from "../server.ts";

/*
 * The completion scripts in real shells: each test is skipped where its shell is not installed.
 */

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));
const shared = new SharedCleanup();
let folder = "";
let server: TestServer;
let environment: NodeJS.ProcessEnv = {};

before(async () => {
  server = await startTestServer();
  await server.postJson("/__cofre/worlds", { name: "check out", new_integration_key: "k" });
  folder = temporaryFolder(shared);
  const bin = join(folder, "bin");
  mkdirSync(join(folder, "fixtures"));
  mkdirSync(bin);
  writeFileSync(join(folder, "fixtures.json"), "{}");
  for (const [name, script] of [
    ["cofre", `exec "${process.execPath}" "${program}" "$@"`],
    ["only-here-program", "exit 0"],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  for (const shell of completedShells)
    writeFileSync(join(folder, `cofre.${shell}`), completionScript(shell));
  environment = {
    ...cleanEnvironment,
    PATH: [bin, cleanEnvironment["PATH"] ?? ""].join(delimiter),
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
    TERM: "dumb",
    COFRE_PORT: String(server.port),
  };
});

after(async () => {
  await server[Symbol.asyncDispose]();
  shared.endAll();
});

async function run(shell: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(shell, args, {
    cwd: folder,
    env: environment,
    timeout: 90_000,
    killSignal: "SIGKILL",
  });
  return stdout;
}

/** What each shell offers for lines, without what it puts behind a word. */
const offers: Readonly<
  Record<CompletedShell, (lines: readonly string[]) => Promise<readonly (readonly string[])[]>>
> = {
  async bash(lines) {
    const script = `
      source ./cofre.bash
      for line in "$@"; do
        IFS=' ' read -r -a COMP_WORDS <<< "$line"
        case $line in *' ') COMP_WORDS+=('') ;; esac
        COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
        _cofre
        printf '%s\\n' "\${COMPREPLY[@]}" ''
      done`;
    // Bash treats = as a word of its own.
    const given = lines.map((line) => line.replaceAll("=", " = "));
    return paragraphs(await run("bash", ["--norc", "-c", script, "bash", ...given])).map((words) =>
      words.map((word) => word.replaceAll("\\", "")),
    );
  },
  async fish(lines) {
    const script = `source ./cofre.fish; for line in $argv; complete -C $line; echo; end`;
    return paragraphs(await run("fish", ["--no-config", "-c", script, ...lines])).map((words) =>
      words.map((word) => word.replace(/\t.*/, "").replace(/^--shell=/, "")),
    );
  },
  /**
   * The last word of the line after the Tab key in an interactive zsh, which prints it itself. Keys
   * that arrive before a prompt may be lost: the terminal is not in the editor's mode yet. With
   * EDITOR=vi, which npm sets, the keys would be those of vi.
   */
  async zsh(lines) {
    const script = `
      zmodload zsh/zpty
      zpty shell "zsh -f -i"
      zpty -w shell 'unset zle_bracketed_paste; bindkey -e; autoload -Uz compinit; compinit -u -D; source ./cofre.zsh; PS1="RE""ADY> "'
      zpty -r -m shell out '*READY> *'
      for line in "$@"; do
        zpty -w -n shell "$line"$'\\t'
        zpty -w shell $'\\C-a''print -rl -- BE''GIN '$'\\C-e'" EN''D"
        zpty -r -m shell out $'*BEGIN\\r\\n*END\\r\\n*READY> *'
        print -r -- "$out"
      done
      zpty -d shell`;
    const stdout = await run("zsh", ["-f", "-c", script, "zsh", ...lines]);
    return Array.from(stdout.matchAll(/^BEGIN\r\n([^]*?)\r\nEND\r$/gm), ([, words = ""]) =>
      words
        .split("\r\n")
        .slice(-1)
        .map((word) => word.replace(/^--shell=/, "")),
    );
  },
};

/** Groups of lines, each of which an empty line ends. */
function paragraphs(text: string): string[][] {
  const groups: string[][] = [[]];
  for (const line of text.split("\n").slice(0, -1))
    if (line === "") groups.push([]);
    else groups.at(-1)?.push(line);
  return groups.slice(0, -1);
}

/** A line and what completes it alone. */
const completed: readonly (readonly [line: string, word: string])[] = [
  ["cofre wor", "world"],
  ["cofre --port 0 conf", "config"],
  ["cofre world sna", "snapshot"],
  ["cofre env --shell pos", "posix"],
  ["cofre env --shell=dot", "dotenv"],
  ["cofre clock --adv", "--advance"],
  ["cofre fault add gar", "garbage_after_commit"],
  ["cofre fault add decline --reason insuf", "insufficient_funds"],
  ["cofre trigger refu", "refunded"],
  ["cofre help lis", "listen"],
  ["cofre payment ti", "timeline"],
  ["cofre start --fixtures fixtures.js", "fixtures.json"],
  ["cofre run only-h", "only-here-program"],
  ["cofre run --no-proxy -- only-h", "only-here-program"],
  ["cofre world create --or-reset ch", "check out"],
];

for (const shell of completedShells) {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  test(
    `${shell} completes words, options, values, files, programs and worlds`,
    {
      skip: !isThere,
    },
    async () => {
      const lines = completed.map(([line]) => line);
      assert.deepEqual(
        await offers[shell](lines),
        completed.map(([, word]) => [word]),
      );
    },
  );
}

for (const shell of ["bash", "fish"] as const) {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  test(
    `${shell} offers all commands, and the words and options of each`,
    {
      skip: !isThere,
    },
    async () => {
      const [commands] = await offers[shell](["cofre "]);
      assert.deepEqual(commands?.toSorted(), commandRows.map(([name]) => name).toSorted());
      const words = await offers[shell](commandRows.map(([name]) => `cofre ${name} `));
      const options = await offers[shell](commandRows.map(([name]) => `cofre ${name} --`));
      for (const [index, [name, row]] of commandRows.entries()) {
        if (row.words !== undefined)
          assert.deepEqual(words[index]?.toSorted(), row.words.toSorted(), name);
        const missing = Object.keys(row.options).filter(
          (flag) => options[index]?.includes(flag) !== true,
        );
        assert.deepEqual(missing, [], name);
      }
    },
  );
}

test("cofre completion prints the script, and needs the name of a shell that it knows", async (context) => {
  const printed = Command.cofre(context, ["completion", "zsh"]);
  assert.equal(await printed.code(), 0);
  assert.equal(printed.stdout, completionScript("zsh"));
  const unknown = Command.cofre(context, ["completion", "tcsh"]);
  assert.equal(await unknown.code(), 2);
  assert.match(unknown.stderr, /^completion takes only bash or zsh or fish, but was given: tcsh/);
});
