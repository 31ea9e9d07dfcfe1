import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Command, temporaryFolder } from "../command.ts";
import { integrationKey } from "../server.ts";
import { blocksUnder, repository } from "./pages.ts";

const hasCurl = spawnSync("curl", ["--version"], { stdio: "ignore" }).status === 0;
const skip = process.platform === "win32" || !hasCurl ? "there is no shell with curl" : false;

describe("the command that runs another with a Cofre of its own, as it is printed", () => {
  for (const [page, heading] of [
    ["README.md", "## Unmodified clients"],
    ["docs/clients.md", "## For one command"],
  ] as const) {
    test(`in ${page}`, { skip }, async (context) => {
      const [block = "", ...more] = blocksUnder(page, heading);
      assert.deepEqual(more, []);
      const command = new Command(context, ["sh", "-c", `exec ${block}`], {}, repository);
      assert.equal(await command.code(), 0, command.stderr);
      assert.match(command.stdout, /^\{.*"rate":"5\.8300".*\}$/);
    });
  }
});

describe("the commands that lead a client here, as they are printed", () => {
  test("in docs/clients.md", { skip }, async (context) => {
    const [start = "", proxy = "", client = "", ...more] = blocksUnder(
      "docs/clients.md",
      "## Without a change",
    );
    assert.deepEqual(more, []);
    const settings = {
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      COFRE_LOG_FORMAT: "json",
    };
    // `exec`: the process that is ended is npm, as where a person types these.
    const shell = (script: string, environment: Readonly<Record<string, string>>): Command =>
      new Command(context, ["sh", "-c", script], { ...settings, ...environment }, repository);

    const cofre = shell(`exec ${start}`, { COFRE_PORT: "0", COFRE_TLS_PORT: "0" });
    await cofre.event("listening");
    const { port } = await cofre.event("listening_tls");
    const leading = shell(`exec ${proxy}`, {
      COFRE_TLS_PORT: String(port),
      COFRE_PROXY_PORT: "0",
    });
    const [, proxyPort = ""] = await leading.stderrMatch(
      /The proxy is http:\/\/127\.0\.0\.1:(\d+);/,
    );
    const requested = shell(client, { COFRE_PROXY_PORT: proxyPort, KEY: integrationKey });
    assert.equal(await requested.code(), 0, requested.stderr);
    assert.match(requested.stdout, /"rate":"5\.8300"/);

    for (const running of [leading, cofre]) {
      running.child.kill("SIGTERM");
      await running.exited;
    }
  });
});

describe("the other commands of README.md", () => {
  test("start a server for CI, and send it a charge", { skip }, async (context) => {
    const [ci] = blocksUnder("README.md", "## Worlds, clock and faults").slice(-1);
    const [, charge = ""] = blocksUnder("README.md", "## Start");
    const cofre = new Command(
      context,
      [
        "sh",
        "-c",
        (ci ?? "")
          .replace("COFRE_PORT=8787", "COFRE_PORT=0")
          .replace("npm start", "exec npm start"),
      ],
      { COFRE_LOG_FORMAT: "json" },
      repository,
    );
    const { port } = await cofre.event("listening");
    const sent = new Command(
      context,
      ["sh", "-ec", charge.replace(":8787/", `:${String(port)}/`)],
      { KEY: "my-key" },
      repository,
    );
    assert.equal(await sent.code(), 0, sent.stderr);
    const { payment } = JSON.parse(sent.stdout) as {
      readonly payment: { readonly status: string };
    };
    assert.equal(payment.status, "CO");
    cofre.child.kill("SIGTERM");
    await cofre.exited;
  });

  test("control: no block is left out, and npm has the scripts", () => {
    const page = readFileSync(join(repository, "README.md"), "utf8");
    const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block.trim());
    const executed = ["## Start", "## Worlds, clock and faults", "## Unmodified clients"].flatMap(
      (heading) => blocksUnder("README.md", heading),
    );
    assert.deepEqual(blocks, executed);
    // An installation cannot run inside a test; these two are what CI itself runs.
    assert.deepEqual(
      blocks.filter((block) => block.startsWith("npm ci")),
      ["npm ci && npm start", "npm ci && npm test"],
    );
  });
});

describe("the commands that make and move worlds, as they are printed", () => {
  for (const [page, headings] of [
    ["README.md", ["## Worlds, clock and faults"]],
    [
      "docs/test-worlds.md",
      ["## Worlds", "## Test clock", "## Fault injection", "## Sample payments"],
    ],
  ] as const) {
    test(`in ${page}`, { skip }, async (context) => {
      const settings = {
        COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
        COFRE_LOG_FORMAT: "json",
      };
      const cofre = new Command(
        context,
        ["sh", "-c", "exec npm start"],
        { ...settings, COFRE_PORT: "0" },
        repository,
      );
      const { port } = await cofre.event("listening");
      const there = { ...settings, COFRE_PORT: String(port), KEY: integrationKey };
      const made = new Command(
        context,
        ["sh", "-c", "exec npm run --silent cofre -- world create --json"],
        there,
        repository,
      );
      assert.equal(await made.code(), 0, made.stderr);
      const { integration_key: server } = JSON.parse(made.stdout) as {
        readonly integration_key: string;
      };
      const blocks = headings
        .flatMap((heading) => blocksUnder(page, heading))
        .filter((block) => !block.endsWith("npm start"));
      assert.ok(blocks.length >= 2);
      for (const block of blocks) {
        const shell = new Command(
          context,
          ["sh", "-ec", block.replace("INTEGRATION_KEY=...", `INTEGRATION_KEY=${server}`)],
          there,
          repository,
        );
        assert.equal(await shell.code(), 0, `${block}\n${shell.stdout}${shell.stderr}`);
      }
      cofre.child.kill("SIGTERM");
      await cofre.exited;
    });
  }
});
