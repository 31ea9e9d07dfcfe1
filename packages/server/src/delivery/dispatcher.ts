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
import { type Exchange, MessageSender, type MessageSenderParts } from "./message-sender.ts";
import { decideDelivery, decideExpired, decideRemoved, isExpired } from "./delivery.ts";
import { DeliveryRecorder } from "./delivery-recorder.ts";
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
import { withOutcomeOfFirst, mapMessage, batched, type Message } from "../notification/message.ts";
import { type DeliveryQueue, DeliveryQueues } from "./delivery-queues.ts";
import { type AttemptResult, type Permit, ReceiverLimit } from "./receiver-limit.ts";
import type { SendOutcome } from "./sender.ts";
import { FairLimiter } from "./fair-limiter.ts";
import { RoundRobin } from "./round-robin.ts";

/** Port: the notification settings of accounts. */
export interface NotificationAccounts {
  /** undefined if there is no such account. */
  settingsOf(
    merchantId: MerchantId,
  ): Promise<(NotificationSettings & { readonly accountVersion?: number }) | undefined>;
  /** Records in the account that this endpoint answered 410 (endpoint.ts, withEndpointGone). */
  disable(merchantId: MerchantId, endpoint: EndpointId, at: Instant): Promise<void>;
}

export interface DispatcherParts extends MessageSenderParts {
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
  readonly onAttempt?: (attempt: DeliveryAttempt) => void;
  /** Called when an attempt at this delivery has ended or was postponed. Never throws. */
  readonly onAttemptEnd?: (delivery: Delivery) => void;
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
  /** Undefined if nothing was sent, or without `exchangeTime`. */
  readonly exchange: Exchange | undefined;
}

const defaultPollMs = second;
/** Notifications within this time are processed together. */
const nudgeMs = 2;
/** Maximum messages in flight, and maximum queues read ahead, over all merchants. */
const maxInFlight = 256;
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
 * Maximum number of merchants in `#nextQueues` and in `#blocked`. The queues of others are read
 * from the first again.
 */
const maxContinued = 4_096;
/** Maximum number of queues that wait for one nudge; the next poll finds the others. */
const maxNudged = 1_000;
/**
 * Maximum number of answered messages of one queue whose result is not stored yet: all would be
 * sent again after a crash.
 */
const maxUnwritten = 32;
/**
 * A message that is not full waits this long for one that is under way before it is checked again.
 */
const batchWaitMs = 50;
/**
 * The longest such wait: a receiver that hangs must not delay messages that it could receive in
 * parallel.
 */
const maxBatchWaitMs = second;

