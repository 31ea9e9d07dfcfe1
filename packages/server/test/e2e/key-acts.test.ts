import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { hour } from "../../src/kernel/instant.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { Command } from "../command.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { codeOf, type Fields, type Signed, startWithUsers } from "../server-with-users.ts";
import { until } from "../until.ts";

const token = "a".repeat(32);
const reason = "card data may have leaked";

function folder(context: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "cofre-acts-"));
  context.after(() => rmSync(made, { recursive: true }));
  return made;
}

const tokenBody = (name: string): Fields => ({
  integration_key: integrationKey,
  country: "br",
  payment_type_code: "creditcard",
  token: name,
  creditcard: testCard,
});
const byToken = (code: string): Fields => directBody(code, { creditcard: { token } });

// Also the commands of docs/operate/keys.md.

/** Status and code of a charge with a stored card. */
async function charged(server: TestServer, code: string): Promise<unknown> {
  const { status, body } = await server.postJson("/ws/direct", byToken(code));
  return [status, codeOf({ body })];
}

const served = [200, "SUCCESS"];
const refused = [503, "COFRE-21"];

function order(server: TestServer, fields: Fields, key = integrationKey) {
  return server.postJson("/__cofre/keys", { integration_key: key, ...fields });
}

describe("a stop order", () => {
  test("stops what stores or opens a card, and nothing else", async () => {
    await using server = await startTestServer();
    const post = async (path: string, fields: Fields) => {
      const { status, body } = await server.postJson(path, {
        integration_key: integrationKey,
        ...fields,
      });
      return { status, code: codeOf({ body }), body };
    };
    assert.equal((await post("/ws/token", tokenBody(token))).code, "SUCCESS");
    assert.deepEqual(await charged(server, "before"), served);
    const held = await post(
      "/ws/direct",
      directBody("held", { creditcard: { token, auto_capture: false } }),
    );
    const { hash } = held.body["payment"] as { readonly hash: string };

    const { body } = await order(server, { act: "stop", reason });
    assert.deepEqual(body, { act: "stop", result: "done", number: 1, status: "SUCCESS" });

    assert.deepEqual(await charged(server, "stopped"), refused);
    const response = await fetch(`${server.url}/ws/token`, {
      method: "POST",
      body: JSON.stringify(tokenBody("b".repeat(32))),
    });
    assert.equal(response.status, 503);
    assert.match(response.headers.get("Retry-After") ?? "", /^\d+$/);
    // A card that is to be stored with the charge: refused before money moves.
    const storing = directBody("storing", { create_token: true, token: "c".repeat(32) });
    assert.equal((await post("/ws/direct", storing)).code, "COFRE-21");
    for (const code of ["stopped", "storing"])
      assert.equal(
        (await post("/ws/query", { merchant_payment_code: code })).code,
        "BP-QRY-2",
        "no payment was created",
      );

    assert.equal((await post("/ws/capture", { hash })).code, "SUCCESS");
    assert.equal((await post("/ws/query", { hash })).code, "SUCCESS");
    const refund = { hash, operation: "request", amount: "1", description: "broken" };
    assert.equal((await post("/ws/refund", refund)).code, "SUCCESS");
    // Neither stores nor opens a card.
    assert.equal((await post("/ws/direct", directBody("plain"))).code, "SUCCESS");
    assert.deepEqual((await server.get("/readyz")).body, { status: "ready", cards: "stopped" });
    const forCards = await server.get("/readyz", { for: "cards" });
    assert.equal(forCards.status, 503);
    assert.equal(forCards.body["status"], "cards_stopped");
    assert.ok(server.events.some(({ event }) => event === "cards_stopped"));

    const { body: state } = await order(server, {});
    assert.equal((state["cards"] as Fields)["state"], "stopped");
    assert.equal((state["cards"] as Fields)["reason"], reason);

    assert.equal(
      codeOf(await order(server, { act: "resume", reason: "false alarm" }).then(asReply)),
      "SUCCESS",
    );
    // The same request again, as a client repeats it.
    assert.deepEqual(await charged(server, "stopped"), served);
    assert.equal((await post("/ws/direct", storing)).code, "SUCCESS");
    assert.deepEqual((await server.get("/readyz", { for: "cards" })).body, { status: "ready" });
    assert.ok(server.events.some(({ event }) => event === "cards_resumed"));
  });

  test("stays in force after a restart", async (context) => {
    const environment = { COFRE_DATA_DIR: folder(context) };
    {
      await using server = await startTestServer({ environment });
      assert.equal(
        codeOf(asReply(await server.postJson("/ws/token", tokenBody(token)))),
        "SUCCESS",
      );
      await order(server, { act: "stop", reason });
    }
    await using server = await startTestServer({ environment, seed: "after" });
    assert.deepEqual(await charged(server, "after"), refused);
    assert.deepEqual((await server.get("/readyz")).body, { status: "ready", cards: "stopped" });
    await order(server, { act: "resume", reason });
    assert.deepEqual(await charged(server, "after"), served);
  });

  test("is not given by a public key, a world's key or without a key, nor with a card number in its reason", async () => {
    await using server = await startTestServer();
    const { body } = await server.postJson("/__cofre/worlds", { name: "one" });
    const world = body["world"] as { readonly integration_key: string };
    for (const key of [publicIntegrationKey, world.integration_key, "", "test_ik_other"])
      assert.equal(
        codeOf(asReply(await order(server, { act: "stop", reason }, key))),
        "BP-SA-2",
        key,
      );
    const { card_number: pan } = testCard;
    for (const [fields, code] of [
      [{ act: "stop" }, "COFRE-181"],
      [{ act: "stop", reason: `leak of ${pan}` }, "COFRE-181"],
      [{ act: "stop", reason, dry_run: "maybe" }, "COFRE-181"],
      [{ act: "open", reason }, "COFRE-180"],
      [{ act: "resume", reason }, "COFRE-184"],
      [{ approve: "1", check: "0" }, "COFRE-182"],
    ] as const) {
      const answer = asReply(await order(server, fields));
      assert.equal(codeOf(answer), code, JSON.stringify(fields));
      assert.ok(!JSON.stringify(answer.body).includes(pan));
    }
    const byGet = await server.get("/__cofre/keys", { integration_key: integrationKey });
    assert.equal(codeOf(asReply(byGet)), "COFRE-112");
    const dry = await order(server, { act: "stop", reason, dry_run: "true" });
    assert.equal(dry.body["result"], "checked");
    assert.deepEqual((await server.get("/readyz")).body, { status: "ready" });
  });
});

