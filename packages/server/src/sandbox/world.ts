import {
  createInstallation,
  type Installation,
  type InstallationParts,
  type InstallationRecording,
} from "../installation.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import type { Connector } from "../connectors/connector.ts";
import type { Instruction } from "../connectors/simulator/network.ts";
import type { Simulator } from "../connectors/simulator/simulator-connector.ts";
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { sha256Hex } from "../kernel/digest.ts";
import { type MerchantId, newPaymentId, type PaymentId } from "../kernel/ids.ts";
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
import { KeyedMutex } from "../operations/keyed-mutex.ts";
import type { Change } from "../stores/change.ts";
import type { WorldStore, WorldStoreOptions } from "../stores/world-store.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import { WorldClock, type WorldTime } from "./world-clock.ts";

/** What all worlds share with their server. */
export interface WorldSurroundings extends Pick<
  InstallationParts,
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
  readonly mayKeep: (records: number) => boolean;
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
export interface Done {
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
export interface Moved {
  readonly done: Done;
  /**
   * The target time, if more fell due on the way than one call processes; undefined when it was
   * reached.
   */
  readonly left: Instant | undefined;
  /**
   * The world was reset or restored during the move: the work done is lost with the old state, and
   * the time is that of the new state.
   */
  readonly isGivenUp: boolean;
}

/** The state of a world at one moment; nothing runs on it. */
interface Snapshot {
  readonly store: WorldStore;
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly time: WorldTime;
  /** Bytes drawn from the random generator. */
  readonly drawn: number;
  readonly lastPaymentId: PaymentId | undefined;
  /** Its share of the limit on all snapshots. */
  readonly records: number;
}

/** The state of a world between two resets or restores. Nothing of it affects the next. */
interface Life {
  readonly store: WorldStore;
  readonly done: Done;
  /** Changes committed to the store since then. */
  readonly written: { changes: number };
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly clock: WorldClock;
  readonly random: SeededRandom;
  /**
   * Every payment id is greater than the one before, also while the time is paused or after it was
   * set back.
   */
  readonly ids: { last: PaymentId | undefined };
  readonly installation: Installation;
}

/** Delay after a change before due work starts, to batch changes of one moment. */
const soonMs = 2;
/** Time from a card's expiry to its deletion (card-expiry-job.ts). */
const forgottenAfterMs = hour;
const mostSnapshots = 10;
/** Record count of an empty world's snapshot, which is about that large. */
const leastRecords = 30;
/** Before every moment at which work can be due. */
const beginningOfTime = instant(Number.MIN_SAFE_INTEGER);
/** Most moments with due work that one call moves through. */
const mostSteps = 100_000;
/** Most rounds at one moment: work that falls due because of other work at it. */
const mostRounds = 1_000;
/**
 * Longest run of one move, in real milliseconds: an attempt to a hanging receiver takes 20 seconds.
 */
const mostMoveMs = 60_000;
/** A scheduler without passing time. */
const stillScheduler: Scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
/**
 * Longest uninterrupted work in memory, in milliseconds: everything else in this process waits for
 * it.
 */
const pieceMs = 10;

/**
 * An isolated in-memory account with its own store, acquirers, clock and random generator,
 * assembled from the same parts as the server. Its jobs have no timers: due work is done when the
 * time is moved, after each change, and each second while the clock is running.
 */
export class World {
  readonly #around: WorldSurroundings;
  readonly #plan: WorldPlan;
  readonly #snapshots = new Map<string, Snapshot>();
  /** Only requests wait here, and the server limits those. */
  readonly #mutex = new KeyedMutex(Number.POSITIVE_INFINITY);
  #life: Life;
  #busy = 0;
  #cancelSoon: (() => void) | undefined;
  #isOver = false;
  /** Moves of the time end early. */
  #isEnding = false;
  /** Pending resets and restores. */
  #beginnings = 0;
  #pausedAt: Instant;

