import type { Authenticator } from "./authentication/authenticator.ts";
import type { Connectors } from "./connectors/connector.ts";
import { type Clock, clockToleranceMs } from "./kernel/clock.ts";
import type { MerchantId } from "./kernel/ids.ts";
import type { PaymentIds } from "./payment/payment-id.ts";
import type { Instant } from "./kernel/instant.ts";
import { JobReads, type ReadReport } from "./kernel/job-reads.ts";
import type { ElapsedMs } from "./kernel/elapsed.ts";
import type { Random } from "./kernel/random.ts";
import type { Scheduler } from "./kernel/scheduler.ts";
import type { SlotAssignment } from "./kernel/slot-assignment.ts";
import { endpointsOf } from "./merchant/notification-endpoints.ts";
import type { Log } from "./logging/log-event.ts";
import { AccountDirectory } from "./operations/account-directory.ts";
import { IdempotentRequests } from "./operations/idempotent-requests.ts";
import { notificationAccounts } from "./operations/notification-accounts.ts";
import { Runner } from "./operations/runner.ts";
import { type DeliveryAttempt, Dispatcher } from "./delivery/dispatcher.ts";
import { batchingTargets, targetsOf } from "./notification/endpoint.ts";
import type { Delivery } from "./notification/events.ts";
import { FirstAttemptWaits } from "./delivery/first-attempt-waits.ts";
import type { Sender } from "./delivery/sender.ts";
import type { Signable, SignedHeaders } from "./delivery/signature.ts";
import type { Payment } from "./payment/payment.ts";
import { CardExpiryJob } from "./recovery/card-expiry-job.ts";
import { RecoveryJob, type RecoveryRateLimits } from "./recovery/recovery-job.ts";
import { RetentionJob, type RetentionPeriods } from "./recovery/retention-job.ts";
import type { Store } from "./stores/store.ts";
import { CvvCache } from "./vault/cvv-cache.ts";
import type { RowMacs } from "./vault/row-mac.ts";
import type { Pan } from "./vault/pan.ts";
import type { Vault } from "./vault/vault.ts";

/** Dependencies of a payment service: the server's or a world's. */
export interface PaymentServiceParts {
  readonly store: Store;
  readonly vault: Vault;
  /** Verifies rows of integration keys; a world, which is in memory, has none. */
  readonly macs?: RowMacs;
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** Source of tokens, hashes and codes. */
  readonly random: Random;
  /** Without it, payment ids increase within what this service remembers. */
  readonly paymentIds?: PaymentIds;
  /**
   * Separate source for notifications, so that draws from the other do not depend on the order and
   * timing of deliveries.
   */
  readonly deliveryRandom: Random;
  /**
   * A separate source per delivery, where randomness must be repeatable, because receivers answer
   * in any order.
   */
  readonly deliveryRandomFor?: (delivery: Delivery) => Random;
  /** true: receivers get one message at a time. */
  readonly deliversInOrder?: () => boolean;
  /** Source of keys in memory. */
  readonly secretRandom: Random;
  readonly scheduler: Scheduler;
  readonly slotAssignment: SlotAssignment;
  /** Without it, recovery starts everything that is due at once. */
  readonly recoveryRateLimits?: RecoveryRateLimits;
  /** The 3-D Secure server; without it no customer can be authenticated. */
  readonly authenticator?: Authenticator | undefined;
  readonly sender: Sender;
  readonly sign: (message: Signable) => Promise<SignedHeaders>;
  /** The installation's name in message ids; never changes. */
  readonly name: string;
  /**
   * The base of attempt numbers and part of message ids: 0 until the database is restored for the
   * first time. Always 0 without it.
   */
  readonly epoch?: () => number;
  /** Called when a change with notifications is stamped later than now: they are due now. */
  readonly onFutureTimestamp?: (merchantId: MerchantId) => void;
  /** The merchant's name in message ids and for its keys, if it is not the merchant id. */
  readonly nameOf?: (merchantId: MerchantId) => MerchantId;
  readonly acquirerTimeoutMs: number;
  /** Retention periods of records. */
  readonly periods: RetentionPeriods;
  /** Nothing is deleted when the clock has diverged from it. */
  readonly elapsedMs: ElapsedMs;
  readonly acceptsPan?: ((pan: Pan) => boolean) | undefined;
  readonly log: Log;
  /** The sandbox's request log; nothing is recorded without it. */
  readonly recording?: ServiceRecording | undefined;
}

/** The interface of a request log, with the time of the service's clock. */
export interface ServiceRecording {
  readonly connectors: (connectors: Connectors, clock: Clock) => Connectors;
  readonly attempted: (attempt: DeliveryAttempt, at: Instant) => void;
  readonly committed: (payment: Payment, at: Instant) => void;
}

/**
 * A complete payment service over one store: the runner of operations, and the jobs, which are not
 * started yet.
 */
export interface PaymentService {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly accounts: AccountDirectory;
  readonly runner: Runner;
  readonly requests: IdempotentRequests;
  readonly dispatcher: Dispatcher;
  readonly recovery: RecoveryJob;
  readonly cardExpiry: CardExpiryJob;
  readonly retention: RetentionJob;
  /** The report for the reads of a job with this name that is not one of these. */
  readonly readsOf: (job: string) => ReadReport;
  /** Jobs that cannot read their work. */
  readonly failingJobs: () => readonly string[];
}

