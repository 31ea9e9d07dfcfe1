import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
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
import { directBody } from "../../server/test/server.ts";
import { tlsFiles } from "../../server/src/certificates/authority-files.ts";
import { freePort } from "../../server/test/free-port.ts";
import { postgresBinaries, startCluster } from "../../server/test/postgres/cluster.ts";
import { query } from "../../server/test/postgres/databases.ts";
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
    // The process that is stopped is that of the last command.
    const last = script.lastIndexOf("&& ");
    const at = last === -1 ? 0 : last + "&& ".length;
    const command = shell(`${script.slice(0, at)}exec ${script.slice(at)}`, own);
    await command.outputMatch(until);
    command.child.kill("SIGTERM");
    await command.exited;
  }
});

test("the server of docs/concepts/upstream.md is another Cofre with TLS", async (context) => {
  const folder = temporaryFolder(context);
  const environment = { COFRE_PORT: "0", COFRE_LOG_FORMAT: "json" };
  const own = join(folder, "upstream");
  const upstream = Command.cofre(context, ["start", "--tls", "--tls-port", "0"], {
    ...environment,
    COFRE_DATA_DIR: own,
  });
  const [, key = ""] = await upstream.stderrMatch(printedKey);
  const { port } = await upstream.event("listening_tls");
  writeFileSync(join(folder, "upstream.key"), key, { mode: 0o600 });
  copyFileSync(tlsFiles(own).authority, join(folder, "upstream-ca.pem"));
  const text = readFileSync(join(repository, "docs/concepts/upstream.md"), "utf8");
  const [, block = ""] = /```sh\n([^]*?)```/.exec(text) ?? [];
  assert.ok(block.includes("https://pay.example.com"));
  const program = join(repository, "packages/server/bin/cofre.js");
  const script = block
    .replace("https://pay.example.com", `https://localhost:${String(port)}`)
    .replace("cofre start", `exec "${process.execPath}" "${program}" start`);
  const server = new Command(
    context,
    ["sh", "-ec", script],
    { ...environment, COFRE_DATA_DIR: join(folder, "data") },
    folder,
  );
  const { port: serverPort } = await server.event("listening");
  const [, ownKey = ""] = await server.stderrMatch(printedKey);
  const response = await fetch(`http://127.0.0.1:${String(serverPort)}/ws/direct`, {
    method: "POST",
    body: JSON.stringify({ ...directBody("through"), integration_key: ownKey }),
  });
  assert.match(await response.text(), /"status":"CO"/);
});

const noPostgres = postgresBinaries() === undefined && "PostgreSQL is not installed: see .ci/run";

describe("on a PostgreSQL with TLS", { skip: noPostgres }, () => {
  const page = "docs/operate/postgres.md";
  const parts = new AsyncDisposableStack();
  after(() => parts.disposeAsync());
  let folder = "";
  let host = "";

  before(async () => {
    const cluster = parts.use(await startCluster({ log_parameter_max_length: "0" }));
    folder = temporaryFolder(shared);
    host = `localhost:${new URL(cluster.url).port}`;
    const [certificate, key] = ["server.crt", "server.key"].map((name) =>
      join(cluster.folder, name),
    );
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...names];
    execFileSync("openssl", [...made, "-out", certificate ?? "", "-keyout", key ?? ""], {
      stdio: "ignore",
    });
    copyFileSync(certificate ?? "", join(folder, "ca.pem"));
    const { uid, gid } = statSync(cluster.folder);
    for (const file of [certificate, key]) chownSync(file ?? "", uid, gid);
    await query(cluster.url, `ALTER SYSTEM SET ssl_cert_file = '${certificate}'`);
    await query(cluster.url, `ALTER SYSTEM SET ssl_key_file = '${key}'`);
    await query(cluster.url, "ALTER SYSTEM SET ssl = on");
    await query(cluster.url, "SELECT pg_reload_conf()");
    // The statements of the page, and a second database for the move.
    const [statements = ""] = blocksUnder(page, "## Preparing the server", "sql");
    for (const statement of statements.replace("'...'", "'PASSWORD'").split(";"))
      if (statement.replaceAll(/--.*/g, "").trim() !== "") await query(cluster.url, statement);
    await query(
      cluster.url,
      "CREATE DATABASE moved OWNER cofre ENCODING 'UTF8' TEMPLATE template0",
    );
  });

  const shell = (script: string, data: string): Command =>
    new Command(
      shared,
      ["sh", "-ec", script.replace(/npm start.*$/, "exec npm start")],
      {
        COFRE_DATA_DIR: join(folder, data),
        COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
        COFRE_PORT: "0",
        COFRE_LOG_FORMAT: "json",
      },
      repository,
    );
  /** A block with the address of the server here. */
  const here = (block: string, database: string): string => {
    const address = "db.example.com/cofre?sslmode=verify-full";
    assert.ok(block.includes(address));
    const own = `${host}/${database}?sslmode=verify-full&sslrootcert=${join(folder, "ca.pem")}`;
    return block.replace(address, own);
  };

  test("Cofre starts on it", async () => {
    const text = readFileSync(join(repository, page), "utf8");
    const [, first = ""] = /```sh\n([^]*?)```/.exec(text) ?? [];
    const server = shell(here(first.trim(), "cofre"), "on-postgres");
    await server.event("listening");
    server.child.kill("SIGTERM");
    await server.exited;
  });

  test("a base backup is made as docs/operate/backup.md says", async () => {
    const text = readFileSync(join(repository, "docs/operate/backup.md"), "utf8");
    const [, block = ""] = /```sh\n([^`]*pg_basebackup[^`]*)```/.exec(text) ?? [];
    const [server, port = ""] = host.split(":");
    const made = new Command(
      shared,
      ["sh", "-ec", block.replaceAll("/mnt", folder)],
      {
        PATH: [postgresBinaries() ?? "", cleanEnvironment["PATH"] ?? ""].join(delimiter),
        PGHOST: server ?? "",
        PGPORT: port,
        PGUSER: "postgres",
      },
      repository,
    );
    assert.equal(await made.code(), 0, made.stderr);
    assert.ok(existsSync(join(folder, "base/2026-01-31/backup_manifest")));
  });

  test("an installation moves from its file", async () => {
    const first = shell("npm start", "moved");
    await first.event("listening");
    first.child.kill("SIGTERM");
    await first.exited;
    const [block = ""] = blocksUnder(page, "## Moving an installation from its file");
    const moved = shell(here(block, "moved"), "moved");
    await moved.event("listening");
    moved.child.kill("SIGTERM");
    await moved.exited;
  });
});
