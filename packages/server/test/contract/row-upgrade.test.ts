import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { MerchantId, TokenDigest } from "../../src/kernel/ids.ts";
import { instant } from "../../src/kernel/instant.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { SystemRandom } from "../../src/kernel/system-random.ts";
import { CheckedUsers } from "../../src/sign-in/checked-users.ts";
import { digestOfKey, withKeyMac } from "../../src/operations/account-directory.ts";
import { RowUpgradeJob } from "../../src/recovery/row-upgrade-job.ts";
import type { Change } from "../../src/stores/change.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { createLocalVault } from "../../src/vault/local-vault.ts";
import type { CardOwner } from "../../src/vault/vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../src/vault/memory-key-provider.ts";
import { Pan } from "../../src/vault/pan.ts";
import { RowMacs, type RowUpgrade } from "../../src/vault/row-mac.ts";
import { unkeyedDigest } from "../../src/vault/token.ts";
import { query, openStoreOn, TestDatabases, testUrl } from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";

/*
 * Tokens were stored as plain SHA-256 digests, and merchants choose tokens: if a token was a hash
 * or an encoding of a card number, a copy of the database revealed the number. Older tests searched
 * for the number and for the token, never for values that can be tested against a guess.
 */

const { merchantA, merchantB, start } = given;
const environment = "sandbox";
const random = new SystemRandom();
const digits = "4111111111111111";
/** A token that a merchant may derive from a card number. */
const chosen = createHash("sha256").update(digits).digest("hex");

async function opened(
  store: RunningStore,
  earlier: RowUpgrade["earlier"],
  hasOlderNodes?: () => Promise<boolean>,
) {
  const upgrade: RowUpgrade = { earlier, lastUnkeyedEntry: 0 };
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    environment,
    random,
    clock: systemClock,
    create: true,
  });
  const vault = createLocalVault({ keyring, environment, random, upgrade });
  const macs = new RowMacs((label) => keyring.derivedKey(label), upgrade);
  const { promise: completed, resolve } = Promise.withResolvers<{ readonly cards: number }>();
  const { promise: unreadable, resolve: foundUnreadable } = Promise.withResolvers<number>();
  const reports: string[] = [];
  const job = new RowUpgradeJob({
    store:
      hasOlderNodes === undefined
        ? store
        : Object.assign(Object.create(store) as RunningStore, methodsOf(store), { hasOlderNodes }),
    vault,
    withKeyMac: (key) => withKeyMac(macs, key.merchantId, key),
    users: new CheckedUsers({
      store: store.users,
      macs,
      lastUnkeyedEntry: () => 0,
      refused: () => undefined,
    }),
    upgrade,
    complete: async () => void reports.push("complete"),
    clock: systemClock,
    scheduler: {
      sleep: (ms) => systemScheduler.sleep(Math.min(ms, 20)),
      after: (ms, task) => systemScheduler.after(Math.min(ms, 20), task),
    },
    settleMs: 0,
    report: resolve,
    unreadable: foundUnreadable,
  });
  return { upgrade, keyring, vault, macs, job, completed, unreadable, reports };
}

function methodsOf(store: RunningStore) {
  return {
    accounts: () => store.accounts(),
    accountById: (id: MerchantId) => store.accountById(id),
    accountKeys: () => store.accountKeys(),
    cardsWithoutMac: (id: MerchantId, from: TokenDigest | undefined, limit: number) =>
      store.cardsWithoutMac(id, from, limit),
    commit: (change: Change) => store.commit(change),
    dropTokenDigests: (id: MerchantId) => store.dropTokenDigests(id),
    eraseRemains: () => store.eraseRemains(),
  };
}

/** Stores a card as the earlier version did. */
async function storeEarlier(
  store: RunningStore,
  vault: ReturnType<typeof createLocalVault>,
  merchantId: MerchantId,
  token: string,
) {
  const tokenDigest = unkeyedDigest(token);
  const ref = await sealed(vault, { merchantId, tokenDigest, recordVersion: 1 });
  const next = {
    ...given.newCard(1),
    merchantId,
    tokenDigest,
    ref,
    brand: "visa",
    maskedPan: "411111xxxxxx1111",
    mac: undefined,
  } as const;
  assert.equal((await store.commit(given.cardChange(next))).outcome, "committed");
}

