import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { keyLength } from "../aes.ts";
import type { MerchantKey } from "../derived-envelope.ts";

/**
 * The keys that cards of format 2 are sealed under. `ready…` answers from memory and never waits;
 * undefined: call the other method, which may read the store.
 */
export interface CardKeys {
  /** The installation id, to which each card is bound. */
  readonly installation: string;
  /** The key that seals the merchant's new cards. */
  readyCurrent(merchantId: MerchantId): MerchantKey | undefined;
  /** The same; makes the merchant's first key if there is none. Rejects with KeyringError. */
  current(merchantId: MerchantId): Promise<MerchantKey>;
  /** The version of the merchant's key, to open a card. */
  ready(merchantId: MerchantId, version: number): MerchantKey | undefined;
  /** The same; undefined when there is no such key. Rejects with KeyringError. */
  find(merchantId: MerchantId, version: number): Promise<MerchantKey | undefined>;
}

/** HKDF-SHA-256 (RFC 5869) of a key, for the use that `label` names within an installation. */
export function derivedKey(key: KeyObject, installation: string, label: string): KeyObject {
  const info = `cofre derived 2\0${installation}\0${label}`;
  const derived = new Uint8Array(hkdfSync("sha256", key, new Uint8Array(0), info, keyLength));
  const secret = createSecretKey(derived);
  derived.fill(0);
  return secret;
}

/** Merchants' keys that are cached; others are derived again. */
const maxCachedKeys = 4_096;

/**
 * Keys of worlds, which have the lifetime of the process: derived from one random key, so that a
 * new world waits for nothing and stores nothing.
 */
export function createWorldCardKeys(installation: string, key: KeyObject): CardKeys {
  const root = derivedKey(key, installation, "merchants");
  const cached = new BoundedMap<MerchantId, MerchantKey>(maxCachedKeys);
  const keyOf = (merchantId: MerchantId): MerchantKey => {
    const known = cached.get(merchantId);
    if (known !== undefined) return known;
    const derived = createHmac("sha256", root).update(merchantId).digest();
    const made = { version: 1, key: createSecretKey(derived) };
    derived.fill(0);
    cached.set(merchantId, made);
    return made;
  };
  const find = (merchantId: MerchantId, version: number): MerchantKey | undefined =>
    version === 1 ? keyOf(merchantId) : undefined;
  return {
    installation,
    readyCurrent: keyOf,
    current: async (merchantId) => keyOf(merchantId),
    ready: find,
    find: async (merchantId, version) => find(merchantId, version),
  };
}
