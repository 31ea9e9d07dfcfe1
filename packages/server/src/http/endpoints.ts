import { documented } from "../api-docs/documented.ts";
import type { NotificationKeys } from "../delivery/notification-keys.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import type { Log } from "../logging/log-event.ts";
import type { Account } from "../merchant/account.ts";
import type { AddressCheck } from "../merchant/receiver-address.ts";
import type { Credential } from "../operations/account-directory.ts";
import { changeSettings } from "../operations/change-settings.ts";
import type { PaymentServices } from "../sandbox/payment-services.ts";
import type { Recorder } from "../sandbox/recording/recorder.ts";
import type { Worlds } from "../sandbox/worlds.ts";
import type { StoreStats } from "../stores/store.ts";
import type { Endpoint, ServedEndpoint } from "../wire/endpoint.ts";
import type { EndpointDeps } from "../wire/endpoints/deps.ts";
import { wireEndpoints } from "../wire/endpoints/index.ts";
import { countriesEndpoint } from "./admin/countries-endpoint.ts";
import { explainEndpoint } from "./admin/explain-endpoint.ts";
import { faultsEndpoint } from "./admin/faults-endpoint.ts";
import { figuresEndpoint } from "./admin/figures-endpoint.ts";
import { keysEndpoint, type KeysEndpointParts } from "./admin/keys-endpoint.ts";
import {
  certificateEndpoint,
  type NotificationsDeps,
  notificationsEndpoint,
} from "./admin/notifications-endpoint.ts";
import { paymentEndpoint } from "./admin/payment-endpoint.ts";
import { paymentsEndpoint } from "./admin/payments-endpoint.ts";
import { requestsEndpoint } from "./admin/requests-endpoint.ts";
import { settingsEndpoint } from "./admin/settings-endpoint.ts";
import { type Instruct, simulatorEndpoint } from "./admin/simulator-endpoint.ts";
import { statsEndpoint, statsOfWorld } from "./admin/stats-endpoint.ts";
import { testCardsEndpoint } from "./admin/test-cards-endpoint.ts";
import { timelineEndpoint } from "./admin/timeline-endpoint.ts";
import { tokensEndpoint } from "./admin/tokens-endpoint.ts";
import { viewsEndpoint } from "./admin/views-endpoint.ts";
import { worldsEndpoints } from "./admin/worlds-endpoint.ts";
import { challengeEndpoints } from "./challenge-endpoint.ts";
import { checkoutEndpoints } from "./checkout-endpoint.ts";
import { consoleEndpoints } from "./console-endpoint.ts";
import { fieldsReportsEndpoint } from "./fields-reports.ts";
import { fieldsEndpoints } from "./fields-endpoint.ts";
import type { FaultQueue } from "./faults/fault-queue.ts";
import type { PublicKeyLimits } from "./public-key-limits.ts";
import type { ConsoleUsers } from "./sign-in/console-users.ts";

/** What the endpoints of a server need. */
export interface EndpointsParts {
  readonly environment: "sandbox" | "production";
  /** How the console is served; see COFRE_CONSOLE. */
  readonly console: Parameters<typeof consoleEndpoints>[1];
  readonly deps: EndpointDeps;
  readonly paymentServices: PaymentServices;
  readonly clock: Clock;
  readonly log: Log;
  /** The account of this id, when the accounts are ready. */
  readonly accountOf: (id: MerchantId) => Promise<Account | undefined>;
  readonly publicKeyLimits: PublicKeyLimits;
  readonly connectorNames: readonly string[];
  /** Cards whose outcome in the sandbox is known; none in production. */
  readonly testCards: Parameters<typeof documented>[2]["testCards"];
  /** Names of the simulated acquirers among them. */
  readonly simulatorNames: readonly string[];
  readonly instruct: Instruct;
  readonly notificationKeys: NotificationKeys;
  readonly worldNotificationKeys: NotificationKeys;
  readonly stats: () => StoreStats;
  /** The request log; undefined in production. */
  readonly recorder: Recorder | undefined;
  /** Undefined if the console has no logins. */
  readonly consoleUsers: ConsoleUsers | undefined;
  /** Resolves when the server's own account is ready. */
  readonly ready: Promise<void>;
  readonly keys: KeysEndpointParts;
  readonly sandbox: {
    readonly worlds: Worlds;
    readonly faultQueue: FaultQueue;
    readonly random: Random;
    /** Names of this server, in lower case: pages under them may create worlds. */
    readonly ownNames: ReadonlySet<string>;
    /** Resolves a key of the server's own accounts. */
    readonly byOwnKey: (key: string) => Credential | undefined | Promise<Credential | undefined>;
    /** Checks whether notifications of worlds may be sent to an address. */
    readonly checkAddress: AddressCheck;
  };
}

