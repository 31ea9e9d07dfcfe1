import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Command } from "../command.ts";
import { directBody, startTestServer, type TestServer } from "../server.ts";

async function create(
  context: TestContext,
  { port }: Pick<TestServer, "port">,
  ...args: readonly string[]
): Promise<Command> {
  const command = Command.cofre(context, ["world", "create", ...args], {
    COFRE_PORT: String(port),
  });
  await command.code();
  return command;
}

describe("cofre world create --or-reset", () => {
  test("creates the world once, and resets it from then on", async (context) => {
    await using server = await startTestServer();
    const options = ["--or-reset", "checkout", "--seed", "7", "--key", "world-key", "--json"];
    const created = await create(context, server, ...options);
    assert.equal(created.child.exitCode, 0, created.stderr);
    const order = { ...directBody("order-1"), integration_key: "world-key" };
    const { body } = await server.postJson("/ws/direct", order);
    assert.equal(body["status"], "SUCCESS");

    const reset = await create(context, server, ...options);
    assert.equal(reset.child.exitCode, 0, reset.stderr);
    assert.equal(reset.stdout, created.stdout);
    const again = await server.postJson("/ws/direct", order);
    assert.deepEqual(again.body, body, "the world begins again");
  });

  test("refuses a name that two worlds have, and a second name", async (context) => {
    await using server = await startTestServer();
    for (let time = 0; time < 2; time += 1) await create(context, server, "--name", "twice");
    const ambiguous = await create(context, server, "--or-reset", "twice");
    assert.equal(ambiguous.child.exitCode, 1);
    assert.match(ambiguous.stderr, /^2 worlds have the name twice: delete all but one/);
    const named = await create(context, server, "--or-reset", "one", "--name", "two");
    assert.equal(named.child.exitCode, 2);
  });
});
