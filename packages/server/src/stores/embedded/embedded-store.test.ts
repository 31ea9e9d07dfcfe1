import assert from "node:assert/strict";
import {
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestContext } from "node:test";
import type { Worker } from "node:worker_threads";
import * as given from "../../../test/contract/store-fixtures.ts";
import { messageOf } from "../change-message.ts";
import { openEmbeddedStore } from "./embedded-store.ts";
import { InlineWriter } from "./inline-writer.ts";
import { migrations } from "./migrations/index.ts";
import type { RunningStore } from "../store.ts";
import { StoreOpenError } from "./open-error.ts";

const { merchantA } = given;
const committed = { outcome: "committed" };

function newFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function newFile(context: TestContext): string {
  return join(newFolder(context), "store.db");
}

/** Runs SQL on a file that no store has open. */
function runSql(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

async function assertRefused(file: string, code: StoreOpenError["code"]): Promise<void> {
  await assert.rejects(openEmbeddedStore({ file }), (error) => {
    assert.ok(error instanceof StoreOpenError);
    assert.equal(error.code, code);
    assert.ok(error.message.startsWith(`${file}: `));
    return true;
  });
}

test("a file that a store has open is refused to a second one, until the first is closed", async (context) => {
  const file = newFile(context);
  const first = await openEmbeddedStore({ file });
  await assertRefused(file, "locked");
  assert.deepEqual(
    await first.commit(given.paymentChange(given.newPayment(1))),
    committed,
    "the first goes on",
  );
  await first.close();

  const second = await openEmbeddedStore({ file });
  await second.close();
});

test("a database of a newer version is refused and left as it is", async (context) => {
  const file = newFile(context);
  await (await openEmbeddedStore({ file })).close();
  runSql(file, "PRAGMA user_version = 999");

  await assertRefused(file, "newer");
  await assertRefused(file, "newer");

  runSql(file, `PRAGMA user_version = ${migrations.length}`);
  await (await openEmbeddedStore({ file })).close();
});

test("someone else's database, and a file that is none, are refused and left as they are", async (context) => {
  const folder = newFolder(context);
  const foreign = join(folder, "foreign.db");
  runSql(foreign, "CREATE TABLE theirs (x)");
  const size = statSync(foreign).size;
  const text = join(folder, "text.db");
  writeFileSync(text, "this is not a database at all, ".repeat(200));

  await assertRefused(foreign, "foreign");
  await assertRefused(text, "foreign");

  assert.equal(statSync(foreign).size, size);
  runSql(foreign, "INSERT INTO theirs VALUES (1)");
});

test("a database that lost its end is refused as damaged", async (context) => {
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  for (let number = 0; number < 50; number += 1)
    await store.commit(given.paymentChange(given.newPayment(number)));
  await store.close();
  truncateSync(file, statSync(file).size - 3 * 4096);

  await assertRefused(file, "damaged");
});

test("a folder that is not there is made, for its owner alone; one that cannot be made is refused", async (context) => {
  const folder = newFolder(context);
  const made = join(folder, "deep", "data");
  await (await openEmbeddedStore({ file: join(made, "store.db") })).close();
  assert.equal(statSync(made).mode & 0o777, 0o700);

  writeFileSync(join(folder, "file"), "no folder");
  await assert.rejects(openEmbeddedStore({ file: join(folder, "file", "store.db") }), {
    code: "no_directory",
  });
});

test("a closed store leaves everything in the one file, its write-ahead log gone", async (context) => {
  const folder = newFolder(context);
  const store = await openEmbeddedStore({ file: join(folder, "store.db") });
  await store.commit(given.paymentChange(given.newPayment(1)));
  await store.close();

  assert.deepEqual(readdirSync(folder).toSorted(), ["store.db", "store.db-lock"]);
});

test("a store in memory leaves no file behind", async (context) => {
  const folder = newFolder(context);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  context.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  const payment = given.newPayment(1);
  await store.commit(given.paymentChange(payment));
  // Also while it is open, because a killed process removes nothing.
  if (process.platform !== "win32") assert.deepEqual(readdirSync(folder), []);
  if (process.platform === "linux") {
    const open = readdirSync("/proc/self/fd").filter((fd) =>
      (readlinkOf(`/proc/self/fd/${fd}`) ?? "").startsWith(folder),
    );
    assert.ok(open.length > 0, "control: it is in this folder all the same");
  }
  assert.equal((await store.paymentById(payment.merchantId, payment.id))?.id, payment.id);
  await store.close();

  assert.deepEqual(readdirSync(folder), []);
});

/** Undefined if it has been closed already. */
function readlinkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

test("a database that may not grow refuses changes as unavailable, loses nothing, and recovers", async (context) => {
  const file = newFile(context);
  const small = await openEmbeddedStore({ file, maxFileBytes: 400_000 });
  const results = await Promise.allSettled(
    Array.from({ length: 400 }, (_, number) =>
      small.commit(given.paymentChange(given.newPayment(number))),
    ),
  );
  const kept = results.flatMap((result, number) => (result.status === "fulfilled" ? [number] : []));
  assert.ok(kept.length > 100 && kept.length < 400, `control: ${kept.length} of 400 fit`);
  for (const result of results)
    if (result.status === "rejected")
      assert.equal((result.reason as { code: string }).code, "unavailable");
  const [first = 0] = kept;
  assert.deepEqual(
    await small.commit(given.paymentChange(given.newPayment(first))),
    { outcome: "duplicate", key: "payment_code", existing: given.newPayment(first) },
    "what needs no room is still answered",
  );
  await small.close();

  const roomy = await openEmbeddedStore({ file });
  context.after(() => roomy.close());
  for (const [number, result] of results.entries()) {
    const stored = await roomy.paymentById(merchantA, given.paymentId(number));
    assert.deepEqual(stored, result.status === "fulfilled" ? given.newPayment(number) : undefined);
  }
  assert.deepEqual(await roomy.commit(given.paymentChange(given.newPayment(500))), committed);
});

test("a store that begins to fail says so once, detects by itself that it still fails, and says when writing works again", async (context) => {
  const file = newFile(context);
  const reported: boolean[] = [];
  const store = await openEmbeddedStore({
    file,
    maxFileBytes: 400_000,
    onWriting: (works) => void reported.push(works),
  });
  assert.equal(await store.testWrite(), true);
  const fill = (from: number) =>
    Promise.allSettled(
      Array.from({ length: 400 }, (_, number) =>
        store.commit(given.paymentChange(given.newPayment(from + number))),
      ),
    );
  await fill(0);
  await fill(1_000);
  assert.deepEqual([reported, store.isWriting], [[false], false]);
  assert.equal(await store.testWrite(), false);
  assert.deepEqual(reported, [false]);
  await store.close();
  assert.equal(await store.testWrite(), false, "a closed store does not write");
  assert.deepEqual(reported, [false], "its end is not a failure");

  const roomy = await openEmbeddedStore({ file, onWriting: (works) => void reported.push(works) });
  context.after(() => roomy.close());
  assert.deepEqual([await roomy.testWrite(), roomy.isWriting, reported], [true, true, [false]]);
});

test("a change waits while another program holds the database for a moment", async (context) => {
  // A backup tool or a shell held it for milliseconds, and payments were refused at once.
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const other = new DatabaseSync(file);
  context.after(() => other.close());

  other.exec("BEGIN IMMEDIATE");
  const change = store.commit(given.paymentChange(given.newPayment(1)));
  await sleep(100);
  other.exec("COMMIT");

  assert.deepEqual(await change, committed);
  assert.equal(store.isWriting, true);
});

test("while another program keeps the database, all changes that wait are refused together, and later ones are written", async (context) => {
  const file = newFile(context);
  const store = await openEmbeddedStore({ file });
  context.after(() => store.close());
  const other = new DatabaseSync(file);
  context.after(() => other.close());
  const change = (number: number): Promise<unknown> =>
    store.commit(given.paymentChange(given.newPayment(number)));

  other.exec("BEGIN IMMEDIATE");
  const refused = Array.from({ length: 50 }, (_, number) =>
    assert.rejects(change(number + 1), { code: "unavailable" }),
  );
  await Promise.all(refused);
  other.exec("COMMIT");

  assert.deepEqual(await change(1), committed);
});

test("the write that tests whether writing works leaves nothing behind", async (context) => {
  const store = await openEmbeddedStore({ file: newFile(context) });
  context.after(() => store.close());
  const before = store.stats();
  assert.equal(await store.testWrite(), true);
  assert.equal(await store.namedRequest("00000000" as typeof merchantA, ""), undefined);
  assert.deepEqual(store.stats(), before);
});

/** A store and its writer thread. */
async function openWithWorker(file: string): Promise<{ store: RunningStore; worker: Worker }> {
  const started = new Promise<Worker>((resolve) => process.once("worker", resolve));
  const store = await openEmbeddedStore({ file });
  return { store, worker: await started };
}

test("when the writer thread dies, waiting changes are unknown, later changes are unavailable, reads continue, and close returns", async (context) => {
  const file = newFile(context);
  const { store, worker } = await openWithWorker(file);
  await store.commit(given.paymentChange(given.newPayment(1)));
  const waiting = Array.from({ length: 200 }, (_, number) =>
    store.commit(given.paymentChange(given.newPayment(number + 2))),
  );
  const settled = Promise.allSettled(waiting);
  await worker.terminate();

  const results = await settled;
  const rejections = results.filter((result) => result.status === "rejected");
  assert.ok(rejections.length > 0, "control: it died before it had answered all");
  for (const { reason } of rejections)
    assert.equal((reason as { code: string }).code, "commit_unknown");
  await assert.rejects(store.commit(given.paymentChange(given.newPayment(900))), {
    name: "StoreError",
    code: "unavailable",
  });
  assert.deepEqual(await store.paymentById(merchantA, given.paymentId(1)), given.newPayment(1));
  await store.close();

  const again = await openEmbeddedStore({ file });
  context.after(() => again.close());
  for (const [index, result] of results.entries()) {
    const stored = await again.paymentById(merchantA, given.paymentId(index + 2));
    if (result.status === "fulfilled") assert.deepEqual(stored, given.newPayment(index + 2));
  }
});

/** The thread writes a persistent file; a store in memory writes on the caller's thread. */
const bothWriters = [
  { where: "on a file", fileOf: newFile },
  { where: "in memory", fileOf: () => ":memory:" },
];

for (const { where, fileOf } of bothWriters) {
  test(`more changes than may wait are refused as overloaded ${where}, and nothing of them is written`, async (context) => {
    const store = await openEmbeddedStore({ file: fileOf(context), maxQueued: 3 });
    context.after(() => store.close());
    const results = await Promise.allSettled(
      [1, 2, 3, 4, 5].map((number) => store.commit(given.paymentChange(given.newPayment(number)))),
    );

    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
    );
    for (const result of results)
      if (result.status === "rejected")
        assert.equal((result.reason as { code: string }).code, "overloaded");
    assert.equal(await store.paymentById(merchantA, given.paymentId(4)), undefined);
    assert.deepEqual(
      await store.commit(given.paymentChange(given.newPayment(4))),
      committed,
      "there is room again",
    );
  });

  test(`the counters of a store ${where} count changes, the commits that they shared, and the queue`, async (context) => {
    const store = await openEmbeddedStore({ file: fileOf(context) });
    context.after(() => store.close());
    const waiting = Array.from({ length: 100 }, (_, number) =>
      store.commit(given.paymentChange(given.newPayment(number))),
    );
    const again = store.commit(given.paymentChange(given.newPayment(0)));
    await Promise.resolve();
    assert.equal(store.stats().queued, 101);

    await Promise.all([...waiting, again]);

    const { changes, commits, largestBatch, queued } = store.stats();
    assert.deepEqual({ changes, queued }, { changes: 101, queued: 0 });
    assert.ok(
      1 <= commits && commits <= 100 && largestBatch >= 101 / commits,
      JSON.stringify(store.stats()),
    );
  });
}

