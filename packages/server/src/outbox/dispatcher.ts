import { assert, BrokenInvariant } from "../kernel/assert.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, instant, second } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import { ServiceError } from "../kernel/service-error.ts";
import type { Share, Tenure } from "../kernel/share.ts";
import { slotOf } from "../kernel/slot.ts";
import { type Store, StoreError } from "../stores/store.ts";
import { AttemptPlaces, type Way } from "./attempt-places.ts";
import { chaosPlan } from "./chaos.ts";
import { Courier, type CourierParts } from "./courier.ts";
import { decideDelivery } from "./delivery.ts";
import { DeliveryBook } from "./delivery-book.ts";
import { isUrlEndpoint, type NotificationSettings, type Target, targetOf, urlTarget } from "./endpoint.ts";
import { type EndpointLane, EndpointLanes } from "./endpoint-lanes.ts";
import { type Delivery, type EndpointId, type EndpointKey, messageNumber, openMessage } from "./events.ts";
import { allAs, eachOf, gathered, type Message } from "./message.ts";

/** Port: what accounts say about their notifications. */
export interface NotificationAccounts {
  /** undefined when there is no such account. */
  settingsOf(merchantId: MerchantId): Promise<NotificationSettings | undefined>;
  /** Keeps with the account that this endpoint answered 410 (endpoint.ts, switchedOff). */
  switchOff(merchantId: MerchantId, endpoint: EndpointId, at: Instant): Promise<void>;
}

