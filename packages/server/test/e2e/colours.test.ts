import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanEnvironment, Command, temporaryFolder } from "../command.ts";
import { directBody, integrationKey, startTestServer } from "../server.ts";

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));

/** `script` of Linux gives a command a terminal. */
const hasTerminals =
  process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const skip = hasTerminals ? false : "there is no `script` of Linux";

const bold = "\u001b[1m";
const red = "\u001b[31m";
const escape = "\u001b";

/** Standard output and standard error of the program. */
function run(
  where: "terminal" | "pipe",
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): string {
  const command = [process.execPath, program, ...args];
  const [name = "", ...words] =
    where === "pipe"
      ? command
      : ["script", "--quiet", "--return", "--command", command.join(" "), "/dev/null"];
  // Node shows no colours where the variable CI is set.
  const { CI: _, ...environment } = cleanEnvironment;
  const { stdout, stderr } = spawnSync(name, words, {
    env: { ...environment, TERM: "xterm", ...variables },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    timeout: 60_000,
  });
  return `${stdout}${stderr}`;
}

describe("colours", () => {
  test("are on a terminal: headings of the help, and problems", { skip }, () => {
    assert.ok(run("terminal", ["help"]).includes(`${bold}Server:`));
    assert.ok(run("terminal", ["help", "run"]).includes(`${bold}Options:`));
    assert.ok(run("terminal", ["strat"]).includes(`${red}Unknown command strat.`));
    const wrong = run("terminal", ["health", "--url", "http://127.0.0.1:9"]);
    assert.ok(wrong.includes(`${red}Nothing answers at`), wrong);
    const port = run("terminal", ["start", "--port", "0", "--data-dir", program]);
    assert.ok(port.includes(`${red}Cofre could not start:`), port);
    assert.ok(run("terminal", ["doctor"]).includes(`${escape}[36mnode `));
  });

  test("are not on a terminal with NO_COLOR, or one that has none", { skip }, () => {
    for (const variables of [{ NO_COLOR: "1" }, { TERM: "dumb" }])
      for (const args of [["help"], ["strat"]])
        assert.ok(!run("terminal", args, variables).includes(escape), JSON.stringify(variables));
  });

  test("are not in a pipe, unless FORCE_COLOR asks for them", () => {
    for (const args of [["help"], ["strat"], ["doctor"]]) {
      assert.ok(!run("pipe", args).includes(escape), args.join(" "));
      assert.ok(run("pipe", args, { FORCE_COLOR: "1" }).includes(escape), args.join(" "));
    }
  });

  test("lists and timelines show their headings, and in red what failed", async (context) => {
    await using server = await startTestServer();
    await server.postJson("/ws/direct", directBody("order-1"));
    const shown = async (...args: readonly string[]): Promise<string> => {
      const command = Command.cofre(context, args, {
        COFRE_PORT: String(server.port),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
        FORCE_COLOR: "1",
      });
      assert.equal(await command.code(), 0, command.stderr);
      return command.stdout;
    };
    assert.ok((await shown("payment", "order-1")).startsWith(bold));
    const timeline = await shown("payment", "timeline", "order-1");
    assert.ok(timeline.startsWith(bold), timeline);
    assert.ok(timeline.includes(`${escape}[36mrequest `), timeline);
  });

  test("the first start shows the address and the names of the keys", async (context) => {
    const command = Command.cofre(context, ["start", "--port", "0"], {
      COFRE_DATA_DIR: temporaryFolder(context),
      FORCE_COLOR: "1",
    });
    await command.stderrMatch(/Run these commands/);
    assert.ok(command.stderr.includes(`${bold}Cofre is listening at http`), command.stderr);
    assert.ok(command.stderr.includes(`${escape}[36mintegration key`), command.stderr);
  });
});