const asReply = ({ body }: { readonly body: Fields }) => ({ body });

describe("where users sign in", () => {
  const setUp = async () => {
    const users = await startWithUsers();
    const admin = await users.firstAdmin();
    const other = await users.invited(admin, "Berta", "admin");
    return { users, admin, other, server: users.server };
  };
  const keys = (user: Signed, fields: Fields) => user.call("/__cofre/keys", fields);

  test("an admin stops cards, two resume them, and an operator or a merchant's key does neither", async () => {
    const { users, admin, other, server } = await setUp();
    await using _ = server;
    const operator = await users.invited(admin, "Olga", "operator");
    assert.equal(codeOf(await keys(operator, { act: "stop", reason })), "COFRE-113");
    assert.equal(codeOf(asReply(await order(server, { act: "stop", reason }))), "COFRE-112");
    const withoutToken = await keys(
      { ...admin, call: (path, fields) => admin.call(path, fields, { "X-Cofre-CSRF": "none" }) },
      { act: "stop", reason },
    );
    assert.equal(codeOf(withoutToken), "COFRE-112");

    assert.equal((await keys(admin, { act: "stop", reason })).body["result"], "done");
    const requested = await keys(admin, { act: "resume", reason: "false alarm" });
    const { result, number, check } = requested.body;
    assert.equal(result, "requested");
    assert.equal(codeOf(await keys(admin, { approve: String(number), check })), "COFRE-183");
    assert.equal(codeOf(await keys(operator, { approve: String(number), check })), "COFRE-113");
    assert.equal(codeOf(await keys(other, { approve: String(number), check: "0" })), "COFRE-182");
    const seen = (await keys(other, {})).body["requests"] as readonly Fields[];
    assert.deepEqual(
      seen.map((each) => [each["number"], each["act"], each["by"], each["check"]]),
      [[number, "resume", admin.name, check]],
    );
    assert.equal((await server.get("/readyz")).body["cards"], "stopped");
    const approved = await keys(other, { approve: String(number), check });
    assert.equal(approved.body["result"], "done");
    assert.deepEqual((await server.get("/readyz")).body, { status: "ready" });
    assert.equal(codeOf(await keys(other, { approve: String(number), check })), "COFRE-182");

    const { entries } = (await admin.call("/__cofre/audit", {})).body as {
      readonly entries: readonly Fields[];
    };
    const acts = entries
      .filter((entry) => String(entry["action"]).startsWith("key_act"))
      .map((entry) => [entry["actor"], entry["action"], entry["target"], entry["detail"]]);
    assert.deepEqual(acts, [
      [other.name, "key_act_approved", "resume", `request ${String(number)}; reason: false alarm`],
      [admin.name, "key_act_requested", "resume", "reason: false alarm"],
      [admin.name, "key_act", "stop", `reason: ${reason}`],
    ]);
    const { verified } = (await admin.call("/__cofre/audit", { verify: true })).body;
    assert.equal((verified as Fields)["first_invalid"], null);
  });

  test("sign-in works while cards are stopped, and a request ends with its admin", async () => {
    const { users, admin, other, server } = await setUp();
    await using _ = server;
    await keys(admin, { act: "stop", reason });
    const again = await users.signIn(other);
    const { number, check } = (await keys(again, { act: "resume", reason })).body;
    const third = await users.invited(admin, "Carla", "admin");
    await admin.call("/__cofre/users", { action: "disable", id: other.id });
    assert.equal(codeOf(await keys(third, { approve: String(number), check })), "COFRE-182");
    const next = (await keys(admin, { act: "resume", reason })).body;
    server.clock.advance(hour);
    const later = await users.signIn(third);
    const late = { approve: String(next["number"]), check: next["check"] };
    assert.equal(codeOf(await keys(later, late)), "COFRE-182");
  });

  test("the commands sign an admin in, and out again", async (context) => {
    const { users, admin, other, server } = await setUp();
    await using _ = server;
    const run = async (user: Signed, args: readonly string[], code?: string) => {
      server.clock.advance(30_000);
      const command = Command.cofre(context, ["keys", ...args, "--user", user.name], {
        COFRE_PORT: String(server.port),
      });
      command.child.stdin?.end(`${user.password}\n${code ?? users.code(user.secret)}\n`);
      await command.exited;
      return command;
    };
    const wrong = await run(admin, ["stop", "--reason", reason], "000000");
    assert.equal(wrong.child.exitCode, 1);
    assert.match(wrong.stderr, /COFRE-111/);
    const stopped = await run(admin, ["stop", "--reason", reason]);
    assert.equal(stopped.stdout, "Done: stop (order 1).\n", stopped.stderr);
    const requested = await run(admin, ["resume", "--reason", "false alarm"]);
    const [, ...approve] =
      /: cofre keys (approve 2 --check [0-9a-f]{12})\n$/.exec(requested.stdout) ?? [];
    const words = approve.join().split(" ");
    assert.match((await run(admin, words)).stderr, /COFRE-183/);
    const orders = (await run(other, ["orders"])).stdout;
    assert.match(
      orders,
      /^cards {2}stopped since .* by .*\nkeys {3}epoch 1, .*\nrequest 2 {2}resume {2}by .* reason: false alarm\n$/,
    );
    assert.equal((await run(other, words)).stdout, "Done: resume (order 3).\n");
    const again = await users.signIn(admin);
    const { entries } = (await again.call("/__cofre/audit", {})).body as {
      readonly entries: readonly Fields[];
    };
    const count = (action: string) => entries.filter((entry) => entry["action"] === action).length;
    assert.equal(count("sign_out"), 5, "each command that signed in");
  });

  test("a command line that does not fit is refused before anything is sent", async (context) => {
    for (const [args, message] of [
      [["stop"], /needs --reason/],
      [["approve", "2"], /needs --check/],
      [["orders", "--reason", "a"], /--reason is not for/],
      [["stop", "--reason", "a", "--check", "b"], /--check is not for/],
      [["orders", "--dry-run"], /for acts only/],
    ] as const) {
      const command = Command.cofre(context, ["keys", ...args], { COFRE_PORT: "1" });
      await command.exited;
      assert.equal(command.child.exitCode, 2, args.join(" "));
      assert.match(command.stderr, message);
    }
  });
});

