import { join } from "node:path";
import type { OpenAudit } from "./cli/command.ts";
import { isLoopbackHost } from "./config/readers.ts";
import type { Config } from "./config/settings.ts";
import { withCircuit } from "./connectors/circuit.ts";
import type { Connector, Connectors, ReportDropped } from "./connectors/connector.ts";
import { connectorsOf } from "./connectors/connector-set.ts";
import { connectors as connectorKinds } from "./connectors/index.ts";
import type { RemoteSimulator } from "./connectors/simulator/link-http.ts";
import type { Upstream } from "./connectors/upstream/upstream-connector.ts";
import type { ConnectorConfig } from "./config/connector-list.ts";
import type { Simulator } from "./connectors/simulator/simulator-connector.ts";
import { explainEndpoint } from "./http/admin/explain-endpoint.ts";
import { faultsEndpoint } from "./http/admin/faults-endpoint.ts";
import { figuresEndpoint } from "./http/admin/figures-endpoint.ts";
import { certificateEndpoint, notificationsEndpoint } from "./http/admin/notifications-endpoint.ts";
import { paymentEndpoint } from "./http/admin/payment-endpoint.ts";
import { paymentsEndpoint } from "./http/admin/payments-endpoint.ts";
import { requestsEndpoint } from "./http/admin/requests-endpoint.ts";
import { settingsEndpoint } from "./http/admin/settings-endpoint.ts";
import { type Instruct, simulatorEndpoint } from "./http/admin/simulator-endpoint.ts";
import { statsEndpoint, statsOfWorld } from "./http/admin/stats-endpoint.ts";
import { timelineEndpoint } from "./http/admin/timeline-endpoint.ts";
import { tokensEndpoint } from "./http/admin/tokens-endpoint.ts";
import { consoleEndpoints } from "./http/console/console-endpoint.ts";
import { documented } from "./api-docs/documented.ts";
import { FaultBoard } from "./http/faults/fault-board.ts";
import { Faults } from "./http/faults/faults.ts";
import { attemptFactsOf } from "./http/recording/attempt-facts.ts";
import { createRequestRecorder } from "./http/recording/request-recorder.ts";
import type { ConsolePeople } from "./http/sign-in/console-people.ts";
import type { PeopleGateParts } from "./http/sign-in/gate.ts";
import { createHttpServer, type HttpServer } from "./http/server.ts";
import { worldsEndpoints } from "./http/admin/worlds-endpoint.ts";
import type { EndpointDeps, OperationRunner } from "./wire/endpoints/deps.ts";
import { wireEndpoints } from "./wire/endpoints/index.ts";
import { isTestNumber } from "./vault/test-numbers.ts";
import { CardLikeNames } from "./wire/decode/card-like-names.ts";
import { maskCardNumbers } from "./wire/decode/card-like.ts";
import { refusal } from "./wire/errors/refusal.ts";
import { createInstallation, type Installation, type InstallationRecording } from "./installation.ts";
import type { Clock } from "./kernel/clock.ts";
import type { Secret } from "./kernel/secret.ts";
import { ServiceError } from "./kernel/service-error.ts";
import type { Account } from "./merchant/account.ts";
import type { MerchantId } from "./kernel/ids.ts";
import { formatInstant } from "./kernel/calendar.ts";
import { day, hour, type Instant, laterBy, minute, second } from "./kernel/instant.ts";
import { Pace } from "./kernel/pace.ts";
import type { Random } from "./kernel/random.ts";
import type { Scheduler } from "./kernel/scheduler.ts";
import { hexOf } from "./kernel/ids.ts";
import { systemClock } from "./kernel/system-clock.ts";
import { systemElapsed } from "./kernel/system-elapsed.ts";
import { SystemRandom } from "./kernel/system-random.ts";
import { systemScheduler } from "./kernel/system-scheduler.ts";
import { WatchedClock } from "./kernel/watched-clock.ts";
import type { MoveSides } from "./store-migration/move-store.ts";
import type { Log, LogEvent } from "./logging/log-event.ts";
import {
  type EgressPolicy,
  productionEgress,
  readDestination,
  refusalTexts,
  sandboxEgress,
  withNetworks,
} from "./delivery/address-guard.ts";
import { createEgress } from "./delivery/egress.ts";
import type { AddressCheck } from "./merchant/receiver-address.ts";
import {
  makeRsaPair,
  type NotificationKeys,
  openNotificationKeys,
  type RsaPair,
  worldNotificationKeys,
} from "./delivery/notification-keys.ts";
import { createSigner } from "./delivery/signature.ts";
import { type KeyHolder, withKeyMac } from "./operations/account-directory.ts";
import { changeSettings } from "./operations/change-settings.ts";
import { FirstStartElsewhere, prepareSandboxAccount, type SandboxKeys } from "./operations/sandbox-account.ts";
import type { AuditRow } from "./user/audit-chain.ts";
import type { AuditLog } from "./user/audit-log.ts";
import { CheckedPeople, isGenuineEntry } from "./sign-in/checked-users.ts";
import type { PeopleStore } from "./user/user-store.ts";
import { IncarnationKeeper, nextEpoch } from "./recovery/incarnation-keeper.ts";
import { RowUpgradeJob } from "./recovery/row-upgrade-job.ts";
import { SetBackJob } from "./recovery/set-back-job.ts";
import { type ShareEvent, SlotKeeper } from "./recovery/slot-keeper.ts";
import type { BackedUp, Restored } from "./stores/backup.ts";
import { openAuditFile } from "./stores/embedded/audit-file.ts";
import { backUpFile, markAsPutBack, restoreFile } from "./stores/embedded/backup-file.ts";
import { hasDatabase, modeOpenToOthers, sizeOf } from "./stores/embedded/data-folder.ts";
import { openEmbeddedStore } from "./stores/embedded/embedded-store.ts";
import { placeOf, readIncarnation, writeIncarnation } from "./stores/embedded/incarnation-file.ts";
import { openMoveSource } from "./stores/embedded/move-source.ts";
import { StoreOpenError } from "./stores/embedded/open-error.ts";
import type { Upgrading } from "./stores/embedded/open-database.ts";
import { createMemoryStore } from "./stores/memory/memory-store.ts";
import type { MigrationReport } from "./stores/postgres/migrate.ts";
import type { MoveTargetOptions } from "./stores/postgres/move-target.ts";
import type { Beginning } from "./stores/postgres/origin.ts";
import type { RunningStore, StoreStats } from "./stores/store.ts";
import { openLocalTls } from "./certificates/authority-files.ts";
import { interfaceHosts } from "./certificates/hosts.ts";
import { recordingConnectors } from "./sandbox/recording/recorded-connector.ts";
import { Recorder } from "./sandbox/recording/recorder.ts";
import type { World } from "./sandbox/world.ts";
import { Worlds } from "./sandbox/worlds.ts";
import { KeyringError } from "./vault/key-provider.ts";
import { Keyring } from "./vault/keyring.ts";
import { createLocalVault, type LocalVault } from "./vault/local-vault.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "./vault/memory-key-provider.ts";
import { hasKeyFiles, openKeyFiles } from "./vault/root-key-file.ts";
import { noEarlierRows, RowMacs, type RowUpgrade } from "./vault/row-mac.ts";
import {
  createMemorySecretFile,
  createSealedSecret,
  createSealing,
  type SealedSecretOptions,
  type Sealing,
} from "./vault/sealed-secret.ts";
import type { Vault } from "./vault/vault.ts";

