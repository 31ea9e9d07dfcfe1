import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { describe, test, type TestContext } from "node:test";
import { temporaryFolder } from "../../test/command.ts";
import { addUser, openUserFixture, origin, signIn } from "../../test/console-users.ts";
import { openAudit } from "../start/commands.ts";
import { readConfig } from "../config/read-config.ts";
import { minute } from "../kernel/instant.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { auditBeginning, type AuditHead, nextInChain } from "../user/audit-chain.ts";
import { openEmbeddedStore } from "../stores/embedded/embedded-store.ts";
import { auditCommand } from "./audit.ts";
import { readCommandLine } from "./command-line.ts";
import { plain } from "./styled.ts";

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly problems: string;
}

async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  piped = "",
): Promise<Ended> {
  let [output, problems] = ["", ""];
  const call = readCommandLine(["audit", ...args]);
  if ("problem" in call) return { code: 2, output, problems: call.problem };
  const code = await auditCommand.run(call, {
    input: Readable.from([Buffer.from(piped)]),
    print: (line) => (output += `${line}\n`),
    say: (line) => (problems += `${line}\n`),
    fail: (line) => (problems += `${line}\n`),
    isTerminal: false,
    config: (flags = new Map()) =>
      readConfig({ environment, flags, readFile: () => ({ problem: "is not read in tests" }) }),
    openMove: () => assert.fail("the audit log moves nothing"),
    openAudit,
    backUp: () => assert.fail("no backup is made"),
    styled: plain,
    onStopSignal: () => assert.fail("no signal is awaited"),
    startTemporary: () => assert.fail("no Cofre is started"),
    beginIncarnation: () => assert.fail("no incarnation begins"),
    recoverKeys: () => assert.fail("no keys are recovered"),
    storedKeys: () => assert.fail("no keys are read"),
    initialize: () => assert.fail("no installation is made"),
    examine: () => assert.fail("no installation is examined"),
    printNow: () => assert.fail("nothing is shown once"),
    restore: () => assert.fail("nothing is restored"),
    stopRequested: () => assert.fail("it ends by itself"),
    clock: systemClock,
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: "1.2.3",
  });
  return { code, output, problems };
}

const unkeyed =
  "There are no keys in COFRE_DATA_DIR, so the MACs of the entries were not checked.\n";

/** A file with an admin, an invited user, and a failed attempt; its store is still open. */
async function held(context: TestContext) {
  const folder = temporaryFolder(context);
  const store = await openEmbeddedStore({ file: join(folder, "cofre.db") });
  context.after(() => store.close());
  const fixture = await openUserFixture({ store: store.users });
  fixture.clock.advance(10 * minute);
  const bob = await addUser(fixture, "Bob", "operator");
  await assert.rejects(signIn(fixture, bob, { code: "000000" }));
  await fixture.users.record({
    actor: { kind: "user", id: bob.signedIn.user.id, name: "Bob" },
    origin,
    action: "capture",
    target: "/ws/capture",
    result: "started",
    completes: undefined,
    detail: "account 0a1b2c3d",
  });
  return { folder, store, fixture, environment: { COFRE_DATA_DIR: folder } };
}

/** Simulates an attacker with write access to the file. */
function tamper(folder: string, change: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(folder, "cofre.db"));
  database.exec(`DROP TRIGGER audit_entry_is_append_only; DROP TRIGGER audit_entry_is_kept; DROP TRIGGER audit_entry_is_not_replaced;
    DROP TRIGGER audit_head_moves_on; DROP TRIGGER audit_head_is_kept`);
  change(database);
  database.close();
}

/**
 * Changes entry `from` and recomputes all digests from there on, and the stored head: the file
 * alone does not show the change.
 */
function rewrite(database: DatabaseSync, from: number): void {
  let head: AuditHead = auditBeginning;
  for (const row of database
    .prepare("SELECT no, body, lower(hex(digest)) AS digest FROM audit_entry ORDER BY no")
    .all()) {
    const body =
      Number(row["no"]) === from ? String(row["body"]).replace("}", " }") : String(row["body"]);
    head = nextInChain(head, body);
    database
      .prepare("UPDATE audit_entry SET body = ?, digest = unhex(?) WHERE no = ?")
      .run(body, head.digest, head.number);
  }
  database.prepare("UPDATE audit_head SET digest = unhex(?)").run(head.digest);
}

