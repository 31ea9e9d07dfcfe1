import type { Connector } from "../../server/src/connectors/connector.ts";
import { connectorsOf } from "../../server/src/connectors/connector-set.ts";
import type { WireResponse } from "../../server/src/wire/answers/answer.ts";
import { notBefore } from "../../server/src/decisions/steps.ts";
import { hexOf, type MerchantId, type TokenDigest } from "../../server/src/kernel/ids.ts";
import type { PaymentId } from "../../server/src/payment/payment-id.ts";
import type { Scheduler } from "../../server/src/kernel/scheduler.ts";
import { slotCount } from "../../server/src/kernel/slot.ts";
import { ServiceError, type ServiceErrorCode } from "../../server/src/payment/service-error.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { day, type Instant, instant, minute } from "../../server/src/kernel/instant.ts";
import { WatchedClock } from "../../server/src/kernel/watched-clock.ts";
import type { Account } from "../../server/src/merchant/account.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import type { Delivery } from "../../server/src/notification/events.ts";
import type { Change } from "../../server/src/stores/change.ts";
import {
  type CommitFault,
  createMemoryStore,
  type MemoryStoreOptions,
} from "../../server/src/stores/memory/memory-store.ts";
import { type Store, StoreError } from "../../server/src/stores/store.ts";
import type { WorldStore } from "../../server/src/stores/world-store.ts";
import { nextEpoch } from "../../server/src/recovery/incarnation-keeper.ts";
import { dueAt, lapsesAt } from "../../server/src/payment/due.ts";
import type { StoredCard } from "../../server/src/vault/stored-card.ts";
import { SimulatedAcquirer } from "./acquirer-link.ts";
import { Auditor } from "./auditor.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { Keys } from "./keys.ts";
import { isCalm, type Plan } from "./plan.ts";
import { Receivers } from "./receivers.ts";
import { type Rotation, rotate, startKeyJobs } from "./key-jobs.ts";
import { keyFaults, type OpenedKeys, RecordKeys } from "./record-keys.ts";
import { buildServer, type ServerParts } from "./server-process.ts";
import { SimTime } from "../../server/test/support/sim-time.ts";
import type { WireRequest } from "./wire-request.ts";
import { type Step, storeInSteps } from "./store-in-steps.ts";
import { UpstreamServer } from "./upstream-link.ts";

type Acquirer = Pick<SimulatedAcquirer, "book" | "capabilities" | "heal" | "instruct" | "linkFrom">;

export type Answer<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "refusal"; readonly code: ServiceErrorCode }
  /** The connection broke: the client does not know the result. */
  | { readonly kind: "lost" };

interface Process {
  readonly index: number;
  alive: boolean;
  /** It is paused until then, in milliseconds since the run began. */
  pausedUntil: number;
  /** Called when the process dies, for clients whose connections break. */
  readonly onDeath: Set<() => void>;
  /** Set once it serves, like its keys. */
  parts: ServerParts | undefined;
  keys: OpenedKeys | undefined;
}

/** Just short enough that a request about to be sent is still sent. */
const longestStallMs = 29_000;
/** Long enough for a lease to expire and for an acquirer's answer to be too late. */
const pauseMs = { shortest: 11_000, longest: 70_000 } as const;
/**
 * An attempt is checked again within minutes, after seventeen checks within an hour, and nothing is
 * sent later than the longest time that an acquirer may have to answer.
 */
const maxAheadMs = {
  recheckAt: 6 * minute,
  laterRecheckAt: 62 * minute,
  answerBy: 10 * minute,
} as const;
const youngChecks = 17;
/**
 * Latest time of the next attempt by the number of attempts made, in milliseconds from now. Later
 * ones may be hours away.
 */
const maxDelayMs: readonly number[] = [minute, 2 * minute, 10 * minute, 50 * minute];
/** How long a slow commit takes, and until a late one is applied. */
const slowMs = 2_000;
const commitFaults = [
  "unavailable",
  "overloaded",
  "stale",
  "commit_unknown_not_applied",
  "commit_unknown_applied",
  "commit_unknown_applied_late",
  "slow",
] as const satisfies readonly CommitFault[];

