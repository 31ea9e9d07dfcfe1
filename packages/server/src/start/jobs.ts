import type { Config } from "../config/settings.ts";
import { isCompromised } from "../key-acts/rotation-orders.ts";
import type { ReadReport } from "../kernel/job-reads.ts";
import type { Log } from "../logging/log-event.ts";
import { withKeyMac } from "../operations/account-directory.ts";
import type { SlotAssignment } from "../kernel/slot-assignment.ts";
import type { KeyWatch } from "../recovery/key-watch.ts";
import { KeyRotationJob } from "../recovery/key-rotation-job.ts";
import { ResealJob } from "../recovery/reseal-job.ts";
import { RowUpgradeJob } from "../recovery/row-upgrade-job.ts";
import { ClockSetBackJob } from "../recovery/clock-set-back-job.ts";
import { CheckedUsers } from "../sign-in/checked-users.ts";
import type { RunningStore } from "../stores/store.ts";
import { lastUnkeyedEntryOf } from "../vault/row-mac.ts";
import { noPayment, unreadableCards } from "./log-events.ts";
import type { Incarnation } from "./open-incarnation.ts";
import type { KeyOrderWatch } from "./key-order-watch.ts";
import type { EarlierRowKeys, Keys } from "./keys.ts";
import type { WatchedPorts } from "./ports.ts";

/** Background work of a server. */
interface Job {
  start(): void | Promise<void>;
  stop(): void | Promise<void>;
}

/** Starts the jobs in this order; they stop in reverse order. */
export async function startJobs(jobs: readonly Job[], parts: AsyncDisposableStack): Promise<void> {
  for (const job of jobs) {
    const started = job.start();
    if (started !== undefined) await started;
    parts.defer(() => job.stop());
  }
}

interface ClockSetBackDependencies {
  readonly store: RunningStore;
  readonly incarnation: Incarnation | undefined;
  /** Counts failed reads. */
  readonly reads: ReadReport;
}

export function clockSetBackJob(
  { store, incarnation, reads }: ClockSetBackDependencies,
  { clock, scheduler }: WatchedPorts,
  log: Log,
): ClockSetBackJob {
  return new ClockSetBackJob({
    store,
    clock,
    scheduler,
    seenAt: incarnation?.notedAt,
    report: (found) => log.write({ event: "clock_set_back", ...found }),
    reads,
  });
}

/**
 * The store of console users, which refuses rows that were not written with the keys of this
 * installation.
 */
export function checkedUsers(
  store: RunningStore,
  { macs, upgrade }: Pick<Keys, "macs" | "upgrade">,
  log: Log,
): CheckedUsers {
  return new CheckedUsers({
    store: store.users,
    macs,
    lastUnkeyedEntry: () => lastUnkeyedEntryOf(upgrade),
    refused: (kind, id) => log.write({ event: "row_refused", kind, id }),
  });
}

interface KeyJobDependencies {
  readonly store: RunningStore;
  readonly keys: Pick<Keys, "keyring" | "vault">;
  readonly slotAssignment: SlotAssignment;
  readonly keyWatch: KeyWatch | undefined;
  readonly orderWatch: Pick<KeyOrderWatch, "orders">;
  /** Counts failed reads. */
  readonly reads: ReadReport;
}

export interface KeyJobs {
  readonly rotation: KeyRotationJob;
  readonly reseal: ResealJob;
}

/** Undefined in an installation that keeps its keys in files. */
export function keyJobs(
  { store, keys, slotAssignment, keyWatch, orderWatch, reads }: KeyJobDependencies,
  { clock, scheduler }: WatchedPorts,
  log: Log,
): KeyJobs | undefined {
  const { keyring, vault } = keys;
  if (keyring === undefined) return undefined;
  const orders = () => orderWatch.orders.state.rotation;
  const knownEverywhere = keyWatch === undefined ? undefined : () => keyWatch.everywhere;
  const shared = { store, keys: store.keys, clock, scheduler, slotAssignment, reads };
  return {
    rotation: new KeyRotationJob({
      ...shared,
      rotation: keyring.rotation,
      knownEverywhere,
      orders,
      report: (progress) => log.write({ event: "keys_rotated", ...progress }),
      refused: (key) => log.write({ event: "key_not_rotated", key }),
      failed: (reason) => log.write({ event: "epoch_not_made", reason }),
    }),
    reseal: new ResealJob({
      ...shared,
      vault,
      cardsPerSecond: () => orders().cardsPerSecond,
      isUrgent: (record) => isCompromised(orders(), record),
      forget: (merchantId) => keyring.forget(merchantId),
      report: ({ merchantId, ...progress }) =>
        log.write({ event: "cards_resealed", merchant: merchantId, ...progress }),
    }),
  };
}

interface RowUpgradeDependencies {
  readonly store: RunningStore;
  readonly keys: Keys & { readonly earlierRows: EarlierRowKeys };
  readonly users: CheckedUsers;
  /** Counts failed reads. */
  readonly reads: ReadReport;
}

/**
 * Wait after the last node of an earlier version has ended; other nodes notice within seconds. In
 * milliseconds.
 */
const settleMs = 30_000;

/** `keys.earlierRows`: only an installation of an earlier version has rows to convert. */
export function rowUpgradeJob(
  { databaseUrl }: Config,
  { store, keys, users, reads }: RowUpgradeDependencies,
  { clock, scheduler }: WatchedPorts,
  log: Log,
): RowUpgradeJob {
  const { macs, upgrade, earlierRows } = keys;
  return new RowUpgradeJob({
    store,
    vault: earlierRows.vault,
    withKeyMac: (key) => withKeyMac(macs, key.merchantId, key),
    upgrade,
    users,
    complete: earlierRows.complete,
    clock,
    scheduler,
    settleMs: databaseUrl === undefined ? 0 : settleMs,
    report: (progress) => log.write({ event: "rows_upgraded", ...progress }),
    reads,
    unreadable: (cards) =>
      log.write({
        event: "alarm",
        kind: "cards_not_readable",
        what: unreadableCards(cards),
        where: undefined,
        ...noPayment,
      }),
  });
}
