import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { SmallDisk, whyNoSmallDisk } from "../../../test/support/small-disk.ts";
import type { MerchantId, TokenDigest } from "../../kernel/ids.ts";
import { instant, laterBy, minute } from "../../kernel/instant.ts";
import { allSlots } from "../../kernel/slot-assignment.ts";
import { CardExpiryJob } from "../../recovery/card-expiry-job.ts";
import type { StoredCard } from "../../vault/stored-card.ts";
import { sizeOf } from "./data-folder.ts";
import { openEmbeddedStore } from "./embedded-store.ts";
import { migrations } from "./migrations/index.ts";
import { openForReading, openForWriting, type Upgrading } from "./open-database.ts";
import { until } from "../../../test/until.ts";

/*
 * A deleted card was readable in free pages and in the write-ahead log of the data folder, beside
 * the keys that decrypt it. Older tests read the card from the store, never from the files.
 */

const noDisk = whyNoSmallDisk() ?? false;
const merchantId = "0a0b0c0d" as MerchantId;
const now = instant(Date.UTC(2028, 1, 29, 13));
const unused = instant(Date.UTC(2026, 10, 1));

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-deleted-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function cardOf(lastUsedAt: StoredCard["lastUsedAt"]): StoredCard {
  return {
    merchantId,
    tokenDigest: randomBytes(32).toString("hex") as TokenDigest,
    version: 1,
    ref: Uint8Array.from(randomBytes(133)),
    fingerprint: Uint8Array.from(randomBytes(32)),
    brand: "visa",
    maskedPan: "411111xxxxxx1111",
    createdAt: unused,
    lastUsedAt,
    mac: undefined,
  };
}

/** The number of cards with any part of their sealed reference in a file of the folder. */
function readable(folder: string, cards: readonly StoredCard[]): number {
  const bytes = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  return cards.filter(({ ref }) =>
    [0, 32, 64, 96].some((from) => bytes.includes(ref.subarray(from, from + 24))),
  ).length;
}

