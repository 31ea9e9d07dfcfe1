import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test, type TestContext } from "node:test";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { second } from "../../src/kernel/instant.ts";
import { createPasswords } from "../../src/sign-in/password.ts";
import { createUsers } from "../../src/sign-in/user-service.ts";
import { base32Of } from "../../src/sign-in/totp.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import {
  codeAt,
  addUser,
  openUserFixture,
  origin,
  password,
  secretBytes,
  signIn,
} from "../console-users.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";

/**
 * Promises of console users and sign-in over a real store: races between nodes, tampering that the
 * audit log detects, and secrets that must not be in it.
 */

function newFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-people-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "cofre.db");
}

/** `nodes`: two stores on one database, or one store twice where one process has the file. */
function describeRaces(
  name: string,
  open: (context: TestContext) => Promise<readonly [RunningStore, RunningStore]>,
): void {
  describe(`people on ${name}`, () => {
    const each = (
      title: string,
      check: (nodes: readonly [RunningStore, RunningStore]) => Promise<void>,
    ): void => {
      test(title, async (context) => check(await open(context)));
    };

    each("one code on two nodes at once lets one in", async ([one, two]) => {
      const fixture = await openUserFixture({ store: one.users });
      const other = createUsers({ ...fixture.options, store: two.users });
      for (let round = 0; round < 10; round += 1) {
        fixture.clock.advance(30 * second);
        const code = codeAt(fixture.admin.secret, fixture.clock.now());
        const tries = [fixture.users, other, fixture.users, other].map((node) =>
          node.signIn({ name: "admin", password, code, origin }),
        );
        const results = await Promise.allSettled(tries);
        assert.equal(
          results.filter(({ status }) => status === "fulfilled").length,
          1,
          `round ${round}`,
        );
        fixture.clock.advance(30 * second);
        await signIn(fixture, fixture.admin);
      }
      assert.equal((await fixture.users.verifyAudit()).firstBad, undefined);
    });

    each("one invitation on two nodes at once signs one up", async ([one, two]) => {
      const fixture = await openUserFixture({ store: one.users });
      const other = createUsers({ ...fixture.options, store: two.users });
      const { invitation } = await fixture.users.invite(fixture.admin.signedIn, {
        name: "bob",
        role: "viewer",
        origin,
      });
      const link = invitation.reveal();
      const code = codeAt(secretBytes((await other.enrolment(link)).secret), fixture.clock.now());
      const results = await Promise.allSettled(
        [fixture.users, other].map((node) =>
          node.enrol({ invitation: link, password, code, origin }),
        ),
      );
      assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    });

    each("one name on two nodes at once is invited once", async ([one, two]) => {
      const fixture = await openUserFixture({ store: one.users });
      const other = createUsers({ ...fixture.options, store: two.users });
      const given = { role: "viewer", origin } as const;
      const results = await Promise.allSettled([
        fixture.users.invite(fixture.admin.signedIn, { name: "Bob", ...given }),
        other.invite(fixture.admin.signedIn, { name: "bOB", ...given }),
      ]);
      assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
      assert.ok(
        results.some(
          (result) =>
            result.status === "rejected" &&
            (result.reason as { code?: string }).code === "name_taken",
        ),
      );
    });

    each(
      "two admins who disable each other, or make each other less, leave one",
      async ([one, two]) => {
        const fixture = await openUserFixture({ store: one.users });
        const bob = await addUser(fixture, "bob", "admin");
        const other = createUsers({ ...fixture.options, store: two.users });
        const results = await Promise.allSettled([
          fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin),
          other.setRole(bob.signedIn, fixture.admin.signedIn.user.id, "viewer", origin),
        ]);
        assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
        assert.equal(
          (await fixture.users.list()).filter(
            ({ state, role }) => state === "active" && role === "admin",
          ).length,
          1,
        );
      },
    );

    each(
      "wrong tries on two nodes at once are counted together, and no more than ten are looked at",
      async ([one, two]) => {
        const fixture = await openUserFixture({ store: one.users });
        const other = createUsers({ ...fixture.options, store: two.users });
        const nodes = Array.from({ length: 7 }, () => [fixture.users, other]).flat();
        await Promise.allSettled(
          nodes.map((node) => node.signIn({ name: "admin", password, code: "000000", origin })),
        );
        const wrong = (await fixture.users.audit(undefined, 100)).filter(
          ({ detail }) => detail === "wrong_code",
        );
        assert.equal(wrong.length, 10);
        await assert.rejects(signIn({ ...fixture, users: other }, fixture.admin), {
          code: "sign_in_refused",
        });
      },
    );

    each(
      "a browser is known on both nodes while strangers have locked the name, and opens it to none of them",
      async ([one, two]) => {
        const fixture = await openUserFixture({ store: one.users });
        const other = createUsers({ ...fixture.options, store: two.users });
        const { admin, clock } = fixture;
        for (let tries = 0; tries < 10; tries += 1)
          await assert.rejects(
            other.signIn({ name: "admin", password, code: "000000", origin: `192.0.2.${tries}` }),
          );
        const known = { name: "admin", password, origin, deviceCookies: [admin.deviceCookie] };
        for (const node of [other, fixture.users]) {
          await node.signIn({ ...known, code: codeAt(admin.secret, clock.now()) });
          clock.advance(30 * second);
          await assert.rejects(signIn({ ...fixture, users: node }, admin), {
            code: "sign_in_refused",
          });
        }
        await assert.rejects(other.signIn({ ...known, code: "000000" }), {
          code: "sign_in_refused",
        });
        const locked = (await fixture.users.list())[0]?.lockedUntil;
        assert.ok(locked !== undefined && locked > clock.now());
        assert.equal((await fixture.users.verifyAudit()).firstBad, undefined);
      },
    );
  });
}

