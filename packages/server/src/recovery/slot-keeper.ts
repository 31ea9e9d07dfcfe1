import { aheadOf, type Clock, clockToleranceMs } from "../kernel/clock.ts";
import type { ElapsedMs } from "../kernel/elapsed.ts";
import { type Instant, second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Share, Tenure } from "../kernel/share.ts";
import { everySlot, slotCount } from "../kernel/slot.ts";
import type { ClockReadings, HeldSlots, Store } from "../stores/store.ts";
import { isClockRight, isContested } from "./clock-verdict.ts";

export interface SlotKeeperParts {
  readonly store: Pick<Store, "holdSlots" | "leaveSlots" | "time" | "noteClock" | "clockReadings">;
  /** Compared with the database's clock and other nodes' clocks, where nodes share a database. */
  readonly clock?: Clock;
  /**
   * Names this process among all that share the store: 16 hex characters, drawn anew at each start.
   */
  readonly node: string;
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
  /**
   * Told when there are other nodes than before or other slots here, and when the lease ran out.
   * Never throws.
   */
  readonly report: (event: ShareEvent) => void;
}

export type ShareEvent =
  | { readonly kind: "changed"; readonly nodes: number; readonly slots: number }
  | { readonly kind: "lost" }
  | { readonly kind: "clock_right" | "database_clock_right" }
  /** One of the two is off. This machine's clock is ahead of the database's; below 0: behind. */
  | {
      readonly kind: "clock_off" | "database_clock_off";
      readonly aheadMs: number;
      readonly at: Instant;
    };

/** A node that has said nothing for so long is taken for dead, and others take its slots. */
const leaseMs = 10 * second;
/** Three may fail before the lease runs out. */
const renewMs = 3 * second;
/** While slots change hands, and after a failure. */
const hurryMs = second;
/**
 * So many comparisons, one with each renewal, until a clock that was right and was not set is taken
 * for off. After a step of the database's clock other nodes' clocks seem to be off as well, until
 * each of them has noted its own again.
 */
const wrongInARow = 3;
/** So many comparisons, one each second, until a clock that was off is taken for right. */
const rightInARow = 5;

/** A slot in this node's hands. */
class OwnTenure implements Tenure {
  readonly #runs: () => boolean;
  /**
   * It is to go to another node: nothing begins, and when what is under way has ended it is given
   * back.
   */
  leaving = false;
  /** An earlier call may still give it back, or another node may still hold it: nothing begins. */
  isInDoubt = false;
  over = false;
  underWay = 0;
  /** By the node's monotonic count: another node may still hold the slot until then. */
  readonly opensAt: number;

  constructor(runs: () => boolean, opensAt: number) {
    this.#runs = runs;
    this.opensAt = opensAt;
  }

  begin(): (() => void) | undefined {
    if (this.over || this.leaving || this.isInDoubt || !this.#runs()) return undefined;
    this.underWay += 1;
    return () => {
      this.underWay -= 1;
    };
  }
}

/**
 * What a call without an answer was to give back. It may take effect at any moment before `until`,
 * by this node's own count.
 */
interface Doubt {
  readonly slots: ReadonlySet<number>;
  until: number;
}

/**
 * Keeps this node's share of the slots: tells the store that the node lives, takes what is free up
 * to its share, and gives back what is more when what was begun there has ended, so that nothing is
 * done twice while nodes come and go. Counts the lease from before it asked: when the store has not
 * answered in time nothing begins any more, while others may still wait for it to run out.
 *
 * A node whose clock differs from other nodes' clocks has no slots until it is right again: what is
 * due by its clock is not due yet, or was due long ago, and others' requests under way would be
 * taken for lost. Between two comparisons, a step shows against the monotonic count. A step of the
 * database's clock alone stops no node (decisions/0017).
 *
 * A call that was not answered in time may take effect later. Nothing begins in the slots that it
 * gives back until it can no longer do so, even when the store has assigned them to this node again
 * meanwhile.
 *
 * Owns one timer and the tenures. Work that a stalled node does beyond its lease is work for
 * nothing and never harm (decisions/0009).
 */
export class SlotKeeper implements Share {
  readonly #parts: SlotKeeperParts;
  readonly #tenures = new Map<number, OwnTenure>();
  /** The tenures in which work may begin. */
  #open: ReadonlyMap<number, Tenure> = new Map();
  readonly #doubts = new Set<Doubt>();
  /** When the lease runs out, by this node's own count. */
  #until = 0;
  #nodes = 0;
  /**
   * Both counts of this machine when its clock was last right; undefined until then, and where
   * there is nothing to compare with.
   */
  #rightAt: OwnTime | undefined;
  /** The clock was set since then, and has not been compared since. */
  #wasSet = false;
  #isClockOff = false;
  #isDatabaseClockOff = false;
  /** How far the clock was ahead of the database's at the last comparison. */
  #aheadMs: number | undefined;
  /** Slots that are taken now open then, by this node's own count. */
  #opensAt = 0;
  #wrongTimes = 0;
  #rightTimes = 0;
  #databaseRightTimes = 0;
  /** What was reported last; at first what a process that is the only one has. */
  #reported = `1 ${slotCount}`;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SlotKeeperParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when the store has been asked for the first time; a store that did not answer is asked
   * again, like later.
   */
  async start(): Promise<void> {
    this.#schedule(await this.#renew());
  }