test("a store in memory starts no thread", async (context) => {
  let threads = 0;
  const count = (): void => void (threads += 1);
  process.on("worker", count);
  context.after(() => process.off("worker", count));
  const inMemory = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => inMemory.close());
  assert.deepEqual(
    [await inMemory.commit(given.paymentChange(given.newPayment(1))), threads],
    [committed, 0],
  );

  const onFile = await openEmbeddedStore({ file: newFile(context) });
  context.after(() => onFile.close());
  assert.equal(threads, 1, "control: a thread is seen");
});

test("a store in memory commits no more changes in one turn than a batch holds, in their order", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  const order: number[] = [];
  const changes = Array.from({ length: 1_200 }, async (_, number) => {
    await store.commit(given.paymentChange(given.newPayment(number)));
    order.push(number);
  });
  await Promise.all(changes);

  assert.deepEqual(
    order,
    changes.map((_, number) => number),
  );
  assert.equal(store.stats().largestBatch, 512);
});

test("what waits when a store in memory is closed is written before it closes", async () => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  const waiting = Array.from({ length: 1_200 }, (_, number) =>
    store.commit(given.paymentChange(given.newPayment(number))),
  );
  await store.close();

  assert.deepEqual(
    [...new Set((await Promise.all(waiting)).map(({ outcome }) => outcome))],
    ["committed"],
  );
  await assert.rejects(store.commit(given.paymentChange(given.newPayment(9_000))), {
    code: "closed",
  });
});

