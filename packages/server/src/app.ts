import { join } from "node:path";
import type { Config } from "./config/settings.ts";
import { connectors } from "./connectors/index.ts";
import { explainEndpoint } from "./http/admin/explain-endpoint.ts";
import { paymentEndpoint } from "./http/admin/payment-endpoint.ts";
import { settingsEndpoint } from "./http/admin/settings-endpoint.ts";
import { simulatorEndpoint } from "./http/admin/simulator-endpoint.ts";
import { statsEndpoint } from "./http/admin/stats-endpoint.ts";
import { documented } from "./http/docs/documented.ts";
import { createHttpServer } from "./http/server.ts";
import type { EndpointDeps } from "./http/wire/endpoints/deps.ts";
import { wireEndpoints } from "./http/wire/endpoints/index.ts";
import type { Clock } from "./kernel/clock.ts";
import type { Random } from "./kernel/random.ts";
import type { Scheduler } from "./kernel/scheduler.ts";
import { systemClock } from "./kernel/system-clock.ts";
import { SystemRandom } from "./kernel/system-random.ts";
import { systemScheduler } from "./kernel/system-scheduler.ts";
import type { Log } from "./observe/log-event.ts";
import { endpointsOf, endpointsWithout } from "./merchant/notification-endpoints.ts";
import { sandboxEgress } from "./outbox/address-guard.ts";
import { Dispatcher } from "./outbox/dispatcher.ts";
import { createEgress } from "./outbox/egress.ts";
import { targetsOf } from "./outbox/endpoint.ts";
import { type NotificationKeys, openNotificationKeys } from "./outbox/notification-keys.ts";
import { createSigner } from "./outbox/signature.ts";
import { changeSettings } from "./operations/change-settings.ts";
import { AccountDirectory } from "./operations/account-directory.ts";
import { NamedRequests } from "./operations/named-requests.ts";
import { Runner } from "./operations/runner.ts";
import { openSandboxAccount, type SandboxKeys } from "./operations/sandbox-account.ts";
import { RecoveryJob } from "./recovery/recovery-job.ts";
import { type EmbeddedStore, openEmbeddedStore } from "./stores/embedded/embedded-store.ts";
import { CvvPocket } from "./vault/cvv-pocket.ts";
import { Keyring } from "./vault/keyring.ts";
import { createLocalVault } from "./vault/local-vault.ts";
import { createMemoryKeyProvider, createMemoryWrappedKeyStore } from "./vault/memory-key-provider.ts";
import { openKeyFiles } from "./vault/root-key-file.ts";
import { createMemorySecretFile, createSealedSecret } from "./vault/sealed-secret.ts";
import type { Vault } from "./vault/vault.ts";

/** A running Cofre. */
export interface Cofre {
  readonly address: { readonly host: string; readonly port: number };
  /** The sandbox account's keys when this start made the account: shown once, kept nowhere. */
  readonly firstStart: SandboxKeys | undefined;
  /** What the store has done since the start. */
  stats(): ReturnType<EmbeddedStore["stats"]>;
  /** Finishes what is under way within the grace, writes what was accepted, and lets everything go. */
  close(): Promise<void>;
}

