import { createInstallation, type Installation, type InstallationParts } from "../installation.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import type { Connector } from "../connectors/connector.ts";
import type { Instruction } from "../connectors/simulator/network.ts";
import type { Simulator } from "../connectors/simulator/simulator-connector.ts";
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { sha256Hex } from "../kernel/digest.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { hour, type Instant, laterBy } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { wholeShare } from "../kernel/share.ts";
import type { Account } from "../merchant/account.ts";
import { accountChange, type Granted, grant, type SandboxKeys } from "../operations/sandbox-account.ts";
import { Turns } from "../operations/turns.ts";
import type { Change } from "../stores/change.ts";
import type { WorldStore, WorldStoreOptions } from "../stores/world-store.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import { WorldClock, type WorldTime } from "./world-clock.ts";

/** What all worlds share with the server that they live in. */
export interface WorldSurroundings extends Pick<
  InstallationParts,
  "vault" | "sender" | "sign" | "name" | "acquirerTimeoutMs" | "log" | "recording"
> {
  /** The system's. */
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly secretRandom: Random;
  /** Names of the acquirers, in the order of the configuration; in a world each is a simulated one. */
  readonly acquirers: readonly [string, ...string[]];
  readonly openAcquirer: (ports: { readonly clock: Clock; readonly scheduler: Scheduler }) => Simulator;
  readonly openStore: (options: WorldStoreOptions) => WorldStore;
  /** Asked for each change: whether there is no room for it in all worlds together. */
  readonly isFull: (change: Change) => boolean;
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
  /** Changes of payments: captures that lapsed, refunds that were sent, outcomes that were found out. */
  payments: number;
  /** Attempts to deliver notifications, whatever came of them. */
  deliveries: number;
  /** Stored cards that were forgotten. */
  cards: number;
}

/** Everything that a world is at one moment, as long as nobody changes it. */
interface State {
  readonly store: WorldStore;
  readonly acquirers: ReadonlyMap<string, Simulator>;
  readonly clock: WorldClock;
  readonly random: SeededRandom;
  readonly deliveryRandom: SeededRandom;
}

interface Life extends State {
  readonly installation: Installation;
}

/** What is kept of a moment: a state that nothing runs on. */
interface Snapshot extends State {
  readonly at: Instant;
}

/** Changes of one moment are looked at together. */
const soonMs = 2;
/** A card is forgotten so long after it expired (card-expiry-job.ts). */
const forgottenAfterMs = hour;
const mostSnapshots = 10;
/** Moments at which something fell due that one call moves through. */
const mostSteps = 100_000;
/** Rounds of one moment: what falls due by what is done at it. */
const mostRounds = 1_000;

/**
 * An account of its own in memory, with its own store, acquirers, clock and chance: the parts of a server, put together as the server's own
 * are. Its jobs have no timers: what is due is done when the time is moved, after each change, and each second where time goes on.
 */
export class World {
  readonly #around: WorldSurroundings;
  readonly #plan: WorldPlan;
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #turns = new Turns();
  readonly #done: Done = { payments: 0, deliveries: 0, cards: 0 };
  #life: Life;
  #busy = 0;
  #cancelSoon: (() => void) | undefined;
  #isOver = false;

  /** To be opened before it is used. */
  constructor(around: WorldSurroundings, plan: WorldPlan) {
    this.#around = around;
    this.#plan = plan;
    this.#life = this.#live(this.#newState());
  }

