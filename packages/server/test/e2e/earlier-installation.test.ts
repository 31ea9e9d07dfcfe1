import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { directBody, startTestServer, type TestServer } from "../server.ts";
import { bytesOf, earlier, earlierFolder } from "./earlier-installation.ts";
import { until } from "../until.ts";

/** The tokens of which an unkeyed digest is in the folder's files, in any of the usual forms. */
function guessable(folder: string): readonly string[] {
  const bytes = bytesOf(folder);
  return earlier.tokens
    .map(({ token }) => token)
    .filter((token) => {
      const digest = createHash("sha256").update(token).digest();
      return (
        bytes.includes(digest) ||
        (["hex", "base64url"] as const).some((form) => bytes.includes(digest.toString(form)))
      );
    });
}

async function upgraded(folder: string): Promise<TestServer> {
  const server = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
  await until("all rows are upgraded", () =>
    server.events.some(({ event }) => event === "rows_upgraded"),
  );
  return server;
}

const withKey = { integration_key: earlier.integrationKey };
let orders = 0;

async function pay(server: TestServer, token: string) {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(`new-${(orders += 1)}`, {
      creditcard: { token, card_cvv: token.length === 64 ? undefined : "123" },
    }),
  );
  return body;
}

describe("a data folder of the version before", () => {
  test("keeps no digest of a token that a guess can be tested against, and every token still pays", async (context) => {
    const folder = earlierFolder(context);
    assert.equal(
      guessable(folder).length,
      earlier.tokens.length,
      "control: the version before kept them",
    );
    const server = await upgraded(folder);
    for (const { token, mask } of earlier.tokens) {
      const body = await pay(server, token);
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
      const { body: queried } = await server.postJson("/ws/query", {
        ...withKey,
        hash: (body["payment"] as { hash: string }).hash,
      });
      assert.ok(JSON.stringify(queried).includes("CO"), mask);
    }
    for (const hash of earlier.payments) {
      const { body } = await server.postJson("/ws/query", { ...withKey, hash });
      assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    }
    const token = earlier.tokens[0]?.token;
    const again = await server.postJson("/ws/token", {
      ...withKey,
      payment_type_code: "visa",
      country: "br",
      token,
      creditcard: card,
    });
    assert.match(JSON.stringify(again.body), /already exists/);
    await server[Symbol.asyncDispose]();

    assert.deepEqual(guessable(folder), []);
    const [event] = server.events.filter((each) => each.event === "rows_upgraded");
    assert.deepEqual(event, { event: "rows_upgraded", cards: earlier.tokens.length });
  });

  test("is written again without what was deleted before the server listens, which the log says, and once", async (context) => {
    const folder = earlierFolder(context);
    const rewriting = (server: TestServer) =>
      server.events
        .filter(({ event }) => event === "database_rewriting" || event === "database_migrating")
        .map(({ event }) => event);
    const first = await upgraded(folder);
    assert.deepEqual(rewriting(first), ["database_rewriting", "database_migrating"]);
    assert.ok(!existsSync(join(folder, "cofre.db.rewrite")));
    await first[Symbol.asyncDispose]();
    await using second = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
    assert.deepEqual(rewriting(second), []);
  });

  test("is upgraded once, and starts and pays again afterwards", async (context) => {
    const folder = earlierFolder(context);
    await (await upgraded(folder))[Symbol.asyncDispose]();
    assert.ok(existsSync(join(folder, "rows.sealed")));
    await using server = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
    for (const { token } of earlier.tokens)
      assert.equal((await pay(server, token))["status"], "SUCCESS");
    assert.ok(!server.events.some(({ event }) => event === "rows_upgraded"));
  });

  // The upgrade completed with a count in the log, and the token of such a card was "not found"
  // from then on.
  test("with a card that does not open is not upgraded to its end: an alarm says how many and what to do, and it pays when its key is back", async (context) => {
    const folder = earlierFolder(context);
    const token = earlier.tokens[0]?.token ?? "";
    const digest = createHash("sha256").update(token).digest();
    const refOf = (change?: (ref: Uint8Array) => Uint8Array): Uint8Array => {
      const database = new DatabaseSync(join(folder, "cofre.db"));
      const row = database.prepare("SELECT ref FROM card WHERE token_digest = ?").get(digest);
      const ref = row?.["ref"] as Uint8Array;
      if (change !== undefined)
        database.prepare("UPDATE card SET ref = ? WHERE token_digest = ?").run(change(ref), digest);
      database.close();
      return ref;
    };
    const damaged = (ref: Uint8Array): Uint8Array =>
      Uint8Array.from(ref, (byte, index) => (index < ref.length - 1 ? byte : byte ^ 1));
    const original = refOf(damaged);
    {
      await using server = await startTestServer({ environment: { COFRE_DATA_DIR: folder } });
      await until("the alarm is raised", () =>
        server.events.some(({ event }) => event === "alarm"),
      );
      const [alarm] = server.events.filter((each) => each.event === "alarm");
      assert.ok(alarm?.event === "alarm");
      assert.equal(alarm.kind, "cards_not_readable");
      assert.match(
        alarm.what,
        /^1 stored cards .*put the keys\.\*\.json that belong to them back and start again/,
      );
      assert.ok(alarm.what.length <= 300, "the log cuts longer texts");
      for (const shown of [token, digest.toString("hex"), "411111"])
        assert.ok(!JSON.stringify(server.events).includes(shown));
      assert.ok(!server.events.some(({ event }) => event === "rows_upgraded"));
      assert.equal((await pay(server, token))["status_code"], "COFRE-14", "it is not unknown");
      assert.equal(
        (await pay(server, earlier.tokens[1]?.token ?? ""))["status"],
        "SUCCESS",
        "control: other cards pay",
      );
    }
    assert.ok(!existsSync(join(folder, "rows.sealed")));
    assert.deepEqual(refOf(), damaged(original), "the row is as it was");

    refOf(() => original);
    await using server = await upgraded(folder);
    assert.equal((await pay(server, token))["status"], "SUCCESS");
    assert.ok(existsSync(join(folder, "rows.sealed")));
  });

  test("restored beside the keys of after the upgrade is refused with what to do, and starts when that was done", async (context) => {
    const folder = earlierFolder(context);
    await (await upgraded(folder))[Symbol.asyncDispose]();
    copyFileSync(join(earlierFolder(context), "cofre.db"), join(folder, "cofre.db"));
    await assert.rejects(startTestServer({ environment: { COFRE_DATA_DIR: folder } }), {
      name: "KeyringError",
      message: /Remove rows\.sealed/,
    });
    rmSync(join(folder, "rows.sealed"));
    await using server = await upgraded(folder);
    assert.equal((await pay(server, earlier.tokens[1]?.token ?? ""))["status"], "SUCCESS");
  });
});

