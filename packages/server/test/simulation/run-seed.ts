import { createHash } from "node:crypto";
import { day, hour, instant, minute } from "../../src/kernel/instant.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { createLocalVault } from "../../src/vault/local-vault.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "../../src/vault/memory-key-provider.ts";
import type { Vault } from "../../src/vault/vault.ts";
import { Chance } from "./chance.ts";
import { Installation } from "./installation.ts";
import { runClient } from "./merchants.ts";
import { planOf } from "./plan.ts";
import { openShop, type Shop } from "./shop.ts";
import { epoch } from "./sim-time.ts";

export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly string[];
  /** SHA-256 over every event of the run and everything that it left: equal for equal seeds. */
  readonly trace: string;
  readonly events: number;
  readonly crashes: number;
  readonly simulatedMs: number;
  readonly marks: ReadonlyMap<string, number>;
}

const maximumEvents = 200_000;

/** One whole run: faults, then healing, then nothing may be left open. Everything follows from the seed. `read` gets each line of its timeline. */
export async function runSeed(seed: number, read?: (line: string) => void): Promise<SeedReport> {
  const plan = planOf(seed);
  const installation = new Installation(plan, await sharedVault(), read);
  const { auditor, time } = installation;
  const settings = { ...defaultAccountSettings(), ...plan.settings, simulator: plan.simulator };
  const shops: Shop[] = [];
  try {
    for (let index = 0; index < plan.merchants; index += 1) shops.push(await openShop(installation, index, settings));
    const merchants = shops.map(({ account }) => account.id);
    installation.start();

    let running = 0;
    for (const [index, shop] of shops.entries()) {
      for (let client = 0; client < plan.clientsPerMerchant; client += 1) {
        running += 1;
        const chance = new Chance(seed * 64 + index * 8 + client);
        void runClient(installation, shop, chance, `order-${index}-${client}`, plan).then(() => {
          running -= 1;
        });
      }
    }
    await time.run(24 * hour, () => running === 0, maximumEvents);
    if (running > 0) auditor.violation("every client is answered or told that its connection broke");
    await auditor.checkBooks(merchants);

    installation.heal();
    if (plan.endsLater) {
      time.jump(plan.settings.captureWindowDays * day);
      installation.timeline.note("world", "the clock jumps past every capture window");
    }
    // Recovery's checks are an hour apart at most: two are enough for whatever the faults left.
    for (let minutes = 0; minutes < 180 && (minutes < 3 || !(await installation.isQuiet())); minutes += 1) {
      await time.run(minute, () => false, maximumEvents);
    }
    await auditor.checkSettled(merchants, new Map(shops.map(({ account, codes }) => [account.id, codes])), time.now());
  } catch (error) {
    auditor.violation(`the run ends by itself: ${error instanceof Error ? error.message : String(error)}`);
  }
  return {
    seed,
    violations: auditor.violations,
    trace: await traceOf(installation, shops),
    events: time.events,
    crashes: installation.crashes,
    simulatedMs: time.now() - epoch,
    marks: auditor.marks,
  };
}

async function traceOf(installation: Installation, shops: readonly Shop[]): Promise<string> {
  const trace = createHash("sha256");
  const add = (value: unknown): void => {
    trace.update(JSON.stringify(value, (_, member: unknown) => (typeof member === "bigint" ? `${member}n` : member)) ?? "");
  };
  for (const { account, codes, tokens, payments } of shops) {
    add([tokens, [...payments.keys()]]);
    for (const code of codes) {
      const payment = await installation.store.paymentByCode(account.id, code);
      add([code, payment, payment === undefined ? [] : await installation.store.history(account.id, payment.id)]);
    }
  }
  add(installation.simulator.books());
  add(installation.timeline.digest());
  add([installation.time.events, installation.crashes, installation.auditor.violations]);
  return trace.digest("hex");
}

/** The vault's keys are no part of what is explored, and outlive every run. */
let shared: Promise<Vault> | undefined;

function sharedVault(): Promise<Vault> {
  shared ??= openVault();
  return shared;
}

async function openVault(): Promise<Vault> {
  const random = new SeededRandom("simulation vault");
  const keyring = await Keyring.open({
    provider: createMemoryKeyProvider(random),
    store: createMemoryWrappedKeyStore(),
    environment: "simulation",
    create: true,
    random,
    clock: { now: () => instant(epoch) },
  });
  return createLocalVault({ keyring, environment: "simulation", random });
}
