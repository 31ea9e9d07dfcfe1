import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Command, temporaryFolder } from "../command.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { type AlteredAnswer, startAlteringProxy } from "./altering-proxy.ts";

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));
const isWindows = process.platform === "win32";

describe("cofre compare", { skip: isWindows && "a stop signal cannot be sent" }, () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startTestServer({ seed: "compared" });
  });
  after(async () => {
    await upstream[Symbol.asyncDispose]();
  });

  async function started(context: TestContext, url: URL | string, ...options: readonly string[]) {
    const folder = temporaryFolder(context);
    const args = ["compare", "--upstream", String(url), ...options];
    const command = new Command(context, [process.execPath, program, ...args], {}, folder);
    const [, origin = ""] = await command.stderrMatch(/requests to (http:\/\/127\.0\.0\.1:\d+)\n/);
    return {
      command,
      folder,
      pay: async (code: string) => {
        const body = JSON.stringify(directBody(code));
        const answer = await fetch(`${origin}/ws/direct`, { method: "POST", body });
        assert.equal(answer.status, 200);
        await answer.text();
      },
      stopped: () => {
        command.child.kill("SIGINT");
        return command.code();
      },
    };
  }

  test("ends with 0 and a report without a difference", async (context) => {
    const { command, folder, pay, stopped } = await started(context, upstream.url, "--json");
    await pay("equal-1");
    assert.equal(await stopped(), 0, command.stderr);
    const report = JSON.parse(command.stdout) as Record<string, unknown>;
    assert.deepEqual(report["totals"], {
      requests: 1,
      equal: 1,
      known: 0,
      unknown: 0,
      not_compared: 0,
    });
    const written = join(folder, "cofre-compare");
    assert.deepEqual(readdirSync(written).toSorted(), [
      ".gitignore",
      "compare.html",
      "compare.json",
    ]);
    assert.equal(readFileSync(join(written, "compare.json"), "utf8"), command.stdout);
  });

  test("ends with 1 and names the difference, without card data in any byte", async (context) => {
    await using proxied = await startAlteringProxy(upstream.url, (answer: AlteredAnswer) => {
      const payment = answer.body["payment"] as Record<string, unknown>;
      delete payment["pin"];
      payment["note"] = `<b>${testCard.card_number}</b> cvv 123`;
    });
    const { command, folder, pay, stopped } = await started(
      context,
      proxied.url,
      "--out",
      "report",
    );
    await pay("other-1");
    await pay("other-2");
    assert.equal(await stopped(), 1, command.stderr);
    assert.match(command.stdout, /^\/ws\/direct +2 +0 +0 +2 +0$/m);
    assert.match(
      command.stdout,
      /^ {2}\/ws\/direct {2}payment\.pin: only Cofre has it \(string\), 2 times$/m,
    );
    const page = readFileSync(join(folder, "report", "compare.html"), "utf8");
    assert.match(page, /<mark> {4}&quot;pin&quot;: &quot;\d{9}&quot;<\/mark>/);
    assert.ok(page.includes("411111xxxxxx1111") && !page.includes("<b>4"));
    const bytes = readdirSync(join(folder, "report")).map((name) =>
      readFileSync(join(folder, "report", name), "latin1"),
    );
    for (const text of [...bytes, command.stdout, command.stderr])
      for (const secret of [testCard.card_number, "cvv 123", integrationKey, '"123"', "12/2060"])
        assert.ok(!text.includes(secret), secret);
    assert.deepEqual(readdirSync(folder), ["report"]);
  });

  test("a wrong command line ends with 2 and says what is wrong", async (context) => {
    for (const [args, message] of [
      [[], /needs --upstream URL/],
      [["--upstream", "http://sandbox.example"], /must be an https:\/\/ address/],
      [["--upstream", "https://sandbox.example/ws"], /without a path/],
      [["--upstream", upstream.url, "--port", "x"], /--port must be/],
      [["--upstream", upstream.url, "--settings", "[]"], /--settings must be a JSON object/],
      [
        ["--upstream", upstream.url, "--settings", '{"no":1}'],
        /--settings: Cofre refused: COFRE-31/,
      ],
    ] as const) {
      const command = Command.cofre(context, ["compare", ...args]);
      assert.equal(await command.code(), 2, command.stderr);
      assert.match(command.stderr, message);
    }
  });

  test("a busy port is named", async (context) => {
    const port = String(upstream.port);
    const command = Command.cofre(context, ["compare", "--upstream", upstream.url, "--port", port]);
    assert.equal(await command.code(), 1);
    assert.ok(command.stderr.includes(`Port ${port} of 127.0.0.1 is in use.`), command.stderr);
  });
});
