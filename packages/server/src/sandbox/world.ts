import {
  createPaymentService,
  type PaymentService,
  type PaymentServiceParts,
  type ServiceRecording,
} from "../payment-service.ts";
import { SimulatedAuthenticator } from "../authentication/simulated-authenticator.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import type { Connector } from "../connectors/connector.ts";
import type { Instruction } from "../connectors/simulator/network.ts";
import type { Simulator } from "../connectors/simulator/simulator-connector.ts";
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { sha256, sha256Hex } from "../kernel/digest.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { newPaymentId, type PaymentId } from "../payment/payment-id.ts";
import { hour, type Instant, instant, laterBy } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { allSlots } from "../kernel/slot-assignment.ts";
import type { ReportDropped } from "../connectors/connector.ts";
import type { Account } from "../merchant/account.ts";
import {
  accountChange,
  type Granted,
  grant,
  type SandboxKeys,
} from "../operations/sandbox-account.ts";
import { errorFacts } from "../logging/error-facts.ts";
import { KeyedMutex } from "../kernel/keyed-mutex.ts";
import type { Change } from "../stores/change.ts";
import type { WorldStore, WorldStoreOptions } from "../stores/world-store.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import { WorldClock, type WorldTime } from "./world-clock.ts";

/** Dependencies that all worlds share with their server. */
export interface WorldDependencies extends Pick<
  PaymentServiceParts,
  | "vault"
  | "sender"
  | "sign"
  | "name"
  | "acquirerTimeoutMs"
  | "periods"
  | "elapsedMs"
  | "acceptsPan"
  | "log"
  | "recording"
> {
  /** The system clock. */
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly secretRandom: Random;
  /** Names of the acquirers, in configuration order; in a world each is simulated. */
  readonly acquirers: readonly [string, ...string[]];
  readonly openAcquirer: (ports: {
    readonly clock: Clock;
    readonly scheduler: Scheduler;
  }) => Simulator;
  readonly reportDropped: ReportDropped;
  readonly openStore: (options: WorldStoreOptions) => WorldStore;
  /** Called for each change: whether all worlds together have no room for it. */
  readonly isFull: (change: Change) => boolean;
  /** Whether snapshots of all worlds together have room for this number of records. */
  readonly hasSnapshotRoom: (records: number) => boolean;
}

/** The initial state of a world, also after a reset. */
export interface WorldPlan {
  readonly name: string;
  readonly seed: string;
  readonly time: WorldTime;
  /** The initial account; its id is the world's and never changes. */
  readonly account: Account;
  /**
   * In plain text: any client that reaches the server may read them, as it may use the world
   * itself.
   */
  readonly keys: SandboxKeys;
}

/** Work done while the time moved. */
export interface AdvanceResult {
  /**
   * Changes of payments: captures that expired, refunds that were sent, outcomes that were
   * resolved.
   */
  payments: number;
  /** Attempts to deliver notifications, whatever their result. */
  deliveries: number;
  /** Expired stored cards that were deleted. */
  cards: number;
}

/** Result of moving the time. */
export interface ClockMove {
  readonly result: AdvanceResult;
  /**
   * The target time, if more fell due on the way than one call processes; undefined when it was
   * reached.
   */
  readonly left: Instant | undefined;
  /**
   * The world was reset or restored during the move: the work done is lost with the old state, and
   * the time is that of the new state.
   */
  readonly isCancelled: boolean;
}

/** The state of a world at one moment; nothing runs on it. */
interface Snapshot {
  readonly store: WorldStore;
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly authenticator: SimulatedAuthenticator;
  readonly time: WorldTime;
  /** Bytes drawn from the random generator. */
  readonly bytesDrawn: number;
  readonly lastPaymentId: PaymentId | undefined;
  /** Its share of the limit on all snapshots. */
  readonly records: number;
}

/** The state of a world between two resets or restores. Nothing of it affects the next. */
interface WorldState {
  readonly store: WorldStore;
  readonly totals: AdvanceResult;
  /** Changes committed to the store since then. */
  readonly committed: { changes: number };
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly authenticator: SimulatedAuthenticator;
  readonly clock: WorldClock;
  readonly random: SeededRandom;
  /**
   * Every payment id is greater than the one before, also while the time is paused or after it was
   * set back.
   */
  readonly ids: { last: PaymentId | undefined };
  readonly paymentService: PaymentService;
}

