import type { KeyObject } from "node:crypto";
import type { MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import { cardFields } from "./card-row.ts";
import type { Card } from "./card.ts";
import {
  type MerchantKey,
  merchantKeyVersionOf,
  openDerived,
  sealDerived,
} from "./derived-envelope.ts";
import { KeyringError } from "./key-provider.ts";
import type { CardKeys } from "./records/card-keys.ts";
import type { RowMacs } from "./row-mac.ts";
import type { CardRef } from "./stored-card.ts";
import { tokenDigestKeys } from "./token-digest-keys.ts";
import { keyedDigest, unkeyedDigest } from "./token.ts";
import { type CardOwner, type Vault, VaultError } from "./vault.ts";

interface RecordVaultOptions {
  readonly keys: CardKeys;
  /** From it the keys of merchants' token digests are derived. */
  readonly tokens: KeyObject;
  readonly macs: RowMacs;
  readonly random: Random;
}

/**
 * A vault within this process that seals each card under its merchant's key (format 2). Waits for
 * the store only at a merchant's first card and when a merchant's key is not cached. Stores no
 * fingerprints, because nothing reads them.
 */
export function createRecordVault({ keys, tokens, macs, random }: RecordVaultOptions): Vault {
  const digestKey = tokenDigestKeys(tokens);
  const { installation } = keys;
  return {
    async put(card: Card, owner: CardOwner): Promise<CardRef> {
      const { merchantId } = owner;
      const key = keys.readyCurrent(merchantId) ?? (await keys.current(merchantId));
      return sealDerived(card, { installation, owner }, key, random);
    },

    async prepare(merchantId: MerchantId): Promise<void> {
      if (keys.readyCurrent(merchantId) === undefined) await keys.current(merchantId);
    },

    async use<T>(ref: CardRef, owner: CardOwner, call: (card: Card) => Promise<T>): Promise<T> {
      const { merchantId } = owner;
      const version = merchantKeyVersionOf(ref);
      if (version === undefined) throw new VaultError();
      const key = keys.ready(merchantId, version) ?? (await found(keys, merchantId, version));
      if (key === undefined) throw new VaultError();
      const card = openDerived(ref, { installation, owner }, key);
      try {
        return await call(card);
      } finally {
        card.pan.wipe();
      }
    },

    async fingerprint() {
      return new Uint8Array(0);
    },

    tokenDigests(merchantId: MerchantId, token: string) {
      return [keyedDigest(digestKey(merchantId), unkeyedDigest(token))];
    },

    withMac(card) {
      return { ...card, mac: macs.of("card", cardFields(card)) };
    },

    isGenuine(card) {
      return macs.accepts("card", cardFields(card), card.mac);
    },
  };
}

/** Undefined also when the merchant's record does not open: one failure for all causes. */
async function found(
  keys: CardKeys,
  merchantId: MerchantId,
  version: number,
): Promise<MerchantKey | undefined> {
  try {
    return await keys.find(merchantId, version);
  } catch (error) {
    if (error instanceof KeyringError) return undefined;
    throw error;
  }
}
