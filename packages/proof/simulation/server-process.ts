import type { Connectors } from "../../server/src/connectors/connector.ts";
import { clockToleranceMs } from "../../server/src/kernel/clock.ts";
import { type Instant, second } from "../../server/src/kernel/instant.ts";
import type { Random } from "../../server/src/kernel/random.ts";
import type { ElapsedMs } from "../../server/src/kernel/elapsed.ts";
import type { Scheduler } from "../../server/src/kernel/scheduler.ts";
import { type SlotAssignment, allSlots } from "../../server/src/kernel/slot-assignment.ts";
import type { WatchedClock } from "../../server/src/kernel/watched-clock.ts";
import { endpointsOf } from "../../server/src/merchant/notification-endpoints.ts";
import { AccountDirectory } from "../../server/src/operations/account-directory.ts";
import { notificationAccounts } from "../../server/src/operations/notification-accounts.ts";
import { IdempotentRequests } from "../../server/src/operations/idempotent-requests.ts";
import { Runner } from "../../server/src/operations/runner.ts";
import { Dispatcher } from "../../server/src/delivery/dispatcher.ts";
import { targetsOf } from "../../server/src/notification/endpoint.ts";
import type { Sender } from "../../server/src/delivery/sender.ts";
import { CardExpiryJob } from "../../server/src/recovery/card-expiry-job.ts";
import { RecoveryJob } from "../../server/src/recovery/recovery-job.ts";
import { ClockSetBackJob } from "../../server/src/recovery/clock-set-back-job.ts";
import { SlotLeaseKeeper } from "../../server/src/recovery/slot-lease-keeper.ts";
import type { Store } from "../../server/src/stores/store.ts";
import { CvvCache } from "../../server/src/vault/cvv-cache.ts";
import type { Vault } from "../../server/src/vault/vault.ts";
import type { Auditor } from "./auditor.ts";
import { CardLikeNames } from "../../server/src/wire/decode/card-like-names.ts";
import { createWireServer, type WireServer } from "./wire-server.ts";

/** The outside of one process: it may die at each call. */
export interface Outside {
  readonly store: Store;
  readonly vault: Vault;
  readonly connectors: Connectors;
  readonly sender: Sender;
  readonly clock: WatchedClock;
  /**
   * The clock time that the previous process noted; undefined in a run in which no clock is set
   * back.
   */
  readonly setBack: { readonly seenAt: Instant | undefined } | undefined;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** For notifications only, as in app.ts. */
  readonly notificationRandom: Random;
  readonly auditor: Auditor;
  /** Names this process among those that share the store; undefined when there can be no other. */
  readonly node: string | undefined;
  readonly elapsedMs: ElapsedMs;
  /** The installation's epoch, as in app.ts. */
  readonly epoch: () => number;
}

/** The parts of a server, put together as in app.ts. */
export interface ServerParts {
  readonly runner: Runner;
  /** The part that clients reach. */
  readonly wire: WireServer;
  readonly slotAssignment: SlotAssignment;
  /** Whether a balancer sends it requests: /readyz fails while its clock is wrong. */
  isReady(): boolean;
  /** Starts the jobs; resolves when requests may be served. */
  start(): Promise<void>;
}

const acquirerTimeoutMs = 30_000;
/**
 * Retries are minutes apart, and new notifications trigger a nudge: polling each second would be
 * most of a run's work.
 */
const pollMs = 15 * second;
/** The job checks each second, which would be most of a run's work too. */
const pollFactor = 5;

export function buildServer({ auditor, ...outside }: Outside): ServerParts {
  const { store, clock, scheduler, random, node, elapsedMs, epoch } = outside;
  const keeper =
    node === undefined
      ? undefined
      : new SlotLeaseKeeper({
          store,
          clock,
          node,
          scheduler,
          elapsedMs,
          report: ({ kind }) => auditor.mark(`slots ${kind}`),
        });
  const slotAssignment = keeper ?? allSlots;
  const accounts = new AccountDirectory(store, clock);
  const dispatcher = new Dispatcher({
    store,
    accounts: notificationAccounts(accounts, { run: (...call) => runner.run(...call) }),
    sender: outside.sender,
    // Other tests check signatures, which would cost more than the rest of a run.
    sign: async ({ id, at }) => ({
      "webhook-id": id,
      "webhook-timestamp": String(at),
      "webhook-signature": "v1,AAAA",
    }),
    installation: "simulation",
    epoch,
    clock,
    random: outside.notificationRandom,
    scheduler,
    slotAssignment,
    report: ({ kind }) => auditor.mark(`delivery ${kind}`),
    alarm: (what) => auditor.violation(`no alarm is raised about an endpoint: ${what}`),
    pollMs,
  });
  const runner: Runner = new Runner({
    store,
    vault: outside.vault,
    connectors: outside.connectors,
    cvvCache: new CvvCache(random),
    clock,
    random,
    acquirerTimeoutMs,
    epoch,
    endpointsOf: ({ settings }, { order }) =>
      targetsOf(endpointsOf(settings), order.notificationUrl),
    onNotificationsCommitted: (_, { at, merchantId, endpoints }) => {
      if (at > clock.now() + clockToleranceMs) setBack?.onFutureTimestamp(merchantId);
      dispatcher.nudge(merchantId, endpoints);
      return undefined;
    },
    alarm: (alarm) => auditor.alarm(alarm),
  });
  const setBack =
    outside.setBack === undefined
      ? undefined
      : new ClockSetBackJob({
          store,
          clock,
          scheduler: {
            sleep: (ms) => scheduler.sleep(ms),
            after: (ms, task) => scheduler.after(ms * pollFactor, task),
          },
          seenAt: outside.setBack.seenAt,
          report: ({ payments, deliveries }) =>
            auditor.mark(
              `set back, and ${payments + deliveries > 0 ? "something" : "nothing"} waits`,
            ),
        });
  const recovery = new RecoveryJob({
    store,
    runner,
    accounts,
    clock,
    scheduler,
    slotAssignment,
    report: ({ kind, state }) => auditor.mark(`${kind} ${state}`),
  });
  const cardExpiry = new CardExpiryJob({
    store,
    clock,
    scheduler,
    slotAssignment,
    report: () => auditor.mark("cards forgotten"),
  });
  const wire = createWireServer({
    runner,
    clockOf: () => clock,
    holderOf: (key) => accounts.byKey(key),
    addressCheck: () => () => undefined,
    cardLikeNames: new CardLikeNames(),
    pages: { pageUrl: () => "", isReturnAddress: () => false },
    forget: (id) => accounts.forget(id),
    randomOf: () => random,
    requests: new IdempotentRequests(store, clock, slotAssignment),
    authenticatorOf: () => undefined,
    sandbox: undefined,
  });
  return {
    runner,
    wire,
    slotAssignment,
    isReady: () => keeper?.isClockOff !== true,
    async start() {
      await keeper?.start();
      setBack?.start();
      cardExpiry.start();
      dispatcher.start();
      await recovery.start();
    },
  };
}
