import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { Command } from "../command.ts";
import { freePort } from "../free-port.ts";
import { startTestServer } from "../server.ts";

async function health(context: TestContext, port: number, ...args: readonly string[]) {
  const command = Command.cofre(context, ["health", ...args], { COFRE_PORT: String(port) });
  return { code: await command.code(), stdout: command.stdout, stderr: command.stderr };
}

/** Listens on a free port and answers every request like this. Resolves with the port. */
async function answering(context: TestContext, status: number, body: object): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(status).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

describe("cofre health", () => {
  test("ends with 0 for a server that accepts payments, without a key", async (context) => {
    await using server = await startTestServer();
    const ready = { code: 0, stdout: "ready\n", stderr: "" };
    assert.deepEqual(await health(context, server.port), ready);
    const { stdout } = await health(context, server.port, "--json");
    assert.deepEqual(JSON.parse(stdout), { status: "ready" });
  });

  const answers = [
    [
      503,
      { status: "not_writing", message: "Nothing can be written" },
      1,
      "not_writing (Nothing can be written)\n",
    ],
    [
      200,
      { status: "ready", failing: ["recovery", "notifications"] },
      0,
      "ready (jobs that fail: recovery, notifications)\n",
    ],
  ] as const;
  for (const [status, body, code, stdout] of answers) {
    test(`prints ${stdout.trimEnd()} and ends with ${code}`, async (context) => {
      const port = await answering(context, status, body);
      assert.deepEqual(await health(context, port), { code, stdout, stderr: "" });
    });
  }

  test("ends with 1 when another program or nothing answers", async (context) => {
    const other = await health(context, await answering(context, 200, { hello: "world" }));
    assert.deepEqual([other.code, other.stdout], [1, ""]);
    assert.match(other.stderr, /^What answers at .* is not Cofre\.\n$/);
    const none = await health(context, await freePort());
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^Nothing answers at .* Is Cofre running\?/);
  });
});
