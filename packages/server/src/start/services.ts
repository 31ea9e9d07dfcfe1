import type { Config } from "../config/settings.ts";
import { SimulatedAuthenticator } from "../authentication/simulated-authenticator.ts";
import { connectors as connectorKinds } from "../connectors/index.ts";
import type { Sender } from "../delivery/sender.ts";
import type { Connectors, ReportDropped } from "../connectors/connector.ts";
import { createEgress } from "../delivery/egress.ts";
import { type NotificationKeys, worldNotificationKeys } from "../delivery/notification-keys.ts";
import { createSigner } from "../delivery/signature.ts";
import type { Instruct } from "../http/admin/simulator-endpoint.ts";
import { FaultQueue } from "../http/faults/fault-queue.ts";
import { FaultInjector } from "../http/faults/fault-injector.ts";
import { attemptFactsOf } from "../http/recording/attempt-facts.ts";
import {
  createPaymentService,
  type PaymentService,
  type ServiceRecording,
} from "../payment-service.ts";
import { day } from "../kernel/instant.ts";
import { systemElapsed } from "../kernel/system-elapsed.ts";
import { RateLimit } from "../kernel/rate-limit.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import { watchFigures } from "../recovery/database-figures.ts";
import { PaymentServices } from "../sandbox/payment-services.ts";
import { recordingConnectors } from "../sandbox/recording/recorded-connector.ts";
import { Recorder } from "../sandbox/recording/recorder.ts";
import { Worlds } from "../sandbox/worlds.ts";
import type { CheckedUsers } from "../sign-in/checked-users.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import type { RunningStore } from "../stores/store.ts";
import { isTestNumber } from "../vault/test-numbers.ts";
import { refusal } from "../wire/errors/refusal.ts";
import { type EgressPolicies, egressPolicies } from "./address-policies.ts";
import type { Foundation } from "./foundation.ts";
import {
  checkedUsers,
  clockSetBackJob,
  type KeyJobs,
  keyJobs,
  rowUpgradeJob,
  startJobs,
} from "./jobs.ts";
import { droppedValues, type OpenConnectors, openConnectors } from "./open-connectors.ts";
import { ownRandom, type WatchedPorts } from "./ports.ts";

/** The payment services of a server, its own and those of worlds, and the sandbox's extras. */
export interface Services {
  readonly own: PaymentService;
  readonly worlds: Worlds;
  readonly paymentServices: PaymentServices;
  readonly policies: EgressPolicies;
  readonly connectorNames: readonly string[];
  /** Names of the simulated acquirers among them. */
  readonly simulatorNames: readonly string[];
  /** Undefined when another server carries out payments: nothing is simulated then. */
  readonly authenticator: SimulatedAuthenticator | undefined;
  readonly instruct: Instruct;
  readonly worldKeys: NotificationKeys;
  readonly faultQueue: FaultQueue;
  /** Undefined in production. */
  readonly faults: FaultInjector | undefined;
  /** The request log; undefined in production. */
  readonly recorder: Recorder | undefined;
  /**
   * Where requests, calls and attempts are recorded; undefined with COFRE_REQUEST_LOG=false:
   * timelines then show only facts and notifications.
   */
  readonly recording: Recorder | undefined;
  /** The store of console users, which verifies its rows. */
  readonly users: CheckedUsers;
  /** Undefined in an installation that keeps its keys in files. */
  readonly keyJobs: KeyJobs | undefined;
}

/** From which the values of simulated authentications are derived. */
const secretBytes = 32;
/** In memory, of all accounts of this server together. */
const maxAuthentications = 10_000;

/**
 * Recovery starts at most 4 payments in 5 ms and reads at most one page in 20 ms. A payment takes a
 * node about as long as a charge, a page of 50 takes it 2 ms, and thousands may be due at one
 * moment; processing them in one batch would delay requests.
 */
const recoveryRateLimitsOf = (scheduler: Scheduler) => ({
  payments: new RateLimit(scheduler, 4, 5),
  pages: new RateLimit(scheduler, 1, 20),
});

