import type { Initialized } from "../cli/command.ts";
import type { SecretOrigins } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { assert } from "../kernel/assert.ts";
import { WatchedClock } from "../kernel/watched-clock.ts";
import {
  ConcurrentFirstStart,
  newKey,
  prepareSandboxAccount,
} from "../operations/sandbox-account.ts";
import { refuseFaults } from "../production/check.ts";
import { type Foundation, openFoundation } from "./foundation.ts";
import { checkedUsers } from "./jobs.ts";
import { openUserService } from "./open-console-users.ts";
import { type Ports, systemPorts, type WatchedPorts } from "./ports.ts";
import { settingFindings } from "./production-gate.ts";

const log = { write: () => undefined };

/**
 * Makes an installation in production: its tables, keys, admins and account. Each step is skipped
 * when it was done before. `show` gets what is shown once: it returns before the account is
 * committed, so a run that is killed in between has shown keys that open nothing, and the next run
 * shows others. Rejects with an error whose message may be shown.
 */
export async function initialize(
  config: Config,
  { secrets, admins }: { readonly secrets: SecretOrigins; readonly admins: readonly string[] },
  show: (made: Initialized) => Promise<void>,
  given: Ports = systemPorts,
): Promise<void> {
  refuseFaults(await settingFindings(config, secrets, false));
  const clock = new WatchedClock(given.clock);
  const ports = { ...given, clock };
  const { foundation, parts: opened } = await openAlone(config, ports);
  await using _parts = opened;
  const { store, known, keys, incarnation } = foundation;
  const isNew = known.length === 0;
  const made = {
    integrationKey: newKey("live_ik_", ports.random),
    publicIntegrationKey: newKey("live_pk_", ports.random),
  };
  const openAccount = await prepareSandboxAccount(
    store,
    ports.random,
    clock.now(),
    keys.macs,
    isNew ? made : { integrationKey: undefined, publicIntegrationKey: undefined },
    config.installationName ?? config.environment,
  );
  const users = await openUserService(config, {
    store: checkedUsers(store, keys, log),
    sealing: keys.sealing,
    clock,
  });
  const invited = config.console === "login" ? await users.inviteAdmins(admins) : [];
  assert(keys.rootSet !== undefined, "keys in the database have a set of root keys");
  await show({
    installationId: keys.keySetId,
    rootKeysFingerprint: keys.rootSet.fingerprint,
    admins: invited,
    keys: isNew ? made : undefined,
  });
  await openAccount();
  if (isNew) await incarnation?.keeper.start(keys.keySetId, true);
}

/** The lease of a run that was killed ends within this time. */
const waitMs = 1_000;
const longestWaits = 60;

/** Waits for another run, or for the end of the lease of one that was killed. */
async function openAlone(
  config: Config,
  ports: WatchedPorts,
): Promise<{ readonly foundation: Foundation; readonly parts: AsyncDisposableStack }> {
  for (let waits = 0; ; waits += 1) {
    await using parts = new AsyncDisposableStack();
    try {
      const foundation = await openFoundation(config, log, ports, parts, true);
      return { foundation, parts: parts.move() };
    } catch (error) {
      if (!(error instanceof ConcurrentFirstStart) || waits >= longestWaits) throw error;
    }
    await ports.scheduler.sleep(waitMs);
  }
}