  /** Makes its account. */
  async open(): Promise<void> {
    const { account, keys } = this.#plan;
    const { store, clock } = this.#life;
    const { outcome } = await store.commit(accountChange(account, undefined, clock.now(), grantsOf(keys)));
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

  /** true: its time is being moved, or what is due is being done. */
  get isBusy(): boolean {
    return this.#busy > 0;
  }

  /** Oldest first. */
  get snapshots(): readonly string[] {
    return [...this.#snapshots.keys()];
  }

  /** Queues what is to happen to this world's next messages to an acquirer, the first unless one is named. Throws when it cannot be taken. */
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
   * Moves the time to `to`, through every moment at which something falls due, and does it, in order. Resolves when that is done. Before the
   * present, the time is set back and nothing is done. `complete` is false when more fell due than one call goes through: it stopped there.
   */
  moveTo(to: Instant): Promise<{ readonly done: Done; readonly complete: boolean }> {
    return this.#inTurn(async () => {
      const life = this.#life;
      const { clock } = life;
      const before = { ...this.#done };
      let complete = true;
      if (to < clock.now()) clock.set(to);
      await this.#doDue(life);
      for (let steps = 0; ; steps += 1) {
        const next = this.#nextDue(life);
        if (next === undefined || next > to) break;
        if (steps === mostSteps) {
          complete = false;
          break;
        }
        clock.set(next);
        await this.#doDue(life);
      }
      if (complete && to > clock.now()) clock.set(to);
      const { payments, deliveries, cards } = this.#done;
      return {
        done: { payments: payments - before.payments, deliveries: deliveries - before.deliveries, cards: cards - before.cards },
        complete,
      };
    });
  }

  /** When something falls due next; undefined when nothing does. */
  get nextDue(): Instant | undefined {
    return this.#nextDue(this.#life);
  }

  /** Does what is due now. */
  settle(): Promise<void> {
    return this.#inTurn(() => this.#doDue(this.#life));
  }

  /** Begins anew, as it began first: same keys, same seed, same time. Snapshots stay. */
  reset(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#end();
      this.#life = this.#live(this.#newState());
      await this.open();
    });
  }

  /** Keeps what the world is now under a name, in place of what was kept under it. false: there are too many, and nothing was kept. */
  snapshot(name: string): boolean {
    if (!this.#snapshots.has(name) && this.#snapshots.size >= mostSnapshots) return false;
    this.#snapshots.delete(name);
    const copy = this.#copyOf(this.#life, {});
    this.#snapshots.set(name, { ...copy, at: copy.clock.now() });
    return true;
  }

  /** Is again what was kept under the name; false when there is nothing. A message that was on its way to an acquirer is lost. */
  restore(name: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const kept = this.#snapshots.get(name);
      if (kept === undefined) return false;
      await this.#end();
      this.#life = this.#live(this.#copyOf(kept, this.#storeOptions));
      return true;
    });
  }

  /** Ends what is under way; nothing more begins. */
  async close(): Promise<void> {
    this.#isOver = true;
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

  /** What it is called towards acquirers and receivers: worlds with one seed the same, so that both treat them alike. */
  get alias(): MerchantId {
    return sha256Hex(`cofre world 1\0${this.#plan.seed}`).slice(0, 8) as MerchantId;
  }

  get #storeOptions(): WorldStoreOptions {
    return { isFull: this.#around.isFull, onApplied: (change) => this.#count(change) };
  }

  #newState(): State {
    const { seed, time } = this.#plan;
    const { acquirers, openAcquirer, openStore, clock: system, scheduler } = this.#around;
    const clock = new WorldClock(system, time);
    const ports = { clock, scheduler: clock.scheduler(scheduler) };
    return {
      store: openStore(this.#storeOptions),
      acquirers: new Map(acquirers.map((name) => [name, openAcquirer(ports)])),
      clock,
      random: new SeededRandom(seed),
      deliveryRandom: new SeededRandom(`${seed}\0notifications`),
    };
  }

  #copyOf({ store, acquirers, clock: from, random, deliveryRandom }: State, options: WorldStoreOptions): State {
    const { clock: system, scheduler } = this.#around;
    const { seed } = this.#plan;
    const clock = new WorldClock(system, { now: from.now(), running: from.running });
    const ports = { clock, scheduler: clock.scheduler(scheduler) };
    return {
      store: store.copy(options),
      acquirers: new Map(Array.from(acquirers, ([name, acquirer]) => [name, acquirer.copy(ports)])),
      clock,
      random: new SeededRandom(seed, random.position),
      deliveryRandom: new SeededRandom(`${seed}\0notifications`, deliveryRandom.position),
    };
  }

  #live(state: State): Life {
    const { vault, sender, sign, name, acquirerTimeoutMs, log, recording, scheduler, secretRandom } = this.#around;
    const alias = this.alias;
    const connectors = Array.from(state.acquirers, ([acquirer, it]) => ({ ...namedAs(it, alias), name: acquirer }));
    const installation = createInstallation({
      store: state.store,
      vault,
      connectors: connectorsOf(connectors),
      clock: state.clock,
      random: state.random,
      deliveryRandom: state.deliveryRandom,
      secretRandom,
      scheduler,
      share: wholeShare,
      sender,
      sign,
      name,
      nameOf: () => alias,
      acquirerTimeoutMs,
      log,
      recording,
    });
    return { ...state, installation };
  }

  async #end(): Promise<void> {
    this.#cancelSoon?.();
    this.#cancelSoon = undefined;
    const { dispatcher, recovery, cardExpiry } = this.#life.installation;
    await Promise.all([dispatcher.stop(), recovery.stop(), cardExpiry.stop()]);
  }

  #count({ payment, deliveries, cardErasure }: Change): void {
    if (payment !== undefined) this.#done.payments += 1;
    if (deliveries !== undefined) this.#done.deliveries += deliveries.length;
    if (cardErasure !== undefined) this.#done.cards += 1;
    if (payment !== undefined) this.#settleSoon();
  }

  /** What a change has made due at once, such as a refund without a waiting time, is done without anybody moving the time. */
  #settleSoon(): void {
    if (this.#cancelSoon !== undefined || this.#isOver) return;
    this.#cancelSoon = this.#around.scheduler.after(soonMs, () => {
      this.#cancelSoon = undefined;
      const { store, clock } = this.#life;
      const next = store.nextDue(laterBy(clock.now(), -1));
      if (next !== undefined && next <= clock.now()) void this.settle();
    });
  }

  async #doDue({ store, clock, installation }: Life): Promise<void> {
    const { recovery, dispatcher, cardExpiry } = installation;
    for (let round = 0; round < mostRounds; round += 1) {
      const before = this.#changes;
      clock.fire();
      await recovery.runDue();
      await dispatcher.runDue();
      const forgetAt = cardsForgottenFrom(store);
      if (forgetAt !== undefined && forgetAt <= clock.now()) await cardExpiry.runOnce();
      if (before === this.#changes) return;
    }
  }

  get #changes(): number {
    return this.#done.payments + this.#done.deliveries + this.#done.cards;
  }

  #nextDue({ store, clock, installation }: Life): Instant | undefined {
    const now = clock.now();
    let first: Instant | undefined;
    for (const at of [store.nextDue(now), cardsForgottenFrom(store), clock.nextTimer, installation.dispatcher.restsUntil(now)]) {
      if (at !== undefined && at > now && (first === undefined || at < first)) first = at;
    }
    return first;
  }
}

/** What a world's keys open it for. */
export function grantsOf({ integrationKey, publicIntegrationKey }: SandboxKeys): readonly Granted[] {
  return [grant(integrationKey, "secret"), grant(publicIntegrationKey, "public")];
}

function cardsForgottenFrom({ leastRecentUse }: WorldStore): Instant | undefined {
  return leastRecentUse === undefined ? undefined : laterBy(tokenExpiresAt(leastRecentUse), forgottenAfterMs);
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
