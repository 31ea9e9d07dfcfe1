import { KeyringError } from "./key-provider.ts";
import { type Vault, VaultError } from "./vault.ts";

/** Card operations are stopped: no card was sealed or opened. */
export class CardsStopped extends Error {
  override readonly name = "CardsStopped";

  constructor() {
    super("card operations are stopped");
  }
}

/** The same vault, which seals and opens no card while `isStopped`. */
export function stoppableVault(vault: Vault, isStopped: () => boolean): Vault {
  /** Work that had begun fails when its keys are dropped. */
  const refused = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isStopped()) throw new CardsStopped();
    try {
      return await work();
    } catch (error) {
      const lacksKey = error instanceof VaultError || error instanceof KeyringError;
      throw lacksKey && isStopped() ? new CardsStopped() : error;
    }
  };
  return {
    put: (card, owner) => refused(() => vault.put(card, owner)),
    prepare: (merchantId) => refused(() => vault.prepare(merchantId)),
    use: (ref, owner, call) => refused(() => vault.use(ref, owner, call)),
    fingerprint: (card, merchantId) => vault.fingerprint(card, merchantId),
    tokenDigests: (merchantId, token) => vault.tokenDigests(merchantId, token),
    withMac: (card) => vault.withMac(card),
    isGenuine: (card) => vault.isGenuine(card),
  };
}