/** Delay after a change before due work starts, to batch changes of one moment. */
const dueWorkDelayMs = 2;
/** Time from a card's expiry to its deletion (card-expiry-job.ts). */
const deletionDelayMs = hour;
const maxSnapshots = 10;
/** Authentications of 3-D Secure in memory: there may be 10,000 worlds. */
const maxAuthentications = 100;
/** Record count of an empty world's snapshot, which is about that large. */
const minSnapshotRecords = 30;
/** Before every moment at which work can be due. */
const earliestInstant = instant(Number.MIN_SAFE_INTEGER);
/** Most moments with due work that one call moves through. */
const maxSteps = 100_000;
/** Most rounds at one moment: work that falls due because of other work at it. */
const maxRounds = 1_000;
/**
 * Longest run of one move, in real milliseconds: an attempt to a hanging receiver takes 20 seconds.
 */
const maxMoveMs = 60_000;
/** A scheduler without passing time. */
const frozenScheduler: Scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
/**
 * Longest uninterrupted work in memory, in milliseconds: everything else in this process waits for
 * it.
 */
const maxUninterruptedMs = 10;

/**
 * An isolated in-memory account with its own store, acquirers, clock and random generator,
 * assembled from the same parts as the server. Its jobs have no timers: due work is done when the
 * time is moved, after each change, and each second while the clock is running.
 */
export class World {
  readonly #dependencies: WorldDependencies;
  readonly #plan: WorldPlan;
  readonly #snapshots = new Map<string, Snapshot>();
  /** Only requests wait here, and the server limits those. */
  readonly #mutex = new KeyedMutex();
  #state: WorldState;
  #busy = 0;
  #cancelDueWork: (() => void) | undefined;
  #isClosed = false;
  /** Moves of the time end early. */
  #isStopping = false;
  /** Pending resets and restores. */
  #pendingRestarts = 0;
  #yieldedAt: Instant;

  /** Call `open` before use. */
  constructor(dependencies: WorldDependencies, plan: WorldPlan) {
    this.#dependencies = dependencies;
    this.#plan = plan;
    this.#state = this.#newState();
    this.#yieldedAt = dependencies.clock.now();
  }

  /** Creates its account. */
  async open(): Promise<void> {
    const { account, keys } = this.#plan;
    const { store, clock } = this.#state;
    const { outcome } = await store.commit(
      accountChange(account, undefined, clock.now(), grantsOf(keys)),
    );
    assert(outcome === "committed", "a new store takes an account");
  }

  get plan(): WorldPlan {
    return this.#plan;
  }

  get id(): MerchantId {
    return this.#plan.account.id;
  }

  get paymentService(): PaymentService {
    return this.#state.paymentService;
  }

  /** Its simulated 3-D Secure. */
  get authenticator(): SimulatedAuthenticator {
    return this.#state.authenticator;
  }

