import type { Vault } from "./vault.ts";

/** Card operations are stopped: no card was sealed or opened. */
export class CardsStopped extends Error {
  override readonly name = "CardsStopped";

  constructor() {
    super("card operations are stopped");
  }
}

/** The same vault, which seals and opens no card while `isStopped`. */
export function stoppableVault(vault: Vault, isStopped: () => boolean): Vault {
  const refuse = (): void => {
    if (isStopped()) throw new CardsStopped();
  };
  return {
    async put(card, owner) {
      refuse();
      return await vault.put(card, owner);
    },
    async prepare(merchantId) {
      refuse();
      await vault.prepare(merchantId);
    },
    async use(ref, owner, call) {
      refuse();
      return await vault.use(ref, owner, call);
    },
    fingerprint: (card, merchantId) => vault.fingerprint(card, merchantId),
    tokenDigests: (merchantId, token) => vault.tokenDigests(merchantId, token),
    withMac: (card) => vault.withMac(card),
    isGenuine: (card) => vault.isGenuine(card),
  };
}
