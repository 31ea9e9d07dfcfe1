import assert from "node:assert/strict";
import { createSimulator } from "../src/connectors/simulator/simulator-connector.ts";
import type { Clock } from "../src/kernel/clock.ts";
import { hexOf, type MerchantId } from "../src/kernel/ids.ts";
import { day } from "../src/kernel/instant.ts";
import type { SeededRandom } from "../src/kernel/seeded-random.ts";
import { systemScheduler } from "../src/kernel/system-scheduler.ts";
import { defaultAccountSettings } from "../src/merchant/settings.ts";
import { createMemoryStore } from "../src/stores/memory/memory-store.ts";
import type { WorldPlan } from "../src/sandbox/world.ts";
import { Worlds, type WorldsParts } from "../src/sandbox/worlds.ts";

/** Worlds without a server: nothing is charged in them. */
export function standaloneWorlds(
  clock: Clock,
  random: SeededRandom,
  parts: Partial<WorldsParts>,
): Worlds {
  const never = (): never => assert.fail("nothing is sent, sealed or signed here");
  return new Worlds({
    vault: {
      put: never,
      prepare: never,
      use: never,
      fingerprint: never,
      tokenDigests: never,
      withMac: never,
      isGenuine: never,
    },
    sender: { send: never },
    sign: never,
    name: "test",
    acquirerTimeoutMs: 1_000,
    periods: { requestsMs: 30 * day, deliveriesMs: 90 * day },
    elapsedMs: () => 0,
    log: { write: () => undefined },
    clock,
    scheduler: systemScheduler,
    secretRandom: random,
    acquirers: ["simulator"],
    openAcquirer: (ports) => createSimulator(ports),
    reportDropped: () => undefined,
    openStore: createMemoryStore,
    onChanged: () => undefined,
    ...parts,
  });
}

/** A world with this key, or with a generated one. */
export function standalonePlan(
  random: SeededRandom,
  time: WorldPlan["time"],
  key = hexOf(random.bytes(16)),
): WorldPlan {
  return {
    name: "World",
    seed: "seed",
    time,
    account: {
      id: hexOf(random.bytes(4)) as MerchantId,
      version: 1,
      name: "World",
      settings: defaultAccountSettings(),
    },
    keys: { integrationKey: key, publicIntegrationKey: hexOf(random.bytes(16)) },
  };
}