  /** Gives everything back. To be called when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
    this.#forgetAll();
    const { store, node } = this.#parts;
    // A store that is down lets the lease run out.
    await Promise.all([store.noteClock?.(node, undefined), store.leaveSlots(node)]).catch(
      () => undefined,
    );
  }

  held(): ReadonlyMap<number, Tenure> {
    return this.#runs() ? this.#open : nothing;
  }

  get isAlone(): boolean {
    // Who has not heard of the others for a lease does not know.
    return this.#runs() && this.#nodes === 1;
  }

  /**
   * This node's clock differs from other nodes' by more than is tolerated, was set since it was
   * compared, or was never found right.
   */
  get isClockOff(): boolean {
    const { clock, store } = this.#parts;
    const isUnknown =
      clock !== undefined && store.time !== undefined && this.#rightAt === undefined;
    return isUnknown || this.#isClockOff || this.#hasStepped();
  }

  #runs(): boolean {
    return this.#parts.elapsedMs() < this.#until && !this.#hasStepped();
  }

  /**
   * The clock was set since it was compared, or the machine slept, during which the monotonic count
   * may stand still.
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

  /** Resolves with the time after which it is to be done again. */
  async #renew(): Promise<number> {
    const asked = this.#parts.elapsedMs();
    // A doubt that ends later than this call is made still holds for its answer, which may be from
    // before the late call took effect.
    for (const doubt of this.#doubts) if (doubt.until < asked) this.#doubts.delete(doubt);
    const { clock, store } = this.#parts;
    const clockState =
      clock === undefined || store.time === undefined
        ? "right"
        : await this.#judgeClock(clock, store.time());
    if (clockState === "off") {
      await this.#standStill();
      return hurryMs;
    }
    const answer = clockState === "unknown" ? undefined : await this.#ask();
    if (answer === undefined) {
      if (!this.#runs() && this.#tenures.size > 0) this.#lose();
      return hurryMs;
    }
    // What ran out may have been somebody else's in between.
    if (!this.#runs()) this.#forgetAll();
    this.#until = asked + leaseMs;
    this.#nodes = answer.nodes;
    this.#adopt(answer);
    this.#reportChange();
    return answer.slots.length === answer.share || clockState === "doubted" ? renewMs : hurryMs;
  }

  /** `unknown`: there was no answer in time, or another node's clock contradicts this one's. */
  async #judgeClock(
    clock: Clock,
    asked: Promise<Instant>,
  ): Promise<"right" | "doubted" | "off" | "unknown"> {
    const { store, node } = this.#parts;
    this.#wasSet = this.#hasStepped();
    const compared = await this.#compare(clock, asked);
    const readings = await this.#inTime(store.clockReadings?.(node) ?? Promise.resolve(noReadings));
    if (compared === undefined || readings === undefined) return "unknown";
    const { aheadMs, own } = compared;
    // The database's clock was set, and by it other nodes' leases may be over, while they still
    // count on them.
    const before = this.#aheadMs ?? readings.last ?? aheadMs;
    if (Math.abs(aheadMs - before) > clockToleranceMs) this.#opensAt = own.elapsedMs + leaseMs;
    this.#aheadMs = aheadMs;
    const isTrusted = this.#rightAt !== undefined && !this.#isClockOff && !this.#wasSet;
    const isRight = isClockRight(aheadMs, readings, isTrusted);
    this.#wrongTimes = isRight ? 0 : this.#wrongTimes + 1;
    const isDoubted = !isRight && isTrusted && this.#wrongTimes < wrongInARow;
    if (!isRight && !isDoubted) {
      this.#rightTimes = 0;
      if (!this.#isClockOff) {
        this.#isClockOff = true;
        this.#parts.report({ kind: "clock_off", aheadMs, at: own.at });
      }
      return "off";
    }
    this.#rightTimes += 1;
    if (this.#isClockOff && this.#rightTimes < rightInARow) return "off";
    const isNoted = await this.#inTime(
      (store.noteClock?.(node, aheadMs) ?? Promise.resolve()).then(() => true),
    );
    // A node whose clock contradicts this one's learns of it by now, and is taken for off soon.
    if (isNoted === undefined || (!isTrusted && isContested(aheadMs, readings))) return "unknown";
    this.#rightAt = own;
    this.#wasSet = false;
    if (this.#isClockOff) {
      this.#isClockOff = false;
      this.#rightTimes = 0;
      this.#parts.report({ kind: "clock_right" });
    }
    if (!isDoubted) this.#reportDatabaseClock(aheadMs, own.at);
    return isDoubted ? "doubted" : "right";
  }

  /**
   * This node's clock is right, so that what the database's differs from it by is the database's.
   */
  #reportDatabaseClock(aheadMs: number, at: Instant): void {
    const isOff = Math.abs(aheadMs) > clockToleranceMs;
    this.#databaseRightTimes = isOff ? 0 : this.#databaseRightTimes + 1;
    if (isOff && !this.#isDatabaseClockOff) {
      this.#isDatabaseClockOff = true;
      this.#parts.report({ kind: "database_clock_off", aheadMs, at });
    }
    if (this.#isDatabaseClockOff && this.#databaseRightTimes >= rightInARow) {
      this.#isDatabaseClockOff = false;
      this.#parts.report({ kind: "database_clock_right" });
    }
  }