describeRaces("the embedded store", async (context) => {
  const store = await openEmbeddedStore({ file: newFile(context) });
  context.after(() => store.close());
  return [store, store];
});

if (testUrl === undefined) {
  test(
    "people on PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describeRaces("PostgreSQL", async (context) => {
    const url = await databases.copy();
    const [one, two] = await Promise.all([openStoreOn(url), openStoreOn(url)]);
    context.after(() => Promise.all([one.close(), two.close()]));
    return [one, two];
  });

  test("no password, code, secret, invitation or session is in the database", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const { secrets, known } = await busyDay(store);
    const tables = ["person", "person_session", "audit_entry", "audit_head"];
    const rows = await Promise.all(
      tables.map((table) =>
        query<{ readonly row: string }>(url, `SELECT ${table}::text AS row FROM ${table}`),
      ),
    );
    assertHolds(
      Buffer.from(
        rows
          .flat()
          .map(({ row }) => row)
          .join("\n"),
      ),
      secrets,
      known,
    );
  });
}

/**
 * Real hashes and seals, and all actions of a user: returns the secrets in every form, and a text
 * that must be found.
 */
async function busyDay(
  store: RunningStore,
): Promise<{ readonly secrets: ReadonlyMap<string, Buffer>; readonly known: Buffer }> {
  const fixture = await openUserFixture({
    store: store.users,
    passwords: createPasswords({ random: new SystemRandom() }),
  });
  const { users, admin, clock } = fixture;
  const { invitation } = await users.invite(admin.signedIn, {
    name: "bob",
    role: "viewer",
    origin,
  });
  const link = invitation.reveal();
  const bob = await fixture.join(link, "the password of robert");
  clock.advance(30 * second);
  const code = codeAt(bob.secret, clock.now());
  const { session, signedIn } = await signIn(fixture, bob, {
    password: "the password of robert",
    code,
  });
  await assert.rejects(signIn(fixture, bob, { password: "a wrong password of robert" }));
  await assert.rejects(
    users.signIn({ name: "a password typed as a name", password: "bob", code: "000000", origin }),
  );
  clock.advance(30 * second);
  const newPassword = "the next password of robert";
  await users.changePassword({
    session: session.reveal(),
    password: "the password of robert",
    code: codeAt(bob.secret, clock.now()),
    newPassword,
    origin,
  });
  const texts = {
    password,
    "bob's password": "the password of robert",
    "bob's next password": newPassword,
    "a wrong password": "a wrong password of robert",
    "a wrong name": "a password typed as a name",
    invitation: link,
    "first session": bob.session,
    session: session.reveal(),
    csrf: signedIn.csrf,
    "secret in base32": base32Of(bob.secret),
    "code in quotes": `"${code}"`,
  };
  const secrets = new Map<string, Buffer>();
  for (const [name, text] of Object.entries(texts)) {
    secrets.set(name, Buffer.from(text));
    secrets.set(`${name}, hex`, Buffer.from(Buffer.from(text).toString("hex")));
    secrets.set(
      `${name}, base64`,
      Buffer.from(Buffer.from(text).toString("base64").replaceAll("=", "")),
    );
  }
  for (const [name, text] of [
    ["invitation", link],
    ["session", session.reveal()],
  ] as const) {
    const bytes = Buffer.from(text, "base64url");
    secrets.set(`${name}, bytes`, bytes);
    secrets.set(`${name}, bytes in hex`, Buffer.from(bytes.toString("hex")));
  }
  secrets.set("secret, bytes", Buffer.from(bob.secret));
  secrets.set("secret, hex", Buffer.from(Buffer.from(bob.secret).toString("hex")));
  return { secrets, known: Buffer.from("$argon2id$v=19$m=19456,t=2,p=1$") };
}

