import type { Config } from "../config/settings.ts";
import { makeRsaPair } from "../delivery/notification-keys.ts";
import { hexOf } from "../kernel/ids.ts";
import type { RootState } from "../key-acts/key-order.ts";
import { systemElapsed } from "../kernel/system-elapsed.ts";
import type { Log } from "../logging/log-event.ts";
import type { Account } from "../merchant/account.ts";
import { ConcurrentFirstStart } from "../operations/sandbox-account.ts";
import { KeyWatch } from "../recovery/key-watch.ts";
import { SlotLeaseKeeper } from "../recovery/slot-lease-keeper.ts";
import { StoreOpenError } from "../stores/embedded/open-error.ts";
import type { RunningStore } from "../stores/store.ts";
import type { RootMoves } from "../vault/records/root-moves.ts";
import type { RecoveryWraps } from "../vault/recovery/recovery-wraps.ts";
import { findingsOf, refuseFaults } from "../production/check.ts";
import { rootSetChecks } from "../production/installation-checks.ts";
import { installationFindings, rootKeyFindings } from "./production-gate.ts";
import { refuseOtherKeys, refuseRowsWithoutMacs } from "./key-checks.ts";
import { startJobs } from "./jobs.ts";
import { KeyOrderWatch } from "./key-order-watch.ts";
import { slotEvent } from "./log-events.ts";
import { type Incarnation, incarnationOf } from "./open-incarnation.ts";
import type { Keys, StartedRootSet } from "./keys.ts";
import { hasNoKeys, openKeys } from "./open-keys.ts";
import { openRootMoves } from "./open-root-moves.ts";
import { databaseFileOf, openStore } from "./open-store.ts";
import { ownRandom, type WatchedPorts } from "./ports.ts";
import { RootKeyWatch } from "./root-key-watch.ts";

/** The parts on which the rest of a server is built. */
export interface Foundation {
  readonly store: RunningStore;
  /** The slots assigned to this node. */
  readonly slotAssignment: SlotLeaseKeeper;
  /** Accounts in the store at startup. */
  readonly known: readonly Account[];
  readonly keys: Keys;
  readonly orderWatch: KeyOrderWatch;
  readonly incarnation: Incarnation | undefined;
  /** Follows the keys that other nodes make; undefined if this process is the only one. */
  readonly keyWatch: KeyWatch | undefined;
  /** Changes the root keys; undefined in an installation that keeps its keys in files. */
  readonly rootMoves: RootMoves | undefined;
}

/**
 * Opens the store and the keys, and checks that they belong together. Rejects when they do not.
 * `mayBegin`: an empty database becomes an installation; in production only `cofre init` does that.
 */