test("the commands stop, list and resume in a sandbox without sign-in", async (context) => {
  await using server = await startTestServer();
  const run = async (...args: readonly string[]) => {
    const command = Command.cofre(context, ["keys", ...args], {
      COFRE_PORT: String(server.port),
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
    });
    await command.exited;
    assert.equal(command.child.exitCode, 0, command.stderr);
    return command.stdout.trimEnd();
  };
  assert.match(await run("orders"), /^cards {2}serving\nkeys {3}epoch 1, 0 keys to wrap again/);
  assert.equal(await run("stop", "--reason", reason, "--dry-run"), "stop is possible now.");
  assert.equal(await run("stop", "--reason", reason), "Done: stop (order 1).");
  assert.match(
    await run("orders"),
    /^cards {2}stopped since \S+ by key: card data may have leaked\n/,
  );
  const { cards } = JSON.parse(await run("orders", "--json")) as { readonly cards: Fields };
  assert.equal(cards["state"], "stopped");
  assert.equal(await run("resume", "--reason", "false alarm"), "Done: resume (order 2).");
  assert.match(await run("orders"), /^cards {2}serving\nkeys {3}epoch 1, 0 keys to wrap again/);
});

test(
  "a stop order reaches another node with the same database, and a resume does",
  { skip: testUrl === undefined ? "needs a PostgreSQL server: COFRE_TEST_POSTGRES_URL" : false },
  async (context) => {
    const databases = new TestDatabases(testUrl ?? "");
    context.after(() => databases.drop());
    const environment = {
      COFRE_DATABASE_URL: await databases.create(),
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_DATA_DIR: join(folder(context), "data"),
    };
    const ports = { clock: systemClock };
    await using one = await startTestServer({ environment, ports });
    await using two = await startTestServer({ environment, ports, seed: "two" });
    assert.equal(codeOf(asReply(await one.postJson("/ws/token", tokenBody(token)))), "SUCCESS");
    assert.deepEqual(await charged(two, "before"), served);
    await order(one, { act: "stop", reason });
    assert.deepEqual(await charged(one, "here"), refused, "at once");
    await until(
      "the other node has stopped",
      async () => (await two.get("/readyz")).body["cards"] === "stopped",
    );
    assert.deepEqual(await charged(two, "there"), refused);
    await order(two, { act: "resume", reason });
    await until(
      "the other node has resumed",
      async () => (await one.get("/readyz")).body["cards"] === undefined,
    );
    assert.deepEqual(await charged(one, "here"), served);
  },
);
