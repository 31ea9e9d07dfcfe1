import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Command } from "../command.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { codeOf, type Fields } from "../server-with-users.ts";
import { until } from "../until.ts";

const token = "a".repeat(32);
const reason = ["--reason", "yearly"];

interface Rotation {
  readonly epoch: number;
  readonly keys_to_wrap: number;
  readonly cards_per_second: number;
}

// The commands of docs/operate/keys.md, in a sandbox without sign-in.

async function run(
  context: TestContext,
  server: TestServer,
  ...args: readonly string[]
): Promise<Command> {
  const command = Command.cofre(context, ["keys", ...args], {
    COFRE_PORT: String(server.port),
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
  });
  await command.exited;
  return command;
}

async function rotation(context: TestContext, server: TestServer): Promise<Rotation> {
  const { stdout } = await run(context, server, "orders", "--json");
  return (JSON.parse(stdout) as { readonly rotation: Rotation }).rotation;
}

async function stored(server: TestServer, name: string): Promise<void> {
  const card: Fields = {
    integration_key: integrationKey,
    country: "br",
    payment_type_code: "creditcard",
    token: name,
    creditcard: testCard,
  };
  assert.equal(codeOf(await server.postJson("/ws/token", card)), "SUCCESS");
}

async function charged(server: TestServer, code: string, name = token): Promise<unknown> {
  return codeOf(
    await server.postJson("/ws/direct", directBody(code, { creditcard: { token: name } })),
  );
}

describe("rotation by command", () => {
  test("replaces the epoch key and the merchants' keys while cards are charged, and destroys the earlier ones", async (context) => {
    await using server = await startTestServer();
    const done = async (...args: readonly string[]): Promise<string> => {
      const command = await run(context, server, ...args);
      assert.equal(command.child.exitCode, 0, command.stderr);
      return command.stdout.trimEnd();
    };
    await stored(server, token);
    // The keys are older than the orders.
    server.clock.advance(60_000);
    const refused = await run(context, server, "destroy", "--target", "epoch:1", ...reason);
    assert.notEqual(refused.child.exitCode, 0);
    assert.match(refused.stderr, /no key of this name only opens/);

    assert.equal(
      await done("rotate", "--target", "epoch", ...reason, "--dry-run"),
      "rotate is possible now.",
    );
    assert.equal((await rotation(context, server)).epoch, 1);
    assert.equal(await done("rotate", "--target", "epoch", ...reason), "Done: rotate (order 1).");
    await until("the epoch is current", async () => {
      const { epoch, keys_to_wrap: left } = await rotation(context, server);
      return epoch === 2 && left === 0;
    });
    assert.equal(await charged(server, "after the epoch"), "SUCCESS");
    assert.match(
      await done("orders"),
      /keys {3}epoch 2, 0 keys to wrap again, 1000 cards per second/,
    );

    server.clock.advance(60_000);
    await done("stop", ...reason);
    assert.match(await done("orders"), /stopped[^]*epoch 2/);
    await done("resume", ...reason);
    assert.equal(await done("reseal", "--rate", "0", ...reason), "Done: reseal (order 4).");
    assert.equal((await rotation(context, server)).cards_per_second, 0);
    await done("compromised", "--target", "epoch", ...reason);
    await until("all cards are sealed again", async () =>
      server.events.some(({ event }) => event === "cards_resealed"),
    );
    assert.equal((await rotation(context, server)).epoch, 3);
    assert.equal(await charged(server, "after the compromise"), "SUCCESS");
    await stored(server, "b".repeat(32));
    assert.equal(await charged(server, "stored later", "b".repeat(32)), "SUCCESS");
    for (const name of ["epoch:1", "epoch:2"]) await done("destroy", "--target", name, ...reason);
    await until("the earlier epochs are destroyed", async () =>
      (
        await run(context, server, "destroy", "--target", "epoch:2", ...reason, "--dry-run")
      ).stderr.includes("no key of this name only opens"),
    );
    assert.equal(await charged(server, "after the destruction"), "SUCCESS");
  });

  test("a command line that does not fit is refused", async (context) => {
    for (const [args, message] of [
      [["rotate", ...reason], /needs --target/],
      [["reseal", "--target", "epoch", ...reason], /--target is not for/],
      [["rotate", "--target", "epoch", ...reason, "--accept-outage"], /--accept-outage is not for/],
    ] as const) {
      const command = Command.cofre(context, ["keys", ...args], { COFRE_PORT: "1" });
      await command.exited;
      assert.equal(command.child.exitCode, 2, args.join(" "));
      assert.match(command.stderr, message);
    }
    await using server = await startTestServer();
    for (const target of ["epoch:1", "merchant:1", "all"]) {
      const command = await run(context, server, "rotate", "--target", target, ...reason);
      assert.notEqual(command.child.exitCode, 0);
      assert.match(command.stderr, /COFRE-181/);
    }
  });
});
