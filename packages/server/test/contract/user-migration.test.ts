import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, test, type TestContext } from "node:test";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { second } from "../../src/kernel/instant.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { moveStore, verifyMove } from "../../src/store-migration/move-store.ts";
import { verifyAuditLog } from "../../src/user/audit-log.ts";
import { createUsers } from "../../src/sign-in/user-service.ts";
import { openAuditFile } from "../../src/stores/embedded/audit-file.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { openMoveSource } from "../../src/stores/embedded/move-source.ts";
import { openMoveTarget } from "../../src/stores/postgres/move-target.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { createLocalVault } from "../../src/vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../src/vault/memory-key-provider.ts";
import { addUser, openUserFixture, origin, refusedWith, signIn } from "../console-users.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { keyChange, merchantKey, merchantOne, newKey } from "./key-record.contract.ts";

const random = new SystemRandom();

const destroyed = merchantKey(merchantOne, { state: "destroyed", wraps: [] });
const keyRecords = [newKey({ state: "current" }), newKey({ version: 2 }), destroyed] as const;

/**
 * A file with keys, an admin, a locked user, an invited user, and more audit entries than fit in one
 * piece of a migration.
 */
async function fill(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "cofre-people-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "cofre.db");
  const store = await openEmbeddedStore({ file });
  try {
    const fixture = await openUserFixture({ store: store.users });
    const bob = await addUser(fixture, "bob", "operator");
    for (let tries = 0; tries < 10; tries += 1)
      await assert.rejects(
        signIn(fixture, bob, { code: "000000" }),
        refusedWith("sign_in_refused"),
      );
    await fixture.users.invite(fixture.admin.signedIn, { name: "eve", role: "viewer", origin });
    const action = {
      actor: { kind: "server" },
      origin,
      action: "refund",
      target: undefined,
      result: "done",
      completes: undefined,
      detail: undefined,
    } as const;
    await Promise.all(Array.from({ length: 200 }, () => fixture.users.record(action)));
    await store.keys.commitKeys(keyChange(...keyRecords));
    return { file, fixture, bob };
  } finally {
    await store.close();
  }
}

async function sidesOf(file: string, url: string) {
  const provider = createMemoryKeyProvider(random);
  const store = createMemoryWrappedKeyStore();
  const keyring = await Keyring.open({
    provider,
    store,
    environment: "sandbox",
    random,
    clock: systemClock,
    create: true,
  });
  const vault = createLocalVault({ keyring, environment: "sandbox", random });
  const source = await openMoveSource(file);
  const target = await openMoveTarget({
    url: new Secret(url),
    clock: systemClock,
    waiveStandby: true,
  });
  const close = async (): Promise<void> => {
    await target.close();
    await source.close();
  };
  return { source, target, vault, random, cards: 10, report: () => undefined, close };
}

if (testUrl === undefined) {
  test(
    "people are moved to PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("people are moved to PostgreSQL", () => describeMove(databases));
}

function describeMove(databases: TestDatabases): void {
  test("with their secrets, locks and invitations, and the whole log, which continues; no user is signed in there", async (context) => {
    const { file, fixture, bob } = await fill(context);
    const url = await databases.copy();
    const audit = openAuditFile(file);
    const noted = await audit.log.auditHead();
    await audit.close();
    const sides = await sidesOf(file, url);
    const moved = await moveStore(sides);
    assert.equal(moved.result, "moved");
    assert.ok(
      moved.result === "moved" &&
        moved.counts.person === 3 &&
        moved.counts.key_record === 3 &&
        moved.counts.audit_entry > 200 &&
        moved.counts.audit_head === 1,
    );
    await verifyMove(sides);
    await sides.close();

    const store = await openStoreOn(url);
    context.after(() => store.close());
    assert.deepEqual(await store.keys.keyRecords(undefined, 10), keyRecords.slice(0, 2));
    assert.deepEqual(await store.keys.merchantKeyRecords(merchantOne, 0, 10), [destroyed]);
    const there = { ...fixture, users: createUsers({ ...fixture.options, store: store.users }) };
    assert.deepEqual(await there.users.verifyAudit(), {
      entries: moved.counts.audit_entry,
      firstBad: undefined,
      head: noted,
    });
    assert.deepEqual(
      (await there.users.list()).map(({ name, role, state }) => `${name} ${role} ${state}`),
      ["admin admin active", "bob operator active", "eve viewer invited"],
    );
    await assert.rejects(there.users.resume(fixture.admin.session), refusedWith("not_signed_in"));
    fixture.clock.advance(30 * second);
    await assert.rejects(signIn(there, bob), refusedWith("sign_in_refused"), "locked there too");
    await signIn(there, fixture.admin);
    const { entries, fault, matchingHead } = await verifyAuditLog(store.users, [noted]);
    assert.deepEqual(
      { entries, fault, matchingHead },
      { entries: moved.counts.audit_entry + 2, fault: undefined, matchingHead: noted },
      "what was noted of the file",
    );
  });

  test("a log that was tampered with is found, at its place, and nothing is moved", async (context) => {
    const tampers = [
      [
        "DROP TRIGGER audit_entry_is_append_only; UPDATE audit_entry SET body = replace(body, 'refund', 'credit') WHERE no = 50",
        "audit_entry",
        /entry 50 /,
      ],
      [
        "DROP TRIGGER audit_entry_is_kept; DELETE FROM audit_entry WHERE no = 60",
        "audit_entry",
        /entry 60 /,
      ],
      [
        "DROP TRIGGER audit_entry_is_kept; DELETE FROM audit_entry WHERE no > (SELECT max(no) - 3 FROM audit_entry)",
        "audit_head",
        /entries are missing at the end/,
      ],
    ] as const;
    for (const [tamper, kind, message] of tampers) {
      const { file } = await fill(context);
      const database = new DatabaseSync(file);
      database.exec(tamper);
      database.close();
      const url = await databases.copy();
      const sides = await sidesOf(file, url);
      await assert.rejects(moveStore(sides), (error: unknown) => {
        assert.ok(error instanceof Error && "kind" in error);
        assert.equal(error.kind, kind);
        assert.match(error.message, message);
        return true;
      });
      await sides.close();
      assert.deepEqual(
        await query(url, "SELECT 1 FROM person UNION ALL SELECT 1 FROM audit_entry"),
        [],
      );
    }
  });
}
