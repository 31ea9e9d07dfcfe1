import { assert, BrokenInvariant } from "../kernel/assert.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { day, type Instant, instant, laterBy, second } from "../kernel/instant.ts";
import { reportRead, type ReadReport } from "../kernel/job-reads.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { slotOf } from "../kernel/slot.ts";
import { type DueMerchant, type DueQueue, type Store, StoreError } from "../stores/store.ts";
import { chaosPlan } from "../notification/chaos.ts";
import { Courier, type CourierParts } from "./courier.ts";
import { decideDelivery, decideExpired, decideRemoved, isExpired } from "./delivery.ts";
import { DeliveryBook } from "./delivery-book.ts";
import {
  isUrlEndpoint,
  type NotificationSettings,
  originQueue,
  queueOf,
  type Target,
  targetOf,
  urlTarget,
} from "../notification/endpoint.ts";
import {
  type Delivery,
  type EndpointId,
  type EndpointKey,
  messageNumber,
  openMessage,
  type QueueKey,
} from "../notification/events.ts";
import { allAs, eachOf, gathered, type Message } from "../notification/message.ts";
import { type QueueLane, QueueLanes } from "./queue-lanes.ts";
import { type Answered, type Passage, ReceiverLimit } from "./receiver-limit.ts";
import type { SendOutcome } from "./sender.ts";
import { Shares } from "./shares.ts";
import { Turns } from "./turns.ts";

/** Port: the notification settings of accounts. */
export interface NotificationAccounts {
  /** undefined if there is no such account. */
  settingsOf(
    merchantId: MerchantId,
  ): Promise<(NotificationSettings & { readonly accountVersion?: number }) | undefined>;
  /** Records in the account that this endpoint answered 410 (endpoint.ts, switchedOff). */
  switchOff(merchantId: MerchantId, endpoint: EndpointId, at: Instant): Promise<void>;
}

export interface DispatcherParts extends CourierParts {
  readonly store: Pick<
    Store,
    | "merchantsDue"
    | "queuesDue"
    | "deliveriesDue"
    | "deliveriesOfMessage"
    | "paymentById"
    | "commit"
  >;
  readonly accounts: NotificationAccounts;
  readonly random: Random;
  /**
   * The random source for the time of a delivery's next attempt, if that must not depend on the
   * order in which receivers answer.
   */
  readonly randomFor?: (delivery: Delivery) => Random;
  readonly scheduler: Scheduler;
  /** The slots of the merchants whose notifications this process sends. */
  readonly slotAssignment: SlotAssignment;
  /** Called with every attempt, and when a circuit opens. Never throws. */
  readonly report: (event: DeliveryEvent) => void;
  /** Called with every attempt after its result was stored. Never throws. */
  readonly attempted?: (attempt: DeliveryAttempt) => void;
  /** Called when an attempt at this delivery has ended or was postponed. Never throws. */
  readonly ended?: (delivery: Delivery) => void;
  /**
   * Called for unexpected errors, with the property that did not hold or the error's class name.
   * Never throws.
   */
  readonly alarm: (what: string, merchantId: MerchantId) => void;
  /** Called with the result of each read of the store. */
  readonly reads?: ReadReport;
  /**
   * true: one attempt at a time, in the order of reading, so that receivers get all messages in one
   * order.
   */
  readonly inOrder?: () => boolean;
  /** How often the store is polled for due deliveries, apart from nudges. Default: one second. */
  readonly pollMs?: number;
}

export interface DeliveryEvent extends EndpointKey {
  readonly kind: "delivered" | "retry" | "failed" | "gone" | "resting";
  readonly paymentId: string;
  readonly number: number;
  readonly attempts: number;
  /** A status, or an outcome of delivery.ts. */
  readonly outcome: string | undefined;
}

/** A finished attempt: its number since the delivery was requested, and its result. */
export interface DeliveryAttempt {
  readonly number: number;
  readonly url: string;
  readonly verdict: Exclude<DeliveryEvent["kind"], "resting">;
  /** The delivery after the attempt. */
  readonly delivery: Delivery;
}

