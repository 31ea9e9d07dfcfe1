import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { openAudit } from "../../src/start/commands.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { verifyAuditLog } from "../../src/user/audit-log.ts";
import { ask, ConsoleUsers } from "../server-with-users.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";
import { earlier, earlierFolder } from "./earlier-installation.ts";
import { until } from "../until.ts";

/*
 * On PostgreSQL the database administrators do not have the keys. With write access to the database
 * they could become an admin of the console with a forged session, role or key, and rewrite the
 * audit log undetected. Older tests wrote to the tables only to break the chain.
 */

const environmentOf = (folder: string) => ({ COFRE_DATA_DIR: folder, COFRE_CONSOLE: "login" });

async function start(folder: string): Promise<TestServer> {
  const server = await startTestServer({ environment: environmentOf(folder) });
  server.clock.advance(earlier.clock - server.clock.now());
  return server;
}

/**
 * The earlier version's folder after its upgrade, with the writes of a program without the keys.
 */
async function written(context: TestContext, ...statements: readonly string[]): Promise<string> {
  const folder = earlierFolder(context);
  const server = await start(folder);
  await until("all rows are upgraded", () =>
    server.events.some(({ event }) => event === "rows_upgraded"),
  );
  await server[Symbol.asyncDispose]();
  const database = new DatabaseSync(join(folder, "cofre.db"));
  for (const sql of statements) database.exec(sql);
  database.close();
  return folder;
}

async function verified(folder: string) {
  const reading = readConfig({
    environment: environmentOf(folder),
    flags: new Map(),
    readFile: () => ({ problem: "is not read" }),
  });
  assert.ok("config" in reading);
  const audit = await openAudit(reading.config);
  try {
    return (await verifyAuditLog(audit.log)).fault;
  } finally {
    await audit.close();
  }
}

const refusedRows = ({ events }: TestServer): readonly string[] =>
  events.flatMap((each) => (each.event === "row_refused" ? [each.kind] : []));

const secret = "A".repeat(43);
const digest = createHash("sha256").update(secret).digest("hex");

describe("people of the version before", () => {
  test("sign in after the upgrade, an open invitation works, and the audit log continues and is whole", async (context) => {
    const folder = await written(context);
    const server = await start(folder);
    const users = new ConsoleUsers(server);
    const admin = await users.signIn(earlier.admin);
    await users.signIn(earlier.viewer);
    await users.accept(earlier.invitation);
    assert.equal((await admin.call("/__cofre/users", {})).body["status"], "SUCCESS");
    const { body } = await admin.call("/__cofre/audit", { verify: "true" });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    assert.ok(
      JSON.stringify(body).includes('"first_invalid":null') || body["whole"] === true,
      JSON.stringify(body).slice(-300),
    );
    await server[Symbol.asyncDispose]();

    assert.deepEqual(refusedRows(server), []);
    assert.equal(await verified(folder), undefined);
    assert.ok(
      server.events.some(({ event }) => event === "audit_head"),
      "its head is in the program's log",
    );
  });
});

describe("what a program does with a key while people sign in", () => {
  test("is in the audit log where it changes how the server behaves, and not where it pays", async () => {
    await using server = await startTestServer({ environment: { COFRE_CONSOLE: "login" } });
    const admin = await new ConsoleUsers(server).firstAdmin();
    await server.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { descriptor: "SHOP" },
    });
    await server.postJson("/__cofre/settings", { integration_key: integrationKey });
    await server.postJson("/ws/direct", directBody("by-key"));
    const { body } = await admin.call("/__cofre/audit", {});
    const entries = body["entries"] as readonly {
      readonly actor: string;
      readonly action: string;
      readonly result: string;
    }[];
    const byKey = entries
      .filter(({ actor }) => actor === "key")
      .map(({ action, result }) => `${action} ${result}`);
    assert.deepEqual(byKey, ["settings_changed done", "settings_changed started"]);
  });
});

