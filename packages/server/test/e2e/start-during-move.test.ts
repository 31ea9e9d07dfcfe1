import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Secret } from "../../src/kernel/secret.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { openMoveTarget } from "../../src/stores/postgres/move-target.ts";
import { PostgresOpenError } from "../../src/stores/postgres/open-error.ts";
import type { TransferTarget } from "../../src/stores/transfer.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { until } from "../until.ts";

if (testUrl === undefined) {
  test(
    "a start during a move",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  describe(
    "a Cofre that starts while cofre migrate-store holds the database",
    { timeout: 300_000 },
    () => describeStarts(databases),
  );
}

function describeStarts(databases: TestDatabases): void {
  after(() => databases.drop());

  test("waits as long as a session waits for a lock, and is refused in words then, and when the database was given up", async () => {
    const url = await databases.copy();
    const target = await openTarget(url);
    await target.begin();
    await assert.rejects(openStoreOn(url), isRefused("moving"));
    await until("what was refused leaves no session", async () => (await serving(url)) === 0);
    await target.note("returned", "00112233445566778899aabbccddeeff");
    assert.equal(await target.commit(), "committed");
    await assert.rejects(openStoreOn(url), isRefused("returned"));
    await target.close();
  });

  test("is detected before the commit, and continues with the database as it was", async () => {
    const url = await databases.copy();
    const target = await openTarget(url);
    await target.begin();
    await target.note("returned", "00112233445566778899aabbccddeeff");
    const started = openStoreOn(url);
    await until("it has a session while it waits", async () => (await serving(url)) > 0);
    assert.equal(await target.commit(), "served");
    await (await started).close();
    await until("its sessions are gone", async () => (await serving(url)) === 0);
    assert.notEqual((await target.begin()).state, "returned");
    await target.close();
  });
}

function openTarget(url: string): Promise<TransferTarget> {
  return openMoveTarget({ url: new Secret(url), clock: systemClock, waiveStandby: true });
}

async function serving(url: string): Promise<number> {
  const name = "application_name LIKE 'cofre cofre%'";
  return (
    await query(
      url,
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND ${name}`,
    )
  ).length;
}

function isRefused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof PostgresOpenError && error.code === code;
}
