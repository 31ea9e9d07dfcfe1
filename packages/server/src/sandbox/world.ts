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
import { wholeShare } from "../kernel/share.ts";
import type { ReportDropped } from "../connectors/connector.ts";
import type { Account } from "../merchant/account.ts";
import {
  accountChange,
  type Granted,
  grant,
  type SandboxKeys,
} from "../operations/sandbox-account.ts";
import { errorFacts } from "../logging/error-facts.ts";
import { Turns } from "../operations/turns.ts";
import type { Change } from "../stores/change.ts";
import type { WorldStore, WorldStoreOptions } from "../stores/world-store.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import { WorldClock, type WorldTime } from "./world-clock.ts";

/** What all worlds share with the server that they live in. */
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
  /** The system's. */
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly secretRandom: Random;
  /**
   * Names of the acquirers, in the order of the configuration; in a world each is a simulated one.
   */
  readonly acquirers: readonly [string, ...string[]];
  readonly openAcquirer: (ports: {
    readonly clock: Clock;
    readonly scheduler: Scheduler;
  }) => Simulator;
  readonly reportDropped: ReportDropped;
  readonly openStore: (options: WorldStoreOptions) => WorldStore;
  /** Asked for each change: whether there is no room for it in all worlds together. */
  readonly isFull: (change: Change) => boolean;
  /** Whether so much more, in records, may be kept in snapshots of all worlds together. */
  readonly mayKeep: (records: number) => boolean;
}

/** How a world begins, and begins again when it is reset. */
export interface WorldPlan {
  readonly name: string;
  readonly seed: string;
  readonly time: WorldTime;
  /** As it begins; its id is this world's for ever. */
  readonly account: Account;
  /** As they are: whoever reaches the server may see them, as the world itself is anybody's. */
  readonly keys: SandboxKeys;
}

/** What was done while the time went on. */
export interface Done {
  /**
   * Changes of payments: captures that lapsed, refunds that were sent, outcomes that were found
   * out.
   */
  payments: number;
  /** Attempts to deliver notifications, whatever came of them. */
  deliveries: number;
  /** Stored cards that were forgotten. */
  cards: number;
}

/** What became of moving the time. */
export interface Moved {
  readonly done: Done;
  /**
   * Where the time was to be, when more fell due on the way than one call goes through; undefined
   * when it is there.
   */
  readonly left: Instant | undefined;
  /**
   * The world is reset or restored: what was done is gone with what it was, and its time is where
   * that begins.
   */
  readonly isGivenUp: boolean;
}

/** What a world consists of at one moment, and nothing runs on. */
interface Snapshot {
  readonly store: WorldStore;
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly time: WorldTime;
  /** How much of its chance was drawn, in bytes. */
  readonly drawn: number;
  readonly lastPaymentId: PaymentId | undefined;
  /** What it counts for in the bound of all snapshots. */
  readonly records: number;
}

/** What a world is from one beginning to the next. Nothing of it reaches what comes after. */
interface Life {
  readonly store: WorldStore;
  readonly done: Done;
  /** Changes that were written to the store since. */
  readonly written: { changes: number };
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly clock: WorldClock;
  readonly random: SeededRandom;
  /**
   * Each payment's id goes beyond the one before: they have an order where time stands, and where
   * it is set back.
   */
  readonly ids: { last: PaymentId | undefined };
  readonly installation: Installation;
}

/** Changes of one moment are looked at together. */
const soonMs = 2;
/** A card is forgotten so long after it expired (card-expiry-job.ts). */
const forgottenAfterMs = hour;
const mostSnapshots = 10;
/** What a snapshot of an empty world counts for: it is about as large. */
const leastRecords = 30;
/** Before every moment at which something can be due. */
const beginningOfTime = instant(Number.MIN_SAFE_INTEGER);
/** Moments at which something fell due that one call moves through. */
const mostSteps = 100_000;
/** Rounds of one moment: what falls due by what is done at it. */
const mostRounds = 1_000;
/**
 * How long one call moves the time for, in real milliseconds: an attempt at a receiver that hangs
 * takes 20 seconds.
 */
