import type { Config } from "../config/settings.ts";
import { connectors as connectorKinds } from "../connectors/index.ts";
import { createEgress } from "../delivery/egress.ts";
import { type NotificationKeys, worldNotificationKeys } from "../delivery/notification-keys.ts";
import { createSigner } from "../delivery/signature.ts";
import type { Instruct } from "../http/admin/simulator-endpoint.ts";
import { FaultBoard } from "../http/faults/fault-board.ts";
import { Faults } from "../http/faults/faults.ts";
import { attemptFactsOf } from "../http/recording/attempt-facts.ts";
import {
  createInstallation,
  type Installation,
  type InstallationRecording,
} from "../installation.ts";
import { day } from "../kernel/instant.ts";
import { systemElapsed } from "../kernel/system-elapsed.ts";
import { Pace } from "../kernel/pace.ts";
import type { Log } from "../logging/log-event.ts";
import { watchFigures } from "../recovery/database-figures.ts";
import { Installations } from "../sandbox/installations.ts";
import { recordingConnectors } from "../sandbox/recording/recorded-connector.ts";
import { Recorder } from "../sandbox/recording/recorder.ts";
import { Worlds } from "../sandbox/worlds.ts";
import type { CheckedPeople } from "../sign-in/checked-users.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { DatabaseFigures } from "../stores/store.ts";
import { isTestNumber } from "../vault/test-numbers.ts";
import { refusal } from "../wire/errors/refusal.ts";
import { type EgressPolicies, egressPolicies } from "./address-policies.ts";
import type { Foundation } from "./foundation.ts";
import { checkedUsers, rowUpgradeJob, setBackJob, startJobs } from "./jobs.ts";
import { droppedValues, type OpenConnectors, openConnectors } from "./open-connectors.ts";
import { ownRandom, type WatchedPorts } from "./ports.ts";

/** The payment services of a server, its own and those of worlds, and the sandbox's extras. */
export interface Services {
  readonly own: Installation;
  readonly worlds: Worlds;
  readonly installations: Installations;
  readonly policies: EgressPolicies;
  readonly connectorNames: readonly string[];
  /** Names of the simulated acquirers among them. */
  readonly simulatorNames: readonly string[];
  readonly instruct: Instruct;
  readonly worldKeys: NotificationKeys;
  readonly faultBoard: FaultBoard;
  /** Undefined in production. */
  readonly faults: Faults | undefined;
  /** The request log; undefined in production. */
  readonly recorder: Recorder | undefined;
  /**
   * Where requests, calls and attempts are recorded; undefined with COFRE_REQUEST_LOG=false: timelines
   * then show only facts and notifications.
   */
  readonly recording: Recorder | undefined;
  /** The store of console users, which verifies its rows. */
  readonly users: CheckedPeople;
}

/**
 * Payments that recovery starts, or pages that it reads, in each period: at most 800 a second. Each
 * takes a node about as long as a charge, and thousands may be due at one moment; processing them
 * in one batch would delay requests.
 */
const recoveryBegins = 4;
const recoveryPeriodMs = 5;