describe("a program that writes the database without the keys", () => {
  test("signs no user in by a session of its own", async (context) => {
    const session = `INSERT INTO person_session (digest, person, started_at, last_used_at, ends_at)
      SELECT unhex('${digest}'), id, ${earlier.clock}, ${earlier.clock}, ${earlier.clock + 3_600_000} FROM person WHERE role = 'admin' LIMIT 1`;
    const folder = await written(context, session);
    await using server = await start(folder);
    const cookie = earlier.admin.cookie.replace(/=.*/, `=${secret}`);
    const reply = await ask(
      server,
      "/__cofre/users",
      {},
      { Cookie: cookie, "X-Cofre-CSRF": "none" },
    );
    assert.equal(reply.body["status"], "ERROR");
    assert.deepEqual(refusedRows(server), ["person_session"]);
  });

  test("has the session of another person's row refused too", async (context) => {
    const folder = await written(context);
    const first = await start(folder);
    const viewer = await new ConsoleUsers(first).signIn(earlier.viewer);
    await first[Symbol.asyncDispose]();
    const database = new DatabaseSync(join(folder, "cofre.db"));
    database.exec(
      "UPDATE person_session SET person = (SELECT id FROM person WHERE role = 'admin' LIMIT 1)",
    );
    database.close();

    await using server = await start(folder);
    const reply = await ask(
      server,
      "/__cofre/users",
      {},
      { Cookie: viewer.cookie, "X-Cofre-CSRF": viewer.csrf },
    );
    assert.equal(reply.body["status"], "ERROR");
    assert.deepEqual(refusedRows(server), ["person_session"]);
  });

  for (const [what, sql] of [
    ["a role", "UPDATE person SET role = 'admin' WHERE name = 'vera'"],
    [
      "a password",
      "UPDATE person SET passwords = (SELECT passwords FROM person WHERE name = 'admin') WHERE name = 'vera'",
    ],
    [
      "a lock that it takes away",
      "UPDATE person SET failures = 0, totp_step = 0 WHERE name = 'vera'",
    ],
    ["a row without a MAC", "UPDATE person SET mac = NULL WHERE name = 'vera'"],
    [
      "another person's row",
      "UPDATE person SET mac = (SELECT mac FROM person WHERE name = 'admin') WHERE name = 'vera'",
    ],
  ] as const) {
    test(`changes nothing by ${what}: the person cannot sign in, and there is an alarm`, async (context) => {
      const folder = await written(context, sql);
      await using server = await start(folder);
      server.clock.advance(60_000);
      const users = new ConsoleUsers(server);
      await assert.rejects(users.signIn(earlier.viewer));
      await users.signIn(earlier.admin);
      assert.deepEqual(refusedRows(server), ["person"]);
    });
  }

  test("makes no admin by an invitation of its own", async (context) => {
    const sql = `UPDATE person SET invitation = unhex('${digest}'), role = 'admin' WHERE name = 'otto'`;
    const folder = await written(context, sql);
    await using server = await start(folder);
    const reply = await ask(
      server,
      "/__cofre/enrolment",
      { invitation: secret },
      { "X-Cofre-CSRF": "none" },
    );
    assert.equal(reply.body["status"], "ERROR");
    assert.deepEqual(refusedRows(server), ["person"]);
  });

  test("whose admin's row was changed leaves a link for another one at the next start", async (context) => {
    const folder = await written(context, "UPDATE person SET role = 'viewer' WHERE name = 'admin'");
    await using server = await start(folder);
    assert.ok(server.cofre.consoleInvitation !== undefined);
  });

  const unprotected = [
    "DROP TRIGGER audit_entry_is_append_only",
    "DROP TRIGGER audit_entry_is_kept",
    "DROP TRIGGER audit_head_moves_on",
  ];

  test("forges no entry at the end of the audit log, and is seen to have tried", async (context) => {
    const folder = await written(context);
    const database = new DatabaseSync(join(folder, "cofre.db"));
    const head = database
      .prepare("SELECT no, lower(hex(digest)) AS digest FROM audit_head")
      .get() as { no: number; digest: string };
    const body = JSON.stringify({
      at: earlier.clock,
      actor: { kind: "server" },
      action: "viewed",
      result: "done",
    });
    const next = createHash("sha256")
      .update(`${head.digest} ${head.no + 1} ${body}`)
      .digest("hex");
    database
      .prepare("INSERT INTO audit_entry (no, digest, body) VALUES (?, unhex(?), ?)")
      .run(head.no + 1, next, body);
    database.prepare("UPDATE audit_head SET no = ?, digest = unhex(?)").run(head.no + 1, next);
    database.close();
    assert.deepEqual(await verified(folder), { kind: "forged", entry: head.no + 1 });
  });

  test("rewrites nothing of the audit log, also with every digest behind it computed again", async (context) => {
    const folder = await written(context, ...unprotected);
    const database = new DatabaseSync(join(folder, "cofre.db"));
    const rows = database.prepare("SELECT no, body FROM audit_entry ORDER BY no").all() as {
      no: number;
      body: string;
    }[];
    let digestBefore = "0".repeat(64);
    for (const { no, body } of rows) {
      const changed = no === 2 ? body.replace(/"act":"[^"]*"/, '"act":"viewed"') : body;
      digestBefore = createHash("sha256").update(`${digestBefore} ${no} ${changed}`).digest("hex");
      database
        .prepare("UPDATE audit_entry SET body = ?, digest = unhex(?) WHERE no = ?")
        .run(changed, digestBefore, no);
    }
    database.prepare("UPDATE audit_head SET digest = unhex(?)").run(digestBefore);
    database.close();
    const fault = await verified(folder);
    assert.equal(fault?.kind, "forged");
  });
});