/** A running Cofre. */
export interface Cofre {
  readonly address: { readonly host: string; readonly port: number };
  /** Where it listens with TLS too, when it does. */
  readonly tlsAddress: { readonly host: string; readonly port: number } | undefined;
  /** The sandbox account's keys when this start made the account: shown once, kept nowhere. */
  readonly firstStart: SandboxKeys | undefined;
  /** What the link for an admin holds, where people sign in and no admin can, or COFRE_CONSOLE_INVITE_ADMIN says so: shown once, kept nowhere. */
  readonly consoleInvitation: Secret<string> | undefined;
  /** What the store has done since the start. */
  stats(): StoreStats;
  /** Finishes what is under way within the grace, writes what was accepted, and lets everything go. `cut`: somebody was still waiting. */
  close(): Promise<"drained" | "cut">;
}

/** Time and chance: the system's own, or what a test plugs in. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
}

/** How long after a failed write it is tried again whether writing works, in milliseconds. */
const tryWritingMs = 1_000;

/** How often it is looked whether the write-ahead log is to be copied into the file, in milliseconds, and the most looks without. */
const lookForCheckpointMs = 1_000;
const mostLooksBetweenCheckpoints = 60;

const systemPorts: Ports = { clock: systemClock, random: new SystemRandom(), scheduler: systemScheduler };