  /** Call `open` before use. */
  constructor(around: WorldSurroundings, plan: WorldPlan) {
    this.#around = around;
    this.#plan = plan;
    this.#life = this.#newLife();
    this.#pausedAt = around.clock.now();
  }

  /** Creates its account. */
  async open(): Promise<void> {
    const { account, keys } = this.#plan;
    const { store, clock } = this.#life;
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

  get installation(): Installation {
    return this.#life.installation;
  }

  get time(): WorldTime {
    return { now: this.#life.clock.now(), running: this.#life.clock.running };
  }

  get payments(): number {
    return this.#life.store.payments;
  }

  get size(): number {
    return this.#life.store.size;
  }

  /** Changes committed since its creation or its last reset or restore. */
  get changes(): number {
    return this.#life.written.changes;
  }

  /** true while its time is moved or due work is done. */
  get isBusy(): boolean {
    return this.#busy > 0;
  }

  /** Its share of the limit on all snapshots. */
  get kept(): number {
    let kept = 0;
    for (const { records } of this.#snapshots.values()) kept += records;
    return kept;
  }

  /** Oldest first. */
  get snapshots(): readonly string[] {
    return [...this.#snapshots.keys()];
  }

  /**
   * Queues an instruction for this world's next messages to an acquirer, by default the first.
   * Throws when it is refused.
   */
  instruct(instruction: Instruction, acquirer: string = this.#around.acquirers[0]): void {
    const known = this.#life.acquirers.get(acquirer);
    assert(known !== undefined, "a world has all acquirers of the configuration");
    known.instruct(this.alias, instruction);
  }

  /** Starts or pauses the clock. */
  run(running: boolean): void {
    this.#life.clock.run(running);
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
  ): Promise<Moved | undefined> {
    return this.#inTurn(async () => {
      const life = this.#life;
      const { clock, done } = life;
      const to = target(clock.now(), this.#nextDue(life));
      if (to === undefined) return undefined;
      const began = this.#around.clock.now();
      clock.hold();
      try {
        if (to < clock.now()) clock.set(to);
        // Work that is due already did not fall due on the way, so it is not counted: whether it
        // was done before this is a race.
        await this.#doDue(life);
        const before = { ...done };
        const isThere = await this.#goThrough(life, to, began);
        if (isThere && to !== clock.now()) clock.set(to);
        // Only here: no work on the way depends on old records.
        if (isThere) await life.installation.retention.runDue();
        const { payments, deliveries, cards } = done;
        return {
          done: {
            payments: payments - before.payments,
            deliveries: deliveries - before.deliveries,
            cards: cards - before.cards,
          },
          left: isThere ? undefined : to,
          isGivenUp: !isThere && this.#beginnings > 0,
        };
      } finally {
        clock.release();
      }
    });
  }

  /**
   * Moves to each moment up to `to` at which work falls due, and does it; false when that exceeds
   * the limits of one call, which began at the system time `began`.
   */
  async #goThrough(life: Life, to: Instant, began: Instant): Promise<boolean> {
    const { clock } = life;
    for (let steps = 0; ; steps += 1) {
      const next = this.#nextDue(life);
      // Work that was cut short is still due.
      if (this.#isCut) return false;
      if (next === undefined || next > to) return true;
      if (steps === mostSteps || this.#around.clock.now() - began >= mostMoveMs) return false;
      clock.set(next);
      await this.#doDue(life);
    }
  }

  /** When work falls due next; undefined when none does. */
  get nextDue(): Instant | undefined {
    return this.#nextDue(this.#life);
  }

  /** Whether work is due now. Cheap when there is none. */
  get isDue(): boolean {
    const first = this.#firstDue(this.#life, beginningOfTime);
    return first !== undefined && first <= this.#life.clock.now();
  }

  /** Does the work that is due now. Never rejects. */
  async settle(): Promise<void> {
    try {
      await this.#inTurn(() => this.#doDue(this.#life));
    } catch (error) {
      // No request waits for this result, so the failure is logged here.
      const { errorName: what, where } = errorFacts(error);
      this.#around.log.write({
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
    return this.#beginAnew(async () => {
      this.#life = this.#newLife();
      await this.open();
    });
  }

  /**
   * Stores the present state under a name, replacing an earlier snapshot of that name. false: the
   * snapshots are full, and nothing was stored.
   */
  snapshot(name: string): boolean {
    const former = this.#snapshots.get(name);
    const { store, acquirers, random, ids } = this.#life;
    const records = leastRecords + store.size;
    const isOneMore = former === undefined && this.#snapshots.size >= mostSnapshots;
    if (isOneMore || !this.#around.mayKeep(records - (former?.records ?? 0))) return false;
    this.#snapshots.delete(name);
    // Nothing runs on it: messages in transit continue when it is restored.
    const { time } = this;
    const ports = { clock: { now: () => time.now }, scheduler: stillScheduler };
    const kept = new Map(Array.from(acquirers, ([acquirer, it]) => [acquirer, it.copy(ports)]));
    this.#snapshots.set(name, {
      store: store.copy({}),
      acquirers: kept,
      time,
      drawn: random.position,
      lastPaymentId: ids.last,
      records,
    });
    return true;
  }

  /** Restores the snapshot of this name; false when there is none. */
  async restore(name: string): Promise<boolean> {
    const kept = this.#snapshots.get(name);
    if (kept === undefined) return false;
    await this.#beginAnew(async () => {
      this.#life = this.#newLife(kept);
    });
    return true;
  }

