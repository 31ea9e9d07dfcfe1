import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import type { MerchantId, TokenDigest } from "../../kernel/ids.ts";
import { instant, laterBy, minute } from "../../kernel/instant.ts";
import { wholeShare } from "../../kernel/share.ts";
import { CardExpiryJob } from "../../recovery/card-expiry-job.ts";
import type { StoredCard } from "../../vault/stored-card.ts";
import { openEmbeddedStore } from "./embedded-store.ts";
import { migrations } from "./migrations/index.ts";
import { openForReading, openForWriting } from "./open-database.ts";

/*
 * A deleted card was readable in free pages and in the write-ahead log of the data folder, and the keys that open it lay beside it. Older tests asked
 * the store for the card, never the files.
 */

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

/** Cards of which any part of the sealed reference is in a file of the folder. */
function readable(folder: string, cards: readonly StoredCard[]): number {
  const bytes = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  return cards.filter(({ ref }) => [0, 32, 64, 96].some((from) => bytes.includes(ref.subarray(from, from + 24)))).length;
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
        store.commit({ merchantId, at: now, card: { next: card, replaces: undefined }, facts: [], entries: [], notifications: [] }),
      ),
    );
    assert.deepEqual([readable(folder, expired), readable(folder, kept)], [300, 300], "control: the cards are in the files at first");

    let forgotten = 0;
    const scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
    const report = (round: { readonly forgotten: number }): void => void (forgotten = round.forgotten);
    await new CardExpiryJob({ store, scheduler, share: wholeShare, clock: { now: () => laterBy(now, minute) }, report }).runOnce();

    assert.equal(forgotten, 300);
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
    await store.commit({ ...common, cardErasure: { tokenDigest: card.tokenDigest, unusedSince: now } });

    assert.equal(await store.eraseRemains(), false);
    reader.close();
    assert.equal(await store.eraseRemains(), true);
    assert.equal(readable(folder, [card]), 0);
  });

  test("is removed from a file of an earlier version when that is opened", (context) => {
    const folder = folderOf(context);
    const file = join(folder, "cofre.db");
    const cards = Array.from({ length: 60 }, () => cardOf(unused));
    const earlier = new DatabaseSync(file);
    earlier.exec("PRAGMA journal_mode = WAL; PRAGMA secure_delete = OFF");
    for (const text of migrations.slice(0, 4)) earlier.exec(text);
    earlier.exec("PRAGMA application_id = 0x436f6672; PRAGMA user_version = 4");
    const insert = earlier.prepare("INSERT INTO card VALUES (NULL, unhex(?), unhex(?), 1, 1, 1, 'visa', '411111xxxxxx1111', ?, ?)");
    for (const { tokenDigest, fingerprint, ref } of cards) insert.run(merchantId, tokenDigest, fingerprint, ref);
    earlier.exec("DELETE FROM card WHERE no % 2 = 0");
    earlier.close();
    const [kept, deleted] = [cards.filter((_, index) => index % 2 === 0), cards.filter((_, index) => index % 2 === 1)];
    assert.ok(readable(folder, deleted) > 20, "control: the version before left them in free pages");

    const database = openForWriting({ file, durable: true, maxFileBytes: undefined });
    context.after(() => database.close());

    assert.deepEqual([readable(folder, deleted), readable(folder, kept)], [0, 30]);
    assert.equal(database.prepare("SELECT count(*) AS n FROM card").get()?.["n"], 30);
  });
});
