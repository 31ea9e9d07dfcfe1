import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { bareOrder } from "../../test/contract/store-fixtures.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { day } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { allSlots } from "../kernel/slot-assignment.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { AccountDirectory } from "./account-directory.ts";
import { RecoveryJob } from "../recovery/recovery-job.ts";
import type { Change } from "../stores/change.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { type Store, StoreError } from "../stores/store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { direct } from "./direct.ts";
import { Runner } from "./runner.ts";

const settings = { ...defaultAccountSettings(), routes: [{ connectors: ["first", "second"] }] };
const account = { id: "0000000a" as MerchantId, version: 1, name: "Shop", settings };

/**
 * A payment whose first acquirer can be switched to answer that it was not sent; the second
 * approves everything.
 */
async function given(storeOver: (store: Store) => Store = (store) => store) {
  const time = new StillTime();
  const random = new SeededRandom("reroute");
  const ports = { clock: time, random };
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ ...keys, ...ports, environment: "test", create: true });
  const plain = createMemoryStore();
  const store = storeOver(plain);
  const [one, two] = [
    createSimulator({ clock: time, scheduler: time }),
    createSimulator({ clock: time, scheduler: time }),
  ];
  const answer = Promise.withResolvers<void>();
  const first = {
    ...one,
    name: "first",
    authorize: () => answer.promise.then(() => ({ kind: "not_sent" }) as const),
  };
  let calls = 0;
  const second: typeof two = {
    ...two,
    name: "second",
    authorize: (...request) => {
      calls += 1;
      return two.authorize(...request);
    },
  };
  const runner = new Runner({
    ...ports,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([first, second]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ what }) => assert.fail(what),
  });
  const accounts = new AccountDirectory(store, time);
  const job = new RecoveryJob({
    store,
    runner,
    accounts,
    clock: time,
    scheduler: time,
    slotAssignment: allSlots,
    report: () => undefined,
  });
  const change = {
    merchantId: account.id,
    at: time.now(),
    facts: [],
    entries: [],
    notifications: [],
  };
  await plain.commit({ ...change, account: { next: account, replaces: undefined, keys: [] } });
  const source = {
    kind: "pan",
    card: cardOf("4111111111111111"),
    cvv: undefined,
    cryptogram: undefined,
  } as const;
  const paid = runner.run(direct, account, {
    order: bareOrder("order-1"),
    source,
    local: false,
    createToken: undefined,
  });
  await time.pass(0);
  return {
    time,
    job,
    paid,
    answer: answer.resolve,
    calls: () => calls,
    stored: () => plain.paymentByCode(account.id, "order-1"),
  };
}

/** Long enough for recovery to check everything in flight and to trust the answers. */
async function recoverAll({
  time,
  job,
}: Pick<Awaited<ReturnType<typeof given>>, "time" | "job">): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await time.pass(day);
    await job.runDue();
  }
}

test("a certain no that recovery was faster than asks no other acquirer; in time it does", async () => {
  const late = await given();
  await recoverAll(late);
  assert.equal((await late.stored())?.state, "voided");
  late.answer();
  assert.equal((await late.paid).payment.state, "voided");
  assert.equal(late.calls(), 0);

  const inTime = await given();
  inTime.answer();
  assert.equal((await inTime.paid).payment.state, "captured");
  assert.equal(inTime.calls(), 1);
});

for (const isWritten of [true, false]) {
  test(`the write of the reroute has an unknown outcome, and it ${isWritten ? "is" : "is not"}: no other acquirer is asked, and nothing is held`, async () => {
    let lost = 0;
    const world = await given((store) => {
      const commit = store.commit.bind(store);
      return Object.assign(store, {
        commit: async (change: Change) => {
          if (change.facts.every(({ fact }) => fact !== "authorization_rerouted"))
            return commit(change);
          lost += 1;
          if (isWritten) await commit(change);
          throw new StoreError("commit_unknown");
        },
      });
    });
    world.answer();
    const { payment } = await world.paid;
    assert.equal(lost, 1);
    assert.equal(payment.state, isWritten ? "authorizing" : "declined");
    await recoverAll(world);
    assert.equal((await world.stored())?.state, isWritten ? "voided" : "declined");
    assert.equal(world.calls(), 0);
  });
}
