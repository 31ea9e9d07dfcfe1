import type { Connectors } from "./connectors/connector.ts";
import { type Clock, clockToleranceMs } from "./kernel/clock.ts";
import type { MerchantId, PaymentIds } from "./kernel/ids.ts";
import type { Instant } from "./kernel/instant.ts";
import { JobReads, type ReadReport } from "./kernel/job-reads.ts";
import type { ElapsedMs } from "./kernel/elapsed.ts";
import type { Pace } from "./kernel/pace.ts";
import type { Random } from "./kernel/random.ts";
import type { Scheduler } from "./kernel/scheduler.ts";
import type { Share } from "./kernel/share.ts";
import { endpointsOf } from "./merchant/notification-endpoints.ts";
import type { Log } from "./logging/log-event.ts";
import { AccountDirectory } from "./operations/account-directory.ts";
import { NamedRequests } from "./operations/named-requests.ts";
import { notificationAccounts } from "./operations/notification-accounts.ts";
import { Runner } from "./operations/runner.ts";
import { type DeliveryAttempt, Dispatcher } from "./delivery/dispatcher.ts";
import { gatheringOf, targetsOf } from "./notification/endpoint.ts";
import type { Delivery } from "./notification/events.ts";
import { FirstAttempts } from "./delivery/first-attempts.ts";
import type { Sender } from "./delivery/sender.ts";
import type { Signable, SignedHeaders } from "./delivery/signature.ts";
import type { Payment } from "./payment/payment.ts";
import { CardExpiryJob } from "./recovery/card-expiry-job.ts";
import { RecoveryJob } from "./recovery/recovery-job.ts";
import { RetentionJob, type RetentionPeriods } from "./recovery/retention-job.ts";
import type { Store } from "./stores/store.ts";
import { CvvPocket } from "./vault/cvv-pocket.ts";
import type { RowMacs } from "./vault/row-mac.ts";
import type { Pan } from "./vault/pan.ts";
import type { Vault } from "./vault/vault.ts";

/** What an installation stands on: the server's own, or a world's. */
export interface InstallationParts {
  readonly store: Store;
  readonly vault: Vault;
  /** Checks integration keys; a world, which lives in memory, has none. */
  readonly macs?: RowMacs;
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** Tokens, hashes and codes are drawn from it. */
  readonly random: Random;
  /** Without it, ids of payments are in order within what this installation remembers. */
  readonly paymentIds?: PaymentIds;
  /**
   * Notifications draw from a source of their own: what is drawn from the other does not depend on
   * who was told what, and when.
   */
  readonly deliveryRandom: Random;
  /**
   * One of each delivery's own, where chance is to be repeatable: receivers answer in any order.
   */
  readonly deliveryRandomFor?: (delivery: Delivery) => Random;
  /** true: receivers are told one thing at a time. */
  readonly tellsInOrder?: () => boolean;
  /** Keys in memory come from it. */
  readonly secretRandom: Random;
  readonly scheduler: Scheduler;
  readonly share: Share;
  /** Without it, recovery begins everything that is due at once. */
  readonly recoveryPace?: Pace;
  readonly sender: Sender;
  readonly sign: (message: Signable) => Promise<SignedHeaders>;
  /** Names the installation in message ids; never changes. */
  readonly name: string;
  /**
   * Above which attempts are numbered, and part of message ids: 0 until the database was ever put
   * back. Without it, always.
   */
  readonly epoch?: () => number;
  /** Called when a change with notifications is stamped later than now: they are due now. */
  readonly stampedAhead?: (merchantId: MerchantId) => void;
  /** Names merchants in message ids and for their keys, where that is not their id. */
  readonly nameOf?: (merchantId: MerchantId) => MerchantId;
  readonly acquirerTimeoutMs: number;
  /** How long records are kept. */
  readonly periods: RetentionPeriods;
  /** A clock that has not kept step with it deletes nothing. */
  readonly elapsedMs: ElapsedMs;
  readonly acceptsPan?: ((pan: Pan) => boolean) | undefined;
  readonly log: Log;
  /** The sandbox's request log; nothing is recorded without it. */
  readonly recording?: InstallationRecording | undefined;
}

/** What a request log is told of an installation, with the time of its clock. */
export interface InstallationRecording {
  readonly connectors: (connectors: Connectors, clock: Clock) => Connectors;
  readonly attempted: (attempt: DeliveryAttempt, at: Instant) => void;
  readonly committed: (payment: Payment, at: Instant) => void;
}

