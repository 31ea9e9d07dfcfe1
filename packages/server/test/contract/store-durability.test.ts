import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { isBalanced } from "../../src/ledger/balances.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import * as given from "./store-fixtures.ts";

const { merchantA } = given;
const childFile = fileURLToPath(new URL("store-crash-child.ts", import.meta.url));

function newFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "store.db");
}

/**
 * Output of a child process: the highest acknowledged version of each payment, and its rejections.
 */
interface Printed {
  readonly acknowledged: Map<number, number>;
  readonly rejected: string[];
}

function read(printed: Printed, line: string): void {
  const [first = "", second = "", third = ""] = line.split(" ");
  if (first === "!") printed.rejected.push(third);
  else printed.acknowledged.set(Number(first), Number(second));
}

async function assertKept(
  store: RunningStore,
  acknowledged: ReadonlyMap<number, number>,
): Promise<void> {
  for (const [number, version] of acknowledged) {
    const payment = await store.paymentById(merchantA, given.paymentId(number));
    assert.ok(
      payment !== undefined && payment.version >= version,
      `payment ${number} has the acknowledged version ${version}`,
    );
    assert.deepEqual(payment, given.lifeOf(number)[payment.version - 1]?.payment?.next);
    const history = await store.history(merchantA, payment.id);
    assert.equal(history.length, payment.version);
    const entries = history.flatMap((row) => row.entries);
    assert.ok(
      entries.length === 0 || isBalanced(entries.flatMap(({ postings }) => postings)),
      "no entry lost a line",
    );
    const named = await store.paymentByRefund(merchantA, { code: `refund-${number + 1}` });
    assert.deepEqual(
      named,
      payment.refunds.length === 0 ? undefined : payment,
      "a refund and its names are there together, or neither is",
    );
  }
}

test("a store that is closed and opened again has everything", async (context) => {
  const file = newFile(context);
  const first = await openEmbeddedStore({ file });
  for (const number of [1, 2]) await first.commit(given.paymentChange(given.newPayment(number)));
  await first.commit(given.paidChange(given.newPayment(2)));
  await first.commit(given.cardChange(given.newCard(1)));
  await first.commit(given.accountChange(given.newAccount(merchantA), [1]));
  await first.close();

  const second = await openEmbeddedStore({ file });
  context.after(() => second.close());

  assert.deepEqual(await second.paymentById(merchantA, given.paymentId(1)), given.newPayment(1));
  assert.deepEqual(
    await second.paymentById(merchantA, given.paymentId(2)),
    given.paidNext(given.newPayment(2)),
  );
  assert.deepEqual(await second.cardByToken(merchantA, given.tokenDigest(1)), given.newCard(1));
  assert.deepEqual(
    (await second.accountByKey(given.keyDigest(1)))?.account,
    given.newAccount(merchantA),
  );
  assert.equal((await second.notificationsOf(merchantA, 0, 10)).length, 1);
});

test("another process is refused a file that is open, with a reason", async (context) => {
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const child = spawn(process.execPath, [childFile, file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  for await (const line of createInterface({ input: child.stderr })) said += line;
  if (child.exitCode === null) await once(child, "exit");

  assert.equal(child.exitCode, 1);
  assert.match(said, /the database is in use by another process, or by another store of this one/);
});

// This cannot show that the data is on the disk, because the system's cache outlives the process:
// that depends on synchronous=FULL, which is read back at each start.
test("a process that is killed again and again loses nothing that it acknowledged, and leaves no half change", async (context) => {
  const file = newFile(context);
  const everAcknowledged = new Map<number, number>();
  for (let cycle = 0; cycle < 12; cycle += 1) {
    const printed: Printed = { acknowledged: new Map(), rejected: [] };
    const child = spawn(process.execPath, [childFile, file, String(cycle * 1_000_000)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let lines = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      read(printed, line);
      lines += 1;
      if (lines === 3 + cycle * 97) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL");
    assert.deepEqual(printed.rejected, []);
    for (const [number, version] of printed.acknowledged) everAcknowledged.set(number, version);
    if (cycle % 3 !== 2) continue;

    const store = await openEmbeddedStore({ file });
    await assertKept(store, everAcknowledged);
    await store.close();
  }
  assert.ok(everAcknowledged.size > 1_000, "control: there was something to lose");
});

test("a disk that refuses a write makes the outcome unknown and stops the store; what it acknowledged is kept", async (context) => {
  if (process.platform === "win32") return context.skip("needs a shell that limits file sizes");
  const file = newFile(context);
  const printed: Printed = { acknowledged: new Map(), rejected: [] };
  // In blocks of 512 bytes: at 1 MB, writes to the log begin to fail with EFBIG.
  const child = spawn(
    "/bin/sh",
    ["-c", 'ulimit -f 2048; exec "$@"', "sh", process.execPath, childFile, file],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  for await (const line of createInterface({ input: child.stdout })) read(printed, line);
  if (child.exitCode === null) await once(child, "exit");

  assert.ok(printed.acknowledged.size > 20, "control: it worked until the limit");
  assert.ok(printed.rejected.includes("commit_unknown"), "the batch whose commit failed");
  assert.deepEqual(
    printed.rejected.filter((code) => code !== "commit_unknown" && code !== "unavailable"),
    [],
  );
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  await assertKept(store, printed.acknowledged);
  assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(999_999))), {
    outcome: "committed",
  });
});