/**
 * One Cofre with its acquirers and its merchants' receivers, in virtual time: the product's own
 * runner, operations, jobs, vault and memory store. The store, the outside parties and the vault's
 * keys survive a crash; all else belongs to the process that dies.
 */
export class Installation {
  readonly time: SimTime;
  readonly store: Store;
  /** The acquirer that the purchases' instructions apply to, and the second one. */
  readonly simulator: Acquirer;
  readonly acquirers: readonly [Acquirer, Acquirer];
  readonly auditor: Auditor;
  readonly plan: Plan;
  readonly #chance: Chance;
  readonly #keys: Keys;
  readonly #random: SeededRandom;
  readonly #notificationRandom: SeededRandom;
  readonly #receivers: Receivers;
  /** The latest process of each server. */
  readonly #processes: Process[];
  /** By server: how far its clock is ahead of the common time. */
  #aheadMs: readonly number[];
  /** How far the store's clock is ahead of the common time. */
  #databaseAheadMs = 0;
  /**
   * By server: the latest time at which it committed something, by its own clock. A file beside the
   * keys keeps it.
   */
  readonly #notedAt = new Map<number, Instant>();
  #stored: WorldStore;
  #backup: WorldStore | undefined;
  /** The installation's epoch: a new one begins when an older copy of the store is restored. */
  #epoch = 0;
  #faultsOn = true;
  #fullUntil = 0;
  /**
   * Tokens and hashes that clients of any merchant received: sometimes a merchant tries another's.
   */
  readonly tokens: string[] = [];
  readonly hashes: string[] = [];
  crashes = 0;
  /** Number of waits of the server so far, before and after calls take effect. */
  waits = 0;
  /** The numbers of the waits at which it dies; undefined: random. */
  diesAt: ReadonlySet<number> | undefined;

