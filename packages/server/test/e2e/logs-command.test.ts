import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { lineOf } from "../../src/cli/logs.ts";
import { Command } from "../command.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

function logs(
  context: TestContext,
  { port }: Pick<TestServer, "port">,
  ...args: readonly string[]
): Command {
  return Command.cofre(context, ["logs", ...args], {
    COFRE_PORT: String(port),
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
  });
}

describe("cofre logs", () => {
  test("shows each recorded request in one line, refusals with their code", async (context) => {
    await using server = await startTestServer();
    await server.postJson("/ws/direct", directBody("order-1"));
    await server.postJson("/ws/capture", { integration_key: integrationKey, hash: "no" });
    const command = logs(context, server);
    assert.equal(await command.code(), 0, command.stderr);
    const [charge = "", refused = "", ...more] = command.stdout.trimEnd().split("\n");
    assert.deepEqual(more, []);
    assert.match(
      charge,
      /^2026-11-25 18:13:28\.000 {2}POST \/ws\/direct {2}order-1 {2}CO {2}\d+ ms$/,
    );
    assert.match(refused, /^\S+ \S+ {2}POST \/ws\/capture {2}BP-CAP-\d .+ {2}\d+ ms$/);
  });

  test("follows: a request is shown when it is answered, once, also after a reset of the world", async (context) => {
    await using server = await startTestServer();
    const create = { seed: "7", new_integration_key: "world-key" };
    await server.postJson("/__cofre/worlds", create);
    const pay = (code: string) =>
      server.postJson("/ws/direct", { ...directBody(code), integration_key: "world-key" });
    await pay("before-1");
    const command = logs(context, server, "--follow", "--key", "world-key");
    const [first = ""] = await command.lines(1);
    assert.match(first, /before-1 {2}CO/);

    // It begins before another request and is answered after it.
    await server.postJson("/__cofre/faults", {
      integration_key: "world-key",
      add: { kind: "slow", delay_ms: 3_000, merchant_payment_code: "slow-1" },
    });
    const slow = pay("slow-1");
    await pay("quick-1");
    const [, , quick = ""] = await command.lines(3);
    assert.match(quick, /quick-1 {2}CO/);
    await slow;
    const [, , , late = ""] = await command.lines(4);
    assert.match(late, /slow-1 {2}CO/);

    await server.postJson("/__cofre/world", { integration_key: "world-key", action: "reset" });
    await pay("after-1");
    const [, , , , after = ""] = await command.lines(5);
    assert.match(after, /after-1 {2}CO/);
    command.child.kill("SIGINT");
    assert.equal(await command.code(), 0);
    assert.equal(command.stdout.trimEnd().split("\n").length, 5, command.stdout);
    assert.ok(!command.stdout.includes("\u001b"), "no colours in a pipe");
  });

  test("a refusal has the style of failures, and hostile text does not move the cursor", () => {
    const request = {
      at: "2026-01-31T12:00:00.000Z",
      method: "POST",
      path: "/ws/direct",
      merchant_payment_code: "a\u001b[2J",
      http_status: 200,
      status_code: "BP-DR-3",
      response: { status_message: "no\u001b[2J" },
      duration_ms: 1.4,
    };
    assert.equal(
      lineOf(request, (style, text) => `<${style}>${text}</${style}>`),
      "<failure>2026-01-31 12:00:00.000  POST /ws/direct  a[2J  BP-DR-3 no[2J  1 ms</failure>",
    );
  });
});
