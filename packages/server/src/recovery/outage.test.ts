import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import { bareOrder } from "../../test/contract/store-fixtures.ts";
import { cardOf } from "../../test/vectors/cards.ts";
import { withCircuitBreaker } from "../connectors/circuit-breaker.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { minute, second } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { allSlots } from "../kernel/slot-assignment.ts";
import type { Account, SimulatorSettings } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import { AccountDirectory } from "../operations/account-directory.ts";
import { direct } from "../operations/direct.ts";
import { Runner } from "../operations/runner.ts";
import type { Payment } from "../payment/payment.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { RecoveryJob } from "./recovery-job.ts";

const merchantId = "0000000a" as MerchantId;
const acquirerTimeoutMs = 10 * second;

/**
 * An installation with two acquirers behind circuit breakers and a controllable clock: US dollars
 * go to `sick`, reais to `well`.
 */
async function given() {
  const time = new StillTime();
  const random = new SeededRandom("outage");
  const keyring = await Keyring.open({
    provider: createMemoryKeyProvider(random),
    store: createMemoryWrappedKeyStore(),
    clock: time,
    random,
    environment: "test",
    create: true,
  });
  const store = createMemoryStore();
  const circuits: string[] = [];
  const ports = { clock: time, scheduler: time, rememberedReferences: 20_000 };
  const [sick, well] = [createSimulator(ports), createSimulator(ports)];
  const inCircuit = (name: string, simulator: typeof sick) =>
    withCircuitBreaker(simulator, {
      name,
      clock: time,
      maxInFlight: 512,
      report: ({ kind }) => circuits.push(`${name} ${kind}`),
    });
  const runner = new Runner({
    clock: time,
    random,
    store,
    vault: createLocalVault({ keyring, environment: "test", random }),
    connectors: connectorsOf([inCircuit("sick", sick), inCircuit("well", well)]),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ what }) => assert.fail(what),
  });
  const accounts = new AccountDirectory(store, time);
  let account: Account = {
    id: merchantId,
    version: 1,
    name: "Shop",
    settings: {
      ...defaultAccountSettings(),
      routes: [{ connectors: ["well"], currencies: ["BRL"] }],
    },
  };
  const change = { merchantId, at: time.now(), facts: [], entries: [], notifications: [] };
  await store.commit({ ...change, account: { next: account, replaces: undefined, keys: [] } });
  /**
   * Sets the behaviour of the acquirers; `well` uses the settings of another account and never
   * fails.
   */
  const setSimulator = async (simulator: Partial<SimulatorSettings>) => {
    const next = {
      ...account,
      version: account.version + 1,
      settings: {
        ...account.settings,
        simulator: { ...defaultAccountSettings().simulator, ...simulator },
      },
    };
    await store.commit({ ...change, account: { next, replaces: account.version, keys: [] } });
    account = next;
    accounts.forget(merchantId);
  };
  const healthy = defaultAccountSettings().simulator;
  const pay = (code: string, currency: "USD" | "BRL"): Promise<Payment> => {
    const source = {
      kind: "pan",
      card: cardOf("4111111111111111"),
      cvv: undefined,
      cryptogram: undefined,
    } as const;
    const asking =
      currency === "BRL"
        ? { ...account, settings: { ...account.settings, simulator: healthy } }
        : account;
    return runner
      .run(direct, asking, {
        order: bareOrder(code, currency),
        source,
        local: false,
        createToken: undefined,
      })
      .then(({ payment }) => payment);
  };
  const job = new RecoveryJob({
    store,
    runner,
    accounts,
    clock: time,
    scheduler: time,
    slotAssignment: allSlots,
    report: () => undefined,
  });
  await job.start();
  return { time, store, sick, well, circuits, setSimulator, pay, job };
}

const outages: readonly (readonly [what: string, simulator: Partial<SimulatorSettings>])[] = [
  ["is dead", { loseRequest: 1_000 }],
  ["answers after 30 seconds", { latencyMs: 30 * second }],
  ["does the work and its answers are lost", { loseAnswer: 1_000 }],
];

describe("ten minutes in which one of two acquirers", () => {
  for (const [what, simulator] of outages) {
    test(`${what}: the other is not slowed, nothing is declined that was taken, and five minutes later all is settled`, async () => {
      const { time, store, sick, circuits, setSimulator, pay, job } = await given();
      await setSimulator(simulator);
      const sent: Promise<Payment>[] = [];
      for (let at = 0; at < 10 * minute; at += 4 * second) {
        for (let each = 0; each < 3; each += 1) sent.push(pay(`sick-${at}-${each}`, "USD"));
        const began = time.now();
        const other = await pay(`well-${at}`, "BRL");
        // With the controllable clock, a payment that waited for anything would end later than it
        // began.
        assert.deepEqual([other.state, time.now()], ["captured", began]);
        await time.pass(4 * second);
      }
      await setSimulator({});
      await time.pass(5 * minute);
      await Promise.all(sent);
      await job.stop();

      const booked = sick.books().merchants[0]?.authorizations ?? [];
      const taken = new Map(
        booked.map(({ reference, reversed, captured }) => [
          reference.split("-")[0],
          reversed ? 0n : captured,
        ]),
      );
      const states = new Map<string, number>();
      for (const { id } of await Promise.all(sent)) {
        const payment = await store.paymentById(merchantId, id);
        assert.ok(payment !== undefined);
        states.set(payment.state, (states.get(payment.state) ?? 0) + 1);
        assert.equal(payment.attempt, undefined, `${payment.order.code} is ${payment.state}`);
        assert.equal(
          payment.captured,
          taken.get(id) ?? 0n,
          `${payment.order.code} is ${payment.state}`,
        );
      }
      // The control: some were sent before the circuit opened, and most were refused without
      // waiting for the acquirer.
      assert.ok(
        circuits.includes("sick open") && circuits.includes("sick closed"),
        circuits.join(),
      );
      assert.ok((states.get("declined") ?? 0) > 200, JSON.stringify(Array.from(states)));
      assert.ok(
        (states.get("captured") ?? 0) + (states.get("voided") ?? 0) >= 20,
        JSON.stringify(Array.from(states)),
      );
      assert.ok(!circuits.some((event) => event.startsWith("well")));
    });
  }
});