const usualPollMs = second;
/** Notifications within this time are processed together. */
const nudgeMs = 2;
/** Maximum messages under way, and maximum queues read ahead, over all merchants. */
const places = 256;
const merchantsPerRead = 64;
const queuesPerRead = 32;
/** Per merchant and round; the next round continues after them. */
const queuesPerRound = 128;
const deliveriesPerRead = 64;
/** How often a queue of a disabled endpoint is checked for expired deliveries. */
const parkedMs = day;
/**
 * Reads per merchant between two polls whose deliveries all end without an attempt: if an endpoint
 * is removed or has not answered for a month that may be all of them, and each read is a commit.
 */
const endingReads = 32;
/**
 * Maximum number of merchants in `#nextQueues` and in `#resting`. The queues of others are read
 * from the first again.
 */
const mostContinued = 4_096;
/** Maximum number of queues that wait for one nudge; the next poll finds the others. */
const mostNudged = 1_000;
/**
 * Maximum number of answered messages of one queue whose result is not stored yet: all would be
 * sent again after a crash.
 */
const mostUnwritten = 32;
/**
 * A message that is not full waits this long for one that is under way before it is checked again.
 */
const gatherMs = 50;
/**
 * The longest such wait: a receiver that hangs must not delay messages that it could receive in
 * parallel.
 */
const longestGatherMs = second;