  /**
   * How far this clock is ahead of the one that is `asked`; undefined when there was no answer in
   * time, and when the clock was set meanwhile.
   */
  async #compare(
    clock: Clock,
    asked: Promise<Instant>,
  ): Promise<{ readonly aheadMs: number; readonly own: OwnTime } | undefined> {
    const { elapsedMs } = this.#parts;
    const own: OwnTime = { at: clock.now(), elapsedMs: elapsedMs() };
    const theirs = await this.#inTime(asked);
    const after = clock.now();
    if (isSetSince(own, { at: after, elapsedMs: elapsedMs() })) {
      this.#wasSet = true;
      return undefined;
    }
    return theirs === undefined ? undefined : { aheadMs: aheadOf(theirs, own.at, after), own };
  }

  /** Lets others have the slots. */
  async #standStill(): Promise<void> {
    const { store, node } = this.#parts;
    this.#forgetAll();
    this.#until = 0;
    this.#reported = "";
    await this.#inTime(store.noteClock?.(node, undefined) ?? Promise.resolve());
    // A store that is down lets the lease run out.
    await this.#givenBack(
      [...everySlot],
      store.leaveSlots(node).then(() => true),
    );
  }

  /** undefined when the store failed, or took so long that the answer is worth nothing. */
  async #ask(): Promise<HeldSlots | undefined> {
    const { store, node } = this.#parts;
    const idle = Array.from(this.#tenures).filter(
      ([, { leaving, underWay }]) => leaving && underWay === 0,
    );
    const giveBack = idle.map(([slot]) => slot);
    return this.#givenBack(giveBack, store.holdSlots(node, leaseMs, giveBack));
  }

  /** As `inTime`; where there was no answer in time the slots are in doubt. */
  async #givenBack<T>(slots: readonly number[], asked: Promise<T>): Promise<T | undefined> {
    const doubt: Doubt = { slots: new Set(slots), until: Number.POSITIVE_INFINITY };
    const endsIn = (ms: number) => () => {
      doubt.until = this.#parts.elapsedMs() + ms;
    };
    // What has failed here may still be carried out by a server that does not know it (store.ts).
    asked.then(endsIn(0), endsIn(leaseMs));
    const answer = await this.#inTime(asked);
    if (answer === undefined && slots.length > 0) this.#doubts.add(doubt);
    return answer;
  }

  async #inTime<T>(asked: Promise<T>): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#parts.scheduler.after(leaseMs, () => late.resolve(undefined));
    const answer = await Promise.race([asked.catch(() => undefined), late.promise]);
    cancel();
    return answer;
  }

  #adopt({ slots, share }: HeldSlots): void {
    for (const [slot, tenure] of this.#tenures) {
      if (slots.includes(slot)) continue;
      tenure.over = true;
      this.#tenures.delete(slot);
    }
    const open = new Map<number, Tenure>();
    for (const [index, slot] of slots.entries()) {
      const tenure = this.#tenures.get(slot) ?? new OwnTenure(() => this.#runs(), this.#opensAt);
      this.#tenures.set(slot, tenure);
      tenure.leaving = index >= share;
      tenure.isInDoubt =
        tenure.opensAt > this.#parts.elapsedMs() ||
        [...this.#doubts].some((doubt) => doubt.slots.has(slot));
      if (!tenure.leaving && !tenure.isInDoubt) open.set(slot, tenure);
    }
    this.#open = open;
  }

  #lose(): void {
    this.#forgetAll();
    this.#reported = "";
    this.#parts.report({ kind: "lost" });
  }

  #reportChange(): void {
    const [nodes, slots] = [this.#nodes, this.#open.size];
    if (this.#reported === `${nodes} ${slots}`) return;
    this.#reported = `${nodes} ${slots}`;
    this.#parts.report({ kind: "changed", nodes, slots });
  }

  #forgetAll(): void {
    for (const tenure of this.#tenures.values()) tenure.over = true;
    this.#tenures.clear();
    this.#open = nothing;
  }
}

/** The clock and the monotonic count of this machine at one moment. */
interface OwnTime {
  readonly at: Instant;
  readonly elapsedMs: number;
}

function isSetSince(then: OwnTime, now: OwnTime): boolean {
  return Math.abs(now.at - then.at - (now.elapsedMs - then.elapsedMs)) > clockToleranceMs;
}

const nothing: ReadonlyMap<number, Tenure> = new Map();
const noReadings: ClockReadings = { others: [], last: undefined };
