import type { Config } from "../config/settings.ts";
import { StoreOpenError } from "../stores/embedded/open-error.ts";
import type { RunningStore } from "../stores/store.ts";
import { KeyringError } from "../vault/key-provider.ts";
import type { RowUpgrade } from "../vault/row-mac.ts";
import type { Vault } from "../vault/vault.ts";
import { databaseFileOf } from "./open-store.ts";

/**
 * Number of cards to try when a database of an earlier version does not identify its keys. A single
 * damaged card proves nothing.
 */
const sampledCards = 20;

/**
 * Rejects when the keys do not belong to the database: otherwise every stored card would fail
 * individually.
 */
export async function refuseOtherKeys(
  config: Config,
  store: RunningStore,
  vault: Vault,
  keySetId: string,
): Promise<void> {
  const { keys } = await store.identity.read();
  if (keys === keySetId || (keys === undefined && (await opensACard(store, vault)))) return;
  if (config.databaseUrl === undefined)
    throw new StoreOpenError("other_keys", databaseFileOf(config.dataDirectory));
  const { PostgresOpenError } = await import("../stores/postgres/open-error.ts");
  throw new PostgresOpenError("other_keys");
}

/** true also when there are no cards. */
async function opensACard(store: RunningStore, vault: Vault): Promise<boolean> {
  const cards = await store.cardsAfter(0, sampledCards);
  for (const { merchantId, tokenDigest } of cards) {
    const card = await store.cardByToken(merchantId, tokenDigest);
    if (card === undefined) continue;
    const opens = await vault
      .use(card.ref, { merchantId, tokenDigest, recordVersion: card.version }, async () => true)
      .catch(() => false);
    if (opens) return true;
  }
  return cards.length === 0;
}

/**
 * Rejects a database without MACs, which is from before the upgrade while the keys are from after
 * it, or was written by another program: otherwise every card and every integration key would be
 * refused individually. `hadEarlierRows`: the installation began with an earlier version.
 */
export async function refuseRowsWithoutMacs(
  store: RunningStore,
  upgrade: RowUpgrade,
  hadEarlierRows: boolean,
): Promise<void> {
  if (upgrade.earlier !== "none") return;
  const keys = await store.accountKeys();
  if (keys.length > 0 && keys.every(({ mac }) => mac === undefined)) {
    throw new KeyringError(
      !hadEarlierRows
        ? "no row of an integration key has a MAC: another program wrote them. Restore the database from its backup"
        : "the database is older than rows.sealed in the data directory, as a backup from before the upgrade is: its rows have no MACs. Remove rows.sealed to upgrade the database again; rows that other programs wrote into it are then accepted",
    );
  }
}