/** The composition root: the only file that names implementations. Rejects when a part does not start; nothing is left open then. */
export async function startCofre(config: Config, log: Log, given: Ports = systemPorts): Promise<Cofre> {
  const { random, scheduler } = given;
  const clock = new WatchedClock(given.clock);
  const ports = { ...given, clock };
  await using parts = new AsyncDisposableStack();
  // What takes longest of a first start is done while the store is opened; whoever turns out not to need it throws it away.
  const pair = (await hasNoKeys(config)) ? makeRsaPair() : undefined;
  pair?.catch(() => undefined);
  const store = await openStore(config, log, ports, parts);
  const node = hexOf(ownRandom.bytes(8));
  // Before any job, and let go after all of them.
  const share = new SlotKeeper({
    store,
    clock,
    node,
    scheduler,
    elapsedMs: systemElapsed,
    report: (event) => log.write(shareEvent(event)),
  });
  await share.start();
  parts.defer(() => share.stop());

  const known = await store.accounts();
  const isNew = known.length === 0;
  // Two that make keys at once would each seal cards that the other cannot open.
  if (isNew && !share.isAlone) throw new FirstStartElsewhere();
  // Keys are made once, before there is anything to seal: whoever lost them gets them from a backup, not new ones without a word.
  const hadKeys = pair === undefined;
  const { vault, worldVault, macs, upgrade, completeUpgrade, notificationKeys, sealing, mark } = await openKeys(config, ports, isNew, pair);
  if (!isNew) await refuseOtherKeys(config, store, vault, mark);
  // A node of the version before may come back before the upgrade begins.
  if (upgrade.earlier !== "none" && config.databaseUrl !== undefined) upgrade.earlier = "written";
  await refuseOlderBackup(store, upgrade);
  const incarnation = incarnationOf(config, store, ports, log);
  if (isNew && hadKeys && incarnation?.isNoted === true) throw new StoreOpenError("missing", databaseFileOf(config.dataDirectory));
  if (!isNew) await incarnation?.keeper.start(mark, false);
  parts.defer(() => incarnation?.keeper.stop());

  const openAccount = await prepareSandboxAccount(store, random, clock.now(), macs, {
    integrationKey: config.sandboxIntegrationKey?.reveal(),
    publicIntegrationKey: config.sandboxPublicIntegrationKey?.reveal(),
  });
  const reportDropped = droppedValues(log, clock);
  const { connectors, simulators } = await openConnectors(config, ports, log, reportDropped, parts);
  const policies = egressPolicies(config);
  const egress = createEgress({ policy: policies.own, scheduler });
  parts.defer(() => egress.close());
  const worldEgress = policies.worlds === policies.own ? egress : createEgress({ policy: policies.worlds, scheduler });
  parts.defer(() => worldEgress.close());
  const sign = createSigner(notificationKeys);
  // Where money is real nothing of it is there.
  const recorder = config.environment === "sandbox" ? new Recorder({ elapsedMs: systemElapsed }) : undefined;
  /** What is told of what happens: nobody, where that is not wanted, and timelines are of facts and notifications alone. */
  const told = config.recording === "yes" ? recorder : undefined;
  const recording = told === undefined ? undefined : recordingInto(told);
  const surroundings = {
    sender: egress,
    sign,
    name: notificationKeys.certificate.fingerprint,
    acquirerTimeoutMs: config.acquirerTimeoutMs,
    periods: { requestsMs: config.keepKeysDays * day },
    elapsedMs: systemElapsed,
    acceptsPan: config.environment === "sandbox" && config.sandboxCards === "test" ? isTestNumber : undefined,
    log,
    recording,
    clock,
    scheduler,
  };
  const own = createInstallation({
    ...surroundings,
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
  const { accounts, cardExpiry, retention, dispatcher, recovery } = own;
  const setBack = new SetBackJob({
    store,
    clock,
    scheduler,
    seenAt: incarnation?.notedAt,
    report: (found) => log.write({ event: "clock_set_back", ...found }),
    reads: own.readsOf("clock_set_back"),
  });
  setBack.start();
  parts.defer(() => setBack.stop());
  cardExpiry.start();
  parts.defer(() => cardExpiry.stop());
  retention.start();
  parts.defer(() => retention.stop());
  const peopleStore = new CheckedPeople({
    store: store.people,
    macs,
    lastUnkeyedEntry: () => lastUnkeyedEntryOf(upgrade),
    refused: (kind, id) => log.write({ event: "row_refused", kind, id }),
  });
  const rowUpgrade = new RowUpgradeJob({
    store,
    vault,
    withKeyMac: (key) => withKeyMac(macs, key.merchantId, key),
    upgrade,
    people: peopleStore,
    complete: completeUpgrade,
    clock,
    scheduler,
    settleMs: config.databaseUrl === undefined ? 0 : settleMs,
    report: (progress) => log.write({ event: "rows_upgraded", ...progress }),
    reads: own.readsOf("row_upgrade"),
    unreadable: (cards) =>
      log.write({ event: "alarm", kind: "cards_not_readable", what: unreadableCards(cards), where: undefined, ...noPayment }),
  });
  rowUpgrade.start();
  parts.defer(() => rowUpgrade.stop());
  dispatcher.start();
  parts.defer(() => dispatcher.stop());
  await recovery.start();
  parts.defer(() => recovery.stop());

  const [firstAcquirer = "simulator", ...otherAcquirers] = connectors.names;
  const faultBoard = new FaultBoard();
  const worldKeys = worldNotificationKeys(notificationKeys);
  const worlds = new Worlds({
    ...surroundings,
    vault: worldVault,
    sender: worldEgress,
    // The same in every installation: so are ids and signatures of worlds with one seed.
    sign: createSigner(worldKeys),
    name: "worlds",
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
  /** Accounts of the server's own store. */
  const ownIds = new Set(known.map(({ id }) => id));
  /** The world that an account is; undefined when it lives in the server's store. What is under way in a world that is gone goes nowhere. */
  const worldOf = (id: MerchantId): World | undefined => {
    if (ownIds.has(id)) return undefined;
    const world = worlds.of(id);
    if (world === undefined) throw refusal("DA-1");
    return world;
  };
  const installationOf = (id: MerchantId): Installation => worldOf(id)?.installation ?? own;
  const runner: OperationRunner = { run: (operation, account, input) => installationOf(account.id).runner.run(operation, account, input) };
  const isSandbox = config.environment === "sandbox";
  const faults = isSandbox ? new Faults({ board: faultBoard, scheduler, runner }) : undefined;
  const forget = (id: MerchantId): void => installationOf(id).accounts.forget(id);
  const asOwn = (holder: KeyHolder | undefined): KeyHolder | undefined => {
    if (holder !== undefined) ownIds.add(holder.account.id);
    return holder;
  };
  const holderOf = (key: string): KeyHolder | undefined | Promise<KeyHolder | undefined> => {
    const world = worlds.byKey(key);
    if (world !== undefined) return world.installation.accounts.byKey(key);
    const found = accounts.byKey(key);
    return found instanceof Promise ? found.then(asOwn) : asOwn(found);
  };
  const instruct: Instruct = (merchantId, instruction, name) => {
    const world = worldOf(merchantId);
    if (world !== undefined) return world.instruct(instruction, name);
    // Only a simulated acquirer does as it is told.
    const simulator = name === undefined ? simulators.values().next().value : simulators.get(name);
    if (simulator === undefined) throw new Error("the acquirer is not simulated");
    return simulator.instruct(merchantId, instruction);
  };
  const loseNextAuthorization = (merchantId: MerchantId) => instruct(merchantId, { next: "lose_answer", times: 1, of: "authorize" });

  const addressCheck = ({ id }: Account): AddressCheck => addressCheckOf(worlds.of(id) === undefined ? policies.own : policies.worlds);
  const deps: EndpointDeps = {
    runner,
    clockOf: ({ id }) => installationOf(id).clock,
    holderOf,
    forget,
    randomOf: ({ id }) => installationOf(id).random,
    addressCheck,
    requests: {
      answer(merchantId, key, digest, run, refuseKey) {
        const installation = installationOf(merchantId);
        const runHere = async () => {
          // It has waited for a twin, and the world that it came to is no more.
          if (installationOf(merchantId) !== installation) throw new ServiceError("store_unavailable");
          return run();
        };
        return installation.requests.answer(merchantId, key, digest, runHere, refuseKey);
      },
    },
    cardLikeNames: new CardLikeNames(),
    // Where another server carries payments out, nothing is simulated here.
    sandbox: simulators.size > 0 ? { loseNextAuthorization } : undefined,
  };
  const operations = wireEndpoints(deps);
  /** Requests that come before the account is open wait for it; their number is bounded like that of all others. */
  const opened = Promise.withResolvers<void>();
  opened.promise.catch(() => undefined);
  /** The account that a person means: a world, another of the server's, or the first of those. */
  const accountOf = async (asked: string | undefined): Promise<Account | undefined> => {
    await opened.promise;
    const id = asked ?? (await store.accounts())[0]?.id;
    if (id === undefined || !isAccountId(id)) return undefined;
    const world = worlds.of(id);
    // Asked for by its key it counts as used.
    if (world !== undefined) return (await holderOf(world.plan.keys.integrationKey))?.account;
    const account = await accounts.byId(id);
    if (account !== undefined) ownIds.add(id);
    return account;
  };
  const people =
    config.console === "login"
      ? await openPeople(config, {
          accountOf,
          clock,
          log,
          sealing,
          store: peopleStore,
        })
      : undefined;
  if (people !== undefined) parts.defer(logHeads({ people: peopleStore, log, scheduler }));
  let isOpen = false;
  const server = createHttpServer({
    endpoints: [
      // No answers in JSON: the description of the others knows nothing of them.
      certificateEndpoint({ keys: notificationKeys }),
      ...consoleEndpoints(config.environment, config.console),
      ...(people === undefined ? [] : people.endpoints),
      ...documented(
        [
          ...operations,
          explainEndpoint(runner),
          notificationsEndpoint((account) => {
            const { id } = account;
            const { store: kept, clock: time, dispatcher: sending } = installationOf(id);
            const world = worldOf(id);
            return {
              store: kept,
              clock: time,
              keys: world === undefined ? notificationKeys : worldKeys,
              nudge: () => sending.nudge(id),
              name: world?.alias ?? id,
              change: async (settingsAfter) => {
                const changed = await runner.run(changeSettings, account, settingsAfter);
                forget(id);
                return changed;
              },
            };
          }),
          paymentEndpoint(runner),
          paymentsEndpoint(runner),
          figuresEndpoint(deps),
          tokensEndpoint(runner),
          statsEndpoint(({ id }) => {
            const world = worldOf(id);
            return world === undefined ? store.stats() : statsOfWorld(world);
          }),
          ...(recorder === undefined
            ? []
            : [requestsEndpoint(recorder), timelineEndpoint({ runner, storeOf: ({ id }) => installationOf(id).store, recorder })]),
          settingsEndpoint(runner, { forget }, connectors.names, addressCheck),
          simulatorEndpoint(instruct, [...simulators.keys()]),
          ...(isSandbox
            ? [
                ...worldsEndpoints({
                  worlds,
                  clock,
                  random: ownRandom,
                  isTaken: async (key) => {
                    // Until then the account's own keys open nothing yet.
                    await opened.promise;
                    return (await accounts.byKey(key)) !== undefined;
                  },
                  opensAccount: async (key) => {
                    await opened.promise;
                    return (await accounts.byKey(key))?.grants === "secret";
                  },
                  ownNames: new Set([...interfaceHosts, ...[config.host, ...(config.ownNames ?? [])].map((name) => name.toLowerCase())]),
                  isAccount: (id) => ownIds.has(id),
                  isClosed: people !== undefined,
                  connectorNames: connectors.names,
                  checkAddress: addressCheckOf(policies.worlds),
                }),
                faultsEndpoint(faultBoard, operations, (id) => worlds.of(id) !== undefined || simulators.size > 0),
              ]
            : []),
        ],
        clock,
      ),
    ],
    resolveKey: (key) => (isOpen ? holderOf(key) : opened.promise.then(() => holderOf(key))),
    clock,
    log,
    health: {
      state: () => (!isOpen ? "starting" : share.isClockOff ? "clock_off" : store.isWriting ? "ready" : "not_writing"),
      failingJobs: () => own.failingJobs(),
    },
    faults,
    isWorld: (id) => worlds.of(id) !== undefined,
    limits: {
      maxBodyBytes: config.maxBodyBytes,
      maxConnections: config.maxConnections,
      maxInFlight: config.maxInFlight,
      maxInFlightOfAccount: config.maxInFlightOfAccount,
      keepAliveMs: config.keepAliveMs,
    },
    people: people?.gate,
    clientAddressHeader: config.clientAddressHeader,
    recorder:
      told === undefined
        ? undefined
        : createRequestRecorder(
            told,
            (id) => installationOf(id).clock,
            (id, token) => (ownIds.has(id) ? vault : worldVault).tokenDigests(id, token)[0],
          ),
  });
  parts.defer(async () => {
    server.closeAllConnections();
    await server.close();
  });
  const address = await server.listen(config.port, config.host);
  const tlsAddress = config.tls === "yes" ? await listenWithTls(server, config, ports, parts) : undefined;

  // Last of all: the keys of a new account are shown once, by whoever called this, and a start that failed later would have lost them.
  const begin = async (): Promise<Pick<Cofre, "firstStart" | "consoleInvitation">> => {
    // A link that is lost is made anew by the next start; keys are not.
    const consoleInvitation = await people?.inviteFirstAdmin(config.consoleInviteAdmin === "yes");
    const made = await openAccount();
    if (isNew) await incarnation?.keeper.start(mark, true);
    return { consoleInvitation, firstStart: made };
  };
  const { firstStart, consoleInvitation } = await begin().catch((error: unknown) => {
    opened.reject(error);
    throw error;
  });
  opened.resolve();
  isOpen = true;

  const running = parts.move();
  return {
    address,
    tlsAddress,
    firstStart,
    consoleInvitation,
    stats: () => store.stats(),
    async close() {
      // Whoever is still connected after the grace is cut off: what it asked for goes on, and is taken up at the next start.
      let ended: "drained" | "cut" = "drained";
      const cancel = scheduler.after(config.shutdownGraceMs, () => {
        ended = "cut";
        server.closeAllConnections();
      });
      await Promise.all([server.close(), worlds.endMoves()]);
      cancel();
      await running.disposeAsync();
      return ended;
    },
  };
}

function shareEvent(event: ShareEvent): LogEvent {
  if (event.kind === "lost") return { event: "share_lost" };
  if (event.kind === "changed") return { event: "share_changed", nodes: event.nodes, slots: event.slots };
  if (!("aheadMs" in event)) return { event: event.kind };
  return { event: "alarm", kind: event.kind, what: clockText(event), where: undefined, ...noPayment };
}

function clockText({ kind, aheadMs, at }: Extract<ShareEvent, { aheadMs: number }>): string {
  const differs = `${(Math.abs(aheadMs) / second).toFixed(1)} s ${aheadMs > 0 === (kind === "clock_off") ? "ahead" : "behind"}`;
  const readings = `this machine's shows ${formatInstant(at)}, the database server's ${formatInstant(laterBy(at, -aheadMs))}`;
  return kind === "clock_off"
    ? `this machine's clock is off: ${readings}, and this machine's is ${differs}; the node does no work until it is right`
    : `the database server's clock is off: ${readings}, and the database server's is ${differs}; the nodes go on by their own clocks`;
}

/** Where notifications of the server's own accounts may go, and those of worlds. */
interface EgressPolicies {
  readonly own: EgressPolicy;
  readonly worlds: EgressPolicy;
}

function egressPolicies({ environment, console: mode, host, notificationNetworks = [] }: Config): EgressPolicies {
  const own = withNetworks(environment === "sandbox" ? sandboxEgress : productionEgress, notificationNetworks);
  // Anybody who reaches the server may make a world, and would reach what listens on this machine alone.
  const isOpen = mode !== "login" && !isLoopbackHost(host);
  return { own, worlds: isOpen ? withNetworks(productionEgress, notificationNetworks) : own };
}

function addressCheckOf(policy: EgressPolicy): AddressCheck {
  return (url) => {
    const destination = readDestination(policy, url);
    return "refused" in destination ? refusalTexts[destination.refused] : undefined;
  };
}

function recordingInto(recorder: Recorder): InstallationRecording {
  return {
    connectors: (connectors, clock) => recordingConnectors(connectors, recorder, clock),
    attempted: (attempt, at) => recorder.attempt(attempt.delivery.merchantId, at, attemptFactsOf(attempt)),
    committed: ({ merchantId, id, version }, at) => recorder.committed(merchantId, at, id, version),
  };
}

/** Looks once a day whether the certificate is about to lapse. */
async function listenWithTls(
  server: HttpServer,
  config: Config,
  { clock, scheduler }: Ports,
  parts: AsyncDisposableStack,
): Promise<Cofre["address"]> {
  const { dataDirectory, environment, tlsPort, host } = config;
  const credentials = () => openLocalTls({ dataDirectory, environment, clock, random: ownRandom });
  const address = await server.listenTls(tlsPort, host, await credentials());
  let cancel = (): void => undefined;
  const renewLater = (): void => {
    cancel = scheduler.after(day, () => {
      renewLater();
      // Files that somebody spoilt are told of at the next start; until then the certificate of this one serves.
      credentials().then(
        (renewed) => server.renewTls(renewed),
        () => undefined,
      );
    });
  };
  renewLater();
  parts.defer(() => cancel());
  return address;
}

interface OpenConnectors {
  readonly connectors: Connectors;
  /** Those that do as they are told, by their names. */
  readonly simulators: ReadonlyMap<string, Simulated>;
}

type Simulated = Pick<RemoteSimulator | Simulator, "instruct">;

/** Writes what acquirers answer in vain: once a minute at most for each field of each call. */
function droppedValues(log: Log, clock: Clock): ReportDropped {
  const told = new Map<string, { at: Instant; dropped: number }>();
  return (value) => {
    const key = Object.values(value).join(" ");
    const last = told.get(key);
    const now = clock.now();
    if (last !== undefined && now >= last.at && now - last.at < minute) {
      last.dropped += 1;
      return;
    }
    log.write({ event: "acquirer_value_dropped", ...value, dropped: (last?.dropped ?? 0) + 1 });
    told.set(key, { at: now, dropped: 0 });
  };
}

async function openConnectors(
  config: Config,
  { clock, scheduler }: Ports,
  log: Log,
  reportDropped: ReportDropped,
  parts: AsyncDisposableStack,
): Promise<OpenConnectors> {
  const list = config.connectors ?? [onlyConnector(config)];
  // Where there is but one, nobody is kept waiting by another.
  const mostUnderWay = list.length === 1 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(config.maxInFlight / list.length));
  const report = ({ kind, connector }: { readonly kind: "open" | "closed"; readonly connector: string }) =>
    log.write({ event: kind === "open" ? "acquirer_rests" : "acquirer_is_back", connector });
  const simulators = new Map<string, Simulated>();
  const opened: Connector[] = [];
  for (const each of list) {
    const { name } = each;
    if (each.kind === "simulator") {
      const simulator = connectorKinds.simulator({ clock, scheduler });
      simulators.set(name, simulator);
      opened.push({ ...simulator, name });
      continue;
    }
    const remote = await openRemote(each, { clock, scheduler }, simulators);
    parts.defer(() => remote.close());
    opened.push(withCircuit(remote, { name, clock, mostUnderWay, report }));
  }
  return { connectors: connectorsOf(opened, reportDropped), simulators };
}

async function openRemote(
  config: Exclude<ConnectorConfig, { readonly kind: "simulator" }>,
  ports: Pick<Ports, "clock" | "scheduler">,
  simulators: Map<string, Simulated>,
): Promise<RemoteSimulator | Upstream> {
  if (config.kind === "upstream") {
    return connectorKinds.upstream({ ...ports, address: config.url, integrationKey: config.integrationKey, ca: config.ca?.reveal() });
  }
  const simulator = await connectorKinds.remote_simulator({ ...ports, address: config.url.origin });
  simulators.set(config.name, simulator);
  return simulator;
}

/** What the settings for a single acquirer say. */
function onlyConnector({ acquirerUrl, upstreamUrl, upstreamIntegrationKey, upstreamCa }: Config): ConnectorConfig {
  if (upstreamUrl !== undefined && upstreamIntegrationKey !== undefined) {
    return { name: "upstream", kind: "upstream", url: upstreamUrl, integrationKey: upstreamIntegrationKey, ca: upstreamCa };
  }
  if (acquirerUrl !== undefined) return { name: "remote_simulator", kind: "remote_simulator", url: acquirerUrl };
  return { name: "simulator", kind: "simulator" };
}

async function openStore(config: Config, log: Log, { clock, scheduler }: Ports, parts: AsyncDisposableStack): Promise<RunningStore> {
  let isOver = false;
  let cancelTry = (): void => undefined;
  // A server that is not ready is sent nothing that would find out that writing works again.
  const tryLater = (): void => {
    cancelTry();
    cancelTry = scheduler.after(tryWritingMs, () => {
      void store.tryWriting().then((works) => {
        if (!works && !isOver) tryLater();
      });
    });
  };
  const onWriting = (works: boolean): void => {
    log.write({ event: works ? "writing_works" : "writing_fails" });
    if (!works && !isOver) tryLater();
  };
  const database = databaseOf(config, clock);
  const store =
    database === undefined
      ? await openEmbedded(config, onWriting, log, scheduler)
      : // The driver is loaded where the store is no file.
        await (
          await import("./stores/postgres/postgres-store.ts")
        ).openPostgresStore({
          ...database,
          beginning: await beginningOf(config),
          onWriting,
          onRefused: (code) => log.write({ event: "database_refused", code }),
          onMigration: (report) => log.write(migrationEvent(report)),
        });
  parts.defer(() => store.close());
  parts.defer(() => {
    isOver = true;
    cancelTry();
  });
  parts.defer(keepFileCurrent(store, scheduler));
  const { dataDirectory } = config;
  const mode = dataDirectory === ":memory:" ? undefined : modeOpenToOthers(dataDirectory);
  if (mode !== undefined) log.write({ event: "data_directory_open", dataDirectory, mode });
  return store;
}

/**
 * Copies the write-ahead log into the file soon after the last commit, and once a minute while commits go on: what somebody copies by
 * hand is then nearly whole. Returns what ends it.
 */
function keepFileCurrent(store: RunningStore, scheduler: Scheduler): () => void {
  if (store.checkpoint === undefined) return () => undefined;
  let [seen, copied, looks] = [0, 0, 0];
  let cancel = (): void => undefined;
  const look = (): void => {
    const { commits } = store.stats();
    looks += 1;
    if (commits !== copied && (commits === seen || looks >= mostLooksBetweenCheckpoints)) {
      store.checkpoint?.();
      [copied, looks] = [commits, 0];
    }
    seen = commits;
    cancel = scheduler.after(lookForCheckpointMs, look);
  };
  cancel = scheduler.after(lookForCheckpointMs, look);
  return () => cancel();
}

function migrationEvent(report: MigrationReport): LogEvent {
  const { kind, no } = report;
  if (kind === "began") return { event: "migration_began", migration: no };
  if (kind === "waits") return { event: "migration_waits", migration: no, tries: report.tries };
  return { event: "migration_elsewhere", migration: no, session: report.session ?? 0, waitedMs: report.waitedMs };
}

function databaseOf({ databaseUrl: url, databaseWaiveStandby }: Config, clock: Clock): MoveTargetOptions | undefined {
  return url === undefined ? undefined : { url, clock, waiveStandby: databaseWaiveStandby === "yes" };
}

async function beginningOf({ dataDirectory, databaseBeginAnew }: Config): Promise<Beginning> {
  return { besideKeys: await hasKeyFiles(dataDirectory), beginAnew: databaseBeginAnew === "yes" };
}

async function openEmbedded(
  { dataDirectory }: Config,
  onWriting: (works: boolean) => void,
  log: Log,
  scheduler: Scheduler,
): Promise<RunningStore> {
  if (dataDirectory === ":memory:") return openEmbeddedStore({ file: dataDirectory, onWriting });
  const file = databaseFileOf(dataDirectory);
  // A new database beside old keys would be a new installation without a word: it is the old one's database that is gone.
  const expectTables = await hasKeyFiles(dataDirectory);
  if (expectTables && !hasDatabase(file)) throw new StoreOpenError("missing", file);
  let cancel = (): void => undefined;
  const onUpgrading = (upgrading: Upgrading): void => {
    cancel();
    if (upgrading.kind === "migrating") {
      const { from, to } = upgrading;
      log.write({ event: "database_migrating", from, to, bytes: sizeOf(file) });
      return;
    }
    const { copy, bytes } = upgrading;
    const report = (): void => {
      log.write({ event: "database_rewriting", bytes, written: sizeOf(copy) });
      cancel = scheduler.after(reportRewritingMs, report);
    };
    report();
  };
  try {
    return await openEmbeddedStore({ file, expectTables, onWriting, onUpgrading });
  } finally {
    cancel();
  }
}

/**
 * Payments that recovery begins, or pages that it reads, in each period: at most 800 a second. Each takes a node about as long as a charge, and thousands may be due at
 * one moment; a batch of them together would keep each request waiting.
 */
const recoveryBegins = 4;
const recoveryPeriodMs = 5;

/** A gigabyte takes up to half a minute. */
const reportRewritingMs = 5_000;

/** Notifications draw from a source of their own: what a seeded world draws does not depend on who was told what, and when. */
const ownRandom = new SystemRandom();

interface Keys {
  readonly vault: LocalVault;
  /** For worlds, which never hold rows of an earlier version. */
  readonly worldVault: Vault;
  readonly macs: RowMacs;
  readonly upgrade: RowUpgrade;
  /** Keeps that no row of an earlier version is left. */
  readonly completeUpgrade: (upgrade: Pick<RowUpgrade, "lastUnkeyedEntry">) => Promise<void>;
  readonly notificationKeys: NotificationKeys;
  /** For secrets that are kept in the store, such as people's. */
  readonly sealing: Sealing;
  /** Names the keys that cards are sealed with. */
  readonly mark: string;
}

interface Incarnation {
  readonly keeper: IncarnationKeeper;
  /** An installation was served with the keys of this directory, in a file. */
  readonly isNoted: boolean;
  /** The latest time of the processes that served it before. */
  readonly notedAt: Instant | undefined;
}

/** Undefined where nothing is kept, and so nothing can be put back. */
function incarnationOf(config: Config, store: RunningStore, { clock, scheduler }: Ports, log: Log): Incarnation | undefined {
  const { dataDirectory, databaseUrl } = config;
  if (dataDirectory === ":memory:") return undefined;
  const isShared = databaseUrl !== undefined;
  const keeper = new IncarnationKeeper({
    identity: store.identity,
    note: {
      read: () => readIncarnation(dataDirectory),
      write: (note, durable) => writeIncarnation(dataDirectory, note, durable),
    },
    place: isShared ? undefined : placeOf(databaseFileOf(dataDirectory)),
    isShared,
    commits: () => store.stats().commits,
    clock,
    scheduler,
    report: (reason, epoch) =>
      log.write({ event: "alarm", kind: "database_put_back", what: `${reason}, epoch ${epoch}`, where: undefined, ...noPayment }),
  });
  const noted = readIncarnation(dataDirectory);
  return { keeper, isNoted: !isShared && noted !== undefined, notedAt: noted?.at };
}

const noPayment = { merchantId: undefined, paymentId: undefined } as const;

function unreadableCards(cards: number): string {
  return `${cards} stored cards of an earlier version do not open with the keys of this installation, so the upgrade of rows is not complete and rows without a MAC are accepted: put the keys.*.json that belong to them back and start again, or see "Cards that do not open" in docs/operate/running.md`;
}

/** Cards that are tried where a database of an earlier version does not say whose it is. One that is damaged proves nothing. */
const triedCards = 20;

/** Rejects when the keys are not those of the database: every stored card would fail, one by one. */
async function refuseOtherKeys(config: Config, store: RunningStore, vault: Vault, mark: string): Promise<void> {
  const { keys } = await store.identity.read();
  if (keys === mark || (keys === undefined && (await opensACard(store, vault)))) return;
  if (config.databaseUrl === undefined) throw new StoreOpenError("other_keys", databaseFileOf(config.dataDirectory));
  const { PostgresOpenError } = await import("./stores/postgres/open-error.ts");
  throw new PostgresOpenError("other_keys");
}

/** true also where there is none. */
async function opensACard(store: RunningStore, vault: Vault): Promise<boolean> {
  const cards = await store.cardsAfter(0, triedCards);
  for (const { merchantId, tokenDigest } of cards) {
    const card = await store.cardByToken(merchantId, tokenDigest);
    if (card === undefined) continue;
    const opens = await vault.use(card.ref, { merchantId, tokenDigest, recordVersion: card.version }, async () => true).catch(() => false);
    if (opens) return true;
  }
  return cards.length === 0;
}

/** No keys of an earlier start are there. Whether new ones are made is decided when the store has been read. */
async function hasNoKeys({ dataDirectory }: Config): Promise<boolean> {
  return dataDirectory === ":memory:" || !(await hasKeyFiles(dataDirectory));
}

async function openKeys(
  config: Config,
  { clock, random }: Pick<Ports, "clock" | "random">,
  create: boolean,
  pair?: Promise<RsaPair>,
): Promise<Keys> {
  const { environment, dataDirectory: directory } = config;
  const upgrade: RowUpgrade = create ? { ...noEarlierRows } : { earlier: "read", lastUnkeyedEntry: 0 };
  // While a node of an earlier version is there, what is wrapped is for it too.
  const isSeparate = (): boolean => upgrade.earlier === "none";
  const files = directory === ":memory:" ? undefined : await openKeyFiles({ directory, environment, create, random, isSeparate });
  const { provider, store } = files ?? { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ provider, store, environment, random, clock, create });
  const label = `${environment}/notifications`;
  const file = files?.secretFile("notifications") ?? createMemorySecretFile();
  const own = { provider: files?.provider ?? createMemoryKeyProvider(ownRandom), random: ownRandom };
  const kept = createSealedSecret({ ...own, file, label });
  const note = upgradeNoteOf(config, { ...own, file: files?.secretFile("rows") ?? createMemorySecretFile() });
  const completeUpgrade: Keys["completeUpgrade"] = ({ lastUnkeyedEntry }) => note.save(lastUnkeyedEntry);
  if (create) await completeUpgrade(noEarlierRows);
  Object.assign(upgrade, await note.load());
  return {
    sealing: createSealing(own),
    vault: createLocalVault({ keyring, environment, random, upgrade }),
    worldVault: createLocalVault({ keyring, environment, random }),
    macs: new RowMacs((label) => keyring.derivedKey(label), upgrade),
    upgrade,
    completeUpgrade,
    mark: keyring.mark,
    notificationKeys: await openNotificationKeys({ kept, environment, random: ownRandom, clock, pair }),
  };
}

/** The note `rows.sealed`, that no row of an earlier version is left: the number of the last entry of the audit log that may be without a MAC. */
function upgradeNoteOf({ environment }: Config, parts: Omit<SealedSecretOptions, "label">) {
  const note = createSealedSecret({ ...parts, label: `${environment}/rows` });
  return {
    async load(): Promise<RowUpgrade> {
      const content = await note.load();
      if (content === undefined) return { earlier: "read", lastUnkeyedEntry: 0 };
      return { earlier: "none", lastUnkeyedEntry: Number(Buffer.from(content).toString()) };
    },
    save: async (lastUnkeyedEntry: number): Promise<void> => void (await note.save(Buffer.from(String(lastUnkeyedEntry)))),
  };
}

function lastUnkeyedEntryOf({ earlier, lastUnkeyedEntry }: RowUpgrade): number {
  return earlier === "none" ? lastUnkeyedEntry : Number.POSITIVE_INFINITY;
}

/** Other nodes notice the end of the last earlier one within seconds. */
const settleMs = 30_000;

/** A database from before the upgrade beside keys from after it: every card and every integration key would be refused, one by one. */
async function refuseOlderBackup(store: RunningStore, upgrade: RowUpgrade): Promise<void> {
  if (upgrade.earlier !== "none") return;
  const keys = await store.accountKeys();
  if (keys.length > 0 && keys.every(({ mac }) => mac === undefined)) {
    throw new KeyringError(
      "the database is older than rows.sealed in the data directory, as a backup from before the upgrade is: its rows have no MACs. Remove rows.sealed to upgrade the database again; rows that other programs wrote into it are then accepted",
    );
  }
}

interface PeopleNeeds extends Omit<PeopleGateParts, "people"> {
  readonly store: PeopleStore;
  readonly sealing: Sealing;
}

/** What only those who sign in need is loaded where they do. What is secret of theirs is drawn from the system alone. */
async function openPeople({ environment }: Config, { store, sealing, ...parts }: PeopleNeeds): Promise<ConsolePeople> {
  const [{ consolePeople }, { createPeople }, { createPasswords }] = await Promise.all([
    import("./http/sign-in/console-people.ts"),
    import("./sign-in/user-service.ts"),
    import("./sign-in/password.ts"),
  ]);
  const own = { clock: parts.clock, random: ownRandom, passwords: createPasswords({ random: ownRandom }), maskCards: maskCardNumbers };
  return consolePeople({ ...parts, people: createPeople({ ...own, store, sealing, environment }) });
}

const headsMs = hour;

/** Writes the audit log's head into the program's log, at once and each hour: the one is kept where who administers the other may not write. */
function logHeads({
  people,
  log,
  scheduler,
}: {
  readonly people: PeopleStore;
  readonly log: Log;
  readonly scheduler: Scheduler;
}): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const next = (waitMs: number): void => {
    cancel = scheduler.after(waitMs, () => {
      // A store that is down is asked again an hour later.
      void people.auditHead().then(
        (head) => {
          if (head.number > 0) log.write({ event: "audit_head", ...head });
        },
        () => undefined,
      );
      if (!isOver) next(headsMs);
    });
  };
  next(0);
  return () => {
    isOver = true;
    cancel();
  };
}

/** Of an account, a world's too. */
function isAccountId(text: string): text is MerchantId {
  return /^[0-9a-f]{8}$/.test(text);
}

function databaseFileOf(dataDirectory: string): string {
  return join(dataDirectory, "cofre.db");
}

/** What `cofre audit` reads: the database if one is named, and otherwise the file, which a server may hold. */
export async function openAudit(config: Config): Promise<OpenAudit> {
  const { databaseUrl, dataDirectory } = config;
  const audit =
    databaseUrl === undefined
      ? openAuditFile(databaseFileOf(dataDirectory))
      : await (await import("./stores/postgres/audit-database.ts")).openAuditDatabase(databaseUrl);
  const isGenuine = await entryCheckOf(config).catch((error: unknown) => {
    if (error instanceof KeyringError) return undefined;
    throw error;
  });
  if (isGenuine === undefined) return audit;
  const { log } = audit;
  const checked: AuditLog = {
    auditAfter: (after, limit) => log.auditAfter(after, limit),
    auditHead: () => log.auditHead(),
    personByName: (key) => log.personByName(key),
    isGenuine,
  };
  return { ...audit, log: checked, close: () => audit.close() };
}

/** Whether an entry of the audit log was written with the keys in the data directory; undefined when there are none. */
async function entryCheckOf(config: Config): Promise<((row: AuditRow) => boolean) | undefined> {
  const { dataDirectory: directory, environment } = config;
  if (directory === ":memory:" || !(await hasKeyFiles(directory))) return undefined;
  const files = await openKeyFiles({ directory, environment, create: false, random: ownRandom });
  const { provider, store, secretFile } = files;
  const keyring = await Keyring.open({ provider, store, environment, random: ownRandom, clock: systemClock, create: false });
  const upgrade = await upgradeNoteOf(config, { provider, random: ownRandom, file: secretFile("rows") }).load();
  const macs = new RowMacs((label) => keyring.derivedKey(label), upgrade);
  return (row) => isGenuineEntry({ macs, lastUnkeyedEntry: () => lastUnkeyedEntryOf(upgrade) }, row);
}

/** Copies the file into a directory; a server may hold it. */
export async function backUp({ dataDirectory }: Config, directory: string): Promise<BackedUp> {
  return backUpFile(databaseFileOf(dataDirectory), directory, hexOf(ownRandom.bytes(4)));
}

/** Puts a copy in place of the file, which no server may hold. */
export async function restore({ dataDirectory }: Config, directory: string, replace: boolean): Promise<Restored> {
  return restoreFile(directory, databaseFileOf(dataDirectory), hexOf(ownRandom.bytes(4)), replace);
}

/**
 * Begins another incarnation. Resolves with its epoch, which running nodes take over from the database; or with undefined where the next start
 * begins it.
 */
export async function beginIncarnation(config: Config, { clock }: Pick<Ports, "clock"> = systemPorts): Promise<number | undefined> {
  const database = databaseOf(config, clock);
  if (database !== undefined)
    return (await import("./stores/postgres/put-back.ts")).raiseEpoch(database, (known) => nextEpoch(clock, known));
  markAsPutBack(databaseFileOf(config.dataDirectory));
  return undefined;
}

/** What `cofre migrate-store` works on: the file, which no server may hold, its keys, and the database if one is named. */
export async function openMoveSides(config: Config, ports: Pick<Ports, "clock" | "random"> = systemPorts): Promise<MoveSides> {
  await using parts = new AsyncDisposableStack();
  const source = await openMoveSource(databaseFileOf(config.dataDirectory));
  parts.defer(() => source.close());
  const { vault } = await openKeys(config, ports, false);
  const database = databaseOf(config, ports.clock);
  const target = database === undefined ? undefined : await (await import("./stores/postgres/move-target.ts")).openMoveTarget(database);
  parts.defer(() => target?.close());
  const open = parts.move();
  return { source, target, vault, random: ports.random, close: () => open.disposeAsync() };
}