/** Opens the acquirers, creates the services and starts the jobs. */
export async function openServices(
  config: Config,
  foundation: Foundation,
  log: Log,
  ports: WatchedPorts,
  parts: AsyncDisposableStack,
): Promise<Services> {
  const reportDropped = droppedValues(log, ports.clock);
  const acquirers = await openConnectors(config, ports, log, reportDropped, parts);
  const policies = egressPolicies(config);
  const egress = openEgress(policies, ports, parts);
  const recorder =
    config.environment === "sandbox" ? new Recorder({ elapsedMs: systemElapsed }) : undefined;
  const recording = config.requestLog === "true" ? recorder : undefined;
  const shared = sharedParts(config, recording, log, ports);
  const authenticator =
    acquirers.simulators.size > 0
      ? new SimulatedAuthenticator(ports.clock, ownRandom.bytes(secretBytes), maxAuthentications)
      : undefined;
  const {
    own,
    users,
    keyJobs: jobsOfKeys,
  } = await openOwnService(
    config,
    { foundation, shared, sender: egress.own, connectors: acquirers.connectors, authenticator },
    log,
    ports,
    parts,
  );
  const sandbox = openSandbox(
    config,
    {
      foundation,
      shared,
      sender: egress.worlds,
      acquirerNames: acquirers.connectors.names,
      own,
      recorder,
      reportDropped,
    },
    parts,
  );
  return {
    own,
    ...sandbox,
    policies,
    connectorNames: acquirers.connectors.names,
    simulatorNames: [...acquirers.simulators.keys()],
    authenticator,
    instruct: instructing(sandbox.paymentServices, acquirers.simulators),
    recorder,
    recording,
    users,
    keyJobs: jobsOfKeys,
  };
}

interface EgressPair {
  readonly own: Sender;
  readonly worlds: Sender;
}

/** The HTTP clients that deliver notifications; one for both where their policies are the same. */
function openEgress(
  policies: EgressPolicies,
  { scheduler }: WatchedPorts,
  parts: AsyncDisposableStack,
): EgressPair {
  const own = createEgress({ policy: policies.own, scheduler });
  parts.defer(() => own.close());
  if (policies.worlds === policies.own) return { own, worlds: own };
  const worlds = createEgress({ policy: policies.worlds, scheduler });
  parts.defer(() => worlds.close());
  return { own, worlds };
}

/** What the server's own service and those of worlds have in common. */
type SharedParts = ReturnType<typeof sharedParts>;

function sharedParts(
  config: Config,
  recording: Recorder | undefined,
  log: Log,
  { clock, scheduler, elapsedMs }: WatchedPorts,
) {
  const acceptsTestCardsOnly = config.environment === "sandbox" && config.sandboxCards === "test";
  return {
    acquirerTimeoutMs: config.acquirerTimeoutMs,
    periods: {
      requestsMs: config.keepKeysDays * day,
      deliveriesMs: config.keepDeliveriesDays * day,
    },
    elapsedMs,
    acceptsPan: acceptsTestCardsOnly ? isTestNumber : undefined,
    log,
    recording: recording === undefined ? undefined : recordingInto(recording),
    clock,
    scheduler,
  };
}

interface OwnServiceDependencies {
  readonly foundation: Foundation;
  readonly shared: SharedParts;
  readonly sender: Sender;
  readonly connectors: Connectors;
  readonly authenticator: SimulatedAuthenticator | undefined;
}