  get time(): WorldTime {
    return { now: this.#state.clock.now(), running: this.#state.clock.running };
  }

  get payments(): number {
    return this.#state.store.payments;
  }

  get size(): number {
    return this.#state.store.size;
  }

  /** Changes committed since its creation or its last reset or restore. */
  get changes(): number {
    return this.#state.committed.changes;
  }

  /** true while its time is moved or due work is done. */
  get isBusy(): boolean {
    return this.#busy > 0;
  }

  /** Its share of the limit on all snapshots. */
  get snapshotRecords(): number {
    let sum = 0;
    for (const { records } of this.#snapshots.values()) sum += records;
    return sum;
  }

  /** Oldest first. */
  get snapshots(): readonly string[] {
    return [...this.#snapshots.keys()];
  }

  /**
   * Queues an instruction for this world's next messages to an acquirer, by default the first.
   * Throws when it is refused.
   */
  instruct(instruction: Instruction, acquirer: string = this.#dependencies.acquirers[0]): void {
    const known = this.#state.acquirers.get(acquirer);
    assert(known !== undefined, "a world has all acquirers of the configuration");
    known.instruct(this.alias, instruction);
  }

  /** Starts or pauses the clock. */
  run(running: boolean): void {
    this.#state.clock.run(running);
  }

  /**
   * Moves the time to the result of `target` for the present, through every moment at which work
   * falls due, and does that work in order. Resolves when this is done or when the limits of one
   * call are reached. A target before the present sets the time back without any work. A concurrent
   * call waits and then moves the time from where it is. undefined when `target` returns undefined:
   * nothing is moved. A reset or restore does not wait: it cancels the current move and those that
   * wait.
   */
  move(
    target: (now: Instant, nextDue: Instant | undefined) => Instant | undefined,
  ): Promise<ClockMove | undefined> {
    return this.#exclusively(async () => {
      const state = this.#state;
      const { clock, totals } = state;
      const to = target(clock.now(), this.#nextDue(state));
      if (to === undefined) return undefined;
      const began = this.#dependencies.clock.now();
      clock.freeze();
      try {
        if (to < clock.now()) clock.set(to);
        // Work that is due already did not fall due on the way, so it is not counted: whether it
        // was done before this is a race.
        await this.#doDueWork(state);
        const before = { ...totals };
        const isReached = await this.#advanceTo(state, to, began);
        if (isReached && to !== clock.now()) clock.set(to);
        // Only here: no work on the way depends on old records.
        if (isReached) await state.paymentService.retention.runDue();
        const { payments, deliveries, cards } = totals;
        return {
          result: {
            payments: payments - before.payments,
            deliveries: deliveries - before.deliveries,
            cards: cards - before.cards,
          },
          left: isReached ? undefined : to,
          isCancelled: !isReached && this.#pendingRestarts > 0,
        };
      } finally {
        clock.unfreeze();
      }
    });
  }

  /**
   * Moves to each moment up to `to` at which work falls due, and does it; false when that exceeds
   * the limits of one call, which began at the system time `began`.
   */
  async #advanceTo(state: WorldState, to: Instant, began: Instant): Promise<boolean> {
    const { clock } = state;
    for (let steps = 0; ; steps += 1) {
      const next = this.#nextDue(state);
      // Work that was cut short is still due.
      if (this.#isInterrupted) return false;
      if (next === undefined || next > to) return true;
      if (steps === maxSteps || this.#dependencies.clock.now() - began >= maxMoveMs) return false;
      clock.set(next);
      await this.#doDueWork(state);
    }
  }

  /** When work falls due next; undefined when none does. */
  get nextDue(): Instant | undefined {
    return this.#nextDue(this.#state);
  }

  /** Whether work is due now. Cheap when there is none. */
  get isDue(): boolean {
    const first = this.#firstDue(this.#state, earliestInstant);
    return first !== undefined && first <= this.#state.clock.now();
  }

  /** Does the work that is due now. Never rejects. */
  async doDueWork(): Promise<void> {
    try {
      await this.#exclusively(() => this.#doDueWork(this.#state));
    } catch (error) {
      // No request waits for this result, so the failure is logged here.
      const { errorName: what, where } = errorFacts(error);
      this.#dependencies.log.write({
        event: "alarm",
        kind: "unexpected_failure",
        what,
        where,
        merchantId: this.id,
        paymentId: undefined,
      });
    }
  }

  /** Resets to the initial state: same keys, same seed, same time. Snapshots are kept. */
  reset(): Promise<void> {
    return this.#restart(async () => {
      this.#state = this.#newState();
      await this.open();
    });
  }

  /**
   * Stores the present state under a name, replacing an earlier snapshot of that name. false: the
   * snapshots are full, and nothing was stored.
   */
  snapshot(name: string): boolean {
    const replaced = this.#snapshots.get(name);
    const { store, acquirers, authenticator, random, ids } = this.#state;
    const records = minSnapshotRecords + store.size;
    const isNewSnapshot = replaced === undefined && this.#snapshots.size >= maxSnapshots;
    if (isNewSnapshot || !this.#dependencies.hasSnapshotRoom(records - (replaced?.records ?? 0)))
      return false;
    this.#snapshots.delete(name);
    // Nothing runs on it: messages in transit continue when it is restored.
    const { time } = this;
    const ports = { clock: { now: () => time.now }, scheduler: frozenScheduler };
    const copies = new Map(Array.from(acquirers, ([acquirer, it]) => [acquirer, it.copy(ports)]));
    this.#snapshots.set(name, {
      store: store.copy({}),
      acquirers: copies,
      authenticator: authenticator.copy(ports.clock),
      time,
      bytesDrawn: random.position,
      lastPaymentId: ids.last,
      records,
    });
    return true;
  }

  /** Restores the snapshot of this name; false when there is none. */
  async restore(name: string): Promise<boolean> {
    const snapshot = this.#snapshots.get(name);
    if (snapshot === undefined) return false;
    await this.#restart(async () => {
      this.#state = this.#newState(snapshot);
    });
    return true;
  }

  /**
   * Work under way is cut short and finishes its turn: a reset does not wait for a hanging
   * receiver.
   */
  async #restart(begin: () => Promise<void>): Promise<void> {
    this.#pendingRestarts += 1;
    const ended = this.#stopWork(this.#state);
    await this.#exclusively(async () => {
      try {
        await ended;
        await this.#end();
        await begin();
      } finally {
        this.#pendingRestarts -= 1;
      }
    });
  }

  /**
   * A request that moves the time, and may be waiting for a hanging receiver, gets its result so
   * far.
   */
  async endMoves(): Promise<void> {
    this.#isStopping = true;
    await this.#state.paymentService.dispatcher.stop();
  }

  /** Ends all work, including moves of the time; no new work starts. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#snapshots.clear();
    await this.endMoves();
    await this.#exclusively(() => this.#end());
  }

  /** Serializes moves of the time, resets and restores. */
  async #exclusively<T>(task: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await this.#mutex.runExclusive("time", task);
    } finally {
      this.#busy -= 1;
    }
  }

  /**
   * Its merchant id towards acquirers and receivers: the same for worlds with the same seed, so
   * that both treat them alike. It never equals an account's id: otherwise a client that found a
   * seed with another account's id could read the secrets that are derived from it.
   */
  get alias(): MerchantId {
    return `world ${sha256Hex(`cofre world 1\0${this.#plan.seed}`).slice(0, 32)}` as MerchantId;
  }

  /** A new state: the initial one, or that of a snapshot. */
  #newState(from?: Snapshot): WorldState {
    const {
      acquirers: names,
      openAcquirer,
      openStore,
      vault,
      sender,
      sign,
      name,
      acquirerTimeoutMs,
      periods,
      elapsedMs,
      acceptsPan,
      log,
      recording,
    } = this.#dependencies;
    const { clock: system, scheduler, secretRandom } = this.#dependencies;
    const { seed, time } = this.#plan;
    const alias = this.alias;
    const clock = new WorldClock(system, from?.time ?? time);
    const ports = { clock, scheduler: clock.scheduler(scheduler) };
    const committed = { changes: 0 };
    const totals: AdvanceResult = { payments: 0, deliveries: 0, cards: 0 };
    const onApplied = (change: Change): void => {
      committed.changes += 1;
      count(totals, change);
      if (change.payment !== undefined && this.#state.totals === totals) this.#scheduleDueWork();
    };
    const options = { isFull: this.#dependencies.isFull, onApplied };
    const store = from?.store.copy(options) ?? openStore(options);
    const random = new SeededRandom(seed, from?.bytesDrawn);
    const ids = { last: from?.lastPaymentId };
    const acquirers = new Map(
      names.map((acquirer) => [
        acquirer,
        from?.acquirers.get(acquirer)?.copy(ports) ?? openAcquirer(ports),
      ]),
    );
    const connectors = Array.from(acquirers, ([acquirer, it]) => ({
      ...withMerchantId(it, alias),
      name: acquirer,
    }));
    const authenticator =
      from?.authenticator.copy(clock) ??
      new SimulatedAuthenticator(
        clock,
        sha256(`cofre world authentication 1\0${seed}`),
        maxAuthentications,
      );
    const paymentService = createPaymentService({
      store,
      vault,
      authenticator,
      connectors: connectorsOf(connectors, this.#dependencies.reportDropped),
      clock,
      random,
      paymentIds: (_, at) => {
        ids.last = newPaymentId(at, random, ids.last);
        return ids.last;
      },
      deliveryRandom: secretRandom,
      deliveryRandomFor: ({ number, endpoint, requestedAt, attempts }) =>
        new SeededRandom(
          `${seed}\0notification\0${number}\0${endpoint}\0${requestedAt}\0${attempts}`,
        ),
      // With several messages in flight the network would decide which arrives first, and so which
      // one a receiver refuses.
      deliversInOrder: () => !clock.running,
      secretRandom,
      scheduler,
      slotAssignment: allSlots,
      sender,
      sign,
      name,
      nameOf: () => alias,
      acquirerTimeoutMs,
      periods,
      elapsedMs,
      acceptsPan,
      log,
      recording:
        recording === undefined
          ? undefined
          : whileCurrent(recording, () => this.#state.totals === totals),
    });
    return {
      store,
      totals,
      committed,
      acquirers,
      authenticator,
      clock,
      random,
      ids,
      paymentService,
    };
  }

  async #end(): Promise<void> {
    this.#cancelDueWork?.();
    this.#cancelDueWork = undefined;
    await this.#stopWork(this.#state);
  }

  /**
   * Starts no new work in this state, and ends the waits of work under way. May be called again.
   */
  async #stopWork({ clock, paymentService }: WorldState): Promise<void> {
    const { dispatcher, recovery, cardExpiry, retention } = paymentService;
    const ended = Promise.all([
      dispatcher.stop(),
      recovery.stop(),
      cardExpiry.stop(),
      retention.stop(),
    ]);
    // It may be waiting for an acquirer's answer that never comes, and for another one after that.
    clock.end();
    await ended;
  }

  /**
   * Does what a change has made due at once, such as a refund without a waiting time, without a
   * move of the time.
   */
  #scheduleDueWork(): void {
    if (this.#cancelDueWork !== undefined || this.#isClosed) return;
    this.#cancelDueWork = this.#dependencies.scheduler.after(dueWorkDelayMs, () => {
      this.#cancelDueWork = undefined;
      const { store, clock } = this.#state;
      const next = store.nextDue(laterBy(clock.now(), -1));
      // A move of the time does it too.
      if (next !== undefined && next <= clock.now() && !this.isBusy) void this.doDueWork();
    });
  }

  /** Work on the way is cut short. */
  get #isInterrupted(): boolean {
    return this.#isStopping || this.#pendingRestarts > 0;
  }

  async #doDueWork({ store, totals, clock, paymentService }: WorldState): Promise<void> {
    const { recovery, dispatcher, cardExpiry } = paymentService;
    for (let round = 0; round < maxRounds && !this.#isInterrupted; round += 1) {
      await this.#yieldIfDue();
      const before = changesIn(totals);
      clock.fireTimers();
      await recovery.runDue();
      await dispatcher.runDue();
      const deletionDueAt = nextCardDeletion(store);
      if (deletionDueAt !== undefined && deletionDueAt <= clock.now()) await cardExpiry.runDue();
      if (before === changesIn(totals)) return;
    }
  }

  /** Yields to other work when it is time: work in memory does not do so by itself. */
  async #yieldIfDue(): Promise<void> {
    const { clock, scheduler } = this.#dependencies;
    const sinceMs = clock.now() - this.#yieldedAt;
    if (0 <= sinceMs && sinceMs < maxUninterruptedMs) return;
    await scheduler.sleep(0);
    this.#yieldedAt = clock.now();
  }

  #nextDue(state: WorldState): Instant | undefined {
    return this.#firstDue(state, state.clock.now());
  }

  /** The first moment after `after` at which work falls due. */
  #firstDue({ store, clock, paymentService }: WorldState, after: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const at of [
      store.nextDue(after),
      nextCardDeletion(store),
      clock.nextTimer,
      paymentService.dispatcher.circuitOpenUntil(after),
    ]) {
      if (at !== undefined && at > after && (first === undefined || at < first)) first = at;
    }
    return first;
  }
}