/**
 * Delivers committed notifications. Owns one timer, a bounded number of attempts under way, and
 * state of queues and receivers, all of which may be lost at any moment. A delivery is repeated
 * until its success is committed, so receivers may receive the same message again, with the same
 * id. Each of several processes dispatches for the merchants whose slots it holds.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #lanes = new QueueLanes();
  readonly #turns = new Turns();
  readonly #places = new Shares(places);
  /** Places of lanes that hold deliveries or read them. */
  readonly #lookAhead = new Shares(places);
  /** By merchant and origin: receivers with messages under way, or recently used ones. */
  readonly #limits = new BoundedMap<string, ReceiverLimit>(
    mostLimits,
    ({ underWay }) => underWay === 0,
  );
  readonly #courier: Courier;
  readonly #book: DeliveryBook;
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** By merchant and queue. */
  readonly #nudged = new Map<string, QueueKey>();
  readonly #nudgedMerchants = new Set<MerchantId>();
  #cancelPoll: (() => void) | undefined;
  #cancelNudge: (() => void) | undefined;
  #rounds: Promise<void> = Promise.resolve();
  #queuedRound: Promise<void> | undefined;
  /** Where the next round continues; undefined: with the merchant that is longest due. */
  #nextMerchant: DueMerchant | undefined;
  /** Merchants with more due queues than one round reads. */
  readonly #nextQueues = new Map<MerchantId, DueQueue>();
  /** Reads since the last poll whose deliveries all ended without an attempt. */
  readonly #ended = new Map<MerchantId, number>();
  /** Stopped until the next poll, because their merchant has reached `endingReads`. */
  readonly #paused = new Set<QueueLane>();
  /**
   * Merchants whose due queues the last poll could not begin, because all their circuits are open:
   * only polls consider them again.
   */
  readonly #resting = new Set<MerchantId>();
  /** The last round did not read everything that was due. */
  #isCutShort = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#courier = new Courier(parts);
    const { store } = parts;
    const deliveriesOfMessage: typeof store.deliveriesOfMessage = (...of) =>
      this.#read("deliveriesOfMessage", store.deliveriesOfMessage(...of));
    this.#book = new DeliveryBook(
      { deliveriesOfMessage, commit: (change) => store.commit(change) },
      parts.clock,
    );
  }

  /** Begins what is due, now and with each poll. */
  start(): void {
    this.#poll(0);
  }

  /**
   * There are new deliveries: to these endpoints of this merchant; without endpoints, of this
   * merchant; without a merchant, of any. They begin at once, and nothing else is read. If another
   * process is responsible for them, its next poll finds them.
   */
  nudge(merchantId?: MerchantId, endpoints: readonly EndpointId[] = []): void {
    if (this.#stopping.signal.aborted) return;
    if (merchantId === undefined) {
      this.#resting.clear();
      void this.#nextRound();
      return;
    }
    if (!this.sendsFor(merchantId)) return;
    if (endpoints.length === 0) this.#nudgedMerchants.add(merchantId);
    for (const endpoint of endpoints) {
      const queue = queueOf(endpoint);
      if (this.#nudged.size < mostNudged)
        this.#nudged.set(`${merchantId} ${queue}`, { merchantId, queue });
    }
    this.#cancelNudge ??= this.#parts.scheduler.after(nudgeMs, () => {
      this.#cancelNudge = undefined;
      this.#run(this.#fillNudged());
    });
  }

  /**
   * Sends what is due now and what becomes due as a result; resolves when nothing is under way any
   * more.
   */
  async runDue(): Promise<void> {
    this.#lanes.tidy();
    do {
      this.#endAgain();
      this.#resting.clear();
      this.#nextMerchant = undefined;
      this.#nextQueues.clear();
      await this.#nextRound(Number.POSITIVE_INFINITY);
      while (this.#tasks.size > 0) await Promise.all(this.#tasks);
    } while ((this.#isCutShort || this.#paused.size > 0) && !this.#stopping.signal.aborted);
  }

  /** The first moment after `now` at which an open circuit allows a trial. */
  restsUntil(now: Instant): Instant | undefined {
    return this.#lanes.restsUntil(now);
  }

  /** Whether this process currently sends this merchant's notifications. */
  sendsFor(merchantId: MerchantId): boolean {
    return this.#slotLeaseOf(merchantId) !== undefined;
  }

  /** Aborts the attempts under way, whose deliveries stay due, and resolves when none is left. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelPoll?.();
    this.#cancelNudge?.();
    await this.#rounds;
    await Promise.all(this.#tasks);
  }

  #poll(afterMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelPoll = this.#parts.scheduler.after(afterMs, () => {
      this.#lanes.tidy();
      this.#endAgain();
      this.#resting.clear();
      void this.#nextRound().then(() => this.#poll(this.#parts.pollMs ?? usualPollMs));
    });
  }

  /**
   * Resolves after a round that begins after this call. Callers before its beginning share it.
   * `mostQueues`: per merchant.
   */
  #nextRound(mostQueues = queuesPerRound): Promise<void> {
    this.#queuedRound ??= this.#rounds = this.#rounds.then(() => {
      this.#queuedRound = undefined;
      return this.#round(mostQueues);
    });
    return this.#queuedRound;
  }

  /** Never rejects. */
  #run(work: Promise<void>): void {
    const task = work.finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Processes the nudged queues and merchants. Never rejects. */
  async #fillNudged(): Promise<void> {
    const keys = Array.from(this.#nudged.values());
    const merchants = Array.from(this.#nudgedMerchants);
    this.#nudged.clear();
    this.#nudgedMerchants.clear();
    await this.#fillAll(keys);
    for (const merchantId of merchants) await this.#fillMerchant(merchantId, queuesPerRound);
    this.#pump();
  }

  /**
   * Begins what is due, as far as there is room; attempts that end make room for the rest.
   * Continues where the last round ended.
   */
  async #round(mostQueues: number): Promise<void> {
    try {
      const slots = new Set(this.#parts.slotAssignment.leases().keys());
      if (slots.size === 0) return;
      this.#isCutShort = this.#nextMerchant !== undefined;
      do {
        const { store, clock } = this.#parts;
        const due = await this.#read(
          "merchantsDue",
          store.merchantsDue(clock.now(), this.#nextMerchant, merchantsPerRead, slots),
        );
        this.#nextMerchant = due.length === merchantsPerRead ? due.at(-1) : undefined;
        for (const { merchantId } of due) {
          if (this.#resting.has(merchantId)) continue;
          await this.#fillMerchant(merchantId, mostQueues);
          if (this.#isResting(merchantId)) this.#resting.add(merchantId);
          this.#pump();
        }
      } while (
        this.#nextMerchant !== undefined &&
        this.#lookAhead.taken < places / 2 &&
        !this.#stopping.signal.aborted
      );
      if (this.#nextMerchant !== undefined) this.#isCutShort = true;
      for (const lane of this.#lanes.catchingUp()) await this.#fill(lane);
      this.#pump();
    } catch {
      // The next poll reads again.
    }
  }

  /** Whether the merchant has nothing read ahead, nothing under way, and no more queues to read. */
  #isResting(merchantId: MerchantId): boolean {
    const inHand = this.#lookAhead.takenBy(merchantId) + this.#places.takenBy(merchantId);
    return (
      inHand === 0 &&
      this.#lookAhead.isFree(merchantId) &&
      !this.#nextQueues.has(merchantId) &&
      this.#resting.size < mostContinued
    );
  }

  #read<T>(read: string, reading: Promise<T>): Promise<T> {
    return reportRead(this.#parts.reads, read, reading);
  }

  /** Never rejects: a failed read for one merchant must not prevent those of the next merchants. */
  async #fillMerchant(merchantId: MerchantId, mostQueues: number): Promise<void> {
    try {
      await this.#fillQueuesOf(merchantId, mostQueues);
    } catch {
      // The next poll reads again.
    }
  }

  /**
   * Reads ahead in the merchant's due queues, within its share. Rejects as reads of the store do.
   */
  async #fillQueuesOf(merchantId: MerchantId, mostQueues: number): Promise<void> {
    const { store, clock } = this.#parts;
    let after = this.#nextQueues.get(merchantId);
    this.#nextQueues.delete(merchantId);
    for (let seen = 0; !this.#stopping.signal.aborted;) {
      const isFull = !this.#lookAhead.isFree(merchantId);
      this.#isCutShort ||= isFull;
      if (isFull || seen >= mostQueues) {
        if (after !== undefined && this.#nextQueues.size < mostContinued)
          this.#nextQueues.set(merchantId, after);
        return;
      }
      const due: readonly DueQueue[] = await this.#read(
        "queuesDue",
        store.queuesDue(merchantId, clock.now(), after, queuesPerRead),
      );
      await this.#fillAll(due.map(({ queue }) => ({ merchantId, queue })));
      seen += due.length;
      after = due.at(-1);
      if (due.length < queuesPerRead) return;
    }
  }

  /** Never rejects. */
  async #fillAll(keys: readonly QueueKey[]): Promise<void> {
    const fill = async (key: QueueKey): Promise<void> => {
      await this.#fill(this.#lanes.of(key));
      this.#pump();
    };
    if (this.#isInOrder) for (const key of keys) await fill(key);
    else await Promise.all(keys.map(fill));
  }

  /**
   * Reads the deliveries that may be tried next, if all earlier ones have begun and the receiver
   * may be called. Never rejects.
   */
  async #fill(lane: QueueLane): Promise<void> {
    if (lane.reading) lane.readAgain = true;
    if (lane.queue.length > 0 || lane.reading || lane.stuck || this.#stopping.signal.aborted)
      return;
    if (this.#isGathering(lane) || !this.#isAsked(lane)) return;
    // Answered deliveries that are not stored yet would be read again. They will be stored soon,
    // which calls this again.
    if (lane.underWay.size > lane.sending && lane.sending * 2 >= this.#limitOf(lane).most) return;
    if (!this.#lookAhead.isFree(lane.key.merchantId)) {
      this.#isCutShort = true;
      return;
    }
    lane.lease = this.#slotLeaseOf(lane.key.merchantId);
    if (lane.lease === undefined) return this.#leave(lane);
    lane.reading = true;
    lane.readAgain = false;
    this.#lookAhead.take(lane.key.merchantId);
    const fresh = await this.#readLane(lane);
    lane.reading = false;
    if (fresh.length > 0) this.#load(lane, fresh);
    else this.#lookAhead.giveBack(lane.key.merchantId);
    if (!lane.readAgain) return;
    // As a separate task: deliveries of one queue that end without an attempt must not delay the
    // next merchant in the round.
    if (this.#isInOrder) await this.#fill(lane);
    else this.#run(this.#fill(lane).then(() => this.#pump()));
  }

  /** The lane already has a place of the look-ahead. */
  #load(lane: QueueLane, deliveries: readonly Delivery[]): void {
    lane.queue = deliveries;
    this.#turns.add(lane, originOf(lane));
  }

  /** Drops the deliveries that were read: they are still due and are read again later. */
  #unload(lane: QueueLane): void {
    if (lane.queue.length === 0) return;
    lane.queue = [];
    this.#turns.remove(lane, originOf(lane));
    this.#lookAhead.giveBack(lane.key.merchantId);
  }

  /** The deliveries that may be tried now. Never rejects. */
  async #readLane(lane: QueueLane): Promise<readonly Delivery[]> {
    const { store, clock, accounts } = this.#parts;
    const { merchantId, queue } = lane.key;
    try {
      const settings = await this.#read("accountById", accounts.settingsOf(merchantId));
      lane.settings = settings;
      const isOfUrls = isUrlEndpoint(queue);
      const configured = isOfUrls
        ? undefined
        : lane.settings?.endpoints.find(({ id }) => id === queue);
      lane.target = configured === undefined ? undefined : targetOf(configured, clock.now());
      if (configured !== undefined && lane.target === undefined) {
        await this.#leaveOff(lane, settings?.accountVersion);
        return [];
      }
      // Deliveries that end during the read may still be due in its result.
      const busy = new Set(lane.underWay);
      const horizon = lane.catchingUp ? endOfTime : clock.now();
      const most = Math.max(deliveriesPerRead, lane.target?.hashesPerCall ?? 1);
      const due = await this.#read(
        "deliveriesDue",
        store.deliveriesDue(lane.key, horizon, most + busy.size),
      );
      if (due.length === 0) lane.catchingUp = false;
      const fresh = due.filter((each) => !busy.has(messageNumber(each)) && !busy.has(each.number));
      if (!isOfUrls && configured === undefined) {
        await this.#book.end(fresh, decideRemoved);
        if (fresh.length > 0) this.#endMore(lane);
        return [];
      }
      return await this.#withoutExpired(lane, fresh);
    } catch (error) {
      this.#trouble(lane, error);
    }
    return [];
  }

  /** Ends the expired deliveries and returns the others. */
  async #withoutExpired(lane: QueueLane, fresh: readonly Delivery[]): Promise<readonly Delivery[]> {
    const now = this.#parts.clock.now();
    const [left, expired] = [
      fresh.filter((each) => !isExpired(each, now)),
      fresh.filter((each) => isExpired(each, now)),
    ];
    if (expired.length === 0) return fresh;
    for (const each of await this.#book.end(expired, decideExpired)) this.#report("failed", each);
    if (left.length === 0) this.#endMore(lane);
    return left;
  }

  /**
   * Everything that was read ended without an attempt: the next deliveries are read now, or after
   * the next poll.
   */
  #endMore(lane: QueueLane): void {
    const { merchantId } = lane.key;
    const count = (this.#ended.get(merchantId) ?? 0) + 1;
    this.#ended.set(merchantId, count);
    lane.readAgain = true;
    if (count < endingReads) return;
    lane.stuck = true;
    this.#paused.add(lane);
  }

  #endAgain(): void {
    this.#ended.clear();
    for (const lane of this.#paused) lane.stuck = false;
    this.#paused.clear();
  }

  /**
   * The endpoint is disabled: its deliveries are kept for a while, and not read before the account
   * changes.
   */
  async #leaveOff(lane: QueueLane, accountVersion: number | undefined): Promise<void> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const due = await this.#read(
      "deliveriesDue",
      store.deliveriesDue(lane.key, now, deliveriesPerRead),
    );
    if (due.length > 0 && (await this.#withoutExpired(lane, due)).length === 0) return;
    if (accountVersion !== undefined)
      await this.#book.park(lane.key, laterBy(now, parkedMs), accountVersion);
  }

  #slotLeaseOf(merchantId: MerchantId): SlotLease | undefined {
    return this.#parts.slotAssignment.leases().get(slotOf(merchantId));
  }

  /** Another process has the queue now. */
  #leave(lane: QueueLane): void {
    this.#unload(lane);
    lane.catchingUp = false;
  }

  /** An error on our side: due deliveries stay due, and are read again with the next poll. */
  #trouble(lane: QueueLane, error: unknown): void {
    lane.stuck = true;
    this.#unload(lane);
    if (error instanceof StoreError || error instanceof ServiceError) return;
    this.#parts.alarm(
      error instanceof BrokenInvariant
        ? error.message
        : error instanceof Error
          ? error.name
          : "unknown",
      lane.key.merchantId,
    );
  }

  /** Begins attempts, merchants in turn, until there is no room or nothing to begin. */
  #pump(): void {
    this.#turns.go(
      (merchantId) => this.#mayBegin(merchantId),
      (lane) => this.#begin(lane),
    );
  }

  #mayBegin(merchantId: MerchantId): boolean {
    return this.#isInOrder
      ? this.#places.takenBy(merchantId) === 0
      : this.#places.isFree(merchantId);
  }

  /** Whether attempts run one at a time. */
  get #isInOrder(): boolean {
    return this.#parts.inOrder?.() === true;
  }

  /** Whether another attempt may be begun. */
  #hasRoom(lane: QueueLane): boolean {
    const limit = this.#limitOf(lane);
    return limit.underWay < limit.most && this.#isAsked(lane);
  }

  /** Whether the receiver may be called, and our own store keeps up. */
  #isAsked(lane: QueueLane): boolean {
    const { circuit, sending, underWay } = lane;
    const room = circuit.room(this.#parts.clock.now(), this.#limitOf(lane).most);
    // After a failure of the receiver or of our store, nothing begins until the earlier attempts
    // are finished and stored.
    return circuit.calm
      ? room > 0 && underWay.size - sending < mostUnwritten
      : underWay.size < room;
  }

  #limitOf(lane: QueueLane): ReceiverLimit {
    const name = `${lane.key.merchantId} ${originOf(lane)}`;
    const known = this.#limits.get(name);
    if (known !== undefined) return known;
    const limit = new ReceiverLimit();
    this.#limits.set(name, limit);
    return limit;
  }

  #begin(lane: QueueLane): boolean {
    const { key, underWay } = lane;
    if (lane.queue.length === 0 || this.#stopping.signal.aborted || !this.#hasRoom(lane))
      return false;
    const end = lane.lease?.begin();
    if (end === undefined) this.#leave(lane);
    const message =
      end === undefined ? undefined : this.#take(lane, lane.target?.hashesPerCall ?? 1);
    if (message === undefined || end === undefined) {
      end?.();
      return false;
    }
    for (const { number } of message) underWay.add(number);
    const passage = this.#limitOf(lane).begin();
    this.#places.take(key.merchantId);
    lane.sending += 1;
    let isSending = true;
    const answered = (): void => {
      if (!isSending) return;
      isSending = false;
      passage.ended();
      this.#places.giveBack(key.merchantId);
      lane.sending -= 1;
    };
    const task = this.#attempt(lane, message, passage, answered).then(async () => {
      answered();
      for (const { number } of message) underWay.delete(number);
      end();
      lane.gatheringAt = undefined;
      // First more of this queue, including what waited for this attempt, then other queues that
      // waited for room.
      await this.#fill(lane);
      this.#pump();
      if (this.#isCutShort && this.#lookAhead.taken < places / 4) void this.#nextRound();
    });
    this.#run(task);
    return true;
  }

  /**
   * Takes the next message from a lane's queue; undefined if there is none, or if it waits for
   * messages under way. A message that can hold more payments waits up to one second while others
   * are under way, so that new notifications are added to it.
   */
  #take(lane: QueueLane, hashesPerCall: number): Message | undefined {
    const [first, ...others] = lane.queue;
    if (first === undefined) return undefined;
    const message = gathered(first, others, hashesPerCall, lane.settings?.chaos);
    const isYoung = this.#parts.clock.now() - first.dueAt < longestGatherMs;
    if (
      first.message === openMessage &&
      message.length < hashesPerCall &&
      lane.underWay.size > 0 &&
      isYoung
    ) {
      // The deliveries are still due, and are read again together with new ones.
      this.#unload(lane);
      lane.gatheringAt = this.#parts.clock.now();
      return undefined;
    }
    const taken = new Set(message);
    const left = lane.queue.filter((each) => !taken.has(each));
    if (left.length === 0) this.#unload(lane);
    lane.queue = left;
    return message;
  }

  #isGathering({ gatheringAt, underWay }: QueueLane): boolean {
    if (gatheringAt === undefined || underWay.size === 0) return false;
    const sinceMs = this.#parts.clock.now() - gatheringAt;
    // A negative value means that the clock was set back.
    return 0 <= sinceMs && sinceMs < gatherMs;
  }

  /** Never rejects. */
  async #attempt(
    lane: QueueLane,
    message: Message,
    passage: Passage,
    answered: () => void,
  ): Promise<void> {
    try {
      const [whole, target] = await Promise.all([
        this.#book.fix(message),
        this.#targetOf(lane, message),
      ]);
      if (whole !== undefined)
        await this.#deliver(lane, whole, target, { answered, kept: passage.kept });
    } catch (error) {
      // If something was sent, it is sent again with the same id. Concurrent failures count once.
      if (!lane.stuck) lane.circuit.failed(this.#parts.clock.now(), undefined);
      this.#trouble(lane, error);
    } finally {
      for (const each of message) this.#parts.ended?.(each);
    }
  }

  /**
   * The address and secrets for a message; payments in the queue of one origin have separate
   * addresses.
   */
  async #targetOf({ target, key }: QueueLane, [{ paymentId }]: Message): Promise<Target> {
    if (target !== undefined) return target;
    const payment = await this.#read(
      "paymentById",
      this.#parts.store.paymentById(key.merchantId, paymentId),
    );
    const url = payment?.order.notificationUrl;
    assert(url !== undefined, "a delivery to a payment's own address is of a payment that has one");
    return urlTarget(url);
  }

  async #deliver(
    lane: QueueLane,
    message: Message,
    target: Target,
    { answered, kept }: Told,
  ): Promise<void> {
    const { clock, random, randomFor, accounts } = this.#parts;
    const [first] = message;
    const plan = lane.settings === undefined ? undefined : chaosPlan(lane.settings.chaos, first);
    if (plan?.holdUntil !== undefined && clock.now() < plan.holdUntil) {
      const { holdUntil, overtaken } = plan;
      lane.catchingUp = false;
      if (first.dueAt !== holdUntil)
        await this.#book.write(
          eachOf(allAs(message, { ...first, dueAt: holdUntil }), (each) => ({
            ...each,
            inOrder: !overtaken,
          })),
        );
      return;
    }
    if (plan?.drop === true) {
      const dropped = allAs(message, {
        ...first,
        attempts: first.attempts + 1,
        outcome: "dropped",
        state: "delivered",
      });
      await this.#book.write(dropped);
      this.#tell(message, target, "delivered", dropped);
      return;
    }
    const { signal } = this.#stopping;
    const { outcome, tookMs } = await this.#courier.send(
      message,
      target,
      plan?.breakSignature === true,
      signal,
    );
    if (plan?.double === true)
      await this.#courier.send(message, target, plan.breakSignature, signal);
    // It is unknown what the receiver has processed, so the message is sent again.
    if (outcome.kind === "failed" && outcome.cause === "aborted") return;

    const now = clock.now();
    const {
      next: decided,
      verdict,
      restUntil,
    } = decideDelivery(first, outcome, now, randomFor?.(first) ?? random);
    const next = allAs(message, decided);
    if (verdict !== "delivered") {
      lane.catchingUp = false;
      if (lane.circuit.failed(now, restUntil)) {
        this.#unload(lane);
        this.#report("resting", decided);
      }
    }
    if (verdict === "gone") {
      this.#unload(lane);
      await accounts.switchOff(first.merchantId, first.endpoint, now);
    }
    const written = this.#book.write(next);
    // The next message may be sent to the receiver while this result is being stored.
    answered();
    this.#pump();
    await written;
    // Only after it is stored: if the store fails, messages are repeated, and the receiver must not
    // get more of them at a time.
    kept(answerOf(outcome), tookMs);
    if (verdict === "delivered" && lane.circuit.succeeded()) {
      lane.catchingUp = true;
      this.#limitOf(lane).reset();
    }
    for (const each of next) this.#report(verdict, each);
    this.#tell(message, target, verdict, next);
  }

  #tell(
    [{ attempts }]: Message,
    { url }: Target,
    verdict: DeliveryAttempt["verdict"],
    next: Message,
  ): void {
    for (const delivery of next)
      this.#parts.attempted?.({ number: attempts + 1, url, verdict, delivery });
  }

  #report(
    kind: DeliveryEvent["kind"],
    { merchantId, endpoint, paymentId, number, attempts, outcome }: Delivery,
  ): void {
    this.#parts.report({ kind, merchantId, endpoint, paymentId, number, attempts, outcome });
  }
}

/** Callbacks of an attempt: the receiver has answered, and the result is stored. */
interface Told extends Pick<Passage, "kept"> {
  readonly answered: () => void;
}

/** Maximum number of known limits; a forgotten one is determined again. */
const mostLimits = 4_096;

/** Identifies the server of a queue's receiver, as far as known before a payment is read. */
function originOf({ target, key }: QueueLane): string {
  return target === undefined ? key.queue : originQueue(target.url);
}

function answerOf(outcome: SendOutcome): Answered {
  if (outcome.kind !== "answered") return "failed";
  if (outcome.status === 429 || outcome.status === 503) return "too_many";
  return outcome.status >= 200 && outcome.status <= 299 ? "good" : "failed";
}

/** Later than every due time of a delivery. */
const endOfTime = instant(Number.MAX_SAFE_INTEGER);