/** Opens the acquirers, creates the services and starts the jobs. */
export async function openServices(
  config: Config,
  { store, share, known, keys, incarnation }: Foundation,
  log: Log,
  ports: WatchedPorts,
  parts: AsyncDisposableStack,
): Promise<Services> {
  const { clock, random, scheduler } = ports;
  const { vault, macs, notificationKeys } = keys;
  const isSandbox = config.environment === "sandbox";
  const reportDropped = droppedValues(log, clock);
  const { connectors, simulators } = await openConnectors(config, ports, log, reportDropped, parts);
  const policies = egressPolicies(config);
  const egress = createEgress({ policy: policies.own, scheduler });
  parts.defer(() => egress.close());
  const worldEgress =
    policies.worlds === policies.own
      ? egress
      : createEgress({ policy: policies.worlds, scheduler });
  parts.defer(() => worldEgress.close());
  const recorder = isSandbox ? new Recorder({ elapsedMs: systemElapsed }) : undefined;
  const recording = config.requestLog === "true" ? recorder : undefined;
  const shared = {
    acquirerTimeoutMs: config.acquirerTimeoutMs,
    periods: {
      requestsMs: config.keepKeysDays * day,
      deliveriesMs: config.keepDeliveriesDays * day,
    },
    elapsedMs: systemElapsed,
    acceptsPan: isSandbox && config.sandboxCards === "test" ? isTestNumber : undefined,
    log,
    recording: recording === undefined ? undefined : recordingInto(recording),
    clock,
    scheduler,
  };
  const own = createInstallation({
    ...shared,
    sender: egress,
    sign: createSigner(notificationKeys),
    name: notificationKeys.certificate.fingerprint,
    vault,
    macs,
    store,
    connectors,
    random,
    deliveryRandom: ownRandom,
    secretRandom: random,
    share,
    recoveryPace: new Pace(scheduler, recoveryBegins, recoveryPeriodMs),
    epoch: () => incarnation?.keeper.epoch ?? 0,
    stampedAhead: (merchantId) => setBack.stampedAhead(merchantId),
  });
  const setBack = setBackJob(
    { store, incarnation, reads: own.readsOf("clock_set_back") },
    ports,
    log,
  );
  const users = checkedUsers(store, keys, log);
  const rowUpgrade = rowUpgradeJob(
    config,
    { store, keys, users, reads: own.readsOf("row_upgrade") },
    ports,
    log,
  );
  await startJobs(
    [setBack, own.cardExpiry, own.retention, rowUpgrade, own.dispatcher, own.recovery],
    parts,
  );
  const figures = store.figures?.bind(store);
  if (figures !== undefined) {
    const report = (found: DatabaseFigures): void =>
      log.write({ event: "database_figures", ...found });
    parts.defer(
      watchFigures({
        figures,
        scheduler,
        report,
        warn: (ages) => log.write({ event: "database_ages", ...ages }),
      }),
    );
  }

  const faultBoard = new FaultBoard();
  const worldKeys = worldNotificationKeys(notificationKeys);
  const [firstAcquirer = "simulator", ...otherAcquirers] = connectors.names;
  const worlds = new Worlds({
    ...shared,
    sender: worldEgress,
    // The same in every installation, and so are the ids and signatures of worlds with the same
    // seed.
    sign: createSigner(worldKeys),
    name: "worlds",
    vault: keys.worldVault,
    secretRandom: ownRandom,
    acquirers: [firstAcquirer, ...otherAcquirers],
    openAcquirer: (worldPorts) => connectorKinds.simulator(worldPorts),
    reportDropped,
    openStore: createMemoryStore,
    onChanged: (id) => {
      faultBoard.forget(id);
      faults?.forget(id);
      recorder?.forget(id);
    },
  });
  parts.defer(() => worlds.close());
  const ownIds = known.map(({ id }) => id);
  const installations = new Installations({
    own,
    ownIds,
    worlds,
    worldGone: () => refusal("DA-1"),
  });
  const faults = isSandbox
    ? new Faults({ board: faultBoard, scheduler, runner: installations })
    : undefined;
  return {
    own,
    worlds,
    installations,
    policies,
    connectorNames: connectors.names,
    simulatorNames: [...simulators.keys()],
    instruct: instructing(installations, simulators),
    worldKeys,
    faultBoard,
    faults,
    recorder,
    recording,
    users,
  };
}

function recordingInto(recorder: Recorder): InstallationRecording {
  return {
    connectors: (connectors, clock) => recordingConnectors(connectors, recorder, clock),
    attempted: (attempt, at) =>
      recorder.attempt(attempt.delivery.merchantId, at, attemptFactsOf(attempt)),
    committed: ({ merchantId, id, version }, at) => recorder.committed(merchantId, at, id, version),
  };
}

/** Passes an instruction on to the simulated acquirer of an account. */
function instructing(
  installations: Installations,
  simulators: OpenConnectors["simulators"],
): Instruct {
  return (merchantId, instruction, name) => {
    const world = installations.worldOf(merchantId);
    if (world !== undefined) return world.instruct(instruction, name);
    const simulator = name === undefined ? simulators.values().next().value : simulators.get(name);
    if (simulator === undefined) throw new Error("the acquirer is not simulated");
    return simulator.instruct(merchantId, instruction);
  };
}