export interface DispatcherParts extends CourierParts {
  readonly store: Pick<Store, "endpointsDue" | "deliveriesDue" | "deliveriesOfMessage" | "paymentById" | "commit">;
  readonly accounts: NotificationAccounts;
  readonly random: Random;
  /** Whose chance a delivery's next attempt is drawn from, where it may not depend on which receiver answered first. */
  readonly randomFor?: (delivery: Delivery) => Random;
  readonly scheduler: Scheduler;
  /** Whose notifications are this process's to send. */
  readonly share: Share;
  /** Told of every attempt, and of endpoints that begin to rest. Never throws. */
  readonly report: (event: DeliveryEvent) => void;
  /** Told of every attempt when its end has been kept. Never throws. */
  readonly attempted?: (attempt: DeliveryAttempt) => void;
  /** Told when an attempt at this delivery has ended, or was put off. Never throws. */
  readonly ended?: (delivery: Delivery) => void;
  /** Told of what should not be: the property that did not hold, or the class of the error. Never throws. */
  readonly alarm: (what: string, endpoint: EndpointKey) => void;
  /** true: one attempt at a time, in the order in which they were read, so that receivers hear everything in one order. */
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

/** One attempt that has ended: which of those since the delivery was asked for, and what has come of it. */
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
const endpointsPerRead = 200;
const deliveriesPerRead = 64;
/** How many messages to one endpoint may have been answered without that being kept yet: all would be sent again after a crash. */
const mostUnwritten = 32;
/** So long a message that is not full waits for one that is under way, before it is looked whether it is full by now. */
const gatherMs = 50;
/** So long it waits at most: a receiver that hangs must not delay what it could hear beside that. */
const longestGatherMs = second;

/**
 * Delivers what changes have committed. Owns one timer, a bounded number of attempts under way, and what it knows about endpoints, all of
 * which may be lost at any moment: a delivery is tried until a commit says that it is done, so receivers may hear the same message
 * again, under the same id. Of several processes each dispatches for the merchants whose slots it holds.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #lanes = new EndpointLanes();
  /** Those with something in their queue, whose turn comes first before those whose turn has been. */
  readonly #ready = new Set<EndpointLane>();
  readonly #places: AttemptPlaces;
  readonly #courier: Courier;
  readonly #book: DeliveryBook;
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #cancelPoll: (() => void) | undefined;
  #cancelNudge: (() => void) | undefined;
  #rounds: Promise<void> = Promise.resolve();
  #queuedRound: Promise<void> | undefined;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#places = new AttemptPlaces(() => parts.inOrder?.() === true);
    this.#courier = new Courier(parts);
    this.#book = new DeliveryBook(parts.store, parts.clock);
  }

  /** Takes up what is due, now and with each poll. */
  start(): void {
    this.#poll(0);
  }

  /**
   * There is something new to deliver, of this merchant if one is named: it is taken up at once. Costs next to nothing. What is another
   * process's to send that one finds with its next poll.
   */
  nudge(merchantId?: MerchantId): void {
    if (this.#cancelNudge !== undefined || this.#stopping.signal.aborted) return;
    if (merchantId !== undefined && !this.sendsFor(merchantId)) return;
    this.#cancelNudge = this.#parts.scheduler.after(nudgeMs, () => {
      this.#cancelNudge = undefined;
      void this.#nextRound();
    });
  }

  /** Sends what is due now and what becomes due by it; resolves when nothing is under way any more. */
  async runDue(): Promise<void> {
    this.#lanes.tidy();
    await this.#nextRound();
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** The first moment after `now` at which an endpoint that rests is asked again. */
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
      void this.#nextRound().then(() => this.#poll(this.#parts.pollMs ?? usualPollMs));
    });
  }

  /** Resolves after a round that begins from now on. Those who ask before it has begun share it. */
  #nextRound(): Promise<void> {
    this.#queuedRound ??= this.#rounds = this.#rounds.then(() => {
      this.#queuedRound = undefined;
      return this.#round();
    });
    return this.#queuedRound;
  }

  /** Begins what is due of all endpoints, as far as there is room; what ends makes room for the rest. */
  async #round(): Promise<void> {
    try {
      const slots = new Set(this.#parts.share.held().keys());
      if (slots.size === 0) return;
      let after: EndpointKey | undefined;
      do {
        const due: readonly EndpointKey[] = await this.#parts.store.endpointsDue(this.#parts.clock.now(), after, endpointsPerRead, slots);
        for (const key of due) await this.#fill(this.#lanes.of(key));
        this.#pump();
        after = due.length === endpointsPerRead ? due.at(-1) : undefined;
      } while (after !== undefined && !this.#stopping.signal.aborted);
      for (const lane of this.#lanes.catchingUp()) await this.#fill(lane);
      this.#pump();
    } catch {
      // A store that is down says so itself, and the next poll asks again.
    }
  }

  /** Reads what may be tried next, when nothing that was read is left and the endpoint is to be asked at all. Never rejects. */
  async #fill(lane: EndpointLane): Promise<void> {
    if (lane.reading) lane.readAgain = true;
    if (lane.queue.length > 0 || lane.reading || lane.stuck || this.#stopping.signal.aborted) return;
    // What has been answered would be read once more; it is kept in a moment, and then asks for this again.
    if (lane.underWay.size > lane.sending || this.#isGathering(lane) || !this.#hasRoom(lane)) return;
    lane.tenure = this.#tenureOf(lane.key.merchantId);
    if (lane.tenure === undefined) return this.#leave(lane);
    lane.reading = true;
    lane.readAgain = false;
    await this.#read(lane);
    lane.reading = false;
    if (lane.readAgain) await this.#fill(lane);
  }

  /** Never rejects. */
  async #read(lane: EndpointLane): Promise<void> {
    const { store, clock } = this.#parts;
    // Those that end while the read is on its way may still be due in what it brings.
    const busy = new Set(lane.underWay);
    try {
      const horizon = lane.catchingUp ? endOfTime : clock.now();
      const most = Math.max(deliveriesPerRead, lane.target?.hashesPerCall ?? 1);
      const due = await store.deliveriesDue(lane.key, horizon, most + busy.size);
      const fresh = due.filter((each) => !busy.has(messageNumber(each)) && !busy.has(each.number));
      const [first] = fresh;
      if (due.length === 0) lane.catchingUp = false;
      if (first === undefined || !(await this.#aim(lane, first, fresh))) return;
      lane.queue = fresh;
      this.#ready.add(lane);
    } catch (error) {
      this.#trouble(lane, error);
    }
  }

  #tenureOf(merchantId: MerchantId): Tenure | undefined {
    return this.#parts.share.held().get(slotOf(merchantId));
  }

  /** The endpoint is another process's now. */
  #leave(lane: EndpointLane): void {
    lane.queue = [];
    lane.catchingUp = false;
    this.#ready.delete(lane);
  }

  /** Something went wrong on our side: what is due stays due, and is looked at again with the next poll. */
  #trouble(lane: EndpointLane, error: unknown): void {
    lane.stuck = true;
    lane.queue = [];
    // A store that is down says so itself.
    if (error instanceof StoreError || error instanceof ServiceError) return;
    this.#parts.alarm(error instanceof BrokenInvariant ? error.message : error instanceof Error ? error.name : "unknown", lane.key);
  }

  /** Finds out how the endpoint is reached now. false when it is not: it is off, or gone, and then so are its deliveries. */
  async #aim(lane: EndpointLane, first: Delivery, fresh: readonly Delivery[]): Promise<boolean> {
    const { accounts, store, clock } = this.#parts;
    const { merchantId, endpoint } = lane.key;
    lane.settings = await accounts.settingsOf(merchantId);
    if (isUrlEndpoint(endpoint)) {
      const url = (await store.paymentById(merchantId, first.paymentId))?.order.notificationUrl;
      assert(url !== undefined, "a delivery to a payment's own address is of a payment that has one");
      lane.target = urlTarget(url);
      return true;
    }
    const configured = lane.settings?.endpoints.find(({ id }) => id === endpoint);
    lane.target = configured === undefined ? undefined : targetOf(configured, clock.now());
    if (configured === undefined) await this.#book.remove(fresh);
    return lane.target !== undefined;
  }

  /** Begins attempts, one of each endpoint in turn, until there is no room or nothing to begin. */
  #pump(): void {
    for (let begun = true; begun;) {
      begun = false;
      const turns = Array.from(this.#ready);
      for (const lane of turns) {
        if (!this.#begin(lane)) continue;
        begun = true;
        // To the end of the line.
        this.#ready.delete(lane);
        if (lane.queue.length > 0) this.#ready.add(lane);
      }
    }
  }

  /** Whether another attempt may be begun, as far as the endpoint goes. */
  #hasRoom({ circuit, sending, underWay }: EndpointLane): boolean {
    const room = circuit.room(this.#parts.clock.now(), this.#places.perServer);
    // In doubt, about the endpoint or about our own store, nothing is begun before what was begun is over and kept.
    return circuit.calm ? sending < room && underWay.size < mostUnwritten : underWay.size < room;
  }

  #begin(lane: EndpointLane): boolean {
    const { target, key, underWay } = lane;
    if (lane.queue.length === 0) this.#ready.delete(lane);
    if (target === undefined || this.#stopping.signal.aborted || !this.#hasRoom(lane)) return false;
    const way = { merchantId: key.merchantId, origin: target.origin };
    if (!this.#places.isFree(way)) return false;
    const end = lane.tenure?.begin();
    if (end === undefined) this.#leave(lane);
    const message = end === undefined ? undefined : this.#take(lane, target);
    if (message === undefined || end === undefined) {
      end?.();
      return false;
    }
    for (const { number } of message) underWay.add(number);
    const answered = this.#occupy(lane, way);
    const task = this.#attempt(lane, message, target, answered).then(async () => {
      answered();
      for (const { number } of message) underWay.delete(number);
      this.#tasks.delete(task);
      end();
      lane.gatheringAt = undefined;
      // More of this endpoint, among it what waited for this one; then whoever waited for the room.
      await this.#fill(lane);
      this.#pump();
    });
    this.#tasks.add(task);
    return true;
  }

  /**
   * The next message of a lane, out of its queue; undefined when there is none, or when it waits for what is under way. One that may hold
   * several and is not full does so for a second at most: what happens meanwhile goes with it.
   */
  #take(lane: EndpointLane, { hashesPerCall }: Target): Message | undefined {
    const [first, ...others] = lane.queue;
    if (first === undefined) return undefined;
    const message = gathered(first, others, hashesPerCall, lane.settings?.chaos);
    const isYoung = this.#parts.clock.now() - first.dueAt < longestGatherMs;
    if (first.message === openMessage && message.length < hashesPerCall && lane.underWay.size > 0 && isYoung) {
      // Still due, and read anew with what has come.
      lane.queue = [];
      this.#ready.delete(lane);
      lane.gatheringAt = this.#parts.clock.now();
      return undefined;
    }
    const taken = new Set(message);
    lane.queue = lane.queue.filter((each) => !taken.has(each));
    return message;
  }

  #isGathering({ gatheringAt, underWay }: EndpointLane): boolean {
    if (gatheringAt === undefined || underWay.size === 0) return false;
    const sinceMs = this.#parts.clock.now() - gatheringAt;
    // The clock may have been set back since.
    return 0 <= sinceMs && sinceMs < gatherMs;
  }

  /** Takes a place of the lane's and one on the way; whoever calls what it returns gives both back, once. */
  #occupy(lane: EndpointLane, way: Way): () => void {
    const giveBack = this.#places.take(way);
    lane.sending += 1;
    let isHeld = true;
    return () => {
      giveBack();
      if (isHeld) lane.sending -= 1;
      isHeld = false;
    };
  }

  /** Never rejects. */
  async #attempt(lane: EndpointLane, message: Message, target: Target, answered: () => void): Promise<void> {
    try {
      const whole = await this.#book.fix(message);
      if (whole !== undefined) await this.#deliver(lane, whole, target, answered);
    } catch (error) {
      // Whatever was sent is sent again, under the same id. What failed together counts once.
      if (!lane.stuck) lane.circuit.failed(this.#parts.clock.now(), undefined);
      this.#trouble(lane, error);
    } finally {
      for (const each of message) this.#parts.ended?.(each);
    }
  }

  async #deliver(lane: EndpointLane, message: Message, target: Target, answered: () => void): Promise<void> {
    const { clock, random, randomFor, accounts } = this.#parts;
    const [first] = message;
    const plan = lane.settings === undefined ? undefined : chaosPlan(lane.settings.chaos, first);
    if (plan?.holdUntil !== undefined && clock.now() < plan.holdUntil) {
      const { holdUntil, overtaken } = plan;
      lane.catchingUp = false;
      if (first.dueAt !== holdUntil)
        await this.#book.write(eachOf(allAs(message, { ...first, dueAt: holdUntil }), (each) => ({ ...each, inOrder: !overtaken })));
      return;
    }
    if (plan?.drop === true) {
      const dropped = allAs(message, { ...first, attempts: first.attempts + 1, outcome: "dropped", state: "delivered" });
      await this.#book.write(dropped);
      this.#tell(message, target, "delivered", dropped);
      return;
    }
    const { signal } = this.#stopping;
    const outcome = await this.#courier.send(message, target, plan?.breakSignature === true, signal);
    if (plan?.double === true) await this.#courier.send(message, target, plan.breakSignature, signal);
    // Nobody knows what the receiver has seen: it is told again.
    if (outcome.kind === "failed" && outcome.cause === "aborted") return;

    const now = clock.now();
    const { next: decided, verdict, restUntil } = decideDelivery(first, outcome, now, randomFor?.(first) ?? random);
    const next = allAs(message, decided);
    if (verdict !== "delivered") {
      lane.catchingUp = false;
      if (lane.circuit.failed(now, restUntil)) {
        lane.queue = [];
        this.#report("resting", decided);
      }
    }
    if (verdict === "gone") {
      lane.queue = [];
      await accounts.switchOff(first.merchantId, first.endpoint, now);
    }
    const written = this.#book.write(next);
    // The receiver may hear the next one while this one is written down.
    answered();
    this.#pump();
    await written;
    // Not before that is kept: a store that takes nothing must not have the receiver hear the same again and again.
    if (verdict === "delivered" && lane.circuit.succeeded()) lane.catchingUp = true;
    for (const each of next) this.#report(verdict, each);
    this.#tell(message, target, verdict, next);
  }

  #tell([{ attempts }]: Message, { url }: Target, verdict: DeliveryAttempt["verdict"], next: Message): void {
    for (const delivery of next) this.#parts.attempted?.({ number: attempts + 1, url, verdict, delivery });
  }

  #report(kind: DeliveryEvent["kind"], { merchantId, endpoint, paymentId, number, attempts, outcome }: Delivery): void {
    this.#parts.report({ kind, merchantId, endpoint, paymentId, number, attempts, outcome });
  }
}

/** After every moment that a delivery can be due at. */
const endOfTime = instant(Number.MAX_SAFE_INTEGER);
