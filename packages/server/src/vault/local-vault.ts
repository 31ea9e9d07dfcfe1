import { createHmac } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import type { Card } from "./card.ts";
import { epochOf, openCard, resealCard, sealCard, type EpochLookup } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";
import type { CardOwner, CardRef, Vault } from "./vault.ts";

interface LocalVaultOptions {
  readonly keyring: Keyring;
  readonly environment: string;
  readonly random: Random;
}

/** A vault within this process: seals and opens with the keys of the keyring, none of which it waits for. */
export interface LocalVault extends Vault {
  /** Whether the card is sealed under an epoch that only opens, so that it should be sealed again. */
  isOutdated(ref: CardRef): boolean;
  /** The card as the next version of its record under the current epoch. Throws VaultError if it does not open. */
  reseal(ref: CardRef, owner: CardOwner): Promise<{ readonly ref: CardRef; readonly owner: CardOwner }>;
}

export function createLocalVault({ keyring, environment, random }: LocalVaultOptions): LocalVault {
  assert(keyring.environment === environment, "a vault and its keys are of one environment");
  const epochs: EpochLookup = (id) => keyring.epochKey(id);
  /** Another process may have begun an epoch since the keys were read. */
  const knowEpochOf = async (ref: CardRef): Promise<void> => {
    const id = epochOf(ref);
    if (id !== undefined && id > keyring.currentEpoch) await keyring.refresh();
  };
  return {
    async put(card: Card, owner: CardOwner): Promise<CardRef> {
      const epoch = keyring.wrapReady() ?? (await keyring.nextWrap());
      return sealCard(card, { environment, owner }, epoch, random);
    },

    async use<T>(ref: CardRef, owner: CardOwner, call: (card: Card) => Promise<T>): Promise<T> {
      await knowEpochOf(ref);
      const card = openCard(ref, { environment, owner }, epochs);
      try {
        return await call(card);
      } finally {
        card.pan.wipe();
      }
    },

    async fingerprint(card: Card, merchantId: MerchantId): Promise<Uint8Array> {
      return createHmac("sha256", keyring.fingerprintKey(merchantId)).update(card.pan.reveal()).digest();
    },

    isOutdated(ref: CardRef): boolean {
      return epochOf(ref) !== keyring.currentEpoch;
    },

    async reseal(ref: CardRef, owner: CardOwner) {
      await knowEpochOf(ref);
      const epoch = keyring.wrapReady() ?? (await keyring.nextWrap());
      return resealCard(ref, { environment, owner }, epochs, epoch, random);
    },
  };
}
