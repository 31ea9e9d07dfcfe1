import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { digestOfKey } from "../operations/account-directory.ts";
import { JobReads, type ReadFailure } from "../kernel/job-reads.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { RowUpgrade } from "../vault/row-mac.ts";
import { VaultError } from "../vault/vault.ts";
import { RowUpgradeJob } from "./row-upgrade-job.ts";

const second = 1_000;
const settleMs = 30 * second;

/** Nodes on one store, with a controllable clock. */
async function installation(context: TestContext) {
  const time = new StillTime();
  const store = createMemoryStore({ clock: time });
  const account = given.newAccount(given.merchantA);
  const keys = [{ digest: digestOfKey("an older node made it"), grants: "secret" as const }];
  await store.commit({
    ...given.accountChange(account, []),
    account: { next: account, replaces: undefined, keys },
  });
  let older = true;
  let isBlocked = false;
  let opens = true;
  const unreadable: number[] = [];
  let failing: string | undefined;
  const failures: ReadFailure[] = [];
  const reads = new JobReads(time, (failure) => void failures.push(failure));
  const unless = async <T>(read: string, reading: () => Promise<T>): Promise<T> => {
    if (read === failing) throw new Error("the read takes too long");
    return reading();
  };
  let completed = 0;
  const start = (): RowUpgrade => {
    const upgrade: RowUpgrade = { earlier: "written", lastUnkeyedEntry: 0 };
    const job = new RowUpgradeJob({
      store: {
        accounts: () => unless("accounts", () => store.accounts()),
        accountById: (id) => unless("accountById", () => store.accountById(id)),
        accountKeys: () => unless("accountKeys", () => store.accountKeys()),
        cardsWithoutMac: (...args) =>
          unless("cardsWithoutMac", () => store.cardsWithoutMac(...args)),
        commit: async (change) =>
          isBlocked && change.card !== undefined ? { outcome: "stale" } : store.commit(change),
        dropTokenDigests: async () => undefined,
        eraseRemains: () => store.eraseRemains(),
        hasOlderNodes: () => unless("hasOlderNodes", async () => older),
      },
      vault: {
        adopt: async (card) => {
          if (!opens && card.tokenDigest === given.newCard(1).tokenDigest) throw new VaultError();
          return { ...card, version: card.version + 1, mac: new Uint8Array(32) };
        },
      },
      withKeyMac: (key) => ({ digest: key.digest, grants: key.grants, mac: new Uint8Array(32) }),
      users: {
        users: () => unless("users", async () => []),
        commit: async () => assert.fail(),
        auditHead: () => unless("auditHead", async () => ({ number: 0, digest: "" })),
      },
      upgrade,
      complete: async () => void (completed += 1),
      clock: time,
      scheduler: time,
      settleMs,
      report: () => undefined,
      unreadable: (cards) => void unreadable.push(cards),
      reads: reads.of("row_upgrade"),
    });
    context.after(() => job.stop());
    job.start();
    return upgrade;
  };
  return {
    time,
    store,
    start,
    unreadable,
    completed: () => completed,
    fail: (read: string | undefined) => void (failing = read),
    failures,
    failingJobs: () => reads.failing(),
    lastOlderNodeEnds: () => void (older = false),
    block: (blocks: boolean) => void (isBlocked = blocks),
    loseKey: (isLost: boolean) => void (opens = !isLost),
  };
}

/** The states in which one node refuses rows of the earlier version while another writes them. */
async function conflictsIn(
  time: StillTime,
  nodes: readonly RowUpgrade[],
  ms: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let passed = 0; passed < ms; passed += 100) {
    await time.pass(100);
    const states = nodes.map(({ earlier }) => earlier);
    if (states.includes("none") && states.includes("written"))
      found.push(`${passed} ms: ${states.join(", ")}`);
  }
  return found;
}

test("no node refuses rows of an earlier version while another node, whose clock differs, writes them", async (context) => {
  const { time, start, lastOlderNodeEnds } = await installation(context);
  const first = start();
  await time.pass(4.9 * second);
  const nodes = [first, start()];
  await time.pass(0.05 * second);
  lastOlderNodeEnds();
  assert.deepEqual(await conflictsIn(time, nodes, 90 * second), []);
  assert.deepEqual(
    nodes.map(({ earlier }) => earlier),
    ["none", "none"],
  );
});

test("a node that starts when others have upgraded the rows does not write them as before", async (context) => {
  const { time, start, lastOlderNodeEnds } = await installation(context);
  const first = start();
  await time.pass(second);
  lastOlderNodeEnds();
  await time.pass(90 * second);
  assert.equal(first.earlier, "none");
  const late = start();
  assert.deepEqual(await conflictsIn(time, [first, late], 90 * second), []);
  assert.equal(late.earlier, "none");
});

test("a card that could not be moved is moved later, and only then are rows of before refused", async (context) => {
  const { time, store, start, lastOlderNodeEnds, block } = await installation(context);
  await store.commit(given.cardChange(given.newCard(1, { mac: undefined })));
  block(true);
  lastOlderNodeEnds();
  const upgrade = start();
  await time.pass(120 * second);
  assert.equal(upgrade.earlier, "read");
  block(false);
  await time.pass(660 * second);
  assert.equal(upgrade.earlier, "none");
});

// The upgrade completed, and the token of such a card was "not found" from then on, although only
// its key was missing.
test("a card that does not open keeps its row, is reported once, and keeps the upgrade from completing until it opens", async (context) => {
  const { time, store, start, completed, unreadable, lastOlderNodeEnds, loseKey } =
    await installation(context);
  const [closed, other] = [
    given.newCard(1, { mac: undefined }),
    given.newCard(2, { mac: undefined }),
  ];
  for (const card of [closed, other]) await store.commit(given.cardChange(card));
  loseKey(true);
  lastOlderNodeEnds();
  const upgrade = start();
  await time.pass(3_000 * second);
  assert.deepEqual([upgrade.earlier, completed(), unreadable], ["read", 0, [1]]);
  assert.deepEqual(await store.cardByToken(given.merchantA, closed.tokenDigest), closed);
  assert.notEqual(
    (await store.cardByToken(given.merchantA, other.tokenDigest))?.mac,
    undefined,
    "control: other rows are upgraded",
  );

  loseKey(false);
  await time.pass(700 * second);
  assert.deepEqual([upgrade.earlier, completed(), unreadable], ["none", 1, [1]]);
  assert.notEqual((await store.cardByToken(given.merchantA, closed.tokenDigest))?.mac, undefined);
});

for (const read of [
  "hasOlderNodes",
  "accounts",
  "accountKeys",
  "accountById",
  "cardsWithoutMac",
  "users",
  "auditHead",
]) {
  test(`${read} that fails three times in a row makes the upgrade of rows a failing job, until it works`, async (context) => {
    const { time, start, lastOlderNodeEnds, fail, failures, failingJobs, completed } =
      await installation(context);
    lastOlderNodeEnds();
    fail(read);
    start();
    await time.pass(300 * second);
    assert.deepEqual([failingJobs(), completed()], [["row_upgrade"], 0]);
    assert.deepEqual(new Set(failures.map((failure) => failure.read)), new Set([read]));
    fail(undefined);
    await time.pass(120 * second);
    assert.deepEqual([failingJobs(), completed()], [[], 1]);
  });
}
