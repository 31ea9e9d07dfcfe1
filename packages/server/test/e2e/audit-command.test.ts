import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { Command, temporaryFolder } from "../command.ts";
import { openUserFixture } from "../console-users.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";

/** The command's output about an audit log that another process writes. */

async function audit(
  context: TestContext,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Command> {
  const command = Command.cofre(context, ["audit", ...args], environment);
  await command.exited;
  return command;
}

async function start(
  context: TestContext,
  folder: string,
): Promise<{ readonly server: Command; readonly port: number }> {
  const environment = {
    COFRE_CONSOLE: "login",
    COFRE_PORT: "0",
    COFRE_DATA_DIR: folder,
    COFRE_LOG_FORMAT: "json",
  };
  const server = Command.cofre(context, ["start"], environment);
  const { port } = await server.event("listening");
  return { server, port: Number(port) };
}

/** Writes an audit entry with a failed sign-in, which needs no authorization. */
async function tryToSignIn(port: number): Promise<void> {
  const sent = httpRequest({
    host: "127.0.0.1",
    port,
    path: "/__cofre/session",
    method: "POST",
    headers: { "X-Cofre-CSRF": "none" },
  });
  sent.end(
    JSON.stringify({
      action: "sign_in",
      name: "nobody",
      password: "none of anybody's",
      code: "000000",
    }),
  );
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await response.toArray();
}

describe("cofre audit", () => {
  test("reads beside a server that writes, after one that was killed, and keeps none from starting", async (context) => {
    const folder = join(temporaryFolder(context), "data");
    const environment = { COFRE_DATA_DIR: folder };
    const first = await start(context, folder);
    await tryToSignIn(first.port);
    const early = (await audit(context, ["head"], environment)).stdout.trim();
    // Twelve entries for the six keys of the installation.
    assert.match(early, /^14:[0-9a-f]{64}$/);
    // While the server writes.
    const [verified] = await Promise.all([
      audit(context, ["verify", "--head", early], environment),
      tryToSignIn(first.port),
      tryToSignIn(first.port),
    ]);
    assert.deepEqual([verified.child.exitCode, verified.stderr], [0, ""]);
    first.server.child.kill("SIGKILL");
    await first.server.exited;

    const listed = await audit(context, ["--action", "sign_in", "--json"], environment);
    assert.equal(
      listed.stdout.trimEnd().split("\n").length,
      3,
      "what was answered is there: nobody has brought the file in order",
    );
    assert.equal(
      (await audit(context, ["verify", "--head", early], environment)).child.exitCode,
      0,
    );

    const reading = (async () => {
      for (let runs = 0; runs < 4; runs += 1)
        assert.equal((await audit(context, ["verify"], environment)).child.exitCode, 0);
    })();
    const again = await start(context, folder);
    await tryToSignIn(again.port);
    await reading;
    again.server.child.kill("SIGTERM");
    assert.equal(await again.server.code(), 0);
    const whole = await audit(context, ["verify", "--head", early], environment);
    assert.match(
      whole.stdout,
      /^The audit log is intact: 18 entries, up to 18:[0-9a-f]{64}\. It contains the stored head\.\n$/,
      whole.stderr,
    );
  });
});

if (testUrl === undefined) {
  test(
    "cofre audit on PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());

  test("cofre audit on PostgreSQL reads beside a node, and detects truncation and recomputation", async (context) => {
    const url = await databases.copy();
    const environment = { COFRE_DATABASE_URL: url, COFRE_DATA_DIR: temporaryFolder(context) };
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const fixture = await openUserFixture({ store: store.users });
    const head = (await audit(context, ["head"], environment)).stdout.trim();
    assert.match(head, /^2:[0-9a-f]{64}$/);
    await fixture.users.invite(fixture.admin.signedIn, {
      name: "bob",
      role: "viewer",
      origin: "127.0.0.1",
    });
    const whole = await audit(context, ["verify", "--head", head], environment);
    const unkeyed =
      "There are no keys in COFRE_DATA_DIR, so the MACs of the entries were not checked.\n";
    assert.deepEqual([whole.child.exitCode, whole.stderr], [0, unkeyed]);
    const listed = await audit(context, ["--user", "ADMIN"], environment);
    assert.match(listed.stdout, /^1 .*\n2 .*\n3 .* admin {2}invite {2}done .*\n$/);
    await query(
      url,
      `ALTER TABLE audit_entry DISABLE TRIGGER ALL; ALTER TABLE audit_head DISABLE TRIGGER ALL; DELETE FROM audit_entry WHERE no > 1;
       UPDATE audit_head SET no = 1, digest = (SELECT digest FROM audit_entry WHERE no = 1)`,
    );
    assert.equal(
      (await audit(context, ["verify"], environment)).child.exitCode,
      0,
      "control: the chain alone is whole",
    );
    const cut = await audit(context, ["verify", "--head", head], environment);
    assert.equal(cut.child.exitCode, 1);
    assert.match(cut.stdout, /^The audit log was truncated: entry 2 /);
  });

  test("cofre audit on PostgreSQL says what it cannot read, and names no address", async (context) => {
    const url = await databases.copy();
    await query(url, "DROP TABLE audit_head CASCADE");
    const missing = await audit(context, ["verify"], { COFRE_DATABASE_URL: url });
    assert.deepEqual([missing.child.exitCode, missing.stdout], [2, ""]);
    assert.match(
      missing.stderr,
      /^PostgreSQL: the database has never been used by a version of Cofre whose audit log this version reads; start this version once\.\n$/,
    );
    const nowhere = await audit(context, ["head"], {
      COFRE_DATABASE_URL: "postgres://cofre:hunter2@127.0.0.1:1/cofre",
    });
    assert.deepEqual([nowhere.child.exitCode, nowhere.stdout], [2, ""]);
    assert.match(nowhere.stderr, /cannot be reached/);
    assert.doesNotMatch(nowhere.stderr, /hunter2/);
  });
}
