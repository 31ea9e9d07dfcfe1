import type { KeyCheck } from "../key-acts/key-acts.ts";
import type { RotationState } from "../key-acts/rotation-state.ts";
import { cardsUnder, oldKeyNamed } from "../recovery/old-keys.ts";
import type { Foundation } from "./foundation.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";
import type { KeyJobs } from "./jobs.ts";
import { sharedKeyRecords } from "./key-record-storage.ts";

type RotationParts = Pick<Foundation, "store" | "keys" | "orderWatch">;

const rotationActs: readonly string[] = ["rotate", "reseal", "compromised", "destroy"];

/** Whether the stored keys allow an act. */
export function keyCheck({ store, keys: { keyring } }: RotationParts): KeyCheck {
  return async (act, { target = "", accept_outage: acceptsOutage }) => {
    if (!rotationActs.includes(act)) return undefined;
    if (keyring === undefined) return "no_records";
    if (act !== "destroy") return undefined;
    const record = await oldKeyNamed(target, await epochRecords(store), store.keys);
    if (record === undefined) return "no_such_key";
    if (acceptsOutage === "true") return undefined;
    const { merchant, version } = record;
    const users =
      merchant === undefined
        ? await store.keys.keysUnder(version)
        : await cardsUnder(store, merchant, version, 1);
    return users > 0 ? "in_use" : undefined;
  };
}

/** The progress of rotations; undefined where keys are files. */
export function rotationState(
  { store, keys: { keyring }, orderWatch }: RotationParts,
  jobs: KeyJobs | undefined,
): (() => Promise<RotationState>) | undefined {
  if (keyring === undefined || jobs === undefined) return undefined;
  return async () => {
    const epochs = await epochRecords(store);
    const current = epochs.find(({ state }) => state === "current")?.version ?? 0;
    let keysToWrap = 0;
    for (const { version } of epochs)
      if (version < current) keysToWrap += await store.keys.keysUnder(version);
    return {
      epoch: current,
      nextEpoch: epochs.find(({ state }) => state === "made")?.version,
      keysToWrap,
      cardsPerSecond: orderWatch.orders.state.rotation.cardsPerSecond,
      resealing: jobs.reseal.state,
    };
  };
}

/** Without opening them: while cards are stopped, no epoch key is open. */
async function epochRecords({ keys }: RotationParts["store"]): Promise<readonly KeyRecord[]> {
  return (await sharedKeyRecords(keys)).filter(({ purpose }) => purpose === "epoch");
}