async function sealed(vault: ReturnType<typeof createLocalVault>, owner: CardOwner) {
  const pan = Pan.from(Buffer.from(digits));
  assert.ok(pan !== undefined);
  return vault.put({ pan, expiryMonth: 12, expiryYear: 2060, holderName: "Ana Lima" }, owner);
}

interface Opened {
  readonly store: RunningStore;
  /** All content of a copy of the database. */
  readonly dump: () => Promise<Buffer>;
  /**
   * Whether payments of an earlier version may exist. The migration of a file removes the digests
   * from its payments.
   */
  readonly hasEarlierPayments: boolean;
}

function describeUpgrade(name: string, open: () => Promise<Opened>): void {
  describe(`the upgrade of rows on ${name}`, () => {
    test("gives every card a keyed digest and a MAC, and each still opens under its token", async () => {
      const { store, dump, hasEarlierPayments } = await open();
      await using _closed = { [Symbol.asyncDispose]: () => store.close() };
      const { vault, upgrade, job, completed, reports } = await opened(store, "read");
      for (const id of [merchantA, merchantB])
        await store.commit(given.accountChange(given.newAccount(id), []));
      const tokens = [
        chosen,
        ...Array.from(
          { length: 230 },
          (_, index) => `token-of-merchant-a-number-${index}-xxxxxxxx`,
        ),
      ];
      for (const token of tokens) await storeEarlier(store, vault, merchantA, token);
      await storeEarlier(store, vault, merchantB, chosen);
      const { order, ...payment } = given.newPayment(1);
      const tokenDigest = hasEarlierPayments ? unkeyedDigest(chosen) : undefined;
      const paid = {
        ...payment,
        order: { ...order, card: { ...given.cardIn(order), tokenDigest } },
      };
      await store.commit(given.paymentChange(paid));
      const cardUse = { tokenDigest: unkeyedDigest(chosen), at: instant(start + 5_000) };
      await store.commit({ ...given.cardUseChange(1, start), cardUse });

      job.start();
      assert.deepEqual(await completed, { cards: 232 });
      await job.stop();

      assert.deepEqual([reports, upgrade.earlier], [["complete"], "none"]);
      for (const [merchantId, all] of [
        [merchantA, tokens],
        [merchantB, [chosen]],
      ] as const) {
        for (const token of all) {
          const [digest, ...others] = vault.tokenDigests(merchantId, token);
          assert.equal(others.length, 0);
          const stored = await store.cardByToken(merchantId, digest);
          assert.ok(stored !== undefined && vault.isGenuine(stored));
          assert.deepEqual([stored.version, stored.createdAt], [2, start]);
          const owner = { merchantId, tokenDigest: digest, recordVersion: stored.version };
          assert.equal(
            await vault.use(stored.ref, owner, async ({ pan }) =>
              Buffer.from(pan.reveal()).toString(),
            ),
            digits,
          );
          assert.equal(await store.cardByToken(merchantId, unkeyedDigest(token)), undefined);
        }
      }
      const [ofA] = vault.tokenDigests(merchantA, chosen);
      assert.notEqual(
        ofA,
        vault.tokenDigests(merchantB, chosen)[0],
        "equal tokens of two merchants are not seen to be equal",
      );
      assert.equal((await store.cardByToken(merchantA, ofA))?.lastUsedAt, start + 5_000);
      assert.equal(
        (await store.paymentById(merchantA, paid.id))?.order.card?.tokenDigest,
        undefined,
      );
      assert.deepEqual(guessed(await dump(), [chosen, ...tokens]), []);
    });

    test("leaves the row of a card that does not open unchanged, reports their number, and does not complete", async () => {
      const { store } = await open();
      await using _closed = { [Symbol.asyncDispose]: () => store.close() };
      const { vault, upgrade, job, completed, unreadable, reports } = await opened(store, "read");
      await store.commit(given.accountChange(given.newAccount(merchantA), []));
      await storeEarlier(store, vault, merchantA, chosen);
      const closed = given.newCard(7, { mac: undefined });
      await store.commit(given.cardChange(closed));

      job.start();
      assert.equal(await unreadable, 1);
      await systemScheduler.sleep(200);
      assert.deepEqual([upgrade.earlier, reports], ["read", []]);
      assert.deepEqual(await store.cardByToken(merchantA, closed.tokenDigest), closed);

      // As if its key were available again.
      const { tokenDigest } = closed;
      const ref = await sealed(vault, { merchantId: merchantA, tokenDigest, recordVersion: 2 });
      await store.commit(given.cardChange({ ...closed, version: 2, ref }));
      assert.deepEqual(await completed, { cards: 2 });
      await job.stop();
      assert.deepEqual([upgrade.earlier, reports], ["none", ["complete"]]);
    });

    test("gives integration keys their MACs, and what is written without the key afterwards is refused", async () => {
      const { store } = await open();
      await using _closed = { [Symbol.asyncDispose]: () => store.close() };
      const { macs, vault, job, completed } = await opened(store, "read");
      const account = given.newAccount(merchantA);
      const keys = [
        { digest: digestOfKey("first"), grants: "public" as const },
        { digest: digestOfKey("second"), grants: "secret" as const },
      ];
      await store.commit({
        ...given.accountChange(account, []),
        account: { next: account, replaces: undefined, keys },
      });

      job.start();
      await completed;
      await job.stop();

      for (const { digest, grants } of keys) {
        const holder = await store.accountByKey(digest);
        assert.ok(
          holder?.mac !== undefined &&
            macs.accepts("account_key", [digest, merchantA, grants], holder.mac),
        );
        assert.ok(!macs.accepts("account_key", [digest, merchantA, "other"], holder.mac));
        assert.ok(!macs.accepts("account_key", [digest, merchantB, grants], holder.mac));
      }
      assert.ok(
        !macs.accepts("account_key", [digestOfKey("third"), merchantA, "secret"], undefined),
      );
      assert.ok(!vault.isGenuine(given.newCard(1)), "a MAC that is made up");
      assert.ok(!vault.isGenuine(given.newCard(1, { mac: undefined })));
    });

    test("waits while a node of the version before is there, and writes what that one finds", async () => {
      const { store } = await open();
      await using _closed = { [Symbol.asyncDispose]: () => store.close() };
      let older = true;
      const { vault, upgrade, job, completed, reports } = await opened(
        store,
        "written",
        async () => older,
      );
      await store.commit(given.accountChange(given.newAccount(merchantA), []));
      job.start();
      const [digest] = vault.tokenDigests(merchantA, chosen);
      assert.equal(digest, unkeyedDigest(chosen));
      assert.equal(vault.withMac(given.newCard(1)).mac, undefined);
      await storeEarlier(store, vault, merchantA, chosen);
      await systemScheduler.sleep(100);
      assert.deepEqual([upgrade.earlier, reports], ["written", []]);

      older = false;
      assert.deepEqual(await completed, { cards: 1 });
      await job.stop();
      assert.deepEqual([upgrade.earlier, reports], ["none", ["complete"]]);
    });
  });
}

/** The tokens of which an unkeyed digest is in the bytes, in any of the usual forms. */
function guessed(bytes: Buffer, tokens: readonly string[]): readonly string[] {
  return tokens.filter((token) => {
    const digest = createHash("sha256").update(token).digest();
    return (
      bytes.includes(digest) ||
      (["hex", "base64url"] as const).some((form) => bytes.includes(digest.toString(form)))
    );
  });
}

describeUpgrade("the embedded store", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cofre-rows-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ file: join(folder, "cofre.db") });
  const dump = async (): Promise<Buffer> =>
    Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  return { store, dump, hasEarlierPayments: false };
});

if (testUrl === undefined)
  test(
    "rows are upgraded on PostgreSQL",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describeUpgrade("PostgreSQL", async () => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    const dump = async (): Promise<Buffer> => {
      const rows = await query<{ readonly text: string }>(
        url,
        "SELECT card::text AS text FROM card UNION ALL SELECT payment::text FROM payment",
      );
      return Buffer.from(rows.map(({ text }) => text).join("\n"));
    };
    return { store, dump, hasEarlierPayments: true };
  });
}