/** Time and chance: the system's own, or what a test plugs in. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
}

const systemPorts: Ports = { clock: systemClock, random: new SystemRandom(), scheduler: systemScheduler };

/** The composition root: the only file that names implementations. Rejects when a part does not start; nothing is left open then. */
export async function startCofre(config: Config, log: Log, ports: Ports = systemPorts): Promise<Cofre> {
  const { clock, random, scheduler } = ports;
  await using parts = new AsyncDisposableStack();
  const inMemory = config.dataDirectory === ":memory:";

  const store = await openEmbeddedStore({ file: inMemory ? ":memory:" : join(config.dataDirectory, "cofre.db") });
  parts.defer(() => store.close());
  // Keys are made once, before there is anything to seal: whoever lost them gets them from a backup, not new ones without a word.
  const { vault, notificationKeys } = await openKeys(config, ports, (await store.accounts()).length === 0);
  const firstStart = await openSandboxAccount(store, random, clock.now(), {
    integrationKey: config.sandboxIntegrationKey?.reveal(),
    publicIntegrationKey: config.sandboxPublicIntegrationKey?.reveal(),
  });

  const connector =
    config.acquirerUrl === undefined
      ? connectors.simulator({ clock, scheduler })
      : await connectors.remote_simulator({ clock, scheduler, address: config.acquirerUrl.origin });
  if ("close" in connector) parts.defer(() => connector.close());

  const accounts = new AccountDirectory(store);
  const egress = createEgress({ policy: sandboxEgress, scheduler });
  parts.defer(() => egress.close());
  const dispatcher = new Dispatcher({
    store,
    accounts: {
      async settingsOf(merchantId) {
        const account = await accounts.byId(merchantId);
        return account === undefined ? undefined : { endpoints: endpointsOf(account.settings), chaos: account.settings.notificationChaos };
      },
      async switchOff(merchantId, endpoint, at) {
        const account = await accounts.byId(merchantId);
        if (account === undefined) return;
        await runner.run(changeSettings, account, (settings) => ({
          ...settings,
          notificationEndpoints: endpointsWithout(settings, endpoint, at),
        }));
        accounts.forget(merchantId);
      },
    },
    sender: egress,
    sign: createSigner(notificationKeys),
    installation: notificationKeys.certificate.fingerprint,
    clock,
    random: ownRandom,
    scheduler,
    report: () => undefined,
    alarm: (what, { merchantId }) => log.write({ event: "alarm", kind: "unexpected_failure", what, merchantId, paymentId: undefined }),
  });
  const runner = new Runner({
    store,
    vault,
    connector,
    pocket: new CvvPocket(random),
    clock,
    random,
    acquirerTimeoutMs: config.acquirerTimeoutMs,
    deliverTo: ({ settings }, { order }) => targetsOf(endpointsOf(settings), order.notificationUrl),
    told: () => dispatcher.nudge(),
    alarm: ({ kind, what, merchantId, paymentId }) => log.write({ event: "alarm", kind, what, merchantId, paymentId }),
  });
  dispatcher.start();
  parts.defer(() => dispatcher.stop());
  const recovery = new RecoveryJob({
    store,
    runner,
    accounts,
    clock,
    scheduler,
    report: ({ kind, ...facts }) => log.write({ event: kind === "settled" ? "recovery_settled" : "recovery_overdue", ...facts }),
  });
  await recovery.start();
  parts.defer(() => recovery.stop());

  const deps: EndpointDeps = {
    runner,
    clockOf: () => clock,
    grantsOf: async (key) => (await accounts.byKey(key))?.grants,
    forget: (merchantId) => accounts.forget(merchantId),
    random,
    requests: new NamedRequests(store, clock),
    sandbox: { loseNextAuthorization: (merchantId) => connector.instruct(merchantId, { next: "lose_answer", times: 1, of: "authorize" }) },
  };
  const server = createHttpServer({
    endpoints: documented([
      ...wireEndpoints(deps),
      explainEndpoint(runner),
      paymentEndpoint(runner),
      statsEndpoint(() => store.stats()),
      settingsEndpoint(runner, accounts),
      simulatorEndpoint((merchantId, instruction) => connector.instruct(merchantId, instruction)),
    ]),
    resolveKey: (key) => accounts.byKey(key),
    clock,
    log,
    health: { isReady: () => true },
    limits: { maxBodyBytes: config.maxBodyBytes, maxConnections: config.maxConnections, maxInFlight: config.maxInFlight },
  });
  const address = await server.listen(config.port, config.host);

  const running = parts.move();
  return {
    address,
    firstStart,
    stats: () => store.stats(),
    async close() {
      // Whoever is still connected after the grace is cut off: what it asked for goes on, and is taken up at the next start.
      const cut = scheduler.after(config.shutdownGraceMs, () => server.closeAllConnections());
      await server.close();
      cut();
      await running.disposeAsync();
    },
  };
}

/** Notifications draw from a source of their own: what a seeded world draws does not depend on who was told what, and when. */
const ownRandom = new SystemRandom();

interface Keys {
  readonly vault: Vault;
  readonly notificationKeys: NotificationKeys;
}

async function openKeys(config: Config, { clock, random }: Ports, create: boolean): Promise<Keys> {
  const { environment, dataDirectory: directory } = config;
  const files = directory === ":memory:" ? undefined : await openKeyFiles({ directory, environment, create, random });
  const { provider, store } = files ?? { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({ provider, store, environment, random, clock, create });
  const label = `${environment}/notifications`;
  const file = files?.secretFile("notifications") ?? createMemorySecretFile();
  const kept = createSealedSecret({ provider: files?.provider ?? createMemoryKeyProvider(ownRandom), file, random: ownRandom, label });
  return {
    vault: createLocalVault({ keyring, environment, random }),
    notificationKeys: await openNotificationKeys({ kept, environment, random: ownRandom, clock }),
  };
}
