import { createHmac } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import { cardFields } from "./card-row.ts";
import type { Card } from "./card.ts";
import { keyVersionOf, openCard, resealCard, sealCard, type KekLookup } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";
import { noEarlierRows, RowMacs, type RowUpgrade } from "./row-mac.ts";
import type { StoredCard } from "./stored-card.ts";
import { tokenDigestKeys } from "./token-digest-keys.ts";
import { keyedDigest, unkeyedDigest } from "./token.ts";
import type { CardRef } from "./stored-card.ts";
import type { CardOwner, Vault } from "./vault.ts";

interface LocalVaultOptions {
  readonly keyring: Keyring;
  readonly environment: string;
  readonly random: Random;
  /** Undefined: there are no rows of earlier versions. */
  readonly upgrade?: Readonly<RowUpgrade>;
}

/**
 * A vault within this process: seals and opens with the keyring's keys, without waiting for any.
 */
export interface LocalVault extends Vault {
  /** Whether the card is sealed under a retired key version, so that it should be sealed again. */
  isOutdated(ref: CardRef): boolean;
  /**
   * Seals the card as the next version of its record under the current key version. Throws
   * VaultError if it does not open.
   */
  reseal(
    ref: CardRef,
    owner: CardOwner,
  ): Promise<{ readonly ref: CardRef; readonly owner: CardOwner }>;
  /**
   * Converts a card of an earlier version to the next version of its record, with the keyed digest
   * and a MAC. Throws VaultError if it does not open.
   */
  adopt(card: StoredCard): Promise<StoredCard>;
}

export function createLocalVault({
  keyring,
  environment,
  random,
  upgrade = noEarlierRows,
}: LocalVaultOptions): LocalVault {
  assert(keyring.environment === environment, "a vault and its keys are of one environment");
  const macs = new RowMacs((label) => keyring.derivedKey(label), upgrade);
  const keks: KekLookup = (id) => keyring.kek(id);
  const digestKey = tokenDigestKeys(keyring.derivedKey("token digest 1"));
  /** Another process may have started a key version since the keys were read. */
  const hasUnknownKeyVersion = (ref: CardRef): boolean => {
    const id = keyVersionOf(ref);
    return id !== undefined && id > keyring.currentKeyVersion;
  };
  const macOf = (card: Omit<StoredCard, "mac">): Uint8Array => macs.of("card", cardFields(card));
  const vault: LocalVault = {
    async put(card: Card, owner: CardOwner): Promise<CardRef> {
      const kek = keyring.reservedWrap() ?? (await keyring.nextWrap());
      return sealCard(card, { installation: environment, owner }, kek, random);
    },

    /** An epoch's keys are made before they are needed. */
    async prepare() {},

    async use<T>(ref: CardRef, owner: CardOwner, call: (card: Card) => Promise<T>): Promise<T> {
      if (hasUnknownKeyVersion(ref)) await keyring.refresh();
      const card = openCard(ref, { installation: environment, owner }, keks);
      try {
        return await call(card);
      } finally {
        card.pan.wipe();
      }
    },

    async fingerprint(card: Card, merchantId: MerchantId): Promise<Uint8Array> {
      return createHmac("sha256", keyring.fingerprintKey(merchantId))
        .update(card.pan.reveal())
        .digest();
    },

    tokenDigests(merchantId: MerchantId, token: string) {
      const unkeyed = unkeyedDigest(token);
      const keyed = keyedDigest(digestKey(merchantId), unkeyed);
      if (upgrade.earlier === "none") return [keyed];
      return upgrade.earlier === "written" ? [unkeyed, keyed] : [keyed, unkeyed];
    },

    withMac(card) {
      return { ...card, mac: upgrade.earlier === "written" ? undefined : macOf(card) };
    },

    isGenuine(card) {
      return macs.accepts("card", cardFields(card), card.mac);
    },

    isOutdated(ref: CardRef): boolean {
      return keyVersionOf(ref) !== keyring.currentKeyVersion;
    },

    async reseal(ref: CardRef, owner: CardOwner) {
      if (hasUnknownKeyVersion(ref)) await keyring.refresh();
      const kek = keyring.reservedWrap() ?? (await keyring.nextWrap());
      return resealCard(ref, { installation: environment, owner }, keks, kek, random);
    },

    async adopt(card: StoredCard): Promise<StoredCard> {
      const { merchantId, tokenDigest, ref, version } = card;
      const digest = keyedDigest(digestKey(merchantId), tokenDigest);
      const recordVersion = version + 1;
      const sealed = await vault.use(
        ref,
        { merchantId, tokenDigest, recordVersion: version },
        (opened) => vault.put(opened, { merchantId, tokenDigest: digest, recordVersion }),
      );
      const next = { ...card, tokenDigest: digest, version: recordVersion, ref: sealed };
      return { ...next, mac: macOf(next) };
    },
  };
  return vault;
}