const mostMoveMs = 60_000;
/** Where no time passes. */
const stillScheduler: Scheduler = { sleep: () => Promise.resolve(), after: () => () => undefined };
/**
 * Everybody else in this process waits for a piece of work in memory no longer than about this, in
 * milliseconds.
 */
const pieceMs = 10;

/**
 * An account of its own in memory, with its own store, acquirers, clock and chance: the parts of a
 * server, put together as the server's own are. Its jobs have no timers: what is due is done when
 * the time is moved, after each change, and each second where time goes on.
 */
export class World {
  readonly #around: WorldSurroundings;
  readonly #plan: WorldPlan;
  readonly #snapshots = new Map<string, Snapshot>();
  /** Whoever waits here is a request, and the server bounds those. */
  readonly #turns = new Turns(Number.POSITIVE_INFINITY);
  #life: Life;
  #busy = 0;
  #cancelSoon: (() => void) | undefined;
  #isOver = false;
  /** Time is moved no further. */
  #isEnding = false;
  /** Those who wait to have it begin anew. */
  #beginnings = 0;
  #pausedAt: Instant;

  /** To be opened before it is used. */
  constructor(around: WorldSurroundings, plan: WorldPlan) {
    this.#around = around;
    this.#plan = plan;
    this.#life = this.#newLife();
    this.#pausedAt = around.clock.now();
  }

  /** Makes its account. */
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

  /** Changes that were written to it since it began, or was reset or restored last. */
  get changes(): number {
    return this.#life.written.changes;
  }

  /** true: its time is being moved, or what is due is being done. */
  get isBusy(): boolean {
    return this.#busy > 0;
  }

  /** What its snapshots count for in the bound of all. */
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
   * Queues what is to happen to this world's next messages to an acquirer, the first unless one is
   * named. Throws when it cannot be taken.
   */
  instruct(instruction: Instruction, acquirer: string = this.#around.acquirers[0]): void {
    const known = this.#life.acquirers.get(acquirer);
    assert(known !== undefined, "a world has all acquirers of the configuration");
    known.instruct(this.alias, instruction);
  }

  /** Lets the time stand, or go on with the system's. */
  run(running: boolean): void {
    this.#life.clock.run(running);
  }