/** The access that a world's keys grant. */
export function grantsOf({
  integrationKey,
  publicIntegrationKey,
}: SandboxKeys): readonly Granted[] {
  return [grant(integrationKey, "secret"), grant(publicIntegrationKey, "public")];
}

function count(totals: AdvanceResult, { payment, deliveries, cardErasure }: Change): void {
  if (payment !== undefined) totals.payments += 1;
  if (deliveries !== undefined) totals.deliveries += deliveries.length;
  if (cardErasure !== undefined) totals.cards += 1;
}

function changesIn({ payments, deliveries, cards }: AdvanceResult): number {
  return payments + deliveries + cards;
}

/**
 * Records only while `lasts` returns true: work that ends in an earlier state of the world must not
 * appear in the timelines of the present one.
 */
function whileCurrent(recording: ServiceRecording, isCurrent: () => boolean): ServiceRecording {
  return {
    connectors: (connectors, clock) => {
      const recorded = recording.connectors(connectors, clock);
      const { names, standard } = connectors;
      return { names, standard, of: (name) => (isCurrent() ? recorded : connectors).of(name) };
    },
    attempted: (...args) => {
      if (isCurrent()) recording.attempted(...args);
    },
    committed: (...args) => {
      if (isCurrent()) recording.committed(...args);
    },
  };
}

function nextCardDeletion({ leastRecentUse }: WorldStore): Instant | undefined {
  return leastRecentUse === undefined
    ? undefined
    : laterBy(tokenExpiresAt(leastRecentUse), deletionDelayMs);
}

/** The acquirer, called with another merchant id. */
function withMerchantId(acquirer: Connector, merchantId: MerchantId): Connector {
  return {
    ...acquirer,
    authorize: (request, card) => acquirer.authorize({ ...request, merchantId }, card),
    verify: (request, card) => acquirer.verify({ ...request, merchantId }, card),
    capture: (request) => acquirer.capture({ ...request, merchantId }),
    void: (request) => acquirer.void({ ...request, merchantId }),
    refund: (request) => acquirer.refund({ ...request, merchantId }),
    reverse: (request) => acquirer.reverse({ ...request, merchantId }),
    inquire: (request) => acquirer.inquire({ ...request, merchantId }),
  };
}
