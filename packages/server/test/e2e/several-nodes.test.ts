import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { temporaryFolder } from "../command.ts";
import { ask, codeOf, ConsoleUsers, type Fields, type Headers } from "../server-with-users.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

/** One node in this process, and a function that starts another one on the same database. */
async function startNodes(
  context: TestContext,
  databases: TestDatabases,
  more: Readonly<Record<string, string>> = {},
) {
  const databaseUrl = await databases.copy();
  const scratch = temporaryFolder(context);
  const start = async (number: number): Promise<TestServer> => {
    const directory = join(scratch, String(number));
    if (number > 1) cpSync(join(scratch, "1"), directory, { recursive: true });
    const environment = {
      COFRE_DATA_DIR: directory,
      COFRE_DATABASE_URL: databaseUrl,
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_DATABASE_ALLOW_EMPTY: "true",
      ...more,
    };
    const node = await startTestServer({
      environment,
      ports: { clock: systemClock },
      seed: `node ${number}`,
    });
    context.after(() => node[Symbol.asyncDispose]());
    return node;
  };
  return { one: await start(1), startSecond: () => start(2) };
}

const idsIn = (body: Fields): readonly string[] =>
  (body["worlds"] as readonly { readonly id: string }[]).map(({ id }) => id);

function describeNodes(databases: TestDatabases): void {
  test("a world's key works at the node where it was made, and at another node it is an unknown key", async (context) => {
    const { one, startSecond } = await startNodes(context, databases);
    const two = await startSecond();
    const { body } = await ask(one, "/__cofre/worlds", { name: "of the first node" });
    const {
      id,
      integration_key: key,
      public_integration_key: publicKey,
    } = body["world"] as Readonly<Record<string, string>>;
    const made = await ask(one, "/ws/direct", { ...directBody("order"), integration_key: key });
    assert.equal(codeOf(made), "SUCCESS", JSON.stringify(made.body));
    const { hash } = made.body["payment"] as { readonly hash: string };

    const unknown = async (path: string, fields: Fields): Promise<void> => {
      const answered = [];
      for (const given of [key, "opens nothing anywhere"]) {
        const { status, body: answer } = await ask(two, path, {
          ...fields,
          integration_key: given,
        });
        answered.push({ status, answer });
      }
      assert.deepEqual(answered[0], answered[1], path);
      const { status, answer } = answered[0] ?? {};
      const code = path === "/ws/direct" ? "DA-1" : "BP-SA-2";
      assert.deepEqual(
        [status, answer?.["status_code"], answer?.["status_message"]],
        [200, code, "Invalid integration key"],
        path,
      );
    };
    await unknown("/ws/direct", directBody("order"));
    await unknown("/ws/capture", { hash });
    await unknown("/ws/query", { hash });
    await unknown("/__cofre/world", {});
    await unknown("/__cofre/clock", { advance: "1d" });
    const stored = await ask(two, "/ws/token", {
      public_integration_key: publicKey,
      country: "pe",
      payment_type_code: "creditcard",
    });
    assert.equal(codeOf(stored), "DA-1");

    const lists = [];
    for (const node of [one, two])
      lists.push(idsIn((await ask(node, "/__cofre/worlds", undefined)).body));
    assert.deepEqual(lists, [[id], []]);
    for (const [number, node] of [one, two].entries()) {
      const own = await ask(node, "/ws/direct", directBody(`own-${number}`));
      assert.equal(
        codeOf(own),
        "SUCCESS",
        `the account of the store works at every node, with its key ${integrationKey}`,
      );
    }
  });

  test("a session works at every node, and a world that another node has is an invalid account", async (context) => {
    const { one, startSecond } = await startNodes(context, databases, { COFRE_CONSOLE: "login" });
    const admin = await new ConsoleUsers(one, systemClock).firstAdmin();
    const two = await startSecond();
    const at = (
      node: TestServer,
      path: string,
      fields: Fields | undefined,
      headers: Headers = {},
    ) => ask(node, path, fields, { Cookie: admin.cookie, "X-Cofre-CSRF": admin.csrf, ...headers });
    const { body } = await admin.call("/__cofre/worlds", { name: "of the first node" });
    const { id } = body["world"] as { readonly id: string };
    const inWorld = { "X-Cofre-Account": id };

    assert.deepEqual(idsIn((await at(one, "/__cofre/worlds", undefined)).body), [id]);
    assert.equal(codeOf(await at(one, "/__cofre/payments", {}, inWorld)), "SUCCESS");
    assert.deepEqual(idsIn((await at(two, "/__cofre/worlds", undefined, inWorld)).body), []);
    const refused = await at(two, "/__cofre/payments", {}, inWorld);
    assert.deepEqual(
      [codeOf(refused), refused.body["status_message"]],
      ["COFRE-119", "Header X-Cofre-Account is invalid"],
    );
    assert.equal(
      codeOf(await at(two, "/__cofre/payments", {})),
      "SUCCESS",
      "the person is still signed in",
    );
  });
}

if (testUrl === undefined) {
  test(
    "worlds and people on several nodes",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("worlds and people on several nodes", () => describeNodes(databases));
}
