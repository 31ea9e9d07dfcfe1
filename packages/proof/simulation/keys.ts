import type { Clock } from "../../server/src/kernel/clock.ts";
import type { MerchantId, TokenDigest } from "../../server/src/kernel/ids.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { merchantKeyVersionOf } from "../../server/src/vault/derived-envelope.ts";
import { Keyring } from "../../server/src/vault/keyring.ts";
import { createLocalVault } from "../../server/src/vault/local-vault.ts";
import { maskOf } from "../../server/src/vault/mask.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../server/src/vault/memory-key-provider.ts";
import type { StoredCard } from "../../server/src/vault/stored-card.ts";
import { unkeyedDigest } from "../../server/src/vault/token.ts";
import { type Vault, VaultError } from "../../server/src/vault/vault.ts";
import type { Plan } from "./plan.ts";
import { epoch } from "../../server/test/support/sim-time.ts";
import type { KeyPorts, OpenedKeys, RecordKeys } from "./record-keys.ts";

const environment = "simulation";

/**
 * The keys of an installation, which outlive its processes: records in its database, or files as
 * earlier versions have them. In some runs with files, each process opens them, and an epoch ends
 * after a few cards; the other runs with files share one vault.
 */
export class Keys {
  readonly #records: RecordKeys | undefined;
  readonly #openFiles: () => Promise<Vault>;
  #vault: Vault | undefined;

  /** `records`: undefined for keys in files. */
  constructor({ seed, keys }: Pick<Plan, "seed" | "keys">, records: RecordKeys | undefined) {
    this.#records = records;
    this.#openFiles =
      keys === "changing_files"
        ? keysOf(`simulation keys ${seed}`, { wrapsPerKeyVersion: 2, wrapsPerReservation: 1 })
        : () => (shared ??= sharedKeys());
  }

  /** As a process does at its start. Rejects with StoreError when the store fails. */
  async open(ports: KeyPorts): Promise<OpenedKeys> {
    const opened = await (this.#records?.open(ports) ?? this.#openFileKeys());
    this.#vault = opened.vault;
    return opened;
  }

  async #openFileKeys(): Promise<OpenedKeys> {
    return { vault: await this.#openFiles(), records: undefined };
  }

  /** What rotations have left under earlier keys. */
  leftUnderEarlierKeys(cards: readonly StoredCard[]): readonly string[] {
    const records = this.#records;
    if (records === undefined) return [];
    const old = cards.filter(
      ({ merchantId, ref }) => merchantKeyVersionOf(ref) !== records.currentVersion(merchantId),
    );
    return [
      ...records.notRewrapped().map((name) => `the key ${name}`),
      ...old.map(({ merchantId }) => `a card of ${merchantId}`),
    ];
  }

  /**
   * Whether a stored card opens with what is stored now and the root key alone, as after the loss of
   * every server; only for records.
   */
  async opens(card: StoredCard, clock: Clock): Promise<boolean> {
    if (this.#records === undefined) return true;
    const { merchantId, tokenDigest, version: recordVersion } = card;
    try {
      const vault = await this.#records.vaultOfStored(clock);
      const mask = await vault.use(
        card.ref,
        { merchantId, tokenDigest, recordVersion },
        async ({ pan }) => maskOf(pan),
      );
      return mask === card.maskedPan && vault.isGenuine(card);
    } catch (error) {
      if (error instanceof VaultError) return false;
      throw error;
    }
  }

  backUp(): void {
    this.#records?.backUp();
  }

  putBack(): void {
    this.#records?.putBack();
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
