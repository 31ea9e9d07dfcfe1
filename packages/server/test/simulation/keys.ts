import type { MerchantId, TokenDigest } from "../../src/kernel/ids.ts";
import { instant } from "../../src/kernel/instant.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { createLocalVault } from "../../src/vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../src/vault/memory-key-provider.ts";
import { unkeyedDigest } from "../../src/vault/token.ts";
import type { Vault } from "../../src/vault/vault.ts";
import type { Plan } from "./plan.ts";
import { epoch } from "./sim-time.ts";

const environment = "simulation";

/**
 * The keys of an installation, which outlive its processes. In some runs they are its own: each
 * process opens them anew, and an epoch ends after a few cards. The others share one vault, for to
 * open keys costs more than most of a run.
 */
export class Keys {
  readonly #open: () => Promise<Vault>;
  #vault: Vault | undefined;

  constructor({ seed, ownKeys }: Pick<Plan, "seed" | "ownKeys">) {
    this.#open = ownKeys
      ? keysOf(`simulation keys ${seed}`, { wrapsPerEpoch: 2, wrapsPerReservation: 1 })
      : () => (shared ??= sharedKeys());
  }

  /** As a process does when it starts. */
  async openVault(): Promise<Vault> {
    this.#vault = await this.#open();
    return this.#vault;
  }

  /**
   * What the store knows a token by, the same in each process. A token that is asked for before a
   * process has opened the keys was never given out.
   */
  digestOf(merchantId: MerchantId, token: string): TokenDigest {
    return this.#vault?.tokenDigests(merchantId, token)[0] ?? unkeyedDigest(token);
  }
}

let shared: Promise<Vault> | undefined;
const sharedKeys = keysOf("simulation vault", {});

function keysOf(
  seed: string,
  limits: { readonly wrapsPerEpoch?: number; readonly wrapsPerReservation?: number },
): () => Promise<Vault> {
  const random = new SeededRandom(seed);
  const [provider, store] = [createMemoryKeyProvider(random), createMemoryWrappedKeyStore()];
  return async () => {
    const clock = { now: () => instant(epoch) };
    const keyring = await Keyring.open({
      provider,
      store,
      environment,
      create: true,
      random,
      clock,
      limits,
    });
    return createLocalVault({ keyring, environment, random });
  };
}