function assertHolds(bytes: Buffer, secrets: ReadonlyMap<string, Buffer>, known: Buffer): void {
  assert.ok(bytes.includes(known), "control: what is kept can be found");
  for (const [name, secret] of secrets) assert.ok(!bytes.includes(secret), name);
}

test("no password, code, secret, invitation or session is in any file, log and all", async (context) => {
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const { secrets, known } = await busyDay(store);
  const filesOf = () => {
    const folder = join(file, "..");
    return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  };
  assert.ok(readdirSync(join(file, "..")).includes("cofre.db-wal"));
  assertHolds(filesOf(), secrets, known);
  await store.close();
  assertHolds(filesOf(), secrets, known);
});

test("of 1,000 random ways to tamper with the log each is noticed, at its place or before", async (context) => {
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const fixture = await openUserFixture({ store: store.users });
  const { users } = fixture;
  for (let number = 0; number < 25; number += 1)
    await addUser(fixture, `person-${number}`, "viewer");
  const { entries, head } = await users.verifyAudit();
  assert.ok(entries > 50);

  const database = new DatabaseSync(file);
  context.after(() => database.close());
  database.exec(`DROP TRIGGER audit_entry_is_append_only; DROP TRIGGER audit_entry_is_kept; DROP TRIGGER audit_entry_is_not_replaced;
    DROP TRIGGER audit_head_moves_on; DROP TRIGGER audit_head_is_kept; PRAGMA synchronous = OFF;
    CREATE TABLE original AS SELECT * FROM audit_entry; CREATE TABLE original_head AS SELECT * FROM audit_head`);
  const restore =
    "DELETE FROM audit_entry; INSERT INTO audit_entry SELECT * FROM original; UPDATE audit_head SET no = (SELECT no FROM original_head), digest = (SELECT digest FROM original_head)";
  const random = new SystemRandom();
  const below = (most: number): number => Buffer.from(random.bytes(6)).readUIntBE(0, 6) % most;
  const anyEntry = () => 1 + below(entries);
  const bodyOf = (number: number) =>
    String(database.prepare("SELECT body FROM original WHERE no = ?").get(number)?.["body"]);
  const write = (text: string, ...values: (string | number)[]) =>
    database.prepare(text).run(...values);

  /** Each returns the first entry that differs from the original. */
  const tampers: readonly (() => number)[] = [
    function changeField() {
      const number = anyEntry();
      const entry = JSON.parse(bodyOf(number)) as Record<string, unknown>;
      const names = Object.keys(entry);
      const name = names[below(names.length)] ?? "";
      entry[name] = typeof entry[name] === "number" ? entry[name] + 1 : "another";
      write("UPDATE audit_entry SET body = ? WHERE no = ?", JSON.stringify(entry), number);
      return number;
    },
    function dropField() {
      const number = anyEntry();
      const { origin: _, at, ...rest } = JSON.parse(bodyOf(number)) as Record<string, unknown>;
      write(
        "UPDATE audit_entry SET body = ? WHERE no = ?",
        JSON.stringify(_ === undefined ? rest : { at, ...rest }),
        number,
      );
      return number;
    },
    function addBlank() {
      const number = anyEntry();
      write("UPDATE audit_entry SET body = body || ' ' WHERE no = ?", number);
      return number;
    },
    function changeDigest() {
      const number = anyEntry();
      write("UPDATE audit_entry SET digest = randomblob(32) WHERE no = ?", number);
      return number;
    },
    function dropEntry() {
      const number = anyEntry();
      write("DELETE FROM audit_entry WHERE no = ?", number);
      return number;
    },
    function dropAndCloseUp() {
      const number = 1 + below(entries - 1);
      write("DELETE FROM audit_entry WHERE no = ?", number);
      for (let after_ = number + 1; after_ <= entries; after_ += 1)
        write("UPDATE audit_entry SET no = ? WHERE no = ?", after_ - 1, after_);
      return number;
    },
    function swapEntries() {
      const one = 1 + below(entries - 1);
      const other = one + 1 + below(entries - one);
      write(
        "UPDATE audit_entry SET body = ?, digest = (SELECT digest FROM original WHERE no = ?) WHERE no = ?",
        bodyOf(other),
        other,
        one,
      );
      write(
        "UPDATE audit_entry SET body = ?, digest = (SELECT digest FROM original WHERE no = ?) WHERE no = ?",
        bodyOf(one),
        one,
        other,
      );
      return one;
    },
    function insertEntry() {
      write(
        "INSERT INTO audit_entry (no, digest, body) SELECT no + 1, digest, body FROM original WHERE no = ?",
        entries,
      );
      return entries + 1;
    },
    function insertBetween() {
      const number = anyEntry();
      for (let last = entries; last >= number; last -= 1)
        write("UPDATE audit_entry SET no = ? WHERE no = ?", last + 1, last);
      const copied = anyEntry();
      write(
        "INSERT INTO audit_entry (no, digest, body) SELECT ?, digest, body FROM original WHERE no = ?",
        number,
        copied,
      );
      // A copy of an entry in its own place changes nothing.
      return copied === number ? number + 1 : number;
    },
    function cutOff() {
      const number = anyEntry();
      write("DELETE FROM audit_entry WHERE no >= ?", number);
      return number;
    },
    function cutOffInTheMiddle() {
      const number = 1 + below(entries - 1);
      write(
        "DELETE FROM audit_entry WHERE no >= ? AND no < ?",
        number,
        number + 1 + below(entries - number),
      );
      return number;
    },
    function moveHeadBack() {
      write("UPDATE audit_head SET digest = randomblob(32)");
      return entries;
    },
  ];
  let noticed = 0;
  for (let tries = 0; tries < 1_000; tries += 1) {
    const tamper = tampers[tries % tampers.length];
    assert.ok(tamper !== undefined);
    database.exec("BEGIN");
    const number = tamper();
    const isChanged = Number(
      database
        .prepare(
          "SELECT count(*) AS n FROM (SELECT * FROM audit_entry EXCEPT SELECT * FROM original)",
        )
        .get()?.["n"],
    );
    database.exec("COMMIT");
    const { firstBad } = await users.verifyAudit();
    assert.equal(firstBad, number, `${tamper.name}: entry ${number}, ${isChanged} altered`);
    // Reading it does not fail.
    await users.audit(undefined, 1_000);
    noticed += 1;
    database.exec(`BEGIN; ${restore}; COMMIT`);
  }
  assert.equal(noticed, 1_000);
  assert.deepEqual(
    await users.verifyAudit(),
    { entries, firstBad: undefined, head },
    "control: restored, it is whole",
  );
});
