import type { MerchantId, TokenDigest } from "../../server/src/kernel/ids.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { Keyring } from "../../server/src/vault/keyring.ts";
import { createLocalVault } from "../../server/src/vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../server/src/vault/memory-key-provider.ts";
import { unkeyedDigest } from "../../server/src/vault/token.ts";
import type { Vault } from "../../server/src/vault/vault.ts";
import type { Plan } from "./plan.ts";
import { epoch } from "../../server/test/support/sim-time.ts";

const environment = "simulation";

/**
 * The keys of an installation, which outlive its processes. In some runs they are not shared: each
 * process opens them, and an epoch ends after a few cards. The other runs share one vault, because
 * opening keys costs more than most of a run.
 */
export class Keys {
  readonly #open: () => Promise<Vault>;
  #vault: Vault | undefined;

  constructor({ seed, ownKeys }: Pick<Plan, "seed" | "ownKeys">) {
    this.#open = ownKeys
      ? keysOf(`simulation keys ${seed}`, { wrapsPerKeyVersion: 2, wrapsPerReservation: 1 })
      : () => (shared ??= sharedKeys());
  }

  /** As a process does at its start. */
  async openVault(): Promise<Vault> {
    this.#vault = await this.#open();
    return this.#vault;
  }

  /**
   * The digest by which the store finds a token, the same in each process. A token that is used
   * before a process has opened the keys was never issued.
   */
  digestOf(merchantId: MerchantId, token: string): TokenDigest {
    return this.#vault?.tokenDigests(merchantId, token)[0] ?? unkeyedDigest(token);
  }
}

let shared: Promise<Vault> | undefined;
const sharedKeys = keysOf("simulation vault", {});

function keysOf(
  seed: string,
  limits: { readonly wrapsPerKeyVersion?: number; readonly wrapsPerReservation?: number },
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
