import { assert } from "../kernel/assert.ts";
import { hexOf, newMerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { Account } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { Change, KeyGrant } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import type { RowMacs } from "../vault/row-mac.ts";
import { digestOfKey, withKeyMac } from "./account-directory.ts";

export interface SandboxKeys {
  readonly integrationKey: string;
  readonly publicIntegrationKey: string;
}

/** Keys that the operator chose; undefined ones are generated at the first start. */
export type ChosenKeys = { readonly [Name in keyof SandboxKeys]: string | undefined };

/** Another process is already creating the keys of this empty database. */
export class ConcurrentFirstStart extends Error {
  override readonly name = "ConcurrentFirstStart";

  constructor() {
    super(
      "another process is making the keys and the first account of this empty database, or was killed over it some seconds ago. Start this one when that one listens, with its key files.",
    );
  }
}

/** A chosen key belongs to another account, or has other rights than requested (public, secret). */
export class KeyTaken extends Error {
  override readonly name = "KeyTaken";
}

/**
 * Ensures that a sandbox account exists and that the chosen keys open it; its earlier keys stay
 * valid. Nothing is written until the returned function is called; everything else that can fail
 * belongs before that call. The function resolves with the keys of a new account, which are not
 * stored and can be shown only once, or undefined.
 */
export async function prepareSandboxAccount(
  store: Store,
  random: Random,
  now: Instant,
  macs: Pick<RowMacs, "of" | "accepts">,
  chosen: ChosenKeys,
  name = "Sandbox",
): Promise<() => Promise<SandboxKeys | undefined>> {
  const [account] = await store.accounts();
  if (account === undefined) {
    const keys = {
      integrationKey: chosen.integrationKey ?? newKey("test_ik_", random),
      publicIntegrationKey: chosen.publicIntegrationKey ?? newKey("test_pk_", random),
    };
    const first: Account = {
      id: newMerchantId(random),
      version: 1,
      name,
      settings: defaultAccountSettings(),
    };
    const granted = [
      grant(keys.integrationKey, "secret"),
      grant(keys.publicIntegrationKey, "public"),
    ].map((key) => withKeyMac(macs, first.id, key));
    return async () => {
      await commit(store, accountChange(first, undefined, now, granted));
      return keys;
    };
  }
  const missing = await missingKeys(store, macs, account, chosen);
  return async () => {
    if (missing.length === 0) return undefined;
    const { outcome } = await store.commit(
      accountChange({ ...account, version: account.version + 1 }, account.version, now, missing),
    );
    if (outcome === "committed") return undefined;
    // Another process that started at the same moment may have stored the same keys first.
    const still = await missingKeys(store, macs, account, chosen);
    if (still.length > 0)
      throw new KeyTaken(
        "A chosen integration key has a row that belongs to no account of this data directory: it was altered, or its account is missing.",
      );
    return undefined;
  };
}

export type Granted = NonNullable<Change["account"]>["keys"][number];

export function grant(key: string, grants: KeyGrant): Granted {
  return { digest: digestOfKey(key), grants };
}

async function missingKeys(
  store: Store,
  macs: Pick<RowMacs, "of" | "accepts">,
  account: Account,
  { integrationKey, publicIntegrationKey }: ChosenKeys,
): Promise<readonly Granted[]> {
  return [
    ...(await missingKey(store, macs, account, integrationKey, "secret")),
    ...(await missingKey(store, macs, account, publicIntegrationKey, "public")),
  ];
}

async function missingKey(
  store: Store,
  macs: Pick<RowMacs, "of" | "accepts">,
  account: Account,
  key: string | undefined,
  grants: KeyGrant,
): Promise<readonly Granted[]> {
  if (key === undefined) return [];
  const holder = await store.accountByKey(digestOfKey(key));
  if (holder === undefined) return [withKeyMac(macs, account.id, grant(key, grants))];
  if (
    !macs.accepts("account_key", [digestOfKey(key), holder.account.id, holder.grants], holder.mac)
  ) {
    throw new KeyTaken(
      `The row of the ${grants} integration key that was chosen was written without the keys of this data directory.`,
    );
  }
  if (holder.account.id !== account.id || holder.grants !== grants) {
    throw new KeyTaken(
      `The ${grants} integration key that was chosen is in use for something else in this data directory.`,
    );
  }
  return [];
}

/** The change that writes an account's next version. */
export function accountChange(
  next: Account,
  replaces: number | undefined,
  at: Instant,
  keys: readonly Granted[],
): Change {
  return {
    merchantId: next.id,
    at,
    account: { next, replaces, keys },
    facts: [],
    entries: [],
    notifications: [],
  };
}

async function commit(store: Store, change: Change): Promise<void> {
  const { outcome } = await store.commit(change);
  assert(outcome === "committed", "no other writer commits while the server starts");
}

/** 128 random bits, with the prefix that recent keys of the interface have (1.6). */
export function newKey(
  prefix: "test_ik_" | "test_pk_" | "live_ik_" | "live_pk_",
  random: Random,
): string {
  return prefix + hexOf(random.bytes(16));
}
