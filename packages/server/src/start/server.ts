import type { Config } from "../config/settings.ts";
import { describedCards } from "../sandbox/test-cards.ts";
import { interfaceHosts } from "../certificates/hosts.ts";
import { type EndpointsParts, serverEndpoints } from "../http/endpoints.ts";
import { baseUrl } from "../cli/banner.ts";
import { isLoopbackHost } from "../config/readers.ts";
import { createRequestRecorder } from "../http/recording/request-recorder.ts";
import { plainPeers } from "../http/plain-peers.ts";
import { PublicKeyLimits } from "../http/public-key-limits.ts";
import { createHttpServer, type HttpServer } from "../http/server.ts";
import type { ConsoleUsers } from "../http/sign-in/console-users.ts";
import type { Clock } from "../kernel/clock.ts";
import { isMerchantId } from "../kernel/ids.ts";
import { KeyActs } from "../key-acts/key-acts.ts";
import type { Log } from "../logging/log-event.ts";
import { passingDigests } from "../vault/passing-digest.ts";
import { CardLikeNames } from "../wire/decode/card-like-names.ts";
import type { SandboxDeps } from "../wire/endpoints/deps.ts";
import { addressCheckOf } from "./address-policies.ts";
import type { Foundation } from "./foundation.ts";
import { rootActs } from "./open-root-moves.ts";
import { senderOf } from "./key-act-sender.ts";
import { logHeads, openUsers } from "./open-console-users.ts";
import { ownRandom, type WatchedPorts } from "./ports.ts";
import { startJobs } from "./jobs.ts";
import { ProductionAlarms } from "./production-alarms.ts";
import { keyCheck, rotationState } from "./rotation-orders.ts";
import type { Services } from "./services.ts";

interface ServerDependencies {
  readonly foundation: Foundation;
  readonly services: Services;
  /** Resolves when the server's own account is ready. */
  readonly ready: Promise<void>;
  /** Whether the account is ready. */
  readonly isReady: () => boolean;
}

/**
 * The HTTP server with every endpoint, not listening yet, and the console's users if the console
 * has sign-in.
 */
export async function openServer(
  config: Config,
  { foundation, services, ready, isReady }: ServerDependencies,
  log: Log,
  { clock, scheduler }: WatchedPorts,
  parts: AsyncDisposableStack,
): Promise<{ readonly server: HttpServer; readonly consoleUsers: ConsoleUsers | undefined }> {
  const { store, keys } = foundation;
  const { own, paymentServices, users } = services;
  const byKey = (key: string) => paymentServices.byKey(key);
  const needs = {
    accountOf: async (requestedId: string | undefined) => {
      await ready;
      const id = requestedId ?? (await store.accounts())[0]?.id;
      return id !== undefined && isMerchantId(id) ? paymentServices.account(id) : undefined;
    },
    clock,
    log,
    sealing: keys.sealing,
    store: users,
  };
  const publicKeyLimits = new PublicKeyLimits({
    clock,
    log,
    digestOf: passingDigests(ownRandom),
  });
  // Pages are opened after the server has begun to listen.
  let server: HttpServer | undefined;
  const origin = (): string =>
    config.publicUrl?.origin ?? baseUrl(config.host, server?.port ?? config.port);
  const consoleUsers = config.console === "login" ? await openUsers(config, needs) : undefined;
  if (consoleUsers !== undefined) parts.defer(logHeads({ users, log, scheduler }));
  const alarms =
    config.environment === "production"
      ? new ProductionAlarms({ config, keys: store.keys, users, clock, scheduler, log })
      : undefined;
  if (alarms !== undefined) await startJobs([alarms], parts);
  server = createHttpServer({
    endpoints: serverEndpoints(
      endpointsParts(config, foundation, services, {
        clock,
        log,
        ready,
        consoleUsers,
        publicKeyLimits,
        origin,
      }),
    ),
    // Requests that arrive before the account is ready wait for it, within the limit of requests in
    // flight.
    resolveKey: (key) => (isReady() ? byKey(key) : ready.then(() => byKey(key))),
    clock,
    log,
    health: {
      state: () => (isReady() ? stateOf(foundation) : "starting"),
      failingJobs: () => own.failingJobs(),
      alarms: () => alarms?.names ?? [],
      areCardsStopped: () => foundation.orderWatch.areCardsStopped,
    },
    faults: services.faults,
    isWorld: (id) => paymentServices.isWorld(id),
    limits: {
      maxBodyBytes: config.maxBodyBytes,
      maxConnections: config.maxConnections,
      maxInFlight: config.maxInFlight,
      maxInFlightOfAccount: config.maxInFlightOfAccount,
      keepAliveMs: config.keepAliveMs,
    },
    allowsPlain: config.behindProxy === undefined ? undefined : plainPeers(config.behindProxy),
    authorizer: consoleUsers?.authorizer,
    clientIpHeader: config.clientIpHeader,
    publicKeyLimits,
    recorder: recorderOf(services, keys),
  });
  parts.defer(async () => {
    server.closeAllConnections();
    await server.close();
  });
  return { server, consoleUsers };
}