  /**
   * Work under way is cut short and finishes its turn: a reset does not wait for a hanging
   * receiver.
   */
  async #beginAnew(begin: () => Promise<void>): Promise<void> {
    this.#beginnings += 1;
    const ended = this.#letGo(this.#life);
    await this.#inTurn(async () => {
      try {
        await ended;
        await this.#end();
        await begin();
      } finally {
        this.#beginnings -= 1;
      }
    });
  }

  /**
   * A request that moves the time, and may be waiting for a hanging receiver, gets its result so
   * far.
   */
  async endMoves(): Promise<void> {
    this.#isEnding = true;
    await this.#life.installation.dispatcher.stop();
  }

  /** Ends all work, including moves of the time; no new work starts. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#snapshots.clear();
    await this.endMoves();
    await this.#inTurn(() => this.#end());
  }

  /** Serializes moves of the time, resets and restores. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
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
  #newLife(from?: Snapshot): Life {
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
    } = this.#around;
    const { clock: system, scheduler, secretRandom } = this.#around;
    const { seed, time } = this.#plan;
    const alias = this.alias;
    const clock = new WorldClock(system, from?.time ?? time);
    const ports = { clock, scheduler: clock.scheduler(scheduler) };
    const written = { changes: 0 };
    const done: Done = { payments: 0, deliveries: 0, cards: 0 };
    const onApplied = (change: Change): void => {
      written.changes += 1;
      count(done, change);
      if (change.payment !== undefined && this.#life.done === done) this.#settleSoon();
    };
    const options = { isFull: this.#around.isFull, onApplied };
    const store = from?.store.copy(options) ?? openStore(options);
    const random = new SeededRandom(seed, from?.drawn);
    const ids = { last: from?.lastPaymentId };
    const acquirers = new Map(
      names.map((acquirer) => [
        acquirer,
        from?.acquirers.get(acquirer)?.copy(ports) ?? openAcquirer(ports),
      ]),
    );
    const connectors = Array.from(acquirers, ([acquirer, it]) => ({
      ...namedAs(it, alias),
      name: acquirer,
    }));
    const installation = createInstallation({
      store,
      vault,
      connectors: connectorsOf(connectors, this.#around.reportDropped),
      clock,
      random,
      paymentIds: (_, at) => {
        ids.last = newPaymentId(at, random, ids.last);
        return ids.last;
      },
      deliveryRandom: secretRandom,
      deliveryRandomFor: ({ number, endpoint, askedAt, attempts }) =>
        new SeededRandom(`${seed}\0notification\0${number}\0${endpoint}\0${askedAt}\0${attempts}`),
      // With several messages in flight the network would decide which arrives first, and so which
      // one a receiver refuses.
      tellsInOrder: () => !clock.running,
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
          : whileItLasts(recording, () => this.#life.done === done),
    });
    return { store, done, written, acquirers, clock, random, ids, installation };
  }

  async #end(): Promise<void> {
    this.#cancelSoon?.();
    this.#cancelSoon = undefined;
    await this.#letGo(this.#life);
  }

  /**
   * Starts no new work in this state, and ends the waits of work under way. May be called again.
   */
  async #letGo({ clock, installation }: Life): Promise<void> {
    const { dispatcher, recovery, cardExpiry, retention } = installation;
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
  #settleSoon(): void {
    if (this.#cancelSoon !== undefined || this.#isOver) return;
    this.#cancelSoon = this.#around.scheduler.after(soonMs, () => {
      this.#cancelSoon = undefined;
      const { store, clock } = this.#life;
      const next = store.nextDue(laterBy(clock.now(), -1));
      // A move of the time does it too.
      if (next !== undefined && next <= clock.now() && !this.isBusy) void this.settle();
    });
  }

  /** Work on the way is cut short. */
  get #isCut(): boolean {
    return this.#isEnding || this.#beginnings > 0;
  }

  async #doDue({ store, done, clock, installation }: Life): Promise<void> {
    const { recovery, dispatcher, cardExpiry } = installation;
    for (let round = 0; round < mostRounds && !this.#isCut; round += 1) {
      await this.#pause();
      const before = changesIn(done);
      clock.fire();
      await recovery.runDue();
      await dispatcher.runDue();
      const forgetAt = cardsForgottenFrom(store);
      if (forgetAt !== undefined && forgetAt <= clock.now()) await cardExpiry.runDue();
      if (before === changesIn(done)) return;
    }
  }

  /** Yields to other work when it is time: work in memory does not do so by itself. */
  async #pause(): Promise<void> {
    const { clock, scheduler } = this.#around;
    const sinceMs = clock.now() - this.#pausedAt;
    if (0 <= sinceMs && sinceMs < pieceMs) return;
    await scheduler.sleep(0);
    this.#pausedAt = clock.now();
  }

  #nextDue(life: Life): Instant | undefined {
    return this.#firstDue(life, life.clock.now());
  }

  /** The first moment after `after` at which work falls due. */
  #firstDue({ store, clock, installation }: Life, after: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const at of [
      store.nextDue(after),
      cardsForgottenFrom(store),
      clock.nextTimer,
      installation.dispatcher.restsUntil(after),
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