function cutBehind(database: DatabaseSync, last: number): void {
  database.prepare("DELETE FROM audit_entry WHERE no > ?").run(last);
  database
    .prepare("UPDATE audit_head SET no = ?, digest = (SELECT digest FROM audit_entry WHERE no = ?)")
    .run(last, last);
}

describe("cofre audit", () => {
  const somewhere = { COFRE_DATA_DIR: "/nowhere/at/all" };
  const misuses: readonly (readonly [args: readonly string[], said: RegExp])[] = [
    [["show"], /^audit takes only list or verify or head or due, but was given: show$/],
    [["verify", "--user", "ana"], /^--user is for `cofre audit list`, not for verify\.$/m],
    [["--head", `1:${"0".repeat(64)}`], /^--head is for `cofre audit verify`, not for list\.$/m],
    [["head", "--heads", "x"], /^--heads is for `cofre audit verify`, not for head\.$/m],
    [["--since", "yesterday"], /^--since needs a time/m],
    [["--until", "2026-02-30"], /^--until needs a time/m],
    [["--after", "last"], /^--after needs the number of an entry\.$/m],
    [["verify", "--head", "12"], /^--head needs NUMBER:DIGEST/m],
    [["verify", "--head", `0:${"0".repeat(64)}`], /^--head needs NUMBER:DIGEST/m],
    [
      ["verify", "--head", `1:${"0".repeat(64)}`, "--heads", "x"],
      /^--head and --heads cannot be combined\.$/m,
    ],
    [["verify", "--heads", "/nowhere/at/all"], /^The file of --heads does not exist\.$/m],
    [["verify", "--heads", "-"], /^The file of --heads has no head\.$/m],
    [["--data-dir", ":memory:"], /^COFRE_DATA_DIR is :memory:/m],
    [
      [],
      /^\/nowhere\/at\/all\/cofre\.db: there is no database here; name a directory in which Cofre has made one\.$/m,
    ],
  ];
  for (const [args, said] of misuses) {
    test(`refuses, with 2: ${args.join(" ")}`, async () => {
      const { code, output, problems } = await run(args, somewhere);
      assert.deepEqual([code, output], [2, ""]);
      assert.match(problems, said);
    });
  }

  test("refuses a file that is not a database of Cofre, was moved, or is of a version without the log", async (context) => {
    const { folder, store, environment } = await held(context);
    await store.close();
    const database = new DatabaseSync(join(folder, "cofre.db"));
    context.after(() => database.close());
    for (const [pragma, said] of [
      ["application_id = 7", /is not a Cofre database/],
      ["application_id = 0x436f666d", /was moved to PostgreSQL/],
      ["application_id = 0x436f6672; PRAGMA user_version = 99", /newer version of Cofre/],
      ["user_version = 2", /audit log this version does not read/],
    ] as const) {
      database.exec(`PRAGMA ${pragma}`);
      const { code, problems } = await run(["verify"], environment);
      assert.equal(code, 2);
      assert.match(problems, said);
    }
  });

  test("prints the log of a server that runs, oldest first, and that of one that was stopped", async (context) => {
    const { store, environment } = await held(context);
    const running = await run([], environment);
    assert.equal(running.code, 0);
    const lines = running.output.trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) =>
        line.replaceAll(/[0-9a-f]{16}/g, "ID").replace(/ {2}2026-11-28T\S+Z/, ""),
      ),
      [
        "1  server  invite  done  ID  role admin",
        "2  admin  enrol  done  ID  role admin; from 127.0.0.1",
        "3  admin  invite  done  ID  role operator; from 127.0.0.1",
        "4  Bob  enrol  done  ID  role operator; from 127.0.0.1",
        "5  anonymous  sign_in  refused  ID  wrong_code; from 127.0.0.1",
        "6  Bob  capture  started  /ws/capture  account 0a1b2c3d; from 127.0.0.1",
      ],
    );
    assert.match(lines[0] ?? "", /^1 {2}2026-11-28T12:00:00\.000Z {2}server/);
    await store.close();
    assert.deepEqual(await run([], environment), running);
  });

  test("narrows the log by person, act, time and number", async (context) => {
    const { environment } = await held(context);
    const numbers = async (...args: string[]): Promise<readonly number[]> => {
      const { code, output } = await run([...args, "--json"], environment);
      assert.equal(code, 0);
      return output === ""
        ? []
        : output
            .trimEnd()
            .split("\n")
            .map((line) => (JSON.parse(line) as { readonly number: number }).number);
    };
    assert.deepEqual(await numbers("--user", "bob"), [3, 4, 5, 6], "what was done to him too");
    assert.deepEqual(await numbers("--action", "enrol"), [2, 4]);
    assert.deepEqual(await numbers("--action", "enrol", "--user", "Bob"), [4]);
    assert.deepEqual(await numbers("--since", "2026-11-28T12:10:00Z"), [3, 4, 5, 6]);
    assert.deepEqual(await numbers("--until", "2026-11-28T12:10:30Z"), [1, 2]);
    assert.deepEqual(await numbers("--since", "2026-11-29"), []);
    assert.deepEqual(await numbers("--after", "4"), [5, 6]);
    assert.deepEqual(await numbers("--after", "400"), []);
    const unknownUser = await run(["--user", "eve"], environment);
    assert.deepEqual([unknownUser.code, unknownUser.problems], [1, "No user has this name.\n"]);
    assert.equal((await run(["--action", "dance"], environment)).problems, "No entries match.\n");
  });

  test("goes through a log of many pieces", async (context) => {
    const { environment, folder, store } = await held(context);
    await store.close();
    tamper(folder, (database) => {
      const row = database
        .prepare("SELECT no, lower(hex(digest)) AS digest, body FROM audit_entry ORDER BY no DESC")
        .get();
      let head: AuditHead = { number: Number(row?.["no"]), digest: String(row?.["digest"]) };
      database.exec("BEGIN");
      for (let more = 0; more < 2_500; more += 1) {
        const next = nextInChain(head, String(row?.["body"]));
        database
          .prepare("INSERT INTO audit_entry (no, digest, body) VALUES (?, unhex(?), ?)")
          .run(next.number, next.digest, next.body);
        head = next;
      }
      database
        .prepare("UPDATE audit_head SET no = ?, digest = unhex(?)")
        .run(head.number, head.digest);
      database.exec("COMMIT");
    });
    assert.equal((await run(["--json"], environment)).output.trimEnd().split("\n").length, 2_506);
    assert.match(
      (await run(["verify"], environment)).output,
      /^The audit log is intact: 2506 entries, up to 2506:[0-9a-f]{64}\.$/m,
    );
  });

  test("verifies, with 0 for whole and 1 for the first break, and says what a noted head adds", async (context) => {
    const { folder, store, environment } = await held(context);
    const head = (await run(["head"], environment)).output.trim();
    assert.match(head, /^6:[0-9a-f]{64}$/);
    assert.deepEqual(JSON.parse((await run(["head", "--json"], environment)).output), {
      number: 6,
      digest: head.slice(2),
    });
    const whole = await run(["verify"], environment);
    assert.deepEqual(
      [whole.code, whole.output],
      [0, `The audit log is intact: 6 entries, up to ${head}.\n`],
    );
    assert.match(whole.problems, /No stored head was given/);
    const noted = await run(["verify", "--head", head], environment);
    assert.deepEqual(noted, {
      code: 0,
      output: `The audit log is intact: 6 entries, up to ${head}. It contains the stored head.\n`,
      problems: unkeyed,
    });
    await store.close();
    tamper(folder, (database) =>
      database.exec(
        "UPDATE audit_entry SET body = replace(body, 'operator', 'admin') WHERE no = 3",
      ),
    );
    const broken = await run(["verify", "--json"], environment);
    assert.equal(broken.code, 1);
    const { head: last, ...facts } = JSON.parse(broken.output) as Readonly<Record<string, unknown>>;
    assert.deepEqual(facts, {
      result: "broken",
      entry: 3,
      entries: 2,
      stored_heads: 0,
      matching_head: null,
      macs: "not checked",
    });
    assert.match(String(last), /^2:[0-9a-f]{64}$/);
    assert.match((await run([], environment)).output, /^3 /m, "looking at it does not fail");
  });

  test("detects by a stored head a log that was truncated or recomputed, which the chain alone does not", async (context) => {
    const { folder, store, fixture, environment } = await held(context);
    const early = (await run(["head"], environment)).output.trim();
    await fixture.users.record({
      actor: { kind: "server" },
      origin: undefined,
      action: "late",
      target: undefined,
      result: "done",
      completes: undefined,
      detail: undefined,
    });
    const late = (await run(["head", "--json"], environment)).output.trim();
    await store.close();
    const file = join(folder, "noted");
    writeFileSync(file, `2026-11-28T13:00:00Z host-1 ${early}\r\n\n${late}\n`);
    const all = await run(["verify", "--heads", file], environment);
    assert.deepEqual([all.code, all.problems], [0, unkeyed]);
    assert.match(all.output, /It contains all 2 stored heads\.$/m);

    tamper(folder, (database) => cutBehind(database, 6));
    assert.equal((await run(["verify"], environment)).code, 0, "control: the chain alone is whole");
    const cut = await run(["verify", "--heads", "-"], environment, `${early}\n${late}\n`);
    assert.equal(cut.code, 1);
    assert.match(
      cut.output,
      /^The audit log was truncated: entry 7 and the entries after it are missing\. Up to entry 6 it matches the stored heads\.$/m,
    );

    const database = new DatabaseSync(join(folder, "cofre.db"));
    rewrite(database, 4);
    database.close();
    const renewed = (await run(["head"], environment)).output.trim();
    assert.equal((await run(["verify"], environment)).code, 0, "control: the chain alone is whole");
    assert.equal(
      (await run(["verify", "--head", renewed], environment)).code,
      0,
      "control: a head that was noted afterwards says nothing",
    );
    const rewritten = await run(
      ["verify", "--heads", "-", "--json"],
      environment,
      `${renewed}\n${early}\n`,
    );
    assert.equal(rewritten.code, 1);
    const {
      result,
      entry,
      stored_heads: count,
    } = JSON.parse(rewritten.output) as Readonly<Record<string, unknown>>;
    assert.deepEqual({ result, entry, count }, { result: "rewritten", entry: 6, count: 2 });
    for (const wrong of ["nonsense", `${early}0`, `${early} and more`, early.toUpperCase()]) {
      const refused = await run(["verify", "--heads", "-"], environment, `${early}\n${wrong}\n`);
      assert.deepEqual([refused.code, refused.output], [2, ""], wrong);
      assert.match(
        refused.problems,
        /^Line 2 of the file of --heads does not end with NUMBER:DIGEST\.$/m,
      );
    }
  });

  test("prints nothing that moves a terminal's cursor, whatever was put into the log", async (context) => {
    const { folder, store, environment } = await held(context);
    await store.close();
    const bodies = [
      JSON.stringify({
        at: 1e300,
        actor: { kind: "user", id: "x", name: "\u001b[2J" },
        action: "\u001b]0;x\u0007",
        target: "a\u202eb",
        result: "fine",
        detail: "\r\n",
      }),
      JSON.stringify({
        at: "x",
        actor: null,
        action: {},
        target: [],
        of: "1",
        detail: 7,
        origin: true,
      }),
      JSON.stringify({ at: -1, actor: { kind: "emperor" } }),
      "[]",
      '"x"',
      "null",
    ];
    tamper(folder, (database) => {
      for (const [index, body] of bodies.entries())
        database.prepare("UPDATE audit_entry SET body = ? WHERE no = ?").run(body, index + 1);
    });
    const plain = await run([], environment);
    assert.equal(plain.code, 0);
    assert.equal(plain.output.trimEnd().split("\n").length, 6);
    assert.doesNotMatch(plain.output.replaceAll("\n", ""), /\p{C}/u);
    const json = await run(["--json"], environment);
    assert.equal(json.output.trimEnd().split("\n").length, 6);
    assert.equal((await run(["verify"], environment)).code, 1);
  });

  test("an empty log is whole and has no head, and one that was emptied is missed", async (context) => {
    const folder = temporaryFolder(context);
    const environment = { COFRE_DATA_DIR: folder };
    await (await openEmbeddedStore({ file: join(folder, "cofre.db") })).close();
    assert.equal((await run(["verify"], environment)).output, "The audit log is empty.\n");
    assert.deepEqual(await run(["head"], environment), {
      code: 1,
      output: "",
      problems: "The audit log is empty.\n",
    });
    const missed = await run(["verify", "--head", `9:${"a".repeat(64)}`], environment);
    assert.equal(missed.code, 1);
    assert.match(missed.output, /^The audit log was truncated: entry 1 and/m);
  });
});
