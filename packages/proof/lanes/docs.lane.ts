import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeTarball } from "../../../tools/package.ts";
import { blocksUnder, repository } from "../../server/test/clients/pages.ts";
import {
  cleanEnvironment,
  Command,
  SharedCleanup,
  temporaryFolder,
} from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { printedKey } from "../../server/test/support/first-minute.ts";
import { type LaneValues, printedCommands, type Run } from "./support/printed-commands.ts";

/*
 * A new user's clone: the first charge, and after it the commands of the pages, as printed. They
 * share one server, whose port replaces 8787.
 */

/** Target from `git clone` to the answer of the first charge, in milliseconds. */
const firstChargeMs = 60_000;

/** Target from `npx` to the answer of the first charge, in milliseconds. */
const firstChargeOfPackageMs = 20_000;

/** The longest time of one command, in milliseconds. */
const commandMs = 60_000;

const shared = new SharedCleanup();
after(() => shared.endAll());

describe("in a clone", () => {
  let clone = "";
  let values: LaneValues;
  let environment: Readonly<Record<string, string>> = {};
  let port = 0;
  let server: Command;

  before(async () => {
    const folder = temporaryFolder(shared);
    clone = join(folder, "cofre");
    port = await freePort();
    const bin = join(folder, "bin");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "cofre"),
      `#!/bin/sh\nexec "${process.execPath}" "${clone}/packages/server/bin/cofre.js" "$@"\n`,
    );
    chmodSync(join(bin, "cofre"), 0o755);
    mkdirSync(join(folder, "mnt"));
    // Not of a card.
    writeFileSync(join(folder, "numbers.txt"), "4000000000000002\n");
    environment = {
      PATH: [bin, dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter),
      COFRE_DATA_DIR: join(folder, "data"),
      COFRE_PORT: String(port),
      COFRE_LOG_FORMAT: "json",
      // At a terminal npx asks first.
      npm_config_yes: "true",
      COFRE_CONNECTORS: JSON.stringify(
        ["main", "backup"].map((name) => ({ name, kind: "simulator" })),
      ),
    };
    values = { folder, upstream: `http://127.0.0.1:${port}`, tarball: "" };
  });

  test("the first charge is answered within a minute", async (context) => {
    const started = performance.now();
    execFileSync("git", ["clone", "--quiet", repository, clone]);
    const [start = "", charge = ""] = blocksUnder("README.md", "## Start");
    // The process that is stopped is npm, as at a terminal.
    const script = start.replace("npm start", "exec npm start");
    server = new Command(shared, ["sh", "-c", script], environment, clone);
    const [, key = ""] = await server.stderrMatch(printedKey);
    environment = { ...environment, KEY: key, COFRE_SANDBOX_INTEGRATION_KEY: key };
    const sent = shell(charge);
    assert.equal(await sent.code(), 0, sent.stderr);
    assert.match(sent.stdout, /"status":"CO"/);
    const tookMs = performance.now() - started;
    context.diagnostic(`from git clone to the answer: ${(tookMs / 1_000).toFixed(1)} s`);
    assert.ok(tookMs < firstChargeMs, `${tookMs} ms`);
  });

  test("the files that the commands name are in the clone", () => {
    const page = readFileSync(join(clone, "docs/fixtures.md"), "utf8");
    const [, fixtures = ""] = /```json\n([^]*?)```/.exec(page) ?? [];
    writeFileSync(join(clone, "cofre.json"), fixtures);
  });

  test("a world is made for the commands that need its key, and the package for npx", async () => {
    const made = shell("cofre world create --json");
    assert.equal(await made.code(), 0, made.stderr);
    const { integration_key: world } = JSON.parse(made.stdout) as {
      readonly integration_key: string;
    };
    environment = { ...environment, WORLD: world };
    const layout = join(values.folder, "layout");
    mkdirSync(layout);
    values = { ...values, tarball: await makeTarball(layout, values.folder) };
  });

  test("with npx and the package, the first charge is answered within 20 seconds", async (context) => {
    const started = performance.now();
    const folder = join(values.folder, "shop");
    mkdirSync(folder);
    const own = { COFRE_PORT: "0", COFRE_DATA_DIR: join(folder, "data"), COFRE_CONNECTORS: "" };
    const npx = ["npx", "--package", values.tarball, "cofre"] as const;
    const cofre = new Command(context, npx, { ...withoutKey(environment), ...own }, folder);
    const [, key = ""] = await cofre.stderrMatch(printedKey);
    const { port: ownPort } = await cofre.event("listening");
    const [, charge = ""] = blocksUnder("README.md", "## Start");
    const sent = shell(charge.replace(":8787/", `:${String(ownPort)}/`), { KEY: key });
    assert.equal(await sent.code(), 0, sent.stderr);
    assert.match(sent.stdout, /"status":"CO"/);
    const tookMs = performance.now() - started;
    context.diagnostic(`from npx to the answer: ${(tookMs / 1_000).toFixed(1)} s`);
    assert.ok(tookMs < firstChargeOfPackageMs, `${tookMs} ms`);
    cofre.child.kill("SIGTERM");
    await cofre.exited;
  });

  for (const { page, text, way } of printedCommands()) {
    if (way === undefined || !("run" in way)) continue;
    test(`${page}: ${text.split("\n")[0]}`, { timeout: commandMs }, () => execute(text, way.run));
  }

  test("the server has run until it is stopped", async () => {
    assert.equal(server.child.exitCode, null);
    server.child.kill("SIGTERM");
    await server.exited;
  });

  /** For a server that generates its key. */
  function withoutKey({
    COFRE_SANDBOX_INTEGRATION_KEY: _key,
    ...others
  }: Readonly<Record<string, string>>) {
    return others;
  }

  function shell(text: string, more: Readonly<Record<string, string>> = {}): Command {
    return new Command(
      shared,
      ["sh", "-ec", text.replaceAll(":8787/", `:${port}/`)],
      { ...environment, ...more },
      clone,
    );
  }

  async function execute(text: string, { replace = {}, shows, until, code = 0 }: Run) {
    let script = text;
    for (const [from, to] of Object.entries(replace)) {
      assert.ok(script.includes(from), `the block has ${from}`);
      script = script.replaceAll(
        from,
        to.replace(/\{(\w+)\}/g, (_, name: string) => values[name as keyof LaneValues]),
      );
    }
    if (until === undefined) {
      const command = shell(script);
      assert.equal(await command.code(), code, `${command.stdout}${command.stderr}`);
      if (shows !== undefined) assert.match(`${command.stdout}${command.stderr}`, shows);
      return;
    }
    // A second server beside the lane's own needs another port and directory.
    const isServer = /\bstart\b|npx/.test(script);
    const own = isServer ? { COFRE_PORT: "0", COFRE_DATA_DIR: ":memory:" } : undefined;
    const command = shell(`exec ${script}`, own);
    await command.outputMatch(until);
    command.child.kill("SIGTERM");
    await command.exited;
  }
});