describe("what a deleted card leaves in the files of the embedded store", () => {
  test("is nothing after the round that forgets expired cards, while the store is open", async (context) => {
    const folder = folderOf(context);
    const store = await openEmbeddedStore({ file: join(folder, "cofre.db") });
    context.after(() => store.close());
    const expired = Array.from({ length: 300 }, () => cardOf(unused));
    const kept = Array.from({ length: 300 }, () => cardOf(now));
    const all = expired.flatMap((card, index) => [card, kept[index] ?? card]);
    await Promise.all(
      all.map((card) =>
        store.commit({
          merchantId,
          at: now,
          card: { next: card, replaces: undefined },
          facts: [],
          entries: [],
          notifications: [],
        }),
      ),
    );
    assert.deepEqual(
      [readable(folder, expired), readable(folder, kept)],
      [300, 300],
      "control: the cards are in the files at first",
    );

    let deleted = 0;
    const scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
    const report = (round: { readonly deleted: number }): void => void (deleted = round.deleted);
    await new CardExpiryJob({
      store,
      scheduler,
      slotAssignment: allSlots,
      clock: { now: () => laterBy(now, minute) },
      report,
    }).runOnce();

    assert.equal(deleted, 300);
    assert.deepEqual([readable(folder, expired), readable(folder, kept)], [0, 300]);
  });

  test("stays in the log while another connection reads it, and the store reports that", async (context) => {
    const folder = folderOf(context);
    const file = join(folder, "cofre.db");
    const store = await openEmbeddedStore({ file });
    context.after(() => store.close());
    const card = cardOf(unused);
    const common = { merchantId, at: now, facts: [], entries: [], notifications: [] };
    await store.commit({ ...common, card: { next: card, replaces: undefined } });
    const reader = openForReading(file);
    const rows = reader.prepare("SELECT no FROM card").iterate();
    rows.next();
    await store.commit({
      ...common,
      cardErasure: { tokenDigest: card.tokenDigest, unusedSince: now },
    });

    assert.equal(await store.eraseRemains(), false);
    reader.close();
    assert.equal(await store.eraseRemains(), true);
    assert.equal(readable(folder, [card]), 0);
  });

  test("is removed from a file of an earlier version when that is opened", (context) => {
    const folder = folderOf(context);
    const { file, kept, deleted } = earlierFile(folder, 60);
    assert.ok(
      readable(folder, deleted) > 20,
      "control: the version before left them in free pages",
    );

    const database = openForWriting({ file, durable: true, maxFileBytes: undefined });
    context.after(() => database.close());

    assert.deepEqual([readable(folder, deleted), readable(folder, kept)], [0, 30]);
    assert.equal(database.prepare("SELECT count(*) AS n FROM card").get()?.["n"], 30);
  });

  // The new file was created in the system's temporary folder, which may be small and in memory,
  // and the start reported nothing during the rewrite.
  test("is removed by a new file beside the old one, which is reported, for the owner alone, and no other file is left", async (context) => {
    const folder = folderOf(context);
    const { file, deleted } = earlierFile(folder, 3_000);
    const before = statSync(file);
    const reported: Upgrading[] = [];
    const store = await openEmbeddedStore({
      file,
      onUpgrading: (upgrading) => void reported.push(upgrading),
    });
    const [rewriting, ...migrating] = reported;
    assert.ok(rewriting?.kind === "rewriting");
    assert.equal(rewriting.copy, `${realpathSync(file)}.rewrite`);
    assert.ok(rewriting.bytes > 100_000 && rewriting.bytes <= before.size);
    assert.deepEqual(migrating, [{ kind: "migrating", from: 4, to: migrations.length }]);
    assert.notEqual(statSync(file).ino, before.ino);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await store.close();
    assert.equal(readable(folder, deleted), 0);
    assert.deepEqual(readdirSync(folder).toSorted(), ["cofre.db", "cofre.db-lock"]);

    const again = await openEmbeddedStore({
      file,
      onUpgrading: () => assert.fail("it is done once"),
    });
    await again.close();
  });

  test("is removed where the name of the database is a link, which stays one", (context) => {
    const folder = folderOf(context);
    const { file, deleted } = earlierFile(folder, 60);
    const link = join(folderOf(context), "cofre.db");
    symlinkSync(file, link);
    openForWriting({ file: link, durable: true, maxFileBytes: undefined }).close();
    assert.equal(readable(folder, deleted), 0);
    assert.ok(lstatSync(link).isSymbolicLink());
  });

  test("stays while another program reads the file, which is refused as open elsewhere and unchanged", (context) => {
    const folder = folderOf(context);
    const { file, deleted } = earlierFile(folder, 60);
    const other = new DatabaseSync(file, { readOnly: true });
    other.prepare("SELECT no FROM card").iterate().next();
    assert.throws(() => openForWriting({ file, durable: true, maxFileBytes: undefined }), {
      code: "locked",
    });
    other.close();
    assert.ok(readable(folder, deleted) > 20);
    assert.deepEqual(versionOf(file), { version: 4, check: "ok" });

    openForWriting({ file, durable: true, maxFileBytes: undefined }).close();
    assert.equal(readable(folder, deleted), 0);
  });

  for (const room of [100_000, 600_000]) {
    test(
      `stays on a disk with ${room} bytes free: the start is refused and says so, and the next one has room`,
      { skip: noDisk },
      (context) => {
        const disk = new SmallDisk(24);
        context.after(() => disk[Symbol.dispose]());
        const { file, deleted, kept } = earlierFile(disk.directory, 12_000);
        disk.fill();
        const ballast = join(disk.directory, "ballast");
        truncateSync(ballast, statSync(ballast).size - room);
        assert.throws(() => openForWriting({ file, durable: true, maxFileBytes: undefined }), {
          code: "no_room",
        });
        assert.ok(!readdirSync(disk.directory).includes("cofre.db.rewrite"));

        disk.empty();
        assert.deepEqual(versionOf(file), { version: 4, check: "ok" });
        openForWriting({ file, durable: true, maxFileBytes: undefined }).close();
        assert.deepEqual(
          [
            readable(disk.directory, deleted.slice(0, 50)),
            readable(disk.directory, kept.slice(0, 50)),
          ],
          [0, 50],
        );
      },
    );
  }

  test("is removed by the start after one that was killed meanwhile, and the database is sound at every moment", async (context) => {
    const folder = folderOf(context);
    const original = earlierFile(folderOf(context), 20_000);
    const file = join(folder, "cofre.db");
    const opening = `import { openForWriting } from ${JSON.stringify(new URL("./open-database.ts", import.meta.url).href)};
      openForWriting({ file: ${JSON.stringify(file)}, durable: true, maxFileBytes: undefined }).close();`;
    let isCut = false;
    // On a busy machine the upgrade may be complete before this process looks.
    for (let times = 0; times < 6 || (!isCut && times < 60); times += 1) {
      const part = times % 6;
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      copyFileSync(original.file, file);
      const child = spawn(process.execPath, ["--input-type=module", "--eval", opening], {
        stdio: "ignore",
      });
      const exited = once(child, "exit");
      const isFarEnough = (): boolean =>
        sizeOf(`${file}.rewrite`) >= part * 400_000 &&
        readdirSync(folder).includes("cofre.db.rewrite");
      await until(
        "the upgrade is far enough, or complete",
        () => child.exitCode !== null || isFarEnough(),
        { everyMs: 0 },
      );
      child.kill("SIGKILL");
      await exited;
      isCut ||= readdirSync(folder).includes("cofre.db.rewrite");
      assert.equal(versionOf(file).check, "ok");

      const database = openForWriting({ file, durable: true, maxFileBytes: undefined });
      assert.equal(database.prepare("SELECT count(*) AS n FROM card").get()?.["n"], 10_000);
      database.close();
      assert.equal(readable(folder, original.deleted.slice(0, 50)), 0);
      assert.deepEqual(readdirSync(folder), ["cofre.db"]);
    }
    assert.ok(isCut, "control: a new file was there when the process was killed");
  });
});

/**
 * A file of the last version that did not overwrite deleted rows, with half of its cards deleted.
 */
function earlierFile(folder: string, count: number) {
  const file = join(folder, "cofre.db");
  const cards = Array.from({ length: count }, () => cardOf(unused));
  const earlier = new DatabaseSync(file);
  earlier.exec(
    "PRAGMA journal_mode = WAL; PRAGMA secure_delete = OFF; PRAGMA synchronous = OFF; BEGIN",
  );
  for (const text of migrations.slice(0, 4)) earlier.exec(text);
  earlier.exec("PRAGMA application_id = 0x436f6672; PRAGMA user_version = 4");
  const insert = earlier.prepare(
    "INSERT INTO card VALUES (NULL, unhex(?), unhex(?), 1, 1, 1, 'visa', '411111xxxxxx1111', ?, ?)",
  );
  for (const { tokenDigest, fingerprint, ref } of cards)
    insert.run(merchantId, tokenDigest, fingerprint, ref);
  earlier.exec("COMMIT; DELETE FROM card WHERE no % 2 = 0");
  earlier.close();
  return {
    file,
    kept: cards.filter((_, index) => index % 2 === 0),
    deleted: cards.filter((_, index) => index % 2 === 1),
  };
}

function versionOf(file: string): { readonly version: unknown; readonly check: unknown } {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const value = (name: string): unknown =>
      Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    return { version: value("user_version"), check: value("integrity_check") };
  } finally {
    database.close();
  }
}