export async function openFoundation(
  config: Config,
  log: Log,
  ports: WatchedPorts,
  parts: AsyncDisposableStack,
  mayBegin = config.environment === "sandbox",
): Promise<Foundation> {
  const { clock, scheduler } = ports;
  if (config.environment === "production") refuseFaults(await rootKeyFindings(config, ports));
  // The slowest part of a first start, generated while the store is opened, and discarded when keys
  // exist.
  const pair = (await hasNoKeys(config)) ? makeRsaPair() : undefined;
  pair?.catch(() => undefined);
  const store = await openStore(config, log, ports, parts);
  // Started before any job and stopped after all of them.
  const node = hexOf(ownRandom.bytes(8));
  const slotAssignment = new SlotLeaseKeeper({
    store,
    clock,
    node,
    scheduler,
    elapsedMs: systemElapsed,
    report: (event) => log.write(slotEvent(event)),
  });
  await slotAssignment.start();
  parts.defer(() => slotAssignment.stop());

  const known = await store.accounts();
  const isNew = known.length === 0;
  if (!mayBegin) refuseFaults(await installationFindings(config, store));
  // Two nodes that create keys at the same time would each seal cards that the other cannot open.
  if (isNew && !slotAssignment.isAlone) throw new ConcurrentFirstStart();
  // Keys are created once, before anything is sealed. Lost keys must be restored from a backup: new
  // ones never replace them.
  const incarnation = incarnationOf(config, store, ports, log);
  const hadKeys = pair === undefined || config.rootKey.kind !== "file";
  if (isNew && hadKeys && incarnation?.isNoted === true)
    throw new StoreOpenError("missing", databaseFileOf(config.dataDirectory));
  const keys = await openKeys(config, ports, store, isNew, pair);
  const { vault, upgrade, keySetId, remoteRoot: provider, recovery } = keys;
  if (keys.rootSet !== undefined) log.write(rootKeysEvent(keys.rootSet));
  if (config.environment === "production")
    refuseFaults(findingsOf(rootSetChecks, { config, roots: keys.rootSet?.roots.length ?? 1 }));
  if (recovery !== undefined) reportRecovery(log, recovery);
  if (keys.isRootFileMissing)
    log.write({ event: "root_key_unusable", keyId: "file", failure: "unavailable" });
  const rootKeys = keys.nextRoot === undefined ? 1 : 2;
  const following = { store, keys, clock, scheduler, log, slotAssignment, node, rootKeys };
  const orderWatch = await KeyOrderWatch.open(following);
  for (const each of [provider, keys.nextRoot]) {
    if (each === undefined) continue;
    parts.defer(() => each.close?.());
    const confirmed = (state: RootState) => orderWatch.rootConfirmed(each.keyId, state);
    const { elapsedMs } = ports;
    const watch = new RootKeyWatch({ provider: each, scheduler, log, elapsedMs, confirmed });
    await startJobs([watch], parts);
  }
  if (!isNew) await refuseOtherKeys(config, store, vault, keySetId);
  // A node of the previous version may return before the upgrade begins.
  if (upgrade.earlier !== "none" && config.databaseUrl !== undefined) upgrade.earlier = "written";
  await refuseRowsWithoutMacs(store, upgrade, keys.earlierRows !== undefined);
  if (!isNew) await incarnation?.keeper.start(keySetId, false);
  parts.defer(() => incarnation?.keeper.stop());
  await startJobs([orderWatch], parts);
  const stoppable = orderWatch.stoppable(keys);
  const keyWatch = keyWatchOf(store, keys, node, ports);
  if (keyWatch !== undefined) await startJobs([keyWatch], parts);
  const rootMoves = await openRootMoves(config, store, keys, node, ports, parts);
  const started = { store, slotAssignment, known, keys: stoppable, orderWatch, incarnation };
  return { ...started, keyWatch, rootMoves };
}

function keyWatchOf(
  store: RunningStore,
  { keyring }: Keys,
  node: string,
  { scheduler }: WatchedPorts,
): KeyWatch | undefined {
  if (keyring === undefined || store.keys.noteKeys === undefined) return undefined;
  const watch = new KeyWatch({
    keys: store.keys,
    log: store.users,
    keyring: {
      epochs: () => keyring.rotation.epochs(),
      forget: (merchantId) => keyring.forget(merchantId),
      forgetAll: () => keyring.forgetAll(),
    },
    node,
    scheduler,
    elapsedMs: systemElapsed,
  });
  keyring.sealWhile(() => watch.isFresh);
  return watch;
}

function rootKeysEvent({ version, roots, recovery, fingerprint, isChanged }: StartedRootSet) {
  return {
    event: isChanged ? ("root_keys_changed" as const) : ("root_keys" as const),
    fingerprint,
    version,
    roots: roots.join(", "),
    recoveryKey: recovery ?? "none",
  };
}

function reportRecovery(log: Log, { key, made, altered }: RecoveryWraps): void {
  const recoveryKey = key.fingerprint;
  log.write({ event: "recovery_key", recoveryKey, made });
  if (altered > 0) log.write({ event: "recovery_wraps_altered", recoveryKey, altered });
}
