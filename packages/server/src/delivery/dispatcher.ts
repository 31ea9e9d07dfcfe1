import { assert, BrokenInvariant } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { day, type Instant, instant, laterBy, second } from "../kernel/instant.ts";
import { reported, type ReadReport } from "../kernel/job-reads.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Share, Tenure } from "../kernel/share.ts";
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

/** Port: what accounts say about their notifications. */
export interface NotificationAccounts {
  /** undefined when there is no such account. */
  settingsOf(
    merchantId: MerchantId,
  ): Promise<(NotificationSettings & { readonly accountVersion?: number }) | undefined>;
  /** Keeps with the account that this endpoint answered 410 (endpoint.ts, switchedOff). */
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
   * Whose chance a delivery's next attempt is drawn from, where it may not depend on which receiver
   * answered first.
   */
  readonly randomFor?: (delivery: Delivery) => Random;
  readonly scheduler: Scheduler;
  /** Whose notifications are this process's to send. */
  readonly share: Share;
  /** Told of every attempt, and of queues that begin to rest. Never throws. */
  readonly report: (event: DeliveryEvent) => void;
  /** Told of every attempt when its end has been kept. Never throws. */
  readonly attempted?: (attempt: DeliveryAttempt) => void;
  /** Told when an attempt at this delivery has ended, or was put off. Never throws. */
  readonly ended?: (delivery: Delivery) => void;
  /**
   * Told of what should not be: the property that did not hold, or the class of the error. Never
   * throws.
   */
  readonly alarm: (what: string, merchantId: MerchantId) => void;
  /** Told of its reads of the store. */
  readonly reads?: ReadReport;
  /**
   * true: one attempt at a time, in the order in which they were read, so that receivers hear
   * everything in one order.
   */
  readonly inOrder?: () => boolean;
  /** How often the store is asked for what is due, apart from nudges. A second unless given. */
  readonly pollMs?: number;
}

export interface DeliveryEvent extends EndpointKey {
  readonly kind: "delivered" | "again" | "given_up" | "gone" | "resting";
  readonly paymentId: string;
  readonly number: number;
  readonly attempts: number;
  /** A status, or a word of delivery.ts. */
  readonly outcome: string | undefined;
}

/**
 * One attempt that has ended: which of those since the delivery was asked for, and what has come of
 * it.
 */
export interface DeliveryAttempt {
  readonly number: number;
  readonly url: string;
  readonly verdict: Exclude<DeliveryEvent["kind"], "resting">;
  /** The delivery as it is now. */
  readonly delivery: Delivery;
}

const usualPollMs = second;
/** Notifications of one moment are taken up together. */
const nudgeMs = 2;
/** Messages under way, and queues that are read ahead of their turn, of all merchants. */
const places = 256;
const merchantsPerRead = 64;
const queuesPerRead = 32;
/** Of one merchant, in one round: the next round goes on behind them. */
const queuesPerRound = 128;
const deliveriesPerRead = 64;
/** How often a queue whose endpoint is switched off is looked at, for what has waited too long. */
const parkedMs = day;
/**
 * Reads between two polls whose deliveries, of one merchant, are ended without an attempt: when an
 * endpoint is taken away or has not answered for a month that may be all of them, and each read is
 * a commit.
 */
const endingReads = 32;
/**
 * Merchants whose queues the next round goes on behind the last one's, and merchants that rest.
 * Others begin with their first again.
 */
const mostContinued = 4_096;
/**
 * Queues of changes that are waited for to be taken up together; the next poll finds the others.
 */
const mostNudged = 1_000;
/**
 * How many messages of one queue may have been answered without that being kept yet: all would be
 * sent again after a crash.
 */
const mostUnwritten = 32;
/**
 * A message that is not full waits this long for one that is under way, before it is looked whether
 * it is full by now.
 */
const gatherMs = 50;
/**
 * The longest that it waits: a receiver that hangs must not delay what it could hear beside that.
 */
const longestGatherMs = second;