  constructor(plan: Plan) {
    this.plan = plan;
    const noProcess: Process = {
      index: 0,
      alive: false,
      pausedUntil: 0,
      onDeath: new Set(),
      parts: undefined,
      keys: undefined,
    };
    this.#processes = Array.from({ length: plan.servers }, () => noProcess);
    this.#chance = new Chance(plan.seed + 1);
    this.#random = new SeededRandom(`simulation ${plan.seed}`);
    this.#notificationRandom = new SeededRandom(`simulation notifications ${plan.seed}`);
    this.time = new SimTime(new Chance(plan.seed + 2));
    this.#stored = createMemoryStore(this.#storeOptions());
    // The current store, which may be a restored copy.
    const store = new Proxy(this.#stored, {
      get: (_, name: keyof Store) =>
        (this.#stored[name] as (...values: never[]) => unknown).bind(this.#stored),
    });
    const skew = new Chance(plan.seed + 5);
    this.#aheadMs = Array.from({ length: plan.servers }, (_, index) =>
      index === 0 ? 0 : skew.between(-plan.skewMs, plan.skewMs),
    );
    const { clockJumps = [] } = plan;
    const furthestMs = Math.max(plan.skewMs, ...clockJumps.map(({ aheadMs }) => aheadMs));
    const { captureWindowDays, strictMandates, taxPolicy, taxPaidBy, ...settings } = plan.settings;
    this.auditor = new Auditor(
      store,
      (merchantId) => this.acquirers.flatMap(({ book }) => book.of(merchantId)),
      {
        captureWindowMs: captureWindowDays * day,
        strictMandates,
        steadyClock: plan.clockSets === "none" && plan.skewMs === 0 && clockJumps.length === 0,
        isCalm: isCalm(plan),
        keys: {
          digestOf: (merchantId, token) => this.#keys.digestOf(merchantId, token),
          opens: (card) => this.#keys.opens(card, this.time),
        },
        taxPolicy,
        taxPaidBy,
        requests: {
          ...settings,
          now: () => this.time.now() + furthestMs,
          elapsed: () => this.time.elapsed(),
        },
      },
    );
    this.store = this.auditor.watch(store);
    this.#keys = new Keys(plan, plan.keys === "records" ? this.#recordKeys() : undefined);
    const acquirerParts = {
      time: this.time,
      chance: new Chance(plan.seed + 4),
      auditor: this.auditor,
      plan,
    };
    this.simulator =
      plan.upstream === true
        ? new UpstreamServer("main", acquirerParts)
        : new SimulatedAcquirer("main", acquirerParts);
    this.acquirers = [this.simulator, new SimulatedAcquirer("backup", acquirerParts)];
    this.#receivers = new Receivers(
      this.time,
      new Chance(plan.seed + 3),
      plan.receivers,
      this.auditor.deliveries,
    );
  }

  #recordKeys(): RecordKeys {
    const { auditor, plan } = this;
    const isFaulty = (): boolean => this.#faultsOn && this.#chance.happens(plan.storeFaultPerMille);
    return new RecordKeys({
      seed: plan.seed,
      scheduler: this.time,
      slowMs,
      commitFault: () => {
        if (this.#isFull()) return "unavailable";
        return isFaulty() ? this.#chance.pick(keyFaults) : undefined;
      },
      readFails: isFaulty,
      violation: (text) => auditor.violation(text),
      note: (what) => auditor.note(what),
      mark: (what) => auditor.mark(what),
    });
  }

  #storeOptions(): MemoryStoreOptions {
    return {
      scheduler: this.time,
      clock: { now: () => this.#databaseNow() },
      slowMs,
      commitFault: (change) => this.#commitFault(change),
      readFails: (method) => method === "renewSlots" && this.#isFull(),
    };
  }

  /**
   * Takes a copy of the store, or restores the one taken before: then all servers are stopped, and
   * start with it.
   */
  backUpOrPutBack(): void {
    if (this.#backup === undefined) {
      this.#backup = this.#stored.copy(this.#storeOptions());
      this.#keys.backUp();
      this.auditor.note("a copy of the store is taken");
      return;
    }
    if (this.#epoch > 0) return;
    this.#stored = this.#backup;
    this.#keys.putBack();
    this.#epoch = nextEpoch(this.time, 0);
    this.auditor.forgets();
    for (const process of this.#processes) {
      if (process.alive) this.#dies(process);
    }
  }

  start(): void {
    for (const index of this.#processes.keys()) this.#startAt(index);
    this.#setClocks(0);
    this.#setDatabaseClock();
    for (const { afterMs, act } of this.plan.rotations ?? [])
      this.time.after(afterMs, () => {
        if (this.#faultsOn) void this.rotate(act);
      });
  }

  /** An operator's act, at the only server if it serves. */
  async rotate(act: Rotation): Promise<void> {
    const keys = this.#processes.find(({ alive }) => alive)?.keys;
    if (keys === undefined) return;
    const merchants = (await this.store.accounts()).map(({ id }) => id);
    await rotate(keys, act, merchants, this.auditor);
  }

  /** What rotations have not reached yet, some time after the faults. */
  async leftUnderEarlierKeys(): Promise<readonly string[]> {
    const cards: StoredCard[] = [];
    for (const { merchantId, tokenDigest } of await this.store.cardsAfter(0, 1_000_000)) {
      const card = await this.store.cardByToken(merchantId, tokenDigest);
      if (card !== undefined) cards.push(card);
    }
    return this.#keys.leftUnderEarlierKeys(cards);
  }

  #databaseNow(): Instant {
    return instant(this.time.now() + this.#databaseAheadMs);
  }

  #setDatabaseClock(): void {
    const { databaseStep } = this.plan;
    if (databaseStep === undefined) return;
    const { afterMs, aheadMs, forMs } = databaseStep;
    this.time.after(afterMs, () => {
      if (!this.#faultsOn) return;
      this.#databaseAheadMs = aheadMs;
      this.auditor.note(`the clock of the store is ${aheadMs} ms ahead`);
      this.time.after(forMs, () => (this.#databaseAheadMs = 0));
    });
  }

  /** Sets each of the plan's clocks forward, and back, one after the other. */
  #setClocks(from: number): void {
    const jump = this.plan.clockJumps?.[from];
    if (jump === undefined) return;
    const { server, afterMs, aheadMs, forMs } = jump;
    this.time.after(afterMs, () => {
      if (!this.#faultsOn) return;
      this.#setClock(server, aheadMs);
      this.auditor.mark("one clock is set forward");
      this.time.after(forMs, () => {
        this.#setClock(server, 0);
        this.#setClocks(from + 1);
      });
    });
  }

  #setClock(server: number, aheadMs: number): void {
    this.#aheadMs = this.#aheadMs.map((before, index) => (index === server ? aheadMs : before));
    this.auditor.note(`the clock of server ${server} is ${aheadMs} ms ahead`);
  }

  #startAt(index: number): void {
    const process: Process = {
      index,
      alive: true,
      pausedUntil: 0,
      onDeath: new Set(),
      parts: undefined,
      keys: undefined,
    };
    this.#processes[index] = process;
    this.auditor.note(this.#says(process, "starts"));
    void this.#open(process);
  }

  async #open(process: Process): Promise<void> {
    const isFaulty = this.#faultsOn;
    let opened: OpenedKeys;
    try {
      opened = await this.#keys.open({
        step: this.#stepOf(process, this.plan.storeLatencyMs),
        clock: { now: () => this.#timeAt(process) },
      });
    } catch (error) {
      if (!isFaulty || !(error instanceof StoreError))
        this.auditor.violation(`K3: keys open at each start: ${String(error)}`);
      else this.#failsToStart(process);
      return;
    }
    const parts = this.#build(process, opened);
    await parts.start();
    // Serves requests from now on.
    if (!process.alive) return;
    process.parts = parts;
    process.keys = opened;
    this.auditor.note(this.#says(process, "serves"));
  }

  #says({ index }: Process, what: string): string {
    return this.plan.servers === 1 ? `the server ${what}` : `server ${index} ${what}`;
  }

  /**
   * Ends the faults, corrects all clocks, and starts stopped servers; of several servers one may
   * stay down.
   */
  heal(): void {
    this.#faultsOn = false;
    this.#aheadMs = this.#aheadMs.map(() => 0);
    this.#databaseAheadMs = 0;
    for (const acquirer of this.acquirers) acquirer.heal();
    this.#receivers.heal();
    const down = [...this.#processes.keys()].filter(
      (index) => this.#processes[index]?.alive !== true,
    );
    if (this.plan.oneStaysDown && down.length < this.plan.servers) down.pop();
    for (const index of down) this.#startAt(index);
  }

  /** Remaining time of the longest pause of a process. */
  pauseLeftMs(): number {
    return Math.max(
      0,
      ...this.#processes.map(({ pausedUntil }) => pausedUntil - this.time.elapsed()),
    );
  }

  digestOf(merchantId: MerchantId, token: string): TokenDigest {
    return this.#keys.digestOf(merchantId, token);
  }

  /** The result for a client that sends this now, to any serving server. */
  call<Input, Output>(
    operation: Operation<Input, Output>,
    account: Account,
    input: Input,
  ): Promise<Answer<Output>> {
    const serving = this.#processes.filter(
      ({ alive, parts }) => alive && parts?.isReady() === true,
    );
    const process = serving.length > 1 ? this.#chance.pick(serving) : serving[0];
    if (process?.parts === undefined) return this.time.sleep(5).then(() => ({ kind: "lost" }));
    const { runner } = process.parts;
    return new Promise((resolve) => {
      const lost = (): void => resolve({ kind: "lost" });
      process.onDeath.add(lost);
      runner.run(operation, account, input).then(
        (value) => {
          process.onDeath.delete(lost);
          resolve({ kind: "answer", value });
        },
        (error: unknown) => {
          process.onDeath.delete(lost);
          if (error instanceof ServiceError) resolve({ kind: "refusal", code: error.code });
          else
            this.auditor.violation(`the runner rejects with a ServiceError, not ${String(error)}`);
        },
      );
    });
  }

  /**
   * The result for a client that sends these bytes now, to any serving server, over a network that
   * loses requests and answers.
   */
  send(request: WireRequest): Promise<WireResponse | "lost"> {
    const { loseRequest, loseAnswer, patienceMs } = this.plan.clients;
    const isFaulty = (perMille: number): boolean =>
      this.#faultsOn && perMille > 0 && this.#chance.happens(perMille);
    if (isFaulty(loseRequest))
      return this.time.sleep(this.#chance.pick([0, 5, 2_000])).then(() => "lost");
    const serving = this.#processes.filter(
      ({ alive, parts }) => alive && parts?.isReady() === true,
    );
    const process = serving.length > 1 ? this.#chance.pick(serving) : serving[0];
    if (process?.parts === undefined) return this.time.sleep(5).then(() => "lost");
    const { wire } = process.parts;
    const isLost = isFaulty(loseAnswer);
    return new Promise((resolve) => {
      const lost = (): void => {
        process.onDeath.delete(lost);
        resolve("lost");
      };
      process.onDeath.add(lost);
      const cancel =
        this.#faultsOn && patienceMs > 0 ? this.time.after(patienceMs, lost) : undefined;
      wire(request).then(
        (answer) => {
          process.onDeath.delete(lost);
          cancel?.();
          resolve(isLost ? "lost" : answer);
        },
        (error: unknown) => this.auditor.violation(`every request is answered: ${String(error)}`),
      );
    });
  }

  /** For this time nothing can be written, but everything can be read. */
  fillDisk(ms: number): void {
    this.auditor.mark("the disk is full");
    this.auditor.note("the disk is full");
    this.#fullUntil = this.time.elapsed() + ms;
  }

  #isFull(): boolean {
    return this.#faultsOn && this.time.elapsed() < this.#fullUntil;
  }

  /**
   * Checks the slots that the living servers report: no slot has two holders, and with `all` each
   * has one.
   */
  checkShares(all: boolean): void {
    const holders = this.#processes.flatMap(({ alive, parts }) =>
      alive && parts !== undefined ? [parts.slotAssignment.leases()] : [],
    );
    const held = holders.flatMap((each) => [...each.keys()]);
    if (new Set(held).size < held.length) this.auditor.violation("no two servers hold one slot");
    if (all && held.length < slotCount)
      this.auditor.violation("what a server held that is gone is taken up when its lease is over");
  }

  #build(process: Process, opened: OpenedKeys): ServerParts {
    const step = (latencyMs: number): Step => this.#stepOf(process, latencyMs);
    const [main, backup] = this.acquirers;
    const clock = new WatchedClock({ now: () => this.#timeAt(process) });
    const link = (acquirer: Acquirer): Connector => acquirer.linkFrom(clock, step(0));
    const store = storeInSteps(this.store, step(this.plan.storeLatencyMs), () =>
      this.#databaseNow(),
    );
    const seenAt = this.#notedAt.get(process.index);
    const commit: Store["commit"] = (change) => {
      this.#notedAt.set(process.index, notBefore(clock.now(), this.#notedAt.get(process.index)));
      return store.commit(change);
    };
    const scheduler: Scheduler = {
      sleep: (ms: number) => this.#whileAlive(process, this.time.sleep(ms)),
      after: (ms: number, task: () => void) => this.#after(process, ms, task),
    };
    const parts = buildServer({
      store: { ...store, commit },
      vault: opened.vault,
      connectors: connectorsOf(this.plan.routed ? [link(main), link(backup)] : [link(main)]),
      sender: { send: (request) => step(0)(() => this.#receivers.send(request)) },
      clock,
      setBack: this.plan.clockJumps === undefined ? undefined : { seenAt },
      scheduler,
      epoch: () => this.#epoch,
      random: this.#random,
      notificationRandom: this.#notificationRandom,
      auditor: this.auditor,
      node: this.plan.servers === 1 ? undefined : hexOf(this.#notificationRandom.bytes(8)),
      elapsedMs: () => this.time.elapsed(),
    });
    const { auditor } = this;
    const jobs = { opened, store: { ...store, commit }, clock, scheduler, auditor };
    if (this.plan.rotations === undefined) return parts;
    return {
      ...parts,
      start: async () => {
        startKeyJobs({ ...jobs, slotAssignment: parts.slotAssignment });
        await parts.start();
      },
    };
  }

  #stepOf(process: Process, latencyMs: number): Step {
    return (call) => this.#await(process, latencyMs, call);
  }

  /** The time by the clock of the process's machine. */
  #timeAt({ index }: Process): Instant {
    return instant(this.time.now() + (this.#aheadMs[index] ?? 0));
  }

  /** Work that waits for a time that only a wrong clock has shown. */
  async waitingForWrongClock(): Promise<readonly string[]> {
    const now = this.time.now();
    const found: string[] = [];
    for (const { attempt, needsReview, order } of await this.store.paymentsInFlight(10_000)) {
      if (attempt === undefined || needsReview) continue;
      const recheckMs =
        attempt.checks < youngChecks ? maxAheadMs.recheckAt : maxAheadMs.laterRecheckAt;
      if (attempt.answerBy > now + maxAheadMs.answerBy || attempt.recheckAt > now + recheckMs)
        found.push(
          `no payment waits for the time of a wrong clock: ${attempt.kind} of ${order.code}`,
        );
    }
    for (const { dueAt: at, attempts, number, endpoint } of await this.#waitingDeliveries()) {
      if (at > now + (maxDelayMs[attempts] ?? Number.POSITIVE_INFINITY))
        found.push(
          `no delivery waits for the time of a wrong clock: ${number} to ${endpoint} after ${attempts}`,
        );
    }
    return found;
  }

  /** When a payment's capture window ends, as stored. */
  async captureBy(merchantId: MerchantId, id: string): Promise<number | undefined> {
    return (await this.store.paymentById(merchantId, id as PaymentId))?.captureBy;
  }

  /**
   * When the next due work starts, other than the end of a capture window; undefined when there is
   * none.
   */
  async nextDue(): Promise<number | undefined> {
    const now = this.time.now();
    const payments = await this.store.paymentsDue(instant(Number.MAX_SAFE_INTEGER), 10_000);
    const open = payments.filter(
      (payment) =>
        (lapsesAt(payment) ?? 0) <= now ||
        payment.refunds.some((refund) => refund.dueAt !== undefined),
    );
    if (open.length > 0)
      return Math.max(now, Math.min(...open.map((payment) => dueAt(payment) ?? now)));
    const waiting = await this.#waitingDeliveries();
    const first = waiting.filter(
      (one) =>
        !waiting.some(
          (other) =>
            other.paymentId === one.paymentId &&
            other.endpoint === one.endpoint &&
            other.number < one.number,
        ),
    );
    return first.length === 0
      ? undefined
      : Math.max(now, Math.min(...first.map((delivery) => delivery.dueAt)));
  }

  /** Waiting deliveries, except those to disabled endpoints. */
  async #waitingDeliveries(): Promise<readonly Delivery[]> {
    const accounts = await this.store.accounts();
    const waiting = await Promise.all(
      accounts.map(async ({ id, settings }) =>
        (await this.store.deliveriesOf(id, 1, 10_000, "waiting")).filter(
          ({ endpoint }) =>
            settings.notificationEndpoints.find((each) => each.id === endpoint)?.goneAt ===
            undefined,
        ),
      ),
    );
    return waiting.flat();
  }

  /**
   * One await of the server: sometimes it takes long, and the server may die just before the call
   * takes effect, or just after and before the result arrives.
   */
  #await<T>(process: Process, latencyMs: number, call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const goOn = (step: () => void): void => {
        // The faults have ended and no server dies: a call without latency runs at once.
        if (!this.#faultsOn && process.alive && !this.time.isBehind()) {
          step();
          return;
        }
        const stallMs = this.#isHit(this.plan.stallPerMillion)
          ? this.#chance.between(1_000, longestStallMs)
          : 0;
        if (this.#isHit(this.plan.pausePerMillion)) this.#pause(process);
        this.#after(
          process,
          stallMs + (latencyMs === 0 ? 0 : this.#chance.below(latencyMs + 1)),
          () => {
            if (!this.#crashesNow(process)) step();
          },
        );
      };
      goOn(() => {
        call().then(
          (value) => goOn(() => resolve(value)),
          (error: unknown) => goOn(() => reject(error)),
        );
      });
    });
  }

  #whileAlive<T>(process: Process, waiting: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const whenItRuns = (settle: () => void): void => {
        if (process.pausedUntil > this.time.elapsed()) this.#after(process, 0, settle);
        else if (process.alive) settle();
      };
      waiting.then(
        (value) => whenItRuns(() => resolve(value)),
        (error: unknown) => whenItRuns(() => reject(error)),
      );
    });
  }

  #crashesNow(process: Process): boolean {
    if (!this.#faultsOn) return false;
    this.waits += 1;
    const dies =
      this.diesAt?.has(this.waits) ?? this.#chance.below(1_000_000) < this.plan.crashPerMillion;
    if (!dies) return false;
    this.#dies(process);
    return true;
  }

  #dies(process: Process): void {
    process.alive = false;
    this.auditor.note(this.#says(process, "dies"));
    this.crashes += 1;
    for (const lost of process.onDeath) lost();
    this.#restartsLater(process, () => this.#faultsOn);
  }

  /** The store failed while the keys were opened: the process ends by itself. */
  #failsToStart(process: Process): void {
    process.alive = false;
    this.auditor.mark("a server does not start");
    this.auditor.note(this.#says(process, "does not start"));
    this.#restartsLater(process, () => true);
  }

  #restartsLater(process: Process, isWanted: () => boolean): void {
    this.time.after(this.plan.restartMs, () => {
      if (isWanted() && this.#processes[process.index] === process) this.#startAt(process.index);
    });
  }

  #isHit(perMillion: number): boolean {
    return this.#faultsOn && this.#chance.below(1_000_000) < perMillion;
  }

  /** The whole process pauses: none of its timers fires, and it receives nothing. */
  #pause(process: Process): void {
    const { shortest, longest } = pauseMs;
    process.pausedUntil = Math.max(
      process.pausedUntil,
      this.time.elapsed() + this.#chance.between(shortest, longest),
    );
    this.auditor.mark("a server stands still");
    this.auditor.note(this.#says(process, "stands still"));
  }

  /**
   * Runs the task after `ms`, or when the process resumes if it is paused then; never when it has
   * died.
   */
  #after(process: Process, ms: number, task: () => void): () => void {
    const attempt = (): void => {
      if (!process.alive) return;
      const leftMs = process.pausedUntil - this.time.elapsed();
      if (leftMs > 0 && this.#faultsOn) cancel = this.time.after(leftMs, attempt);
      else task();
    };
    let cancel = this.time.after(ms, attempt);
    return () => cancel();
  }

  #commitFault(change: Change): CommitFault | undefined {
    // With a clock that is set, a lease expires too early or not at all: two servers may then hold
    // one slot for a while, and correctness does not depend on it.
    const isSet = this.plan.clockSets !== "none" || this.plan.databaseStep !== undefined;
    if (this.plan.servers > 1 && !isSet) this.checkShares(false);
    if (this.#isFull()) return "unavailable";
    // Accounts are set up before the faults begin.
    if (!this.#faultsOn || isSetUp(change) || !this.#chance.happens(this.plan.storeFaultPerMille))
      return undefined;
    return this.#chance.pick(commitFaults);
  }
}

function isSetUp({ account }: Change): boolean {
  return account !== undefined && account.replaces === undefined;
}