/** Every endpoint of a server. */
export function serverEndpoints(parts: EndpointsParts): readonly ServedEndpoint[] {
  const { deps, consoleUsers, clock } = parts;
  const operations = wireEndpoints(deps);
  const endpoints = [
    certificateEndpoint({ keys: parts.notificationKeys }),
    ...consoleEndpoints(parts.environment, parts.console),
    fieldsReportsEndpoint({ clock, log: parts.log }),
    ...checkoutEndpoints({
      deps,
      accountOf: parts.accountOf,
      limits: parts.publicKeyLimits,
      testCards: parts.testCards,
    }),
    ...fieldsEndpoints({ environment: parts.environment, holderOf: deps.holderOf }),
    ...(consoleUsers === undefined ? [] : consoleUsers.endpoints),
    keysEndpoint(parts.keys),
    ...operations,
    ...accountEndpoints(parts),
    ...sandboxEndpoints(parts, operations),
  ];
  return documented(endpoints, clock, {
    testCards: parts.testCards,
    hasConsole: endpoints.some(({ path }) => path === "/"),
  });
}

function accountEndpoints(parts: EndpointsParts): readonly Endpoint[] {
  const { deps, paymentServices, recorder, connectorNames } = parts;
  const { runner, forget, addressCheck } = deps;
  return [
    explainEndpoint(runner),
    notificationsEndpoint((account) => notificationsOf(parts, account)),
    paymentEndpoint(runner),
    paymentsEndpoint(runner),
    figuresEndpoint(deps),
    tokensEndpoint(runner),
    viewsEndpoint(runner, { forget }),
    statsEndpoint(({ id }) => {
      const world = paymentServices.worldOf(id);
      return world === undefined ? parts.stats() : statsOfWorld(world);
    }),
    ...(recorder === undefined
      ? []
      : [
          requestsEndpoint(recorder),
          timelineEndpoint({
            runner,
            storeOf: ({ id }) => paymentServices.of(id).store,
            recorder,
            authenticatorOf: deps.authenticatorOf,
          }),
        ]),
    settingsEndpoint(
      runner,
      { forget },
      connectorNames,
      addressCheck,
      parts.environment === "sandbox",
    ),
  ];
}

function notificationsOf(parts: EndpointsParts, account: Account): NotificationsDeps {
  const { deps, paymentServices, notificationKeys, worldNotificationKeys, recorder } = parts;
  const { id } = account;
  const { store, clock, dispatcher } = paymentServices.of(id);
  const world = paymentServices.worldOf(id);
  return {
    store,
    clock,
    keys: world === undefined ? notificationKeys : worldNotificationKeys,
    recorder,
    nudge: () => dispatcher.nudge(id),
    name: world?.alias ?? id,
    change: async (settingsAfter) => {
      const changed = await deps.runner.run(changeSettings, account, settingsAfter);
      deps.forget(id);
      return changed;
    },
  };
}

function sandboxEndpoints(
  parts: EndpointsParts,
  operations: readonly Endpoint[],
): readonly Endpoint[] {
  if (parts.environment !== "sandbox") return [];
  const { paymentServices, ready, connectorNames, simulatorNames } = parts;
  const { worlds, faultQueue, random, ownNames, byOwnKey, checkAddress } = parts.sandbox;
  const isSimulated = (id: MerchantId): boolean =>
    paymentServices.isWorld(id) || simulatorNames.length > 0;
  return [
    ...worldsEndpoints({
      worlds,
      clock: parts.clock,
      random,
      isTaken: async (key) => {
        // Before that, the account's own keys are not known.
        await ready;
        return (await byOwnKey(key)) !== undefined;
      },
      opensAccount: async (key) => {
        await ready;
        return (await byOwnKey(key))?.grants === "secret";
      },
      ownNames,
      isAccount: (id) => paymentServices.isOwn(id),
      isClosed: parts.consoleUsers !== undefined,
      connectorNames,
      checkAddress,
    }),
    simulatorEndpoint(parts.instruct, simulatorNames),
    faultsEndpoint(faultQueue, operations, isSimulated),
    testCardsEndpoint(),
    ...challengeEndpoints(parts.deps),
    countriesEndpoint(),
  ];
}
