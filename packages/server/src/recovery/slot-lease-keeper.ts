import { aheadOf, type Clock, clockToleranceMs } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import { type Instant, second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { SlotAssignment, SlotLease } from "../kernel/slot-assignment.ts";
import { everySlot, slotCount } from "../kernel/slot.ts";
import type { ClockReadings, NodeSlots, Store } from "../stores/store.ts";
import { isClockRight, isContested } from "./clock-verdict.ts";

export interface SlotLeaseKeeperParts {
  readonly store: Pick<
    Store,
    "renewSlots" | "releaseSlots" | "time" | "noteClock" | "clockReadings"
  >;
  /** Compared with the clocks of the database and of other nodes, if nodes share a database. */
  readonly clock?: Clock;
  /**
   * Identifies this process among all that share the store: 16 hex characters, random at each
   * start.
   */
  readonly node: string;
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
  /**
   * Called when the number of nodes or the slots of this node change, and when the lease expired.
   * Never throws.
   */
  readonly report: (event: SlotEvent) => void;
}

export type SlotEvent =
  | { readonly kind: "changed"; readonly nodes: number; readonly slots: number }
  | { readonly kind: "lost" }
  | { readonly kind: "clock_right" | "database_clock_right" }
  /**
   * One of the two clocks is wrong. `aheadMs`: lead of this machine's clock over the database's;
   * negative: behind.
   */
  | {
      readonly kind: "clock_off" | "database_clock_off";
      readonly aheadMs: number;
      readonly at: Instant;
    };

/**
 * A node that has not renewed its lease for this time counts as dead, and others take its slots.
 */
const leaseMs = 10 * second;
/** Three renewals may fail before the lease expires. */
const renewMs = 3 * second;
/** While slots move between nodes, and after a failure. */
const retryMs = second;
/**
 * Comparisons, one per renewal, before a clock that was right and was not set counts as wrong.
 * After a step of the database's clock, other nodes' clocks seem wrong as well until each of them
 * has noted its own again.
 */
const maxWrongInARow = 3;
/** Comparisons, one per second, before a clock that was wrong counts as right. */
const minRightInARow = 5;

/** The lease of a slot that this node holds. */
class OwnSlotLease implements SlotLease {
  readonly #isLeaseValid: () => boolean;
  /**
   * The slot is to move to another node: no work begins, and it is given back when the running work
   * has ended.
   */
  isReleasing = false;
  /** An earlier call may still give it back, or another node may still hold it: no work begins. */
  isInDoubt = false;
  hasEnded = false;
  inFlight = 0;
  /** In this node's monotonic time: until then another node may still hold the slot. */
  readonly usableFrom: number;

  constructor(isLeaseValid: () => boolean, usableFrom: number) {
    this.#isLeaseValid = isLeaseValid;
    this.usableFrom = usableFrom;
  }

  begin(): (() => void) | undefined {
    if (this.hasEnded || this.isReleasing || this.isInDoubt || !this.#isLeaseValid())
      return undefined;
    this.inFlight += 1;
    return () => {
      this.inFlight -= 1;
    };
  }
}

/**
 * Slots that an unanswered call was to give back. It may take effect at any moment before `until`,
 * in this node's monotonic time.
 */
interface InDoubtRelease {
  readonly slots: ReadonlySet<number>;
  until: number;
}

/**
 * Keeps this node's share of the slots: renews its lease, takes free slots up to its share, and
 * gives surplus slots back when the work in them has ended, so that nothing is done twice while
 * nodes join and leave. The lease counts from before the renewal was sent: without an answer in
 * time no work begins, while others may still wait for the lease to expire.
 *
 * A node whose clock differs from other nodes' clocks holds no slots until it is right again: what
 * is due by its clock is not due yet, or was due long ago, and it would consider requests of others
 * lost. Between two comparisons, a step of the clock shows against monotonic time. A step of the
 * database's clock alone stops no node (decisions/0017).
 *
 * A call that was not answered in time may take effect later. No work begins in the slots that it
 * gives back until that is impossible, even if the store has meanwhile assigned them to this node
 * again.
 *
 * Owns one timer and the slot leases. Work that a stalled node does after its lease is wasted but
 * never harmful (decisions/0009).
 */
export class SlotLeaseKeeper implements SlotAssignment {
  readonly #parts: SlotLeaseKeeperParts;
  readonly #leases = new Map<number, OwnSlotLease>();
  /** The slot leases under which work may begin. */
  #usableLeases: ReadonlyMap<number, SlotLease> = new Map();
  readonly #inDoubtReleases = new Set<InDoubtRelease>();
  /** When the lease expires, in this node's monotonic time. */
  #leaseUntil = 0;
  #nodes = 0;
  /**
   * This machine's clock and monotonic time when the clock was last right; undefined until then,
   * and if there is nothing to compare with.
   */
  #rightAt: OwnTime | undefined;
  /** The clock was set after that and has not been compared since. */
  #wasSet = false;
  #isClockOff = false;
  #isDatabaseClockOff = false;
  /** Lead of this clock over the database's at the last comparison. */
  #aheadMs: number | undefined;
  /** The monotonic time at which slots that are taken now open. */
  #newLeasesUsableFrom = 0;
  #wrongCount = 0;
  #rightCount = 0;
  #databaseRightCount = 0;
  /** The last report; initially that of a single process. */
  #reported = `1 ${slotCount}`;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SlotLeaseKeeperParts) {
    this.#parts = parts;
  }

  /** Resolves after the first request to the store, which is repeated if it fails. */
  async start(): Promise<void> {
    this.#schedule(await this.#renew());
  }

  /** Gives all slots back. Must be called when no work is running any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
    this.#endAllLeases();
    const { store, node } = this.#parts;
    // If the store is unavailable, the lease expires.
    await Promise.all([store.noteClock?.(node, undefined), store.releaseSlots(node)]).catch(
      () => undefined,
    );
  }

  leases(): ReadonlyMap<number, SlotLease> {
    return this.#isLeaseValid() ? this.#usableLeases : noLeases;
  }

  get isAlone(): boolean {
    // Without a renewal within the lease, the other nodes are unknown.
    return this.#isLeaseValid() && this.#nodes === 1;
  }

  /**
   * This node's clock differs from other nodes' by more than the tolerance, was set since the last
   * comparison, or was never found right.
   */
  get isClockOff(): boolean {
    const { clock, store } = this.#parts;
    const isUnknown =
      clock !== undefined && store.time !== undefined && this.#rightAt === undefined;
    return isUnknown || this.#isClockOff || this.#hasStepped();
  }

  #isLeaseValid(): boolean {
    return this.#parts.elapsedMs() < this.#leaseUntil && !this.#hasStepped();
  }

  /**
   * The clock was set since the last comparison, or the machine slept, during which monotonic time
   * may stop.
   */
  #hasStepped(): boolean {
    const { clock, elapsedMs } = this.#parts;
    if (this.#rightAt === undefined || clock === undefined) return false;
    return this.#wasSet || isSetSince(this.#rightAt, { at: clock.now(), elapsedMs: elapsedMs() });
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(ms, () => {
      this.#round = this.#renew().then((nextMs) => this.#schedule(nextMs));
    });
  }

  /** Resolves with the time until the next renewal. */
  async #renew(): Promise<number> {
    const requestedAt = this.#parts.elapsedMs();
    // A release that is in doubt until after this call is sent still applies to its answer, which
    // may predate the effect of the late call.
    for (const release of this.#inDoubtReleases)
      if (release.until < requestedAt) this.#inDoubtReleases.delete(release);
    const { clock, store } = this.#parts;
    const clockState =
      clock === undefined || store.time === undefined
        ? "right"
        : await this.#checkClock(clock, store.time());
    if (clockState === "off") {
      await this.#releaseAll();
      return retryMs;
    }
    const answer = clockState === "unknown" ? undefined : await this.#requestSlots();
    if (answer === undefined) {
      if (!this.#isLeaseValid() && this.#leases.size > 0) this.#loseLease();
      return retryMs;
    }
    // Expired slots may have belonged to another node in between.
    if (!this.#isLeaseValid()) this.#endAllLeases();
    this.#leaseUntil = requestedAt + leaseMs;
    this.#nodes = answer.nodes;
    this.#adopt(answer);
    this.#reportChange();
    return answer.slots.length === answer.share || clockState === "doubted" ? renewMs : retryMs;
  }

  /** `unknown`: there was no answer in time, or another node's clock contradicts this one's. */
  async #checkClock(
    clock: Clock,
    request: Promise<Instant>,
  ): Promise<"right" | "doubted" | "off" | "unknown"> {
    const { store, node } = this.#parts;
    this.#wasSet = this.#hasStepped();
    const compared = await this.#compare(clock, request);
    const readings = await this.#withinLease(
      store.clockReadings?.(node) ?? Promise.resolve(noReadings),
    );
    if (compared === undefined || readings === undefined) return "unknown";
    const { aheadMs, own } = compared;
    // The database's clock was set. By its new time other nodes' leases may have expired, while
    // those nodes still rely on them.
    const before = this.#aheadMs ?? readings.last ?? aheadMs;
    if (Math.abs(aheadMs - before) > clockToleranceMs)
      this.#newLeasesUsableFrom = own.elapsedMs + leaseMs;
    this.#aheadMs = aheadMs;
    const isTrusted = this.#rightAt !== undefined && !this.#isClockOff && !this.#wasSet;
    const isRight = isClockRight(aheadMs, readings, isTrusted);
    this.#wrongCount = isRight ? 0 : this.#wrongCount + 1;
    const isDoubted = !isRight && isTrusted && this.#wrongCount < maxWrongInARow;
    if (!isRight && !isDoubted) {
      this.#rightCount = 0;
      if (!this.#isClockOff) {
        this.#isClockOff = true;
        this.#parts.report({ kind: "clock_off", aheadMs, at: own.at });
      }
      return "off";
    }
    this.#rightCount += 1;
    if (this.#isClockOff && this.#rightCount < minRightInARow) return "off";
    const isNoted = await this.#withinLease(
      (store.noteClock?.(node, aheadMs) ?? Promise.resolve()).then(() => true),
    );
    // By now a node whose clock contradicts this one's can read this reading, and will soon count
    // as wrong.
    if (isNoted === undefined || (!isTrusted && isContested(aheadMs, readings))) return "unknown";
    this.#rightAt = own;
    this.#wasSet = false;
    if (this.#isClockOff) {
      this.#isClockOff = false;
      this.#rightCount = 0;
      this.#parts.report({ kind: "clock_right" });
    }
    if (!isDoubted) this.#reportDatabaseClock(aheadMs, own.at);
    return isDoubted ? "doubted" : "right";
  }

  /** This node's clock is right, so the difference is an error of the database's clock. */
  #reportDatabaseClock(aheadMs: number, at: Instant): void {
    const isOff = Math.abs(aheadMs) > clockToleranceMs;
    this.#databaseRightCount = isOff ? 0 : this.#databaseRightCount + 1;
    if (isOff && !this.#isDatabaseClockOff) {
      this.#isDatabaseClockOff = true;
      this.#parts.report({ kind: "database_clock_off", aheadMs, at });
    }
    if (this.#isDatabaseClockOff && this.#databaseRightCount >= minRightInARow) {
      this.#isDatabaseClockOff = false;
      this.#parts.report({ kind: "database_clock_right" });
    }
  }

  /**
   * Lead of this clock over the one that `request` reads; undefined if there was no answer in time,
   * or if the clock was set meanwhile.
   */
  async #compare(
    clock: Clock,
    request: Promise<Instant>,
  ): Promise<{ readonly aheadMs: number; readonly own: OwnTime } | undefined> {
    const { elapsedMs } = this.#parts;
    const own: OwnTime = { at: clock.now(), elapsedMs: elapsedMs() };
    const theirs = await this.#withinLease(request);
    const after = clock.now();
    if (isSetSince(own, { at: after, elapsedMs: elapsedMs() })) {
      this.#wasSet = true;
      return undefined;
    }
    return theirs === undefined ? undefined : { aheadMs: aheadOf(theirs, own.at, after), own };
  }

  /** Gives all slots to other nodes. */
  async #releaseAll(): Promise<void> {
    const { store, node } = this.#parts;
    this.#endAllLeases();
    this.#leaseUntil = 0;
    this.#reported = "";
    await this.#withinLease(store.noteClock?.(node, undefined) ?? Promise.resolve());
    // If the store is unavailable, the lease expires.
    await this.#releasing(
      [...everySlot],
      store.releaseSlots(node).then(() => true),
    );
  }

  /** undefined if the store failed, or answered too late. */
  async #requestSlots(): Promise<NodeSlots | undefined> {
    const { store, node } = this.#parts;
    const releasable = Array.from(this.#leases).filter(
      ([, { isReleasing, inFlight }]) => isReleasing && inFlight === 0,
    );
    const toRelease = releasable.map(([slot]) => slot);
    return this.#releasing(toRelease, store.renewSlots(node, leaseMs, toRelease));
  }

  /** Like `withinLease`; without an answer in time the slots are in doubt. */
  async #releasing<T>(slots: readonly number[], request: Promise<T>): Promise<T | undefined> {
    const release: InDoubtRelease = { slots: new Set(slots), until: Number.POSITIVE_INFINITY };
    const endsIn = (ms: number) => () => {
      release.until = this.#parts.elapsedMs() + ms;
    };
    // A call that failed here may still be executed by the server (store.ts).
    request.then(endsIn(0), endsIn(leaseMs));
    const answer = await this.#withinLease(request);
    if (answer === undefined && slots.length > 0) this.#inDoubtReleases.add(release);
    return answer;
  }

  async #withinLease<T>(request: Promise<T>): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#parts.scheduler.after(leaseMs, () => late.resolve(undefined));
    const answer = await Promise.race([request.catch(() => undefined), late.promise]);
    cancel();
    return answer;
  }

  #adopt({ slots, share }: NodeSlots): void {
    for (const [slot, lease] of this.#leases) {
      if (slots.includes(slot)) continue;
      lease.hasEnded = true;
      this.#leases.delete(slot);
    }
    const usable = new Map<number, SlotLease>();
    for (const [index, slot] of slots.entries()) {
      const lease =
        this.#leases.get(slot) ??
        new OwnSlotLease(() => this.#isLeaseValid(), this.#newLeasesUsableFrom);
      this.#leases.set(slot, lease);
      lease.isReleasing = index >= share;
      lease.isInDoubt =
        lease.usableFrom > this.#parts.elapsedMs() ||
        [...this.#inDoubtReleases].some((release) => release.slots.has(slot));
      if (!lease.isReleasing && !lease.isInDoubt) usable.set(slot, lease);
    }
    this.#usableLeases = usable;
  }

  #loseLease(): void {
    this.#endAllLeases();
    this.#reported = "";
    this.#parts.report({ kind: "lost" });
  }

  #reportChange(): void {
    const [nodes, slots] = [this.#nodes, this.#usableLeases.size];
    if (this.#reported === `${nodes} ${slots}`) return;
    this.#reported = `${nodes} ${slots}`;
    this.#parts.report({ kind: "changed", nodes, slots });
  }

  #endAllLeases(): void {
    for (const lease of this.#leases.values()) lease.hasEnded = true;
    this.#leases.clear();
    this.#usableLeases = noLeases;
  }
}

/** The clock and the monotonic time of this machine at one moment. */
interface OwnTime {
  readonly at: Instant;
  readonly elapsedMs: number;
}

function isSetSince(then: OwnTime, now: OwnTime): boolean {
  return Math.abs(now.at - then.at - (now.elapsedMs - then.elapsedMs)) > clockToleranceMs;
}

const noLeases: ReadonlyMap<number, SlotLease> = new Map();
const noReadings: ClockReadings = { others: [], last: undefined };
