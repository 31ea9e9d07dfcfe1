import type { Config } from "../config/settings.ts";
import { systemElapsed } from "../kernel/system-elapsed.ts";
import { RootKeyReports } from "../recovery/root-key-reports.ts";
import type { Log } from "../logging/log-event.ts";
import type { RunningStore } from "../stores/store.ts";
import { type RootMoveReport, RootMoves } from "../vault/records/root-moves.ts";
import type { ActPerformers } from "../key-acts/key-acts.ts";
import { startJobs } from "./jobs.ts";
import type { Keys } from "./keys.ts";
import type { WatchedPorts } from "./ports.ts";

/**
 * Adds root keys and drops them; undefined where keys are files. In a store that several nodes
 * share, this node reports which root keys it can use.
 */
export async function openRootMoves(
  { rootKeysFingerprint: pinned = [] }: Config,
  store: RunningStore,
  { keyring, rootKeyIds: roots }: Keys,
  node: string,
  { clock, scheduler }: WatchedPorts,
  parts: AsyncDisposableStack,
): Promise<RootMoves | undefined> {
  if (keyring === undefined) return undefined;
  const own = { keys: store.keys, keyring, roots, node };
  const reports = new RootKeyReports({ ...own, scheduler, elapsedMs: systemElapsed });
  if (store.keys.noteRootKeys !== undefined) await startJobs([reports], parts);
  const nodesWithout = (root: string) => reports.nodesWithout(root);
  return new RootMoves({ keyring, clock, pinned, nodesWithout });
}

/** What the acts upon root keys do. */
export function rootActs(moves: RootMoves | undefined, log: Log): ActPerformers {
  const logged = async (work: Promise<RootMoveReport> | undefined) => {
    const report = await work;
    if (report === undefined)
      return {
        state: "refused",
        waits: "this installation keeps its keys in files, under one root key",
      };
    const { state, version, roots, fingerprint, recovery: recoveryKey } = report;
    if (state === "changed")
      log.write({ event: "root_keys_changed", fingerprint, version, roots, recoveryKey });
    return { ...report };
  };
  return {
    "add-root": ({ root = "" }) => logged(moves?.add(root)),
    "move-root": ({ root = "", now }) => logged(moves?.move(root, now === "true")),
  };
}