async function openOwnService(
  config: Config,
  { foundation, shared, sender, connectors, authenticator }: OwnServiceDependencies,
  log: Log,
  ports: WatchedPorts,
  parts: AsyncDisposableStack,
): Promise<Pick<Services, "own" | "users" | "keyJobs">> {
  const { store, slotAssignment, keys, incarnation } = foundation;
  const { random, scheduler } = ports;
  const own = createPaymentService({
    ...shared,
    sender,
    sign: createSigner(keys.notificationKeys),
    name: keys.notificationKeys.certificate.fingerprint,
    vault: keys.vault,
    macs: keys.macs,
    store,
    connectors,
    authenticator,
    random,
    deliveryRandom: ownRandom,
    secretRandom: random,
    slotAssignment,
    recoveryRateLimits: recoveryRateLimitsOf(scheduler),
    epoch: () => incarnation?.keeper.epoch ?? 0,
    onFutureTimestamp: (merchantId) => setBack.onFutureTimestamp(merchantId),
  });
  const setBackReads = own.readsOf("clock_set_back");
  const setBack = clockSetBackJob({ store, incarnation, reads: setBackReads }, ports, log);
  const users = checkedUsers(store, keys, log);
  const { earlierRows } = keys;
  const upgrades =
    earlierRows === undefined
      ? []
      : [
          rowUpgradeJob(
            config,
            { store, keys: { ...keys, earlierRows }, users, reads: own.readsOf("row_upgrade") },
            ports,
            log,
          ),
        ];
  const jobsOfKeys = keyJobs({ ...foundation, reads: own.readsOf("key_rotation") }, ports, log);
  const ofKeys = jobsOfKeys === undefined ? [] : [jobsOfKeys.rotation, jobsOfKeys.reseal];
  await startJobs(
    [setBack, own.cardExpiry, own.retention, ...upgrades, ...ofKeys, own.dispatcher, own.recovery],
    parts,
  );
  logFigures(store, log, ports, parts);
  return { own, users, keyJobs: jobsOfKeys };
}

/** Logs the sizes and ages of the database, where the store knows them. */
function logFigures(
  store: RunningStore,
  log: Log,
  { scheduler }: WatchedPorts,
  parts: AsyncDisposableStack,
): void {
  const figures = store.figures?.bind(store);
  if (figures === undefined) return;
  const stop = watchFigures({
    figures,
    scheduler,
    report: (found) => log.write({ event: "database_figures", ...found }),
    warn: (ages) => log.write({ event: "database_ages", ...ages }),
  });
  parts.defer(stop);
}

interface SandboxDependencies {
  readonly foundation: Foundation;
  readonly shared: SharedParts;
  readonly sender: Sender;
  readonly acquirerNames: readonly string[];
  readonly own: PaymentService;
  readonly recorder: Recorder | undefined;
  readonly reportDropped: ReportDropped;
}

/** Worlds, faults, and the class that finds the service of an account. */
function openSandbox(
  config: Config,
  { foundation, shared, sender, acquirerNames, own, recorder, reportDropped }: SandboxDependencies,
  parts: AsyncDisposableStack,
): Pick<Services, "worlds" | "paymentServices" | "worldKeys" | "faultQueue" | "faults"> {
  const { known, keys } = foundation;
  const faultQueue = new FaultQueue();
  const worldKeys = worldNotificationKeys(keys.notificationKeys);
  const [firstAcquirer = "simulator", ...otherAcquirers] = acquirerNames;
  const worlds = new Worlds({
    ...shared,
    sender,
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
      faultQueue.forget(id);
      faults?.forget(id);
      recorder?.clear(id);
    },
  });
  parts.defer(() => worlds.close());
  const ownIds = known.map(({ id }) => id);
  const paymentServices = new PaymentServices({
    own,
    ownIds,
    worlds,
    worldDeleted: () => refusal("DA-1"),
  });
  const faults =
    config.environment === "sandbox"
      ? new FaultInjector({
          queue: faultQueue,
          scheduler: shared.scheduler,
          runner: paymentServices,
        })
      : undefined;
  return { worlds, paymentServices, worldKeys, faultQueue, faults };
}

function recordingInto(recorder: Recorder): ServiceRecording {
  return {
    connectors: (connectors, clock) => recordingConnectors(connectors, recorder, clock),
    attempted: (attempt, at) =>
      recorder.attempt(attempt.delivery.merchantId, at, attemptFactsOf(attempt)),
    committed: ({ merchantId, id, version }, at) => recorder.committed(merchantId, at, id, version),
  };
}

/** Passes an instruction on to the simulated acquirer of an account. */
function instructing(
  paymentServices: PaymentServices,
  simulators: OpenConnectors["simulators"],
): Instruct {
  return (merchantId, instruction, name) => {
    const world = paymentServices.worldOf(merchantId);
    if (world !== undefined) return world.instruct(instruction, name);
    const simulator = name === undefined ? simulators.values().next().value : simulators.get(name);
    if (simulator === undefined) throw new Error("the acquirer is not simulated");
    return simulator.instruct(merchantId, instruction);
  };
}