  /**
   * Moves the time to what `target` makes of the present, through every moment at which something
   * falls due, and does it, in order. Resolves when that is done, or when one call has done as much
   * as it may. Before the present, the time is set back and nothing is done. Who asks while it is
   * being moved moves it from where it is then. undefined when `target` gives none: nothing is
   * moved. Whoever has the world reset or restored does not wait for that: the move is given up,
   * and so are those that wait.
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
        // What is due here already did not fall due on the way: whether somebody is at it, or was,
        // is chance.
        await this.#doDue(life);
        const before = { ...done };
        const isThere = await this.#goThrough(life, to, began);
        if (isThere && to !== clock.now()) clock.set(to);
        // Only here: nothing that is done on the way depends on what is old.
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
   * Goes to each moment up to `to` at which something falls due, and does it; false when that is
   * too much for one call, which began at `began` of the system's time.
   */
  async #goThrough(life: Life, to: Instant, began: Instant): Promise<boolean> {
    const { clock } = life;
    for (let steps = 0; ; steps += 1) {
      const next = this.#nextDue(life);
      // What was cut short is due still.
      if (this.#isCut) return false;
      if (next === undefined || next > to) return true;
      if (steps === mostSteps || this.#around.clock.now() - began >= mostMoveMs) return false;
      clock.set(next);
      await this.#doDue(life);
    }
  }

  /** When something falls due next; undefined when nothing does. */
  get nextDue(): Instant | undefined {
    return this.#nextDue(this.#life);
  }

  /** Whether something is due now. Costs next to nothing where there is nothing. */
  get isDue(): boolean {
    const first = this.#firstDue(this.#life, beginningOfTime);
    return first !== undefined && first <= this.#life.clock.now();
  }

  /** Does what is due now. Never rejects. */
  async settle(): Promise<void> {
    try {
      await this.#inTurn(() => this.#doDue(this.#life));
    } catch (error) {
      // Nobody asked for it, and it is nobody else's trouble.
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

  /** Begins anew, as it began first: same keys, same seed, same time. Snapshots stay. */
  reset(): Promise<void> {
    return this.#beginAnew(async () => {
      this.#life = this.#newLife();
      await this.open();
    });
  }

  /**
   * Keeps what the world is now under a name, in place of what was kept under it. false: there is
   * no room for it, and nothing was kept.
   */
  snapshot(name: string): boolean {
    const former = this.#snapshots.get(name);
    const { store, acquirers, random, ids } = this.#life;
    const records = leastRecords + store.size;
    const isOneMore = former === undefined && this.#snapshots.size >= mostSnapshots;
    if (isOneMore || !this.#around.mayKeep(records - (former?.records ?? 0))) return false;
    this.#snapshots.delete(name);
    // Nothing runs on it: what is on its way goes on when it is restored.
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

  /** Is again what was kept under the name; false when there is nothing. */
  async restore(name: string): Promise<boolean> {
    const kept = this.#snapshots.get(name);
    if (kept === undefined) return false;
    await this.#beginAnew(async () => {
      this.#life = this.#newLife(kept);
    });
    return true;
  }

  /**
   * What is under way is cut short, and takes its turn to an end: nobody waits for a receiver that
   * hangs.
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
   * Whoever moves the time, and may be waiting for a receiver that hangs, is told how far it came.
   */
  async endMoves(): Promise<void> {
    this.#isEnding = true;
    await this.#life.installation.dispatcher.stop();
  }

  /** Ends what is under way, moving the time too; nothing more begins. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#snapshots.clear();
    await this.endMoves();
    await this.#inTurn(() => this.#end());
  }

  /** One after the other: moving the time, and beginning anew. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    try {
      return await this.#turns.take("time", task);
    } finally {
      this.#busy -= 1;
    }
  }

  /**
   * What it is called towards acquirers and receivers: worlds with one seed the same, so that both
   * treat them alike. No account has such an id: whoever found a seed for another's would be shown
   * the secrets that are derived from it.
   */
  get alias(): MerchantId {
    return `world ${sha256Hex(`cofre world 1\0${this.#plan.seed}`).slice(0, 32)}` as MerchantId;
  }

  /** One that begins, or goes on from what was kept. */
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
      // Of several under way the network would say which arrives first, and so which one a receiver
      // refuses.
      tellsInOrder: () => !clock.running,
      secretRandom,
      scheduler,
      share: wholeShare,
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
   * Nothing more begins in a life, and what is under way in it waits for nothing. May be called
   * again.
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
   * What a change has made due at once, such as a refund without a waiting time, is done without
   * anybody moving the time.
   */
  #settleSoon(): void {
    if (this.#cancelSoon !== undefined || this.#isOver) return;
    this.#cancelSoon = this.#around.scheduler.after(soonMs, () => {
      this.#cancelSoon = undefined;
      const { store, clock } = this.#life;
      const next = store.nextDue(laterBy(clock.now(), -1));
      // Whoever moves the time does it too.
      if (next !== undefined && next <= clock.now() && !this.isBusy) void this.settle();
    });
  }

  /** What is done on the way is cut short. */
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

  /** Lets everybody else in when it is time: nothing that is done in memory does so by itself. */
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

  /** The first moment after this one at which something falls due. */
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

/** What a world's keys open it for. */
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
 * The recording of an account is that of its world now: what still ends in one that it was before
 * belongs to no timeline.
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

/** The acquirer as it hears of the merchant under another name. */
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