test("after an error that is not SQLite's, the writer of a store in memory reports what waited as unknown and writes nothing more", async (context) => {
  const states: boolean[] = [];
  const writer = new InlineWriter(
    { file: newFile(context), durable: false, maxFileBytes: undefined },
    { maxQueued: 1_000, onWriting: (works) => void states.push(works) },
  );
  context.after(() => writer.close());
  const change = (number: number) => messageOf(given.paymentChange(given.newPayment(number)));
  const [merchant, at] = change(1);
  const unusable = [merchant, at, ...Array<undefined>(3), [{}]] as unknown as ReturnType<
    typeof change
  >;

  // More than one batch: the second begins after the error.
  const numbers = Array.from({ length: 511 + 5 }, (_, number) => 10 + number);
  const outcomes = await Promise.all([
    writer.submit(unusable),
    ...numbers.map((number) => writer.submit(change(number))),
  ]);
  assert.deepEqual(outcomes, [
    ...Array<string>(512).fill("commit_unknown"),
    ...Array<string>(5).fill("unavailable"),
  ]);
  await assert.rejects(writer.submit(change(2)), { name: "StoreError", code: "unavailable" });
  assert.deepEqual(
    [writer.isWriting, states, await writer.testWrite(), await writer.truncateLog()],
    [false, [false], false, false],
  );
});