function recorderOf({ recording, paymentServices }: Services, keys: Foundation["keys"]) {
  if (recording === undefined) return undefined;
  return createRequestRecorder(
    recording,
    (id) => paymentServices.of(id).clock,
    (id, token) =>
      (paymentServices.isOwn(id) ? keys.vault : keys.worldVault).tokenDigests(id, token)[0],
  );
}

function stateOf({ store, slotAssignment }: Foundation): "clock_off" | "ready" | "not_writing" {
  if (slotAssignment.isClockOff) return "clock_off";
  return store.isWriting ? "ready" : "not_writing";
}

/**
 * Whether a hosted page may send customers to an address: https, in a sandbox also http on this
 * machine, and no user or password in it.
 */
function isReturnAddress(text: string, environment: Config["environment"]): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  return url.protocol === "http:" && environment === "sandbox" && isLoopbackHost(url.hostname);
}

interface EndpointsNeeds {
  readonly clock: Clock;
  readonly log: Log;
  readonly ready: Promise<void>;
  readonly consoleUsers: ConsoleUsers | undefined;
  readonly publicKeyLimits: PublicKeyLimits;
  /** Where the browsers of customers reach this server. */
  readonly origin: () => string;
}

function endpointsParts(
  config: Config,
  foundation: Foundation,
  services: Services,
  { clock, log, ready, consoleUsers, publicKeyLimits, origin }: EndpointsNeeds,
): EndpointsParts {
  const { store, keys, orderWatch, rootMoves } = foundation;
  const { own, paymentServices, policies, simulatorNames, authenticator, instruct, users } =
    services;
  const sandboxDeps: SandboxDeps = {
    loseNextAuthorization: (id) =>
      instruct(id, { next: "lose_answer", times: 1, message: "authorize" }),
  };
  const names = [config.host, ...(config.ownNames ?? [])].map((name) => name.toLowerCase());
  return {
    environment: config.environment,
    console: config.console,
    deps: {
      runner: paymentServices,
      clockOf: ({ id }) => paymentServices.of(id).clock,
      holderOf: (key) => paymentServices.byKey(key),
      forget: (id) => paymentServices.invalidate(id),
      randomOf: ({ id }) => paymentServices.of(id).random,
      addressCheck: ({ id }) =>
        addressCheckOf(paymentServices.isWorld(id) ? policies.worlds : policies.own),
      authenticatorOf: ({ id }) => paymentServices.worldOf(id)?.authenticator ?? authenticator,
      requests: paymentServices.requests,
      cardLikeNames: new CardLikeNames(),
      pages: {
        pageUrl: ({ id, merchantId }) => `${origin()}/checkout/?hash=${id}&account=${merchantId}`,
        isReturnAddress: (url) => isReturnAddress(url, config.environment),
      },
      // Undefined when another server carries out payments: nothing is simulated then.
      sandbox: simulatorNames.length > 0 ? sandboxDeps : undefined,
    },
    paymentServices,
    clock,
    log,
    accountOf: async (id) => {
      await ready;
      return paymentServices.account(id);
    },
    publicKeyLimits,
    connectorNames: services.connectorNames,
    testCards: simulatorNames.length > 0 ? describedCards : [],
    simulatorNames,
    instruct,
    notificationKeys: keys.notificationKeys,
    worldNotificationKeys: services.worldKeys,
    stats: () => store.stats(),
    recorder: services.recorder,
    consoleUsers,
    ready,
    keys: {
      acts: new KeyActs({
        orders: orderWatch.orders,
        users,
        perform: rootActs(rootMoves, log),
        checkKeys: keyCheck(foundation),
      }),
      rotation: rotationState(foundation, services.keyJobs),
      senderOf: senderOf(config, {
        consoleUsers,
        clock,
        byOwnKey: async (key) => {
          await ready;
          return await own.accounts.byKey(key);
        },
      }),
    },
    sandbox: {
      worlds: services.worlds,
      faultQueue: services.faultQueue,
      random: ownRandom,
      ownNames: new Set([...interfaceHosts, ...names]),
      byOwnKey: (key) => own.accounts.byKey(key),
      checkAddress: addressCheckOf(policies.worlds),
    },
  };
}