/**
 * Delivers committed notifications. Owns one timer, a bounded number of attempts under way, and
 * state of queues and receivers, all of which may be lost at any moment. A delivery is repeated
 * until its success is committed, so receivers may receive the same message again, with the same
 * id. Each of several processes dispatches for the merchants whose slots it holds.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #queues = new DeliveryQueues();
  readonly #roundRobin = new RoundRobin();
  readonly #attempts = new FairLimiter(maxInFlight);
  /** Limits the queues that hold deliveries or read them. */
  readonly #readAhead = new FairLimiter(maxInFlight);
  /** By merchant and origin: receivers with messages under way, or recently used ones. */
  readonly #limits = new BoundedMap<string, ReceiverLimit>(
    maxLimits,
    ({ inFlight }) => inFlight === 0,
  );
  readonly #sender: MessageSender;
  readonly #recorder: DeliveryRecorder;
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
  readonly #readsWithoutAttempt = new Map<MerchantId, number>();
  /** Stopped until the next poll, because their merchant has reached `endingReads`. */
  readonly #paused = new Set<DeliveryQueue>();
  /**
   * Merchants whose due queues the last poll could not begin, because all their circuits are open:
   * only polls consider them again.
   */
  readonly #blocked = new Set<MerchantId>();
  /** The last round did not read everything that was due. */
  #isCutShort = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#sender = new MessageSender(parts);
    const { store } = parts;
    const deliveriesOfMessage: typeof store.deliveriesOfMessage = (...of) =>
      this.#read("deliveriesOfMessage", store.deliveriesOfMessage(...of));
    this.#recorder = new DeliveryRecorder(
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
      this.#blocked.clear();
      void this.#nextRound();
      return;
    }
    if (!this.sendsFor(merchantId)) return;
    if (endpoints.length === 0) this.#nudgedMerchants.add(merchantId);
    for (const endpoint of endpoints) {
      const queue = queueOf(endpoint);
      if (this.#nudged.size < maxNudged)
        this.#nudged.set(`${merchantId} ${queue}`, { merchantId, queue });
    }
    this.#cancelNudge ??= this.#parts.scheduler.after(nudgeMs, () => {
      this.#cancelNudge = undefined;
      this.#run(this.#readNudged());
    });
  }

  /**
   * Sends what is due now and what becomes due as a result; resolves when nothing is under way any
   * more.
   */
  async runDue(): Promise<void> {
    this.#queues.tidy();
    do {
      this.#resumePaused();
      this.#blocked.clear();
      this.#nextMerchant = undefined;
      this.#nextQueues.clear();
      await this.#nextRound(Number.POSITIVE_INFINITY);
      while (this.#tasks.size > 0) await Promise.all(this.#tasks);
    } while ((this.#isCutShort || this.#paused.size > 0) && !this.#stopping.signal.aborted);
  }

  /** The first moment after `now` at which an open circuit allows a trial. */
  circuitOpenUntil(now: Instant): Instant | undefined {
    return this.#queues.circuitOpenUntil(now);
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
      this.#queues.tidy();
      this.#resumePaused();
      this.#blocked.clear();
      void this.#nextRound().then(() => this.#poll(this.#parts.pollMs ?? defaultPollMs));
    });
  }

  /**
   * Resolves after a round that begins after this call. Callers before its beginning share it.
   * `maxQueues`: per merchant.
   */
  #nextRound(maxQueues = queuesPerRound): Promise<void> {
    this.#queuedRound ??= this.#rounds = this.#rounds.then(() => {
      this.#queuedRound = undefined;
      return this.#round(maxQueues);
    });
    return this.#queuedRound;
  }

  /** Never rejects. */
  #run(work: Promise<void>): void {
    const task = work.finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Processes the nudged queues and merchants. Never rejects. */
  async #readNudged(): Promise<void> {
    const keys = Array.from(this.#nudged.values());
    const merchants = Array.from(this.#nudgedMerchants);
    this.#nudged.clear();
    this.#nudgedMerchants.clear();
    await this.#readQueues(keys);
    for (const merchantId of merchants) await this.#readMerchant(merchantId, queuesPerRound);
    this.#startAttempts();
  }

  /**
   * Begins what is due, as far as there is room; attempts that end make room for the rest.
   * Continues where the last round ended.
   */
  async #round(maxQueues: number): Promise<void> {
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
          if (this.#blocked.has(merchantId)) continue;
          await this.#readMerchant(merchantId, maxQueues);
          if (this.#isBlocked(merchantId)) this.#blocked.add(merchantId);
          this.#startAttempts();
        }
      } while (
        this.#nextMerchant !== undefined &&
        this.#readAhead.used < maxInFlight / 2 &&
        !this.#stopping.signal.aborted
      );
      if (this.#nextMerchant !== undefined) this.#isCutShort = true;
      for (const queue of this.#queues.catchingUp()) await this.#readDue(queue);
      this.#startAttempts();
    } catch {
      // The next poll reads again.
    }
  }

  /** Whether the merchant has nothing read ahead, nothing under way, and no more queues to read. */
  #isBlocked(merchantId: MerchantId): boolean {
    const active = this.#readAhead.usedBy(merchantId) + this.#attempts.usedBy(merchantId);
    return (
      active === 0 &&
      this.#readAhead.hasRoom(merchantId) &&
      !this.#nextQueues.has(merchantId) &&
      this.#blocked.size < maxContinued
    );
  }

  #read<T>(read: string, reading: Promise<T>): Promise<T> {
    return reportRead(this.#parts.reads, read, reading);
  }

  /** Never rejects: a failed read for one merchant must not prevent those of the next merchants. */
  async #readMerchant(merchantId: MerchantId, maxQueues: number): Promise<void> {
    try {
      await this.#readQueuesOf(merchantId, maxQueues);
    } catch {
      // The next poll reads again.
    }
  }

  /**
   * Reads ahead in the merchant's due queues, within its share. Rejects as reads of the store do.
   */
  async #readQueuesOf(merchantId: MerchantId, maxQueues: number): Promise<void> {
    const { store, clock } = this.#parts;
    let after = this.#nextQueues.get(merchantId);
    this.#nextQueues.delete(merchantId);
    for (let seen = 0; !this.#stopping.signal.aborted;) {
      const isFull = !this.#readAhead.hasRoom(merchantId);
      this.#isCutShort ||= isFull;
      if (isFull || seen >= maxQueues) {
        if (after !== undefined && this.#nextQueues.size < maxContinued)
          this.#nextQueues.set(merchantId, after);
        return;
      }
      const due: readonly DueQueue[] = await this.#read(
        "queuesDue",
        store.queuesDue(merchantId, clock.now(), after, queuesPerRead),
      );
      await this.#readQueues(due.map(({ queue }) => ({ merchantId, queue })));
      seen += due.length;
      after = due.at(-1);
      if (due.length < queuesPerRead) return;
    }
  }

  /** Never rejects. */
  async #readQueues(keys: readonly QueueKey[]): Promise<void> {
    const readQueue = async (key: QueueKey): Promise<void> => {
      await this.#readDue(this.#queues.of(key));
      this.#startAttempts();
    };
    if (this.#isInOrder) for (const key of keys) await readQueue(key);
    else await Promise.all(keys.map(readQueue));
  }

  /**
   * Reads the deliveries that may be tried next, if all earlier ones have begun and the receiver
   * may be called. Never rejects.
   */
  async #readDue(queue: DeliveryQueue): Promise<void> {
    if (queue.reading) queue.readAgain = true;
    if (
      queue.deliveries.length > 0 ||
      queue.reading ||
      queue.isPaused ||
      this.#stopping.signal.aborted
    )
      return;
    if (this.#isBatching(queue) || !this.#mayCall(queue)) return;
    // Answered deliveries that are not stored yet would be read again. They will be stored soon,
    // which calls this again.
    if (queue.inFlight.size > queue.sending && queue.sending * 2 >= this.#limitOf(queue).max)
      return;
    if (!this.#readAhead.hasRoom(queue.key.merchantId)) {
      this.#isCutShort = true;
      return;
    }
    queue.lease = this.#slotLeaseOf(queue.key.merchantId);
    if (queue.lease === undefined) return this.#releaseQueue(queue);
    queue.reading = true;
    queue.readAgain = false;
    this.#readAhead.acquire(queue.key.merchantId);
    const fresh = await this.#readDeliveries(queue);
    queue.reading = false;
    if (fresh.length > 0) this.#load(queue, fresh);
    else this.#readAhead.release(queue.key.merchantId);
    if (!queue.readAgain) return;
    // As a separate task: deliveries of one queue that end without an attempt must not delay the
    // next merchant in the round.
    if (this.#isInOrder) await this.#readDue(queue);
    else this.#run(this.#readDue(queue).then(() => this.#startAttempts()));
  }

  /** The queue is already counted by `#readAhead`. */
  #load(queue: DeliveryQueue, deliveries: readonly Delivery[]): void {
    queue.deliveries = deliveries;
    this.#roundRobin.add(queue, originOf(queue));
  }

  /** Drops the deliveries that were read: they are still due and are read again later. */
  #unload(queue: DeliveryQueue): void {
    if (queue.deliveries.length === 0) return;
    queue.deliveries = [];
    this.#roundRobin.remove(queue, originOf(queue));
    this.#readAhead.release(queue.key.merchantId);
  }

  /** The deliveries that may be tried now. Never rejects. */
  async #readDeliveries(queue: DeliveryQueue): Promise<readonly Delivery[]> {
    const { store, clock, accounts } = this.#parts;
    const { merchantId, queue: queueId } = queue.key;
    try {
      const settings = await this.#read("accountById", accounts.settingsOf(merchantId));
      queue.settings = settings;
      const isOfUrls = isUrlEndpoint(queueId);
      const configured = isOfUrls
        ? undefined
        : queue.settings?.endpoints.find(({ id }) => id === queueId);
      queue.target = configured === undefined ? undefined : targetOf(configured, clock.now());
      if (configured !== undefined && queue.target === undefined) {
        await this.#parkDisabled(queue, settings?.accountVersion);
        return [];
      }
      // Deliveries that end during the read may still be due in its result.
      const busy = new Set(queue.inFlight);
      const horizon = queue.catchingUp ? endOfTime : clock.now();
      const limit = Math.max(deliveriesPerRead, queue.target?.hashesPerCall ?? 1);
      const due = await this.#read(
        "deliveriesDue",
        store.deliveriesDue(queue.key, horizon, limit + busy.size),
      );
      if (due.length === 0) queue.catchingUp = false;
      const fresh = due.filter((each) => !busy.has(messageNumber(each)) && !busy.has(each.number));
      if (!isOfUrls && configured === undefined) {
        await this.#recorder.end(fresh, decideRemoved);
        if (fresh.length > 0) this.#countReadWithoutAttempt(queue);
        return [];
      }
      return await this.#withoutExpired(queue, fresh);
    } catch (error) {
      this.#handleFailure(queue, error);
    }
    return [];
  }

  /** Ends the expired deliveries and returns the others. */
  async #withoutExpired(
    queue: DeliveryQueue,
    fresh: readonly Delivery[],
  ): Promise<readonly Delivery[]> {
    const now = this.#parts.clock.now();
    const [left, expired] = [
      fresh.filter((each) => !isExpired(each, now)),
      fresh.filter((each) => isExpired(each, now)),
    ];
    if (expired.length === 0) return fresh;
    for (const each of await this.#recorder.end(expired, decideExpired))
      this.#report("failed", each);
    if (left.length === 0) this.#countReadWithoutAttempt(queue);
    return left;
  }

  /**
   * Everything that was read ended without an attempt: the next deliveries are read now, or after
   * the next poll.
   */
  #countReadWithoutAttempt(queue: DeliveryQueue): void {
    const { merchantId } = queue.key;
    const count = (this.#readsWithoutAttempt.get(merchantId) ?? 0) + 1;
    this.#readsWithoutAttempt.set(merchantId, count);
    queue.readAgain = true;
    if (count < endingReads) return;
    queue.isPaused = true;
    this.#paused.add(queue);
  }

  #resumePaused(): void {
    this.#readsWithoutAttempt.clear();
    for (const queue of this.#paused) queue.isPaused = false;
    this.#paused.clear();
  }

  /**
   * The endpoint is disabled: its deliveries are kept for a while, and not read before the account
   * changes.
   */
  async #parkDisabled(queue: DeliveryQueue, accountVersion: number | undefined): Promise<void> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const due = await this.#read(
      "deliveriesDue",
      store.deliveriesDue(queue.key, now, deliveriesPerRead),
    );
    if (due.length > 0 && (await this.#withoutExpired(queue, due)).length === 0) return;
    if (accountVersion !== undefined)
      await this.#recorder.park(queue.key, laterBy(now, parkedMs), accountVersion);
  }

  #slotLeaseOf(merchantId: MerchantId): SlotLease | undefined {
    return this.#parts.slotAssignment.leases().get(slotOf(merchantId));
  }

  /** Another process has the queue now. */
  #releaseQueue(queue: DeliveryQueue): void {
    this.#unload(queue);
    queue.catchingUp = false;
  }

  /** An error on our side: due deliveries stay due, and are read again with the next poll. */
  #handleFailure(queue: DeliveryQueue, error: unknown): void {
    queue.isPaused = true;
    this.#unload(queue);
    if (error instanceof StoreError || error instanceof ServiceError) return;
    this.#parts.alarm(
      error instanceof BrokenInvariant
        ? error.message
        : error instanceof Error
          ? error.name
          : "unknown",
      queue.key.merchantId,
    );
  }

  /** Begins attempts, merchants in turn, until there is no room or nothing to begin. */
  #startAttempts(): void {
    this.#roundRobin.run(
      (merchantId) => this.#mayStart(merchantId),
      (queue) => this.#startAttempt(queue),
    );
  }

  #mayStart(merchantId: MerchantId): boolean {
    return this.#isInOrder
      ? this.#attempts.usedBy(merchantId) === 0
      : this.#attempts.hasRoom(merchantId);
  }

  /** Whether attempts run one at a time. */
  get #isInOrder(): boolean {
    return this.#parts.inOrder?.() === true;
  }

  /** Whether another attempt may be begun. */
  #hasRoom(queue: DeliveryQueue): boolean {
    const limit = this.#limitOf(queue);
    return limit.inFlight < limit.max && this.#mayCall(queue);
  }

  /** Whether the receiver may be called, and our own store keeps up. */
  #mayCall(queue: DeliveryQueue): boolean {
    const { circuit, sending, inFlight } = queue;
    const room = circuit.room(this.#parts.clock.now(), this.#limitOf(queue).max);
    // After a failure of the receiver or of our store, nothing begins until the earlier attempts
    // are finished and stored.
    return circuit.calm ? room > 0 && inFlight.size - sending < maxUnwritten : inFlight.size < room;
  }

  #limitOf(queue: DeliveryQueue): ReceiverLimit {
    const name = `${queue.key.merchantId} ${originOf(queue)}`;
    const known = this.#limits.get(name);
    if (known !== undefined) return known;
    const limit = new ReceiverLimit();
    this.#limits.set(name, limit);
    return limit;
  }

  #startAttempt(queue: DeliveryQueue): boolean {
    const { key, inFlight } = queue;
    if (queue.deliveries.length === 0 || this.#stopping.signal.aborted || !this.#hasRoom(queue))
      return false;
    const end = queue.lease?.begin();
    if (end === undefined) this.#releaseQueue(queue);
    const message =
      end === undefined ? undefined : this.#nextMessage(queue, queue.target?.hashesPerCall ?? 1);
    if (message === undefined || end === undefined) {
      end?.();
      return false;
    }
    for (const { number } of message) inFlight.add(number);
    const permit = this.#limitOf(queue).acquire();
    this.#attempts.acquire(key.merchantId);
    queue.sending += 1;
    let isSending = true;
    const answered = (): void => {
      if (!isSending) return;
      isSending = false;
      permit.release();
      this.#attempts.release(key.merchantId);
      queue.sending -= 1;
    };
    const task = this.#attempt(queue, message, permit, answered).then(async () => {
      answered();
      for (const { number } of message) inFlight.delete(number);
      end();
      queue.batchingSince = undefined;
      // First more of this queue, including what waited for this attempt, then other queues that
      // waited for room.
      await this.#readDue(queue);
      this.#startAttempts();
      if (this.#isCutShort && this.#readAhead.used < maxInFlight / 4) void this.#nextRound();
    });
    this.#run(task);
    return true;
  }

  /**
   * Takes the next message from a queue; undefined if there is none, or if it waits for
   * messages under way. A message that can hold more payments waits up to one second while others
   * are under way, so that new notifications are added to it.
   */
  #nextMessage(queue: DeliveryQueue, hashesPerCall: number): Message | undefined {
    const [first, ...others] = queue.deliveries;
    if (first === undefined) return undefined;
    const message = batched(first, others, hashesPerCall, queue.settings?.chaos);
    const isYoung = this.#parts.clock.now() - first.dueAt < maxBatchWaitMs;
    if (
      first.message === openMessage &&
      message.length < hashesPerCall &&
      queue.inFlight.size > 0 &&
      isYoung
    ) {
      // The deliveries are still due, and are read again together with new ones.
      this.#unload(queue);
      queue.batchingSince = this.#parts.clock.now();
      return undefined;
    }
    const taken = new Set(message);
    const left = queue.deliveries.filter((each) => !taken.has(each));
    if (left.length === 0) this.#unload(queue);
    queue.deliveries = left;
    return message;
  }

  #isBatching({ batchingSince, inFlight }: DeliveryQueue): boolean {
    if (batchingSince === undefined || inFlight.size === 0) return false;
    const sinceMs = this.#parts.clock.now() - batchingSince;
    // A negative value means that the clock was set back.
    return 0 <= sinceMs && sinceMs < batchWaitMs;
  }

  /** Never rejects. */
  async #attempt(
    queue: DeliveryQueue,
    message: Message,
    permit: Permit,
    answered: () => void,
  ): Promise<void> {
    try {
      const [whole, target] = await Promise.all([
        this.#recorder.fixMembers(message),
        this.#targetOf(queue, message),
      ]);
      if (whole !== undefined)
        await this.#deliver(queue, whole, target, { answered, stored: permit.stored });
    } catch (error) {
      // If something was sent, it is sent again with the same id. Concurrent failures count once.
      if (!queue.isPaused) queue.circuit.failed(this.#parts.clock.now(), undefined);
      this.#handleFailure(queue, error);
    } finally {
      for (const each of message) this.#parts.onAttemptEnd?.(each);
    }
  }

  /**
   * The address and secrets for a message; payments in the queue of one origin have separate
   * addresses.
   */
  async #targetOf({ target, key }: DeliveryQueue, [{ paymentId }]: Message): Promise<Target> {
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
    queue: DeliveryQueue,
    message: Message,
    target: Target,
    { answered, stored }: AttemptCallbacks,
  ): Promise<void> {
    const { clock, random, randomFor, accounts } = this.#parts;
    const [first] = message;
    const plan = queue.settings === undefined ? undefined : chaosPlan(queue.settings.chaos, first);
    if (plan?.delayUntil !== undefined && clock.now() < plan.delayUntil) {
      const { delayUntil, overtaken } = plan;
      queue.catchingUp = false;
      if (first.dueAt !== delayUntil)
        await this.#recorder.write(
          mapMessage(withOutcomeOfFirst(message, { ...first, dueAt: delayUntil }), (each) => ({
            ...each,
            inOrder: !overtaken,
          })),
        );
      return;
    }
    if (plan?.drop === true) {
      const dropped = withOutcomeOfFirst(message, {
        ...first,
        attempts: first.attempts + 1,
        outcome: "dropped",
        state: "delivered",
      });
      await this.#recorder.write(dropped);
      this.#reportAttempt(message, target, "delivered", dropped, undefined);
      return;
    }
    const { signal } = this.#stopping;
    const { outcome, tookMs, exchange } = await this.#sender.send(
      message,
      target,
      plan?.breakSignature === true,
      signal,
    );
    if (plan?.double === true)
      await this.#sender.send(message, target, plan.breakSignature, signal);
    // It is unknown what the receiver has processed, so the message is sent again.
    if (outcome.kind === "failed" && outcome.cause === "aborted") return;

    const now = clock.now();
    const {
      next: decided,
      verdict,
      notBefore,
    } = decideDelivery(first, outcome, now, randomFor?.(first) ?? random);
    const next = withOutcomeOfFirst(message, decided);
    if (verdict !== "delivered") {
      queue.catchingUp = false;
      if (queue.circuit.failed(now, notBefore)) {
        this.#unload(queue);
        this.#report("resting", decided);
      }
    }
    if (verdict === "gone") {
      this.#unload(queue);
      await accounts.disable(first.merchantId, first.endpoint, now);
    }
    const written = this.#recorder.write(next);
    // The next message may be sent to the receiver while this result is being stored.
    answered();
    this.#startAttempts();
    await written;
    // Only after it is stored: if the store fails, messages are repeated, and the receiver must not
    // get more of them at a time.
    stored(answerOf(outcome), tookMs);
    if (verdict === "delivered" && queue.circuit.succeeded()) {
      queue.catchingUp = true;
      this.#limitOf(queue).reset();
    }
    for (const each of next) this.#report(verdict, each);
    this.#reportAttempt(message, target, verdict, next, exchange);
  }

  #reportAttempt(
    [{ attempts }]: Message,
    { url }: Target,
    verdict: DeliveryAttempt["verdict"],
    next: Message,
    exchange: Exchange | undefined,
  ): void {
    for (const delivery of next)
      this.#parts.onAttempt?.({ number: attempts + 1, url, verdict, delivery, exchange });
  }

  #report(
    kind: DeliveryEvent["kind"],
    { merchantId, endpoint, paymentId, number, attempts, outcome }: Delivery,
  ): void {
    this.#parts.report({ kind, merchantId, endpoint, paymentId, number, attempts, outcome });
  }
}

/** Callbacks of an attempt: the receiver has answered, and the result is stored. */
interface AttemptCallbacks extends Pick<Permit, "stored"> {
  readonly answered: () => void;
}

/** Maximum number of known limits; a forgotten one is determined again. */
const maxLimits = 4_096;

/** Identifies the server of a queue's receiver, as far as known before a payment is read. */
function originOf({ target, key }: DeliveryQueue): string {
  return target === undefined ? key.queue : originQueue(target.url);
}

function answerOf(outcome: SendOutcome): AttemptResult {
  if (outcome.kind !== "answered") return "failed";
  if (outcome.status === 429 || outcome.status === 503) return "too_many";
  return outcome.status >= 200 && outcome.status <= 299 ? "good" : "failed";
}

/** Later than every due time of a delivery. */
const endOfTime = instant(Number.MAX_SAFE_INTEGER);
