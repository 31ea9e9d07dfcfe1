import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { noRotation } from "../../server/src/key-acts/rotation-orders.ts";
import { instant } from "../../server/src/kernel/instant.ts";
import type { Clock } from "../../server/src/kernel/clock.ts";
import type { Scheduler } from "../../server/src/kernel/scheduler.ts";
import type { SlotAssignment } from "../../server/src/kernel/slot-assignment.ts";
import { KeyRotationJob } from "../../server/src/recovery/key-rotation-job.ts";
import { ResealJob } from "../../server/src/recovery/reseal-job.ts";
import { type Store, StoreError } from "../../server/src/stores/store.ts";
import { KeyringError } from "../../server/src/vault/key-provider.ts";
import type { Auditor } from "./auditor.ts";
import type { OpenedKeys } from "./record-keys.ts";

/** An act of an operator: a new epoch key, or a new key for each merchant. */
export type Rotation = "epoch" | "merchants";

interface KeyJobParts {
  readonly opened: OpenedKeys;
  readonly store: Pick<Store, "cardsOf" | "commit">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly slotAssignment: SlotAssignment;
  readonly auditor: Auditor;
}

/** Every key was made before: the latest time that a Date has. */
const ofAnyAge = instant(8_640_000_000_000_000);

/** The jobs check every few seconds, which would be most of a run's work. */
const pollFactor = 5;

/** Starts the jobs that complete rotations, as start/jobs.ts does. They end with their process. */
export function startKeyJobs({ opened, auditor, scheduler, ...parts }: KeyJobParts): void {
  const { records, vault } = opened;
  if (records === undefined) return;
  const { keyring, keys } = records;
  const shared = {
    ...parts,
    keys,
    scheduler: {
      sleep: (ms: number) => scheduler.sleep(ms),
      after: (ms: number, task: () => void) => scheduler.after(ms * pollFactor, task),
    },
  };
  new KeyRotationJob({
    ...shared,
    rotation: keyring.rotation,
    orders: () => noRotation,
    knownEverywhere: undefined,
    report: () => auditor.mark("keys are wrapped again"),
    refused: (key) => auditor.violation(`K4: no key is refused by a rotation: ${key}`),
    failed: () => undefined,
  }).start();
  new ResealJob({
    ...shared,
    vault,
    cardsPerSecond: () => noRotation.cardsPerSecond,
    isUrgent: () => false,
    forget: (merchantId) => keyring.forget(merchantId),
    report: ({ cards, unreadable }) => {
      if (cards > 0) auditor.mark("cards are sealed again");
      if (unreadable > 0) auditor.violation(`K4: no card is unreadable in a reseal: ${unreadable}`);
    },
  }).start();
}

/** The operator repeats an act that failed at another time. */
export async function rotate(
  { records }: OpenedKeys,
  act: Rotation,
  merchants: readonly MerchantId[],
  auditor: Auditor,
): Promise<void> {
  if (records === undefined) return;
  const { rotation } = records.keyring;
  try {
    if (act === "epoch") await rotation.makeEpoch();
    else
      for (const merchant of merchants)
        await rotation.replaceMerchantKey(merchant, ofAnyAge, "retired");
    auditor.mark(`a rotation of ${act} is begun`);
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof KeyringError))
      auditor.violation(`K4: a rotation fails with its own errors: ${String(error)}`);
    auditor.mark(`a rotation of ${act} fails`);
  }
}
