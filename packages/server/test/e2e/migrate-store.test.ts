import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { CofreProcess } from "../support/cofre-process.ts";
import { WireClient } from "../support/wire-client.ts";
import { query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { dueTables } from "../postgres/due-tables.ts";
import { Chance } from "../support/chance.ts";
import { directBody, integrationKey } from "../server.ts";
import {
  answersOf,
  Filling,
  fullEnvironment,
  inFlight,
  MoodyReceiver,
  ownToken,
} from "./full-installation.ts";
import { until } from "../until.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

if (testUrl === undefined) {
  test(
    "an installation is moved to PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  describe("an installation is moved to PostgreSQL", { timeout: 600_000 }, () =>
    describeMoves(databases),
  );
}

interface Moved {
  readonly code: number | null;
  /** Lines of JSON. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly problems: string;
}

function describeMoves(databases: TestDatabases): void {
  const folder = mkdtempSync(join(tmpdir(), "cofre-move-"));
  /** A stopped installation, of which each test has a copy. */
  const model = join(folder, "model");
  const started: CofreProcess[] = [];
  const client = new WireClient(8);
  const receiver = new MoodyReceiver();
  let answers: ReadonlyMap<string, string> = new Map();
  let copies = 0;

  const start = async (
    dataDirectory: string,
    over: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly cofre: CofreProcess; readonly port: number | undefined }> => {
    const name = `cofre-${started.length}`;
    const cofre = CofreProcess.spawn({
      root,
      dataDirectory,
      logDirectory: folder,
      name,
      environment: { ...fullEnvironment, ...over },
    });
    started.push(cofre);
    return { cofre, port: await cofre.listening() };
  };
  const on = (url: string): Readonly<Record<string, string>> => ({
    COFRE_DATABASE_URL: url,
    COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
  });
  const refusedStart = async (
    dataDirectory: string,
    over: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const { cofre, port } = await start(dataDirectory, over);
    assert.equal(port, undefined, "it does not start");
    return readFileSync(cofre.stderrFile, "utf8");
  };
  const copyOfModel = (): string => {
    const copy = join(folder, `copy-${(copies += 1)}`);
    cpSync(model, copy, { recursive: true });
    return copy;
  };

  before(async () => {
    const { cofre, port } = await start(model);
    assert.ok(port !== undefined, readFileSync(cofre.stderrFile, "utf8"));
    const filling = new Filling(client, port);
    await filling.fill(await receiver.listen());
    answers = await answersOf(client, port);
    await filling.leaveInFlight(() => countIn(model, "payment WHERE attempt IS NOT NULL") === 1);
    await cofre.end("SIGKILL");
    assert.ok(
      receiver.ignored > 0 && receiver.taken.length === 0,
      "control: deliveries are still due",
    );
    for (const table of [
      "account",
      "account_key",
      "payment",
      "refund",
      "history",
      "outbox",
      "delivery",
      "card",
      "named_request",
    ]) {
      assert.ok(countIn(model, table) > 0, `control: there are rows of ${table}`);
    }
    for (const column of [
      "captured_at",
      "capture_by",
      "refunds",
      "chargeback",
      "review",
      "attempt",
      "due_at",
      "verdict",
      "mandate",
      "rerouted",
    ]) {
      assert.ok(
        countIn(model, `payment WHERE ${column} IS NOT NULL`) > 0,
        `control: there are payments with ${column}`,
      );
    }
  });
  after(async () => {
    for (const cofre of started) await cofre.end("SIGKILL");
    client.close();
    await receiver[Symbol.asyncDispose]();
    await databases.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the server on PostgreSQL answers every query as before, charges by the old tokens, delivers what was due and settles what was in flight", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    const moved = await migrate(data, url);
    assert.equal(moved.code, 0, moved.problems + JSON.stringify(moved.lines));
    const result = moved.lines.at(-1);
    const counts = Object.fromEntries(tables.map((table) => [table, countIn(model, table)]));
    assert.deepEqual([result?.["result"], result?.["counts"]], ["moved", counts]);
    assert.equal(result?.["cardsOpened"], counts["card"], "so few cards are opened all");
    assert.ok(Number(result?.["balances"]) >= 5);

    assert.match(await refusedStart(data), /moved to PostgreSQL.*COFRE_DATABASE_URL.*--rollback/);
    const { cofre, port } = await start(data, on(url));
    assert.ok(port !== undefined, readFileSync(cofre.stderrFile, "utf8"));
    const there = await answersOf(client, port);
    for (const [requested, answer] of answers)
      assert.equal(there.get(requested), answer, requested);

    const charged = await client.ask(
      port,
      "/ws/direct",
      directBody("by-old-token", { creditcard: { token: ownToken, card_cvv: "123" } }),
    );
    assert.equal(statusIn(charged), "CO", JSON.stringify(charged));
    receiver.isWilling = true;
    const due = countIn(model, "delivery WHERE state = 'waiting'");
    await until(
      "what was due is delivered, and what came since",
      async () => receiver.taken.length > due,
    );
    // The simulator has lost its data, so recovery finds that its approvals never happened.
    await until(
      "what was in flight is settled",
      async () => (await statusOf(client, port, inFlight)) === "CA",
    );
    receiver.isWilling = false;

    const numbers = await query<{ readonly number: number; readonly place: number }>(
      url,
      "SELECT number::integer, row_number() OVER (PARTITION BY merchant ORDER BY sequence)::integer AS place FROM outbox",
    );
    assert.ok(numbers.length > (counts["outbox"] ?? 0), "control: notifications came since");
    assert.ok(
      numbers.every(({ number, place }) => number === place),
      "notifications are numbered on without a gap, in the order of their sequence",
    );
    await cofre.end("SIGTERM");
  });

  test("what is due after a move is exactly what the deliveries say, and the same as in the file", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    const file = new DatabaseSync(join(data, "cofre.db"));
    // Besides the account's endpoint: two addresses of one origin, one of an earlier version, and
    // deliveries in every state.
    for (const endpoint of [
      "url-0123456789abcdef-1",
      "url-0123456789abcdef-2",
      "url-fedcba98765432100123456789abcdef",
    ]) {
      file.exec(`INSERT INTO delivery (lane, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order, message)
        SELECT substr(lane, 1, 9) || '${endpoint}', number, payment, kind, version, state, asked_at, due_at + 7 * number, attempts, outcome, in_order, message
        FROM delivery WHERE lane LIKE '%account-url'`);
    }
    file.exec(`UPDATE delivery SET state = CASE number % 5 WHEN 0 THEN 'delivered' WHEN 1 THEN 'failed' ELSE 'waiting' END;
      UPDATE delivery SET in_order = 0 WHERE number % 7 = 2; UPDATE delivery SET due_at = due_at + 60000 WHERE number % 3 = 0`);
    const inFile = file
      .prepare(
        `SELECT 'delivery \\x' || substr(lane, 1, 8) || ' ' || substr(queue, 10) || ' ' || due_at || ' ' || number || ' ' || substr(lane, 10) AS line
           FROM due_delivery
         UNION ALL SELECT 'queue \\x' || merchant || ' ' || substr(queue, 10) || ' ' || first_at || ' ' || due_at FROM due_queue
         UNION ALL SELECT 'merchant \\x' || merchant || ' ' || due_at FROM due_merchant`,
      )
      .all()
      .map(({ line }) => String(line))
      .toSorted();
    file.close();

    assert.equal((await migrate(data, url)).code, 0);
    const { held, expected, blocked } = await dueTables(url);
    assert.deepEqual(held, expected);
    assert.deepEqual(held, inFile);
    assert.ok(blocked > 0, "control: some wait for an earlier one of their payment");
    assert.equal(
      held.filter((line) => line.startsWith("queue ")).length,
      3,
      "control: addresses of one origin share a queue",
    );
  });

  test("a finished move that is run again says so and changes nothing, and its verification finds any row that was changed", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    assert.equal((await migrate(data, url)).code, 0);
    const before = await contentOf(url);
    const again = await migrate(data, url);
    assert.deepEqual([again.code, again.lines], [0, [{ result: "already_moved" }]]);
    assert.deepEqual(await contentOf(url), before);
    const same = await migrate(data, url, ["--verify"]);
    assert.deepEqual([same.code, same.lines.at(-1)?.["result"]], [0, "equal"]);

    const damages: readonly (readonly [damage: string, repair: string, kind: string])[] = [
      [
        "UPDATE payment SET order_json = order_json || ' ' WHERE code = 'sale'",
        "UPDATE payment SET order_json = trim(order_json) WHERE code = 'sale'",
        "payment",
      ],
      [
        "UPDATE payment SET no = no + 1000 WHERE code = 'stored'",
        "UPDATE payment SET no = no - 1000 WHERE code = 'stored'",
        "payment",
      ],
      [
        "UPDATE outbox SET sequence = sequence + 1000 WHERE number = 2",
        "UPDATE outbox SET sequence = sequence - 1000 WHERE number = 2",
        "outbox",
      ],
      [
        "UPDATE account SET version = version + 1",
        "UPDATE account SET version = version - 1",
        "account",
      ],
      [
        "UPDATE delivery SET attempts = attempts + 1 WHERE number = 1",
        "UPDATE delivery SET attempts = attempts - 1 WHERE number = 1",
        "delivery",
      ],
      [
        "UPDATE card SET last_used_at = last_used_at + 1",
        "UPDATE card SET last_used_at = last_used_at - 1",
        "card",
      ],
    ];
    for (const [damage, repair, kind] of damages) {
      await query(url, damage);
      const found = await migrate(data, url, ["--verify"]);
      assert.deepEqual(
        [found.code, found.lines.at(-1)?.["result"], found.lines.at(-1)?.["kind"]],
        [1, "differs", kind],
        damage,
      );
      await query(url, repair);
    }
    assert.equal(
      (await migrate(data, url, ["--verify"])).code,
      0,
      "control: with all of it repaired there is no difference",
    );
    await query(url, "DELETE FROM named_request");
    assert.equal((await migrate(data, url, ["--verify"])).lines.at(-1)?.["kind"], "named_request");
  });

  test("a copy that is not what the file holds is not committed, and the file is served on", async () => {
    const damages: readonly (readonly [table: string, change: string, reason: RegExp])[] = [
      [
        "history",
        "NEW.entries := replace(NEW.entries, '1', '2')",
        /^entries of merchant [0-9a-f]{8}, payment [0-9a-f]{48}, version \d+ differs$/,
      ],
      [
        "refund",
        "IF NEW.code IS NULL THEN RETURN NULL; END IF",
        /^\d+ rows in the file, \d+ in the database$/,
      ],
      ["card", "NEW.ref := NEW.ref || '\\x00'", /^ref of merchant [0-9a-f]{8} differs$/],
    ];
    for (const [table, change, reason] of damages) {
      const [data, url] = [copyOfModel(), await databases.copy()];
      await query(
        url,
        `CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${change}; RETURN NEW; END $$;
        CREATE TRIGGER planted BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION planted()`,
      );
      const { code, lines } = await migrate(data, url);
      const last = lines.at(-1);
      assert.deepEqual(
        [code, last?.["result"], last?.["kind"]],
        [1, "differs", table],
        JSON.stringify(last),
      );
      assert.match(String(last?.["message"]).slice(table.length + 2), reason);
      assert.equal(await rowsIn(url), 0, "nothing was committed");
      const { cofre, port } = await start(data);
      assert.ok(port !== undefined, "the file is served on");
      await cofre.end("SIGTERM");
    }
  });

  test("a Cofre that comes to the database while it is copied is found before the commit, and the file is served on", async () => {
    const [data, url] = [copyOfModel(), await databases.copy()];
    await query(
      url,
      `CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
      CREATE TRIGGER planted BEFORE INSERT ON named_request FOR EACH ROW EXECUTE FUNCTION planted()`,
    );
    const holder = new Client({ connectionString: url });
    const comer = new Client({ connectionString: url, application_name: "cofre cofre_gateway" });
    await holder.connect();
    try {
      await holder.query("SELECT pg_advisory_lock(7)");
      const moving = migrate(data, url);
      const waits =
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted";
      await until("the copy waits", async () => (await query(url, waits)).length > 0);
      await comer.connect();
      await holder.query("SELECT pg_advisory_unlock(7)");
      const { code, lines } = await moving;
      assert.deepEqual([code, lines.at(-1)?.["code"]], [1, "served"], JSON.stringify(lines.at(-1)));
    } finally {
      await holder.end();
      await comer.end();
    }
    assert.equal(await rowsIn(url), 0, "nothing was committed");
    const { cofre, port } = await start(data);
    assert.ok(port !== undefined, "the file is served on");
    await cofre.end("SIGTERM");
  });

  test("a card that the keys do not open is found, though the rows are the same", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    const file = new DatabaseSync(join(data, "cofre.db"));
    file.exec(
      "UPDATE card SET ref = (SELECT ref FROM card AS other WHERE other.no <> card.no LIMIT 1) WHERE no = (SELECT max(no) FROM card)",
    );
    file.close();
    const { code, lines } = await migrate(data, url);
    assert.deepEqual([code, lines.at(-1)?.["result"]], [1, "differs"]);
    assert.match(String(lines.at(-1)?.["message"]), /does not open with the keys/);
  });

  test("a run that is killed anywhere is restarted, or completed, by the next one", async (context) => {
    const seed = Date.now();
    context.diagnostic(`seed ${seed}`);
    const chance = new Chance(seed);
    const results: unknown[] = [];
    for (let round = 0; round < 4; round += 1) {
      const [data, url] = [copyOfModel(), await databases.create()];
      // In the last round the process dies when the file is marked and the commit is in flight.
      for (let kill = 0; kill < 2; kill += 1)
        await killAt(data, url, round === 3 ? "switch" : chance.below(19));
      const { code, lines, problems } = await migrateWhenFree(data, url);
      assert.equal(code, 0, problems + JSON.stringify(lines));
      results.push(lines.at(-1)?.["result"]);
      const verified = await migrate(data, url, ["--verify"]);
      assert.equal(verified.lines.at(-1)?.["result"], "equal", JSON.stringify(verified));
      assert.match(await refusedStart(data), /moved to PostgreSQL/);
    }
    context.diagnostic(results.join(" "));
  });

  test("a run that died between the file's mark and the end of its commit is completed, or restarted", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    assert.equal((await migrate(data, url)).code, 0);
    const mark = (state: string): void => {
      const file = new DatabaseSync(join(data, "cofre.db"));
      file.exec(`UPDATE move SET state = '${state}'`);
      file.close();
    };
    // The commit succeeded, but was not recorded.
    mark("moving");
    assert.match(await refusedStart(data), /the move is not complete/);
    assert.deepEqual((await migrate(data, url)).lines, [{ result: "completed" }]);
    assert.deepEqual((await migrate(data, url)).lines, [{ result: "already_moved" }]);
    // The commit failed.
    mark("moving");
    const other = await databases.create();
    assert.equal((await migrate(data, other)).lines.at(-1)?.["result"], "moved");
    const refused = await migrate(data, url);
    assert.deepEqual(
      [refused.code, refused.lines.at(-1)?.["code"]],
      [1, "occupied"],
      "it belongs to the other database now",
    );
    // Neither database exists any more.
    assert.equal(
      (await migrate(data, undefined, ["--rollback"])).code,
      2,
      "a way back that may lose something is asked for in full",
    );
    const third = await databases.create();
    assert.equal((await migrate(copyOfModel(), third)).code, 0);
    const elsewhere = await migrate(data, third, ["--rollback", "--discard-changes"]);
    assert.deepEqual(
      [elsewhere.code, elsewhere.lines.at(-1)?.["code"]],
      [1, "elsewhere"],
      "what another file was moved into is no place to go back from",
    );
    assert.match(await refusedStart(data), /moved to PostgreSQL/);
    const child = spawnMove(data, undefined, ["--rollback", "--discard-changes"]);
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    assert.match(
      said,
      /used again.* The database was not marked as returned: make sure that no Cofre uses it\.$/m,
    );
    const { cofre, port } = await start(data);
    assert.ok(port !== undefined, "the file is served again");
    await cofre.end("SIGTERM");
  });

  test("a database that is gone may be replaced with an empty one, or with one that was abandoned, only by an explicit command", async () => {
    const [data, gone, empty] = [copyOfModel(), await databases.create(), await databases.create()];
    assert.equal((await migrate(data, gone)).code, 0);
    const refused = await migrate(data, empty, ["--rollback"]);
    assert.deepEqual(
      [refused.code, refused.lines.at(-1)?.["code"]],
      [1, "elsewhere"],
      "not without a word about what is lost",
    );
    assert.match(await refusedStart(data), /moved to PostgreSQL/);

    assert.deepEqual(
      (await migrate(data, empty, ["--rollback", "--discard-changes"])).lines.at(-1),
      {
        database_returned: false,
        result: "rolled_back",
      },
    );
    const { cofre, port } = await start(data);
    assert.ok(port !== undefined, "the file is served again");
    const there = await answersOf(client, port);
    for (const [requested, answer] of answers)
      assert.equal(there.get(requested), answer, requested);
    await cofre.end("SIGTERM");

    // The empty database is unchanged: the file can be moved into it, and back.
    assert.equal((await migrate(data, empty)).lines.at(-1)?.["result"], "moved");
    assert.equal((await migrate(data, empty, ["--verify"])).lines.at(-1)?.["result"], "equal");
    assert.deepEqual((await migrate(data, empty, ["--rollback"])).lines.at(-1), {
      database_returned: true,
      result: "rolled_back",
    });

    // A database that was given up does not belong to a later move: moving back from it is refused.
    const other = await databases.create();
    assert.equal((await migrate(data, other)).code, 0);
    const named = await migrate(data, empty, ["--rollback"]);
    assert.deepEqual([named.code, named.lines.at(-1)?.["code"]], [1, "elsewhere"]);
    assert.deepEqual(
      (await migrate(data, empty, ["--rollback", "--discard-changes"])).lines.at(-1),
      {
        database_returned: false,
        result: "rolled_back",
      },
    );
    // The database that still exists does not know of the rollback: only the user stated that it
    // was gone.
    assert.match(await refusedStart(data, on(empty)), /given back to its file/);
  });

  test("what is in the way is refused, and nothing is changed", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    const refusal = async (target: string, args: readonly string[] = []): Promise<unknown> => {
      const { code, lines } = await migrate(data, target, args);
      assert.equal(code, 1);
      return lines.at(-1)?.["code"];
    };
    assert.equal(await refusal(url, ["--rollback"]), "not_moved");
    assert.equal(await refusal(url, ["--verify"]), "not_moved");

    const { cofre, port } = await start(data);
    assert.ok(port !== undefined);
    assert.equal(await refusal(url), "locked", "a server holds the file");
    await cofre.end("SIGTERM");

    // Another installation.
    const others = await start(join(folder, "others"), on(url));
    assert.ok(others.port !== undefined, readFileSync(others.cofre.stderrFile, "utf8"));
    assert.equal(await refusal(url), "served");
    await others.cofre.end("SIGTERM");
    await until("the server's sessions are gone", async () => !(await isServed(url)));
    assert.equal(await refusal(url), "occupied");
    assert.equal((await query(url, "SELECT 1 FROM account")).length, 1);

    const nothing = join(folder, "nothing");
    const { code, lines } = await migrate(nothing, await databases.create());
    assert.deepEqual([code, lines.at(-1)?.["code"]], [1, "no_file"]);
    const again = await start(data);
    assert.ok(again.port !== undefined, "the file is served on");
    await again.cofre.end("SIGTERM");
  });

  test("an empty database beside keys is refused with an explanation, unless a new start is requested", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    assert.match(
      await refusedStart(data, on(url)),
      /empty, but there are keys.*migrate-store.*COFRE_DATABASE_ALLOW_EMPTY=true/,
    );
    // A killed move has created the tables, without rows.
    assert.match(await refusedStart(data, on(url)), /empty, but there are keys/);
    const { cofre, port } = await start(data, { ...on(url), COFRE_DATABASE_ALLOW_EMPTY: "true" });
    assert.ok(port !== undefined);
    await cofre.end("SIGTERM");
    const again = await start(data, on(url));
    assert.ok(again.port !== undefined, "once it has begun it is not empty any more");
    await again.cofre.end("SIGTERM");
  });

  test("a first start on an empty database that fails behind its keys is not taken for a loss", async () => {
    const [data, url] = [join(folder, "first"), await databases.create()];
    const taken = await start(join(folder, "taken"));
    assert.ok(taken.port !== undefined);
    assert.match(
      await refusedStart(data, { ...on(url), COFRE_PORT: String(taken.port) }),
      /in use/,
    );
    const { cofre, port } = await start(data, on(url));
    assert.ok(port !== undefined, readFileSync(cofre.stderrFile, "utf8"));
    await cofre.end("SIGTERM");
    await taken.cofre.end("SIGTERM");
  });

  test("a move is taken back while nothing has changed since, and then the database is given up", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    assert.equal((await migrate(data, url)).code, 0);
    assert.deepEqual((await migrate(data, url, ["--rollback"])).lines.at(-1), {
      database_returned: true,
      result: "rolled_back",
    });
    assert.match(await refusedStart(data, on(url)), /given back to its file/);
    const refused = await migrate(data, url);
    assert.deepEqual([refused.code, refused.lines.at(-1)?.["code"]], [1, "occupied"]);

    const { cofre, port } = await start(data);
    assert.ok(port !== undefined);
    const there = await answersOf(client, port);
    for (const [requested, answer] of answers)
      assert.equal(there.get(requested), answer, requested);
    await cofre.end("SIGTERM");

    // Again, to another database, where a payment is made.
    const other = await databases.create();
    assert.equal((await migrate(data, other)).code, 0);
    const serving = await start(data, on(other));
    assert.ok(serving.port !== undefined);
    assert.equal(
      (await client.ask(serving.port, "/ws/direct", directBody("newer")))?.["status"],
      "SUCCESS",
    );
    const served = await migrate(data, other, ["--rollback"]);
    assert.deepEqual([served.code, served.lines.at(-1)?.["code"]], [1, "served"]);
    await serving.cofre.end("SIGTERM");
    await until("the server's sessions are gone", async () => !(await isServed(other)));
    const changed = await migrate(data, other, ["--rollback"]);
    assert.deepEqual([changed.code, changed.lines.at(-1)?.["code"]], [1, "changed"]);
    assert.match(await refusedStart(data), /moved to PostgreSQL/);

    assert.deepEqual(
      (await migrate(data, other, ["--rollback", "--discard-changes"])).lines.at(-1),
      {
        database_returned: true,
        result: "rolled_back",
      },
    );
    const back = await start(data);
    assert.ok(back.port !== undefined);
    assert.equal(await statusOf(client, back.port, "newer"), undefined);
    assert.match(await refusedStart(data, on(other)), /given back to its file/);
    await back.cofre.end("SIGTERM");
  });

  test("no card number, no name and no token is said, or written to the server's tables in the clear", async () => {
    const [data, url] = [copyOfModel(), await databases.create()];
    const { lines, problems } = await migrate(data, url);
    const said = JSON.stringify(lines) + problems;
    assert.doesNotMatch(said, /4111111111111111|Ana|tttttttt|ana\.lima/);
    assert.doesNotMatch(JSON.stringify(await contentOf(url)), /4111111111111111|tttttttt/);
  });

  async function killAt(data: string, url: string, at: number | "switch"): Promise<void> {
    const child = spawnMove(data, url, ["--json"]);
    let lines = 0;
    for await (const line of createInterface({ input: child.stdout ?? assert.fail() })) {
      if (at === "switch" ? line.includes('"switch"') : lines === at) child.kill("SIGKILL");
      lines += 1;
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

const tables = [
  "account",
  "account_key",
  "payment",
  "refund",
  "history",
  "outbox",
  "delivery",
  "card",
  "named_request",
  "person",
  "key_record",
  "key_order",
  "audit_entry",
  "identity",
  "audit_head",
] as const;

function spawnMove(data: string, url: string | undefined, args: readonly string[]): ChildProcess {
  const database =
    url === undefined ? {} : { COFRE_DATABASE_URL: url, COFRE_DATABASE_ALLOW_NO_STANDBY: "true" };
  const environment = { PATH: process.env["PATH"] ?? "", COFRE_DATA_DIR: data, ...database };
  return spawn(process.execPath, [join(root, "bin", "cofre.js"), "migrate-store", ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function migrate(
  data: string,
  url: string | undefined,
  args: readonly string[] = [],
): Promise<Moved> {
  const child = spawnMove(data, url, ["--json", ...args]);
  let [output, problems] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (problems += text));
  const [code] = (await once(child, "close")) as [number | null];
  const lines = output
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
  return { code, lines, problems };
}

/**
 * A killed run's session may hold the tables until the server notices; until then a lock waits as
 * long as that session lasts.
 */
async function migrateWhenFree(data: string, url: string): Promise<Moved> {
  let moved = await migrate(data, url);
  for (let tries = 0; tries < 5 && moved.lines.at(-1)?.["code"] === "unavailable"; tries += 1)
    moved = await migrate(data, url);
  return moved;
}

function countIn(data: string, from: string): number {
  const file = new DatabaseSync(join(data, "cofre.db"), { readOnly: true });
  try {
    return Number(file.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.["n"]);
  } finally {
    file.close();
  }
}

async function contentOf(url: string): Promise<readonly unknown[]> {
  const content: unknown[] = [];
  for (const table of [...tables, "origin"])
    content.push(table, ...(await query<object>(url, `SELECT * FROM ${table} ORDER BY 1, 2, 3`)));
  return content;
}

async function rowsIn(url: string): Promise<number> {
  const counts = await Promise.all(
    tables.map((table) =>
      query<{ readonly n: number }>(url, `SELECT count(*)::integer AS n FROM ${table}`),
    ),
  );
  return counts.reduce((sum, [row]) => sum + (row?.n ?? 0), 0);
}

async function isServed(url: string): Promise<boolean> {
  const name = "application_name LIKE 'cofre cofre%'";
  return (
    (
      await query(
        url,
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND ${name}`,
      )
    ).length > 0
  );
}

async function statusOf(client: WireClient, port: number, code: string): Promise<unknown> {
  const answer = await client.ask(port, "/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: code,
  });
  return statusIn(answer);
}

function statusIn(answer: Readonly<Record<string, unknown>> | undefined): unknown {
  return (answer?.["payment"] as Record<string, unknown> | undefined)?.["status"];
}