/**
 * A whole payment service over one store: what runs operations, and the jobs, none of which has
 * begun.
 */
export interface Installation {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly accounts: AccountDirectory;
  readonly runner: Runner;
  readonly requests: NamedRequests;
  readonly dispatcher: Dispatcher;
  readonly recovery: RecoveryJob;
  readonly cardExpiry: CardExpiryJob;
  readonly retention: RetentionJob;
  /** Where a job of this name, which is not one of these, reports its reads. */
  readonly readsOf: (job: string) => ReadReport;
  /** Jobs that can't read what they are to do. */
  readonly failingJobs: () => readonly string[];
}

/**
 * Puts one together. Nothing is read, and nothing runs by itself, until somebody starts the jobs or
 * asks them to do what is due.
 */
export function createInstallation(parts: InstallationParts): Installation {
  const { store, clock, random, scheduler, share, log, recording } = parts;
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
  const firstAttempts = new FirstAttempts(scheduler);
  const reads = new JobReads(clock, (failure) =>
    log.write({ event: "job_read_failed", ...failure }),
  );
  const dispatcher = new Dispatcher({
    reads: reads.of("notifications"),
    ended: (delivery) => firstAttempts.ended(delivery),
    store,
    // The runner, made below, tells the dispatcher.
    accounts: notificationAccounts(accounts, { run: (...call) => runner.run(...call) }),
    sender: parts.sender,
    sign: parts.sign,
    installation: parts.name,
    ...(parts.epoch === undefined ? {} : { epoch: parts.epoch }),
    ...(parts.nameOf === undefined ? {} : { nameOf: parts.nameOf }),
    clock,
    random: parts.deliveryRandom,
    ...(parts.deliveryRandomFor === undefined ? {} : { randomFor: parts.deliveryRandomFor }),
    ...(parts.tellsInOrder === undefined ? {} : { inOrder: parts.tellsInOrder }),
    scheduler,
    share,
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
    attempted: (attempt) => recording?.attempted(attempt, clock.now()),
  });
  const pocket = new CvvPocket(parts.secretRandom);
  const runner = new Runner({
    store,
    vault: parts.vault,
    connectors: recording?.connectors(parts.connectors, clock) ?? parts.connectors,
    pocket,
    clock,
    random,
    ...(parts.paymentIds === undefined ? {} : { paymentIds: parts.paymentIds }),
    acquirerTimeoutMs: parts.acquirerTimeoutMs,
    acceptsPan: parts.acceptsPan,
    ...(parts.epoch === undefined ? {} : { epoch: parts.epoch }),
    alarm: (alarm) => log.write({ event: "alarm", ...alarm }),
    deliverTo: ({ settings }, { order }) => targetsOf(endpointsOf(settings), order.notificationUrl),
    gatherFor: ({ settings }, deliverTo) => gatheringOf(endpointsOf(settings), deliverTo),
    told: ({ settings }, change) => {
      if (change.at > clock.now() + clockToleranceMs) parts.stampedAhead?.(change.merchantId);
      dispatcher.nudge(change.merchantId, change.deliverTo);
      // What another process sends, nobody here sees ending.
      return dispatcher.sendsFor(change.merchantId)
        ? firstAttempts.of(change, settings.notificationChaos)
        : undefined;
    },
    committed: (payment) => recording?.committed(payment, clock.now()),
  });
  const cardExpiry = new CardExpiryJob({
    store,
    reads: reads.of("card_expiry"),
    pocket,
    clock,
    scheduler,
    share,
    report: (progress) => log.write({ event: "cards_expired", ...progress }),
  });
  const retention = new RetentionJob({
    store,
    periods: parts.periods,
    reads: reads.of("retention"),
    clock,
    elapsedMs: parts.elapsedMs,
    scheduler,
    share,
    report: (deleted) => log.write({ event: "records_deleted", ...deleted }),
  });
  const recovery = new RecoveryJob({
    store,
    reads: reads.of("recovery"),
    runner,
    accounts,
    clock,
    scheduler,
    share,
    pace: parts.recoveryPace,
    report: ({ kind, ...facts }) =>
      log.write({ event: kind === "settled" ? "recovery_settled" : "recovery_overdue", ...facts }),
  });
  return {
    store,
    clock,
    random,
    accounts,
    runner,
    requests: new NamedRequests(store, clock, share),
    dispatcher,
    recovery,
    cardExpiry,
    retention,
    readsOf: (job) => reads.of(job),
    failingJobs: () => reads.failing(),
  };
}