function count(done: Done, { payment, deliveries, cardErasure }: Change): void {
  if (payment !== undefined) done.payments += 1;
  if (deliveries !== undefined) done.deliveries += deliveries.length;
  if (cardErasure !== undefined) done.cards += 1;
}

function changesIn({ payments, deliveries, cards }: Done): number {
  return payments + deliveries + cards;
}

/**
 * Records only while `lasts` returns true: work that ends in an earlier state of the world must not
 * appear in the timelines of the present one.
 */
function whileItLasts(
  recording: InstallationRecording,
  lasts: () => boolean,
): InstallationRecording {
  return {
    connectors: (connectors, clock) => {
      const recorded = recording.connectors(connectors, clock);
      const { names, standard } = connectors;
      return { names, standard, of: (name) => (lasts() ? recorded : connectors).of(name) };
    },
    attempted: (...args) => {
      if (lasts()) recording.attempted(...args);
    },
    committed: (...args) => {
      if (lasts()) recording.committed(...args);
    },
  };
}

function cardsForgottenFrom({ leastRecentUse }: WorldStore): Instant | undefined {
  return leastRecentUse === undefined
    ? undefined
    : laterBy(tokenExpiresAt(leastRecentUse), forgottenAfterMs);
}

/** The acquirer, called with another merchant id. */
function namedAs(acquirer: Connector, merchantId: MerchantId): Connector {
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
