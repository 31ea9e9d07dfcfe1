import type { ServerCredentials } from "./certificates/authority-files.ts";
import { noSecrets, type SecretOrigins } from "./config/read-config.ts";
import type { Config } from "./config/settings.ts";
import type { HttpServer } from "./http/server.ts";
import type { Scheduler } from "./kernel/scheduler.ts";
import type { Secret } from "./kernel/secret.ts";
import { WatchedClock } from "./kernel/watched-clock.ts";
import type { Log } from "./logging/log-event.ts";
import { prepareSandboxAccount, type SandboxKeys } from "./operations/sandbox-account.ts";
import { openFoundation } from "./start/foundation.ts";
import { refuseFaults } from "./production/check.ts";
import { listenWithCertificate, plainHostOf } from "./start/listen-with-certificate.ts";
import { listenWithTls } from "./start/listen-with-tls.ts";
import { settingFindings } from "./start/production-gate.ts";
import { type Ports, systemPorts, type WatchedPorts } from "./start/ports.ts";
import { openServer } from "./start/server.ts";
import { openServices, type Services } from "./start/services.ts";
import type { StoreStats } from "./stores/store.ts";

/** A running Cofre. */
export interface Cofre {
  readonly address: { readonly host: string; readonly port: number };
  /** Address of the TLS listener; undefined without TLS. */
  readonly tlsAddress: { readonly host: string; readonly port: number } | undefined;
  /** The keys of the sandbox account, when this start created the account. They are not stored. */
  readonly firstStart: SandboxKeys | undefined;
  /**
   * The secret of an invitation for an admin, when no admin can sign in or
   * COFRE_CONSOLE_RECOVER_ADMIN asks for one. It is not kept.
   */
  readonly consoleInvitation: Secret<string> | undefined;
  /** Statistics of the store since startup. */
  stats(): StoreStats;
  /**
   * Finishes requests in flight within the grace period, writes what was accepted, and closes
   * everything. `cut`: connections were left when the grace period ended.
   */
  close(): Promise<"drained" | "cut">;
}

/**
 * The composition root: only this and the files in start/ name implementations. Rejects when a part
 * fails to start, and then leaves nothing open. `temporaryTls`: credentials of a TLS listener on a
 * free port, for a Cofre without a data directory, which could not keep them.
 */
export async function startCofre(
  config: Config,
  log: Log,
  given: Ports = systemPorts,
  temporaryTls?: ServerCredentials,
  secrets: SecretOrigins = noSecrets,
): Promise<Cofre> {
  const isProduction = config.environment === "production";
  if (isProduction) refuseFaults(await settingFindings(config, secrets, true));
  const clock = new WatchedClock(given.clock);
  const ports: WatchedPorts = { ...given, clock };
  await using parts = new AsyncDisposableStack();
  const foundation = await openFoundation(config, log, ports, parts);
  const { store, known, keys, incarnation } = foundation;
  const openAccount = await prepareSandboxAccount(store, ports.random, clock.now(), keys.macs, {
    integrationKey: config.sandboxIntegrationKey?.reveal(),
    publicIntegrationKey: config.sandboxPublicIntegrationKey?.reveal(),
  });
  const services = await openServices(config, foundation, log, ports, parts);
  const opened = Promise.withResolvers<void>();
  opened.promise.catch(() => undefined);
  let isOpen = false;
  const needs = { foundation, services, ready: opened.promise, isReady: () => isOpen };
  const { server, consoleUsers } = await openServer(config, needs, log, ports, parts);
  const address = await server.listen(config.port, plainHostOf(config));
  const listenTls = async () => {
    if (temporaryTls !== undefined) return server.listenTls(0, config.host, temporaryTls);
    if (config.tlsCertificateFile !== undefined)
      return listenWithCertificate(server, config, { log, ...ports }, parts);
    return config.tls === "true" ? listenWithTls(server, config, ports, parts) : undefined;
  };
  const tlsAddress = await listenTls();

  // Last of all: the keys of a new account are shown once, and a start that failed after this would
  // lose them.
  const finish = async (): Promise<Pick<Cofre, "firstStart" | "consoleInvitation">> => {
    // An invitation that is lost can be made again by the next start; keys can't.
    const recovers = config.consoleRecoverAdmin === "true";
    // In production `cofre init` invites the first admins.
    const consoleInvitation =
      isProduction && !recovers ? undefined : await consoleUsers?.inviteFirstAdmin(recovers);
    const firstStart = await openAccount();
    if (known.length === 0) await incarnation?.keeper.start(keys.keySetId, true);
    return { consoleInvitation, firstStart };
  };
  const shown = await finish().catch((error: unknown) => {
    opened.reject(error);
    throw error;
  });
  opened.resolve();
  isOpen = true;

  const running = parts.move();
  return {
    address,
    tlsAddress,
    ...shown,
    stats: () => store.stats(),
    async close() {
      const ended = await drain(server, services, ports.scheduler, config.shutdownTimeoutMs);
      await running.disposeAsync();
      return ended;
    },
  };
}

/**
 * Finishes requests in flight. After the grace period the remaining connections are closed. Their
 * work continues, and recovery resumes it at the next start.
 */
async function drain(
  server: HttpServer,
  { worlds }: Services,
  scheduler: Scheduler,
  graceMs: number,
): Promise<"drained" | "cut"> {
  let ended: "drained" | "cut" = "drained";
  const cancel = scheduler.after(graceMs, () => {
    ended = "cut";
    server.closeAllConnections();
  });
  await Promise.all([server.close(), worlds.endMoves()]);
  cancel();
  return ended;
}