const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

describe("a program that writes the database without the keys", () => {
  const written = async (
    context: Parameters<typeof earlierFolder>[0],
    sql: string,
  ): Promise<TestServer> => {
    const folder = earlierFolder(context);
    await (await upgraded(folder))[Symbol.asyncDispose]();
    const database = new DatabaseSync(join(folder, "cofre.db"));
    database.exec(sql);
    database.close();
    return startTestServer({ environment: { COFRE_DATA_DIR: folder } });
  };
  const alarms = ({ events }: TestServer): readonly unknown[] =>
    events.flatMap((each) => (each.event === "alarm" ? [each.kind] : []));
  const digest = createHash("sha256").update("a key that was made up").digest("hex");

  for (const [what, sql] of [
    [
      "a row of its own",
      `INSERT INTO account_key (digest, account, grants) SELECT unhex('${digest}'), account, 'secret' FROM account_key LIMIT 1`,
    ],
    [
      "another key's row with its own digest",
      `UPDATE account_key SET digest = unhex('${digest}') WHERE grants = 'secret'`,
    ],
  ] as const) {
    test(`gets no integration key by ${what}`, async (context) => {
      await using server = await written(context, sql);
      const { body } = await server.postJson("/ws/query", {
        integration_key: "a key that was made up",
        hash: earlier.payments[0],
      });
      assert.equal(body["status_code"], "BP-SA-2", JSON.stringify(body));
      assert.deepEqual(alarms(server), ["row_refused"]);
    });
  }

  test("gets no secret key out of a public one", async (context) => {
    const folder = earlierFolder(context);
    await (await upgraded(folder))[Symbol.asyncDispose]();
    const database = new DatabaseSync(join(folder, "cofre.db"));
    database.exec("UPDATE account_key SET grants = 'secret' WHERE grants = 'public'");
    database.close();
    const start = startTestServer({ environment: { COFRE_DATA_DIR: folder } });
    await assert.rejects(start, { name: "KeyTaken", message: /written without the keys/ });
  });

  for (const column of [
    "brand = 'elo'",
    "masked_pan = '555555xxxxxx4444'",
    "fingerprint = zeroblob(32)",
    "created_at = created_at + 1",
    "mac = NULL",
  ]) {
    test(`cannot change what is shown of a card: ${column}`, async (context) => {
      await using server = await written(context, `UPDATE card SET ${column}`);
      const body = await pay(server, earlier.tokens[1]?.token ?? "");
      assert.equal(body["status"], "ERROR", JSON.stringify(body));
      assert.deepEqual(alarms(server), ["card_not_readable"]);
    });
  }
});
