import assert from "node:assert/strict";
import { test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { bareOrder } from "../../test/contract/store-fixtures.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { hour } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { wholeShare } from "../kernel/share.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { AccountDirectory } from "../operations/account-directory.ts";
import { direct } from "../operations/direct.ts";
import { refund } from "../operations/refund.ts";
import { Runner } from "../operations/runner.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvPocket } from "../vault/cvv-pocket.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "../vault/memory-key-provider.ts";
import { RecoveryJob, type RecoveryProgress } from "./recovery-job.ts";

const account = { id: "0000000a" as MerchantId, version: 1, name: "Shop", settings: defaultAccountSettings() };

async function given() {
  const time = new StillTime();
  const random = new SeededRandom("recovery job");
  const ports = { clock: time, random };
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ ...keys, ...ports, environment: "test", create: true });
  const store = createMemoryStore();
  const simulator = createSimulator({ clock: time, scheduler: time });
  const runner = new Runner({
    ...ports,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([simulator]),
    pocket: new CvvPocket(random),
    acquirerTimeoutMs: 30_000,
    deliverTo: () => [],
    told: () => undefined,
    alarm: ({ what }) => assert.fail(what),
  });
  const reports: RecoveryProgress[] = [];
  const report = (progress: RecoveryProgress): void => void reports.push(progress);
  const job = new RecoveryJob({
    store,
    runner,
    accounts: new AccountDirectory(store),
    clock: time,
    scheduler: time,
    share: wholeShare,
    report,
  });
  const change = { merchantId: account.id, at: time.now(), facts: [], entries: [], notifications: [] };
  await store.commit({ ...change, account: { next: account, replaces: undefined, keys: [] } });
  return { time, store, simulator, runner, job, reports };
}

test("a refund whose outcome stays unknown is reported as overdue after an hour of asking, and settles when the acquirer answers", async () => {
  const { time, store, simulator, runner, job, reports } = await given();
  const source = { kind: "pan", card: cardOf("4111111111111111"), cvv: undefined, cryptogram: undefined } as const;
  const { payment } = await runner.run(direct, account, { order: bareOrder("order-1"), source, local: false, createToken: undefined });
  await runner.run(refund, account, {
    selector: { hash: payment.id },
    amount: "30.00",
    description: "changed their mind",
    code: undefined,
  });
  const refundState = async () => (await store.paymentById(account.id, payment.id))?.refunds[0]?.state;
  await job.start();
  await job.runDue();

  simulator.instruct(account.id, { next: "lose_answer", times: 20 });
  await time.pass(10 * 60_000);
  assert.equal(await refundState(), "sending");
  // The control: unknown for minutes is no alarm yet.
  assert.equal(reports.length, 0);

  await time.pass(2 * hour);
  const [first] = reports;
  assert.deepEqual([first?.kind, first?.state, first?.paymentId], ["overdue", "refund_sending", payment.id]);

  await time.pass(3 * hour);
  assert.equal(await refundState(), "confirmed");
  assert.equal(simulator.books().merchants[0]?.money[0]?.givenBack, 30_00n);
  const reported = reports.length;
  await time.pass(hour);
  assert.equal(reports.length, reported);
  await job.stop();
});