/**
 * Delivers what changes have committed. Owns one timer, a bounded number of attempts under way, and
 * what it knows about queues and receivers, all of which may be lost at any moment: a delivery is
 * tried until a commit says that it is done, so receivers may hear the same message again, under
 * the same id. Of several processes each dispatches for the merchants whose slots it holds.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #lanes = new QueueLanes();
  readonly #turns = new Turns();
  readonly #places = new Shares(places);
  /** Of lanes that hold deliveries or read them. */
  readonly #lookAhead = new Shares(places);
  /**
   * By merchant and origin: of receivers that something is on its way to, or was a short while ago.
   */
  readonly #limits = new Map<string, ReceiverLimit>();
  readonly #courier: Courier;
  readonly #book: DeliveryBook;
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** By name. */
  readonly #nudged = new Map<string, QueueKey>();
  readonly #nudgedMerchants = new Set<MerchantId>();
  #cancelPoll: (() => void) | undefined;
  #cancelNudge: (() => void) | undefined;
  #rounds: Promise<void> = Promise.resolve();
  #queuedRound: Promise<void> | undefined;
  /** Where the next round goes on; undefined: with the merchant that is longest due. */
  #nextMerchant: DueMerchant | undefined;
  /** Of merchants with more queues due than a round looks at. */
  readonly #nextQueues = new Map<MerchantId, DueQueue>();
  /** Reads since the last poll of which everything was ended without an attempt. */
  readonly #ended = new Map<MerchantId, number>();
  /** Stuck until the next poll, because their merchant has had its part of those. */
  readonly #paused = new Set<QueueLane>();
  /**
   * Merchants with due queues of which the last poll could begin none, since their receivers are
   * left alone: other rounds than those of polls pass them over.
   */
  readonly #resting = new Set<MerchantId>();
  /** The last round has not seen all that was due. */
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

  /** Takes up what is due, now and with each poll. */
  start(): void {
    this.#poll(0);
  }

  /**
   * There is something new to deliver: to these endpoints of this merchant; without endpoints, of
   * this merchant; without a merchant, of any. It is taken up at once, and nothing else is looked
   * at. What is another process's to send that one finds with its next poll.
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
   * Sends what is due now and what becomes due by it; resolves when nothing is under way any more.
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

  /** The first moment after `now` at which a queue that rests is tried again. */
  restsUntil(now: Instant): Instant | undefined {
    return this.#lanes.restsUntil(now);
  }

  /** Whether this merchant's notifications are this process's to send now. */
  sendsFor(merchantId: MerchantId): boolean {
    return this.#tenureOf(merchantId) !== undefined;
  }

  /** Gives up what is under way, which stays due, and resolves when nothing is. */
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
   * Resolves after a round that begins from now on. Those who ask before it has begun share it.
   * `mostQueues`: of each merchant.
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

  /** Takes up the queues of the changes that were told of. Never rejects. */
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
   * Begins what is due, as far as there is room; what ends makes room for the rest. Goes on where
   * the last round ended.
   */
  async #round(mostQueues: number): Promise<void> {
    try {
      const slots = new Set(this.#parts.share.held().keys());
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
      // The next poll asks again.
    }
  }

  /** Has nothing read ahead, nothing on its way, and no more queues to look at. */
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
    return reported(this.#parts.reads, read, reading);
  }

  /**
   * Never rejects: what can't be read of one merchant must not keep those behind it from being
   * read.
   */
  async #fillMerchant(merchantId: MerchantId, mostQueues: number): Promise<void> {
    try {
      await this.#fillQueuesOf(merchantId, mostQueues);
    } catch {
      // The next poll asks again.
    }
  }

  /**
   * Reads ahead in the merchant's queues that are due, as far as its share goes. Rejects as reads
   * of the store do.
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
   * Reads what may be tried next, when nothing that was read is left and the receiver is to be
   * asked at all. Never rejects.
   */
  async #fill(lane: QueueLane): Promise<void> {
    if (lane.reading) lane.readAgain = true;
    if (lane.queue.length > 0 || lane.reading || lane.stuck || this.#stopping.signal.aborted)
      return;
    if (this.#isGathering(lane) || !this.#isAsked(lane)) return;
    // What has been answered would be read once more; it is kept in a moment, and then asks for
    // this again.
    if (lane.underWay.size > lane.sending && lane.sending * 2 >= this.#limitOf(lane).most) return;
    if (!this.#lookAhead.isFree(lane.key.merchantId)) {
      this.#isCutShort = true;
      return;
    }
    lane.tenure = this.#tenureOf(lane.key.merchantId);
    if (lane.tenure === undefined) return this.#leave(lane);
    lane.reading = true;
    lane.readAgain = false;
    this.#lookAhead.take(lane.key.merchantId);
    const fresh = await this.#readLane(lane);
    lane.reading = false;
    if (fresh.length > 0) this.#load(lane, fresh);
    else this.#lookAhead.giveBack(lane.key.merchantId);
    if (!lane.readAgain) return;
    // By itself: what is read and ended of one queue must not keep a round from the next merchant.
    if (this.#isInOrder) await this.#fill(lane);
    else this.#run(this.#fill(lane).then(() => this.#pump()));
  }

  /** Has a place of the look-ahead already. */
  #load(lane: QueueLane, deliveries: readonly Delivery[]): void {
    lane.queue = deliveries;
    this.#turns.add(lane, originOf(lane));
  }

  /** What is left of the queue is still due, and is read again when its time comes. */
  #unload(lane: QueueLane): void {
    if (lane.queue.length === 0) return;
    lane.queue = [];
    this.#turns.remove(lane, originOf(lane));
    this.#lookAhead.giveBack(lane.key.merchantId);
  }

  /** What may be tried now. Never rejects. */
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
      // Those that end while the read is on its way may still be due in what it brings.
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

  /** Ends those that have waited for too long; the others of them. */
  async #withoutExpired(lane: QueueLane, fresh: readonly Delivery[]): Promise<readonly Delivery[]> {
    const now = this.#parts.clock.now();
    const [left, expired] = [
      fresh.filter((each) => !isExpired(each, now)),
      fresh.filter((each) => isExpired(each, now)),
    ];
    if (expired.length === 0) return fresh;
    for (const each of await this.#book.end(expired, decideExpired)) this.#report("given_up", each);
    if (left.length === 0) this.#endMore(lane);
    return left;
  }

  /**
   * All that was read is ended without an attempt: what is behind it is read next, now or after the
   * next poll.
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
   * The endpoint is switched off: what is for it is kept for a while, and not looked at before the
   * account changes.
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

  #tenureOf(merchantId: MerchantId): Tenure | undefined {
    return this.#parts.share.held().get(slotOf(merchantId));
  }

  /** The queue is another process's now. */
  #leave(lane: QueueLane): void {
    this.#unload(lane);
    lane.catchingUp = false;
  }

  /**
   * Something went wrong on our side: what is due stays due, and is looked at again with the next
   * poll.
   */
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

  /** Begins attempts, of each merchant in turn, until there is no room or nothing to begin. */
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

  /** One at a time. */
  get #isInOrder(): boolean {
    return this.#parts.inOrder?.() === true;
  }

  /** Whether another attempt may be begun. */
  #hasRoom(lane: QueueLane): boolean {
    const limit = this.#limitOf(lane);
    return limit.underWay < limit.most && this.#isAsked(lane);
  }

  /** Whether the receiver is to be asked at all, and our own store keeps up. */
  #isAsked(lane: QueueLane): boolean {
    const { circuit, sending, underWay } = lane;
    const room = circuit.room(this.#parts.clock.now(), this.#limitOf(lane).most);
    // In doubt, about the receiver or about our own store, nothing is begun before what was begun
    // is over and kept.
    return circuit.calm
      ? room > 0 && underWay.size - sending < mostUnwritten
      : underWay.size < room;
  }

  #limitOf(lane: QueueLane): ReceiverLimit {
    const name = `${lane.key.merchantId} ${originOf(lane)}`;
    const known = this.#limits.get(name);
    if (known !== undefined) return known;
    // The oldest that nothing is on its way to; of the others there are no more than places.
    if (this.#limits.size >= mostLimits) {
      for (const [other, oldest] of this.#limits) {
        this.#limits.delete(other);
        if (oldest.underWay === 0) break;
        this.#limits.set(other, oldest);
      }
    }
    const limit = new ReceiverLimit();
    this.#limits.set(name, limit);
    return limit;
  }

  #begin(lane: QueueLane): boolean {
    const { key, underWay } = lane;
    if (lane.queue.length === 0 || this.#stopping.signal.aborted || !this.#hasRoom(lane))
      return false;
    const end = lane.tenure?.begin();
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
      // More of this queue, among it what waited for this one; then others that waited for the
      // room.
      await this.#fill(lane);
      this.#pump();
      if (this.#isCutShort && this.#lookAhead.taken < places / 4) void this.#nextRound();
    });
    this.#run(task);
    return true;
  }

  /**
   * The next message of a lane, out of its queue; undefined when there is none, or when it waits
   * for what is under way. One that may hold several and is not full does so for a second at most:
   * what happens meanwhile goes with it.
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
      // Still due, and read again with what has come.
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
    // The clock may have been set back since.
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
      // Whatever was sent is sent again, under the same id. What failed together counts once.
      if (!lane.stuck) lane.circuit.failed(this.#parts.clock.now(), undefined);
      this.#trouble(lane, error);
    } finally {
      for (const each of message) this.#parts.ended?.(each);
    }
  }

  /**
   * How the receiver of a message is reached: payments of one origin have addresses of their own.
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
    // What the receiver has seen is not known: it is sent again.
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
    // The receiver may hear the next one while this one is written down.
    answered();
    this.#pump();
    await written;
    // Not before that is kept: a store that takes nothing must not have the receiver hear the same
    // again and again.
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

/**
 * What hears how an attempt goes: that the receiver has answered, and that what came of it is kept.
 */
interface Told extends Pick<Passage, "kept"> {
  readonly answered: () => void;
}

/** Receivers whose limits are known; of one that is forgotten it is found out again. */
const mostLimits = 4_096;

/** Names the server of a queue's receiver, as far as it is known before a payment is read. */
function originOf({ target, key }: QueueLane): string {
  return target === undefined ? key.queue : originQueue(target.url);
}

function answerOf(outcome: SendOutcome): Answered {
  if (outcome.kind !== "answered") return "failed";
  if (outcome.status === 429 || outcome.status === 503) return "too_many";
  return outcome.status >= 200 && outcome.status <= 299 ? "good" : "failed";
}

/** After every moment that a delivery can be due at. */
const endOfTime = instant(Number.MAX_SAFE_INTEGER);