/**
 * Creates a payment service. Nothing is read or runs by itself until the caller starts the jobs or
 * has them do due work.
 */
export function createPaymentService(parts: PaymentServiceParts): PaymentService {
  const { store, clock, random, scheduler, slotAssignment, log, recording } = parts;
  const refused = (merchantId: MerchantId): void =>
    log.write({
      event: "alarm",
      kind: "row_refused",
      what: "an integration key's row was written with the keys of this installation",
      where: undefined,
      merchantId,
      paymentId: undefined,
    });
  const accounts = new AccountDirectory(
    store,
    clock,
    parts.macs === undefined ? undefined : { macs: parts.macs, refused },
  );
  const firstAttempts = new FirstAttemptWaits(scheduler);
  const reads = new JobReads(clock, (failure) =>
    log.write({ event: "job_read_failed", ...failure }),
  );
  const dispatcher = new Dispatcher({
    reads: reads.of("notifications"),
    onAttemptEnd: (delivery) => firstAttempts.attemptEnded(delivery),
    store,
    // The runner, created below, notifies the dispatcher.
    accounts: notificationAccounts(accounts, { run: (...call) => runner.run(...call) }),
    sender: parts.sender,
    sign: parts.sign,
    installation: parts.name,
    ...(parts.epoch === undefined ? {} : { epoch: parts.epoch }),
    ...(parts.nameOf === undefined ? {} : { nameOf: parts.nameOf }),
    clock,
    random: parts.deliveryRandom,
    ...(parts.deliveryRandomFor === undefined ? {} : { randomFor: parts.deliveryRandomFor }),
    ...(parts.deliversInOrder === undefined ? {} : { inOrder: parts.deliversInOrder }),
    scheduler,
    slotAssignment,
    report: ({ kind, ...facts }) =>
      log.write({
        event: kind === "delivered" ? "notification_delivered" : "notification_failed",
        kind,
        ...facts,
      }),
    alarm: (what, merchantId) =>
      log.write({
        event: "alarm",
        kind: "unexpected_failure",
        what,
        where: undefined,
        merchantId,
        paymentId: undefined,
      }),
    onAttempt: (attempt) => recording?.attempted(attempt, clock.now()),
    exchangeTime: recording === undefined ? undefined : parts.elapsedMs,
  });
  const cvvCache = new CvvCache(parts.secretRandom);
  const runner = new Runner({
    store,
    vault: parts.vault,
    connectors: recording?.connectors(parts.connectors, clock) ?? parts.connectors,
    authenticator: parts.authenticator,
    cvvCache,
    clock,
    random,
    ...(parts.paymentIds === undefined ? {} : { paymentIds: parts.paymentIds }),
    acquirerTimeoutMs: parts.acquirerTimeoutMs,
    acceptsPan: parts.acceptsPan,
    ...(parts.epoch === undefined ? {} : { epoch: parts.epoch }),
    alarm: (alarm) => log.write({ event: "alarm", ...alarm }),
    endpointsOf: ({ settings }, { order }) =>
      targetsOf(endpointsOf(settings), order.notificationUrl),
    batchFor: ({ settings }, endpoints) => batchingTargets(endpointsOf(settings), endpoints),
    onNotificationsCommitted: ({ settings }, change) => {
      if (change.at > clock.now() + clockToleranceMs) parts.onFutureTimestamp?.(change.merchantId);
      dispatcher.nudge(change.merchantId, change.endpoints);
      // This process does not see the end of deliveries that another process sends.
      return dispatcher.sendsFor(change.merchantId)
        ? firstAttempts.waitFor(change, settings.notificationChaos)
        : undefined;
    },
    onCommitted: (payment) => recording?.committed(payment, clock.now()),
  });
  const cardExpiry = new CardExpiryJob({
    store,
    reads: reads.of("card_expiry"),
    cvvCache,
    clock,
    elapsedMs: parts.elapsedMs,
    scheduler,
    slotAssignment,
    report: ({ deleted, seen }) => log.write({ event: "cards_expired", forgotten: deleted, seen }),
  });
  const retention = new RetentionJob({
    store,
    periods: parts.periods,
    reads: reads.of("retention"),
    clock,
    elapsedMs: parts.elapsedMs,
    scheduler,
    slotAssignment,
    report: (deleted) => log.write({ event: "records_deleted", ...deleted }),
  });
  const recovery = new RecoveryJob({
    store,
    reads: reads.of("recovery"),
    runner,
    accounts,
    clock,
    scheduler,
    slotAssignment,
    rateLimits: parts.recoveryRateLimits,
    report: ({ kind, ...facts }) =>
      log.write({ event: kind === "settled" ? "recovery_settled" : "recovery_overdue", ...facts }),
  });
  return {
    store,
    clock,
    random,
    accounts,
    runner,
    requests: new IdempotentRequests(store, clock, slotAssignment),
    dispatcher,
    recovery,
    cardExpiry,
    retention,
    readsOf: (job) => reads.of(job),
    failingJobs: () => reads.failing(),
  };
}
