import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import * as given from "../../../test/contract/store-fixtures.ts";
import { tableOf, transferKinds } from "../transfer.ts";
import { openEmbeddedStore } from "./embedded-store.ts";
import { openMoveSource, rowsOf } from "./move-source.ts";

const move = "0123456789abcdef0123456789abcdef";

async function newFile(context: TestContext, payments = 1): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-move-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "cofre.db");
  const store = await openEmbeddedStore({ file });
  await Promise.all(
    Array.from({ length: payments }, (_, number) =>
      store.commit(given.paymentChange(given.newPayment(number))),
    ),
  );
  await store.close();
  return file;
}

test("a file that is moving, or was moved, is served by no store, and is again when the mark is taken away", async (context) => {
  const file = await newFile(context);
  for (const state of ["moving", "moved"] as const) {
    const source = await openMoveSource(file);
    await source.setMark({ state, move });
    await source.close();
    await assert.rejects(openEmbeddedStore({ file }), { name: "StoreOpenError", code: "moved" });
    const again = await openMoveSource(file);
    assert.deepEqual(again.mark, { state, move });
    await again.close();
  }
  const source = await openMoveSource(file);
  await source.setMark({ state: "free" });
  await source.close();
  const store = await openEmbeddedStore({ file });
  assert.ok((await store.paymentById(given.merchantA, given.paymentId(0))) !== undefined);
  await store.close();
});

test("an older version takes a moved file for none of its own", async (context) => {
  const file = await newFile(context);
  const source = await openMoveSource(file);
  await source.setMark({ state: "moved", move });
  await source.close();
  const database = new DatabaseSync(file);
  // The id that every version expects, `Cofr`.
  assert.notEqual(database.prepare("PRAGMA application_id").get()?.["application_id"], 0x436f6672);
  database.close();
});

test("a file that a store has open is refused, and so is one that is being moved", async (context) => {
  const file = await newFile(context);
  const store = await openEmbeddedStore({ file });
  await assert.rejects(openMoveSource(file), { name: "StoreOpenError", code: "locked" });
  await store.close();
  const source = await openMoveSource(file);
  await assert.rejects(openMoveSource(file), { name: "StoreOpenError", code: "locked" });
  await assert.rejects(openEmbeddedStore({ file }), { name: "StoreOpenError", code: "locked" });
  await source.close();
});

test("no file, an empty one and a foreign one are refused", async (context) => {
  const file = await newFile(context);
  await assert.rejects(openMoveSource(`${file}.not`), { name: "TransferError", code: "no_file" });
  writeFileSync(`${file}.empty`, "");
  await assert.rejects(openMoveSource(`${file}.empty`), { name: "TransferError", code: "no_file" });
  const foreign = new DatabaseSync(`${file}.foreign`);
  foreign.exec("CREATE TABLE theirs (x)");
  foreign.close();
  await assert.rejects(openMoveSource(`${file}.foreign`), {
    name: "StoreOpenError",
    code: "foreign",
  });
});

test("all rows come once, in the order of their keys, some at a time", async (context) => {
  const source = await openMoveSource(await newFile(context, 2_345));
  context.after(() => source.close());
  for (const kind of ["payment", "history"] as const) {
    const pieces: number[] = [];
    const keys: string[] = [];
    for await (const piece of source.pieces(kind)) {
      pieces.push(piece.length);
      for (const row of piece)
        keys.push(
          tableOf(kind)
            .key.map((column) => String(row[column]))
            .join(" "),
        );
    }
    assert.deepEqual(pieces, [1_000, 1_000, 345]);
    assert.deepEqual(keys, keys.toSorted());
    assert.equal(new Set(keys).size, await source.count(kind));
  }
});

test("no kind of row is sorted or gathered before the first of it comes: memory does not grow with the file", async (context) => {
  const database = new DatabaseSync(await newFile(context));
  context.after(() => database.close());
  const plan = (text: string): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map((row) => String(row["detail"]))
      .join("; ");
  for (const kind of transferKinds)
    assert.doesNotMatch(plan(rowsOf[kind]), /TEMP B-TREE|AUTOMATIC|MATERIALIZE/, kind);
  assert.match(plan("SELECT * FROM payment ORDER BY order_json"), /TEMP B-TREE/, "control");
});
